# Sourced by start-api.sh: a Docker daemon, and in it the image that SAM runs functions in.
# shellcheck shell=bash
IMAGE=public.ecr.aws/lambda/python:3.13-x86_64
# Outside the project, so that one image serves every clone of it.
DOCKER_HOME=${XDG_CACHE_HOME:-$HOME/.cache}/job-retry-docker
DOCKERD_PID=
MADE_HERE=job-retry.made-here
# An option of SAM's, or nothing.
export PULL=

# Uses the daemon that runs. On a bare Debian or Ubuntu, as root, starts one of its own, installing it first.
ensure_docker() {
    docker info >/dev/null 2>&1 && return
    [ "$(id -u)" = 0 ] || die "Docker does not answer; start it, or install it (https://docs.docker.com/get-docker/)"
    command -v dockerd >/dev/null || install_packages docker.io iptables
    mkdir -p "$DOCKER_HOME"
    export DOCKER_HOST=unix://$DOCKER_HOME/docker.sock
    say "starting a Docker daemon for this run (log: $DOCKER_HOME/dockerd.log)"
    # A session of its own: Ctrl-C must reach it last, once SAM has removed its containers.
    setsid dockerd --host "$DOCKER_HOST" --data-root "$DOCKER_HOME/data" --exec-root "$DOCKER_HOME/run" \
        --pidfile "$DOCKER_HOME/dockerd.pid" >"$DOCKER_HOME/dockerd.log" 2>&1 &
    DOCKERD_PID=$!
    for _ in $(seq 60); do
        docker info >/dev/null 2>&1 && return
        kill -0 "$DOCKERD_PID" 2>/dev/null || break
        sleep 0.5
    done
    die "the Docker daemon did not start: $(tail -1 "$DOCKER_HOME/dockerd.log")"
}

stop_docker() {
    [ -z "$DOCKERD_PID" ] || { kill "$DOCKERD_PID" 2>/dev/null && wait "$DOCKERD_PID" 2>/dev/null; } || true
}

# Takes AWS's image if it is here or can be pulled, and makes one of its shape where neither is so.
# Sets PULL to SAM's option not to replace it, in the latter case.
ensure_image() {
    if ! docker image inspect "$IMAGE" >/dev/null 2>&1; then
        say "pulling $IMAGE"
        docker pull --quiet "$IMAGE" >/dev/null 2>&1 || make_image
    fi
    if [ "$(docker image inspect --format "{{index .Config.Labels \"$MADE_HERE\"}}" "$IMAGE")" = yes ]; then
        PULL=--skip-pull-image
    fi
}

make_image() {
    local folder
    folder=$(mktemp -d)
    say "it cannot be pulled: making an image of its shape from $PYTHON313"
    command -v busybox >/dev/null || install_packages busybox-static
    local/sam/lambda-image.sh "$PYTHON313" "$folder/image.tar"
    docker import --platform linux/amd64 \
        --change 'ENV LANG=en_US.UTF-8 TZ=:/etc/localtime PATH=/var/lang/bin:/usr/bin:/bin LD_LIBRARY_PATH=/var/lang/lib:/lib64:/opt/lib' \
        --change 'ENV LAMBDA_TASK_ROOT=/var/task LAMBDA_RUNTIME_DIR=/var/runtime SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt' \
        --change 'WORKDIR /var/task' --change 'ENTRYPOINT ["/lambda-entrypoint.sh"]' --change "LABEL $MADE_HERE=yes" \
        "$folder/image.tar" "$IMAGE" >/dev/null
    rm -r "$folder"
}

install_packages() {
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then die "missing: $*; install what your system calls them"; fi
    say "installing Debian packages: $*"
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "$@"; } >/dev/null
}
