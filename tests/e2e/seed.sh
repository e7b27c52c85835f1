#!/usr/bin/env bash
# seed.sh BASE_URL: the three usage blocks that job-retry was first described by, as they were written.
# Only the host differs. What they leave to the reader is defined around them.
set -euo pipefail
base=${1:?usage: seed.sh BASE_URL}

# --- What stands around the blocks -------------------------------------------------------------------

enqueue() { # JOB_TYPE MAX_ATTEMPTS
    curl -fsSXPOST "$base/api:job-retry/jobs" -H 'Content-Type: application/json' \
        -d "{\"job_type\": \"$1\", \"max_attempts\": $2, \"backoff_seconds\": 0}"
    echo
}

# The worker's task, told by the job's type.
do_work_based_on() {
    local type attempt
    type=$(jq -r .job.job_type <<<"$1")
    attempt=$(jq .job.attempts <<<"$1")
    case $type in
        send_welcome_email) true ;;
        second_time_lucky) [ "$attempt" -eq 2 ] ;;
        hopeless) [ -e "$mended" ] ;;
    esac
}

# The worker waits when nothing is left to claim; here that ends it.
sleep() { exit 0; }

# The id in the last block is an example's: our dead job stands in for it.
curl() { command curl "${@/\/dlq\/7\//\/dlq\/${dead:-7}\/}"; }

mended=$(mktemp -u)
trap 'rm -f "$mended"' EXIT

worker() (
while true; do
  job=$(curl -sXPOST $B/api:job-retry/jobs/claim -H 'Content-Type: application/json' -d '{"queue":"default","worker_id":"worker-1"}')
  if [[ $(echo "$job" | jq .claimed) == "false" ]]; then sleep 5; continue; fi

  id=$(echo "$job" | jq .job.id)
  if do_work_based_on "$job"; then
    curl -sXPOST $B/api:job-retry/jobs/$id/complete -H 'Content-Type: application/json' -d '{"result":{"ok":true}}'
  else
    curl -sXPOST $B/api:job-retry/jobs/$id/fail     -H 'Content-Type: application/json' -d '{"error":"provider 5xx"}'
  fi
done
)

# --- 1. Enqueue a job --------------------------------------------------------------------------------

B=$base

curl -XPOST $B/api:job-retry/jobs \
  -H 'Content-Type: application/json' \
  -d '{
    "job_type": "send_welcome_email",
    "payload": {"user_id": 42},
    "max_attempts": 5,
    "backoff_seconds": 30
  }'

# --- 2. Worker loop ----------------------------------------------------------------------------------

enqueue second_time_lucky 2
enqueue hopeless 2
worker

# --- 3. Inspect dead-letter --------------------------------------------------------------------------

dead=$(curl -s $B/api:job-retry/dlq | jq .items[0].id)

curl -s $B/api:job-retry/dlq
curl -sXPOST $B/api:job-retry/dlq/7/requeue    # give it another shot

touch "$mended"
worker
