#!/usr/bin/env bash
# A worker in bash, with curl and jq:
#
#     JOB_RETRY_URL=http://127.0.0.1:3000 examples/bash-worker/worker.sh ./do_work.sh
#
# For each job it runs the command with the job's type as last argument and its payload as
# standard input. Exit code 0 completes the job, with what the command printed as its result
# (to 256 KB); any other fails it, with the last line of what it wrote to the standard error.
# jq before 1.7 changes a payload's integers beyond 2^53 (12345678901234567890 comes to the command
# as 12345678901234567000); jq 1.7 or later keeps them digit for digit.
# QUEUE=default is where jobs come from; UNTIL_IDLE=1 ends it once nothing is due.
set -euo pipefail

url=${JOB_RETRY_URL:-http://127.0.0.1:3000}
queue=${QUEUE:-default}
lease_seconds=60
work_dir=$(mktemp -d)
trap 'rm -rf "$work_dir"' EXIT
stop=
trap 'stop=1' TERM INT # after the job at hand

post() { # PATH, and the body as standard input
    curl -sS --fail-with-body --retry 5 -XPOST "$url$1" -H 'Content-Type: application/json' -d @-
}

fail() { # ID TOKEN ERROR
    jq -n --arg token "$2" --arg error "$3" '{lease_token: $token, error: $error}' |
        post "/jobs/$1/fail" >/dev/null || true
}

keep_lease() { # ID TOKEN
    trap 'kill $sleep; exit' TERM
    while true; do
        sleep $((lease_seconds / 3)) &
        sleep=$!
        wait $sleep
        jq -n --arg token "$2" '{lease_token: $token}' | post "/jobs/$1/heartbeat" >/dev/null || return
    done
}

while [ -z "$stop" ]; do
    claim=$(jq -n --arg queue "$queue" --arg worker "$(hostname):$$" --argjson lease $lease_seconds \
        '{queue: $queue, worker_id: $worker, lease_seconds: $lease}' | post /jobs/claim) || {
        sleep 5
        continue
    }
    if [ "$(jq .claimed <<<"$claim")" = false ]; then
        [ -z "${UNTIL_IDLE:-}" ] || break
        sleep "$(jq .retry_after_seconds <<<"$claim")" &
        wait $! || true # a signal ends the wait, not only the sleep
        continue
    fi

    id=$(jq .job.id <<<"$claim")
    token=$(jq -r .job.lease_token <<<"$claim")
    keep_lease "$id" "$token" &
    heartbeats=$!
    # a file, since a command that does not read a pipe would break it
    jq .job.payload <<<"$claim" >"$work_dir/payload"
    job_type=$(jq -r .job.job_type <<<"$claim")
    if "$@" "$job_type" <"$work_dir/payload" >"$work_dir/output" 2>"$work_dir/errors"; then
        jq -n --arg token "$token" --rawfile output "$work_dir/output" \
            '{lease_token: $token, result: $output}' | post "/jobs/$id/complete" >"$work_dir/answer" ||
            fail "$id" "$token" "the result was refused: $(head -c 1000 "$work_dir/answer")"
    else
        fail "$id" "$token" "exit code $?: $(tail -n 1 "$work_dir/errors")"
    fi
    kill $heartbeats 2>/dev/null || true
done
