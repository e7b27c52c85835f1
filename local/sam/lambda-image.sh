#!/usr/bin/env bash
# lambda-image.sh PYTHON OUT.tar
# Makes a root file system in the shape of AWS's Lambda image for Python, for machines that cannot pull it:
# a Python of this machine, busybox, and AWS's runtime client. x86_64 Linux with glibc only.
set -euo pipefail
[ "$(uname -sm)" = "Linux x86_64" ] || { echo "lambda-image.sh: works on x86_64 Linux only" >&2; exit 1; }
python=$(readlink -f "$1")
out=$2
read -r version prefix < <("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2], sys.base_prefix)')
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
libraries=$root/usr/lib/x86_64-linux-gnu
mkdir -p "$root"/{bin,dev,etc/ssl/certs,lib64,opt,proc,root,sys,usr/bin,var/lang/{bin,lib},var/rapid,var/runtime,var/task} "$libraries"
mkdir -m 1777 "$root/tmp" "$root/var/tmp"
chmod 755 "$root"
ln -s usr/lib "$root/lib"

# SAM adds its own layer to the image with shell commands.
busybox=$(command -v busybox)
cp -L "$busybox" "$root/bin/busybox"
for applet in $("$busybox" --list); do
    [ "$applet" = busybox ] || ln -sf busybox "$root/bin/$applet"
done
ln -s /bin/env "$root/usr/bin/env"

# Python, without what no function imports. What is in site-packages is this machine's business, not Lambda's.
mapfile -t shared < <(cd "$prefix" && ls lib/libpython"$version".so* 2>/dev/null)
tar -C "$prefix" --create --exclude="lib/python$version"/{test,idlelib,tkinter,turtledemo,'config-*','site-packages/*','lib-dynload/_tkinter*'} \
    --exclude='*.a' "bin/python$version" "lib/python$version" "${shared[@]}" | tar -C "$root/var/lang" --extract
ln -s "python$version" "$root/var/lang/bin/python3"
ln -s python3 "$root/var/lang/bin/python"

# The shared libraries of both, and the loader, where the loader looks by default.
linked() { ldd "$@" 2>/dev/null | awk '/=> \//{print $3} /^[ \t]*\//{print $1}' | grep -v ':$' || true; }
{
    linked "$busybox" "$python"
    find "$root/var/lang" -name '*.so*' -type f | while read -r module; do linked "$module"; done
    # Compiled wheels want these too.
    for name in libdl.so.2 libm.so.6 libnss_dns.so.2 libnss_files.so.2 libpthread.so.0 libresolv.so.2 librt.so.1 libutil.so.1 libgcc_s.so.1 libstdc++.so.6; do
        /sbin/ldconfig -p | awk -v name="$name" '$1 == name && /x86-64/ && !found {print $NF; found = 1}'
    done
} | sort -u | while read -r library; do
    case $library in
        "$prefix"/* | "$root"/*) ;;
        /lib64/ld-*) cp -L "$library" "$root/lib64/" ;;
        *) cp -L "$library" "$libraries/" ;;
    esac
done

# The client that fetches events from Lambda's runtime interface and calls the handler. The SDK stays out:
# the layer brings its own, and a function that relied on the image's would hide a gap in it.
env -u PYTHONDONTWRITEBYTECODE "$python" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
    --only-binary=:all: --target "$root/var/runtime" awslambdaric
cat >"$root/var/runtime/bootstrap.py" <<PY
import os
import sys

# Lambda's order: the function, its layers, the runtime.
sys.path[:0] = [os.environ["LAMBDA_TASK_ROOT"], "/opt/python/lib/python$version/site-packages", "/opt/python"]
from awslambdaric.__main__ import main

main([sys.argv[0], os.environ["_HANDLER"]])
PY
cat >"$root/lambda-entrypoint.sh" <<'SH'
#!/bin/sh
export _HANDLER="$1"
exec /var/runtime/bootstrap
SH
cat >"$root/var/runtime/bootstrap" <<SH
#!/bin/sh
export AWS_EXECUTION_ENV=AWS_Lambda_python$version
exec /var/lang/bin/python$version /var/runtime/bootstrap.py
SH
chmod 755 "$root/lambda-entrypoint.sh" "$root/var/runtime/bootstrap"

echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
echo 'root:x:0:' >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
tar -C "$root" --numeric-owner --owner=0 --group=0 --create --file "$out" .
