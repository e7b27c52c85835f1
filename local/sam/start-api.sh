#!/usr/bin/env bash
# start-api.sh [options of sam local start-api]
# Serves the API with `sam local start-api`: the built functions, in containers shaped like Lambda, one per
# function. Schedules do not run here; a claim that finds nothing ready takes up expired leases itself.
#   PORT                      where to serve (3000)
#   DYNAMODB_ENDPOINT_URL     an engine that already runs, in place of the project's own
#   JOBS_TABLE, CONTROL_TABLE real tables, reached with your AWS credentials
source "$(dirname "${BASH_SOURCE[0]}")/docker.sh"
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
port=${PORT:-3000}
engine_port=${ENGINE_PORT:-8000}
python=.venv/bin/python
here_from_container=host.docker.internal
data=.local/sam
engine_pid=
sam_pid=

# SAM goes first: it removes its containers, for which it needs the daemon.
stop() {
    trap '' INT TERM
    for pid in $sam_pid $engine_pid; do
        kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null || true
    done
    stop_docker
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

answers() { (exec 3<>"/dev/tcp/$1/$2") 2>/dev/null; }

# The address by which containers reach this machine, if it is one of ours (Linux's bridge, which nobody else
# reaches). Docker Desktop's is not, but hands everything on to 127.0.0.1.
engine_host() {
    local gateway
    gateway=$(docker run --rm --add-host "$here_from_container:host-gateway" --entrypoint cat "$IMAGE" /etc/hosts |
        awk -v name="$here_from_container" '$2 == name {print $1; exit}')
    if "$python" -c "import socket; socket.create_server(('$gateway', 0))" 2>/dev/null; then
        echo "$gateway"
    else
        echo 127.0.0.1
    fi
}

# Sets DYNAMODB_ENDPOINT_URL to an engine of our own.
start_engine() {
    local host
    host=$(engine_host)
    # Data of its own, so that no other program has the file open.
    "$python" -m local.engine --host "$host" --port "$engine_port" --data "$data" &
    engine_pid=$!
    until answers "$host" "$engine_port"; do
        kill -0 "$engine_pid" 2>/dev/null || exit 1
        sleep 0.2
    done
    DYNAMODB_ENDPOINT_URL=http://$here_from_container:$engine_port
}

create_tables() {
    "$python" - <<'PYTHON'
import os

from local.tables import create_missing_tables, local_client
from local.template import load_template, table_definitions

create_missing_tables(local_client(os.environ["DYNAMODB_ENDPOINT_URL"]), table_definitions(load_template()).values())
PYTHON
}

answers 127.0.0.1 "$port" && die "port $port is in use; choose another with PORT=…"
[ -n "${JOBS_TABLE:-}" ] || [ -x "$python" ] || die "no $python, which the engine needs; make sam-local makes it"
find_sam
find_python
local/sam/build.sh
ensure_docker
ensure_image

if [ -n "${JOBS_TABLE:-}" ]; then
    [ -n "${CONTROL_TABLE:-}" ] || die "JOBS_TABLE needs CONTROL_TABLE beside it"
else
    JOBS_TABLE=JobsTable
    CONTROL_TABLE=ControlTable
    if [ -n "${DYNAMODB_ENDPOINT_URL:-}" ]; then create_tables; else start_engine; fi
    # No real credentials go to an engine that takes any.
    export AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local
    unset AWS_SESSION_TOKEN AWS_PROFILE
fi
# Within a container, localhost is the container.
endpoint=$(sed -E "s#//(localhost|127\.0\.0\.1)#//$here_from_container#" <<<"${DYNAMODB_ENDPOINT_URL:-}")
mkdir -p "$data"
cat >"$data/env.json" <<JSON
{"Parameters": {
  "DYNAMODB_ENDPOINT_URL": "$endpoint",
  "JOBS_TABLE": "$JOBS_TABLE",
  "CONTROL_TABLE": "$CONTROL_TABLE"
}}
JSON

say "serving on http://127.0.0.1:$port; the first call of each function takes some seconds longer"
# Containers that stay: otherwise each request would make one anew.
# shellcheck disable=SC2086 # PULL may be no word at all
"$SAM" local start-api --port "$port" $PULL --warm-containers LAZY \
    --add-host "$here_from_container:host-gateway" --env-vars "$data/env.json" "$@" &
sam_pid=$!
wait "$sam_pid"
