# Sourced by the scripts beside it: where things are, and the two tools they all need.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

export SAM_CLI_TELEMETRY=0
# SAM wants a region even where nothing leaves this machine. Real tables are where your settings say.
[ -n "${JOBS_TABLE:-}" ] || export AWS_DEFAULT_REGION=${AWS_DEFAULT_REGION:-${AWS_REGION:-us-east-1}}

say() { echo "$(basename "$0"): $*" >&2; }
die() { say "$*"; exit 1; }

# Sets SAM to the command line on PATH, or else to our own, installed when missing.
find_sam() {
    if SAM=$(command -v sam); then return; fi
    SAM=$PWD/.venv-sam/bin/sam
    [ -x "$SAM" ] && return
    say "no sam on PATH: installing it into .venv-sam (once, about a minute)"
    python3 -m venv .venv-sam
    .venv-sam/bin/pip install --quiet --disable-pip-version-check -r local/sam/requirements.txt
}

# Sets PYTHON313 and puts it on PATH, where `sam build` looks for it. The interpreter itself is wanted:
# a pyenv shim answers only where its version is switched on.
find_python() {
    local candidate
    for candidate in "$(command -v python3.13 || true)" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.13.*/bin/python3.13; do
        PYTHON313=$("$candidate" -c 'import sys; print(sys.base_prefix + "/bin/python3.13")' 2>/dev/null || true)
        if [ -x "$PYTHON313" ]; then
            export PATH=${PYTHON313%/*}:$PATH
            return
        fi
    done
    die "python3.13 is needed, which the functions run on; neither PATH nor pyenv has it"
}
