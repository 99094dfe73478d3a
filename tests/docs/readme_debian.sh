#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# readme_debian.sh [RESULT [PAGE]] - runs every command of a page, README.md by default, in a new Debian 12 that has nothing
# but the packages that the page installs, and writes each command with its exit code to RESULT. Commands for Windows are left
# out. Needs root and about 3 GB in TMPDIR, takes 10 to 60 minutes, and uses the mirror of this machine's apt configuration.
# RUNG_DEBIAN_BASE names a folder made by debootstrap (--variant=minbase bookworm) to start from.
set -eu
release=bookworm
source=${RUNG_SOURCE:-$(realpath "$(dirname "$0")/../..")}
result=${1:-/dev/stdout} page=${2:-README.md}
[ "$(id -u)" -eq 0 ] || { echo "skipped: debootstrap and chroot need root"; exit 77; }
work=$(mktemp -d) && trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root child=
trap '[ -z "$child" ] || kill -KILL "$child"; exit 143' HUP INT TERM

# ---- A new system ------------------------------------------------------------------------------------

# The first mirror that apt is configured to use, in either format of its sources.
mirror() {
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2> /dev/null |
        awk '$1 == "URIs:" { print $2; exit } $1 == "deb" { print $2 ~ /^\[/ ? $3 : $2; exit }'
}

make_system() {
    local tool
    if [ -n "${RUNG_DEBIAN_BASE:-}" ]; then
        cp -a "$RUNG_DEBIAN_BASE" "$root"
        return
    fi
    tool=$(command -v debootstrap || true)
    if [ -z "$tool" ]; then # not installed here: take it out of its package
        (cd "$work" && apt-get download -qq debootstrap > /dev/null 2>&1 && dpkg-deb -x debootstrap_*.deb tool) ||
            { echo "skipped: debootstrap is neither here nor to be had"; exit 77; }
        export DEBOOTSTRAP_DIR=$work/tool/usr/share/debootstrap
        tool=$work/tool/usr/sbin/debootstrap
    fi
    "$tool" --variant=minbase $release "$root" "$(mirror)" > "$work/debootstrap.log" 2>&1 ||
        { tail -n 5 "$work/debootstrap.log"; echo "debootstrap failed"; exit 1; }
}

# Where packages come from, and names of hosts; a newcomer answers yes, and has sudo.
configure() {
    cp /etc/resolv.conf /etc/hosts "$root/etc/"
    rm -f "$root"/etc/apt/sources.list
    cp /etc/apt/sources.list "$root/etc/apt/" 2> /dev/null || true
    cp /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources "$root/etc/apt/sources.list.d/" 2> /dev/null || true
    [ -z "${PIP_CERT:-}" ] || cp "$PIP_CERT" "$root/root/certificates" # those of this machine's proxy
    apt-config dump Acquire::Check-Valid-Until > "$root/etc/apt/apt.conf.d/90machine"
    echo 'APT::Get::Assume-Yes "true";' > "$root/etc/apt/apt.conf.d/90yes"
    echo force-unsafe-io > "$root/etc/dpkg/dpkg.cfg.d/90fast"
    printf '#!/bin/sh\nexec "$@"\n' > "$root/usr/local/bin/sudo"
    chmod +x "$root/usr/local/bin/sudo"
    mkdir -p "$root/root/rung"
    # As it would be cloned, with what is not committed yet.
    git -C "$source" ls-files -z -co --exclude-standard |
        (cd "$source" && tar -c --null -T - --ignore-failed-read 2> /dev/null) | tar -x --no-same-owner -C "$root/root/rung"
}

# ---- The commands ------------------------------------------------------------------------------------

# Inside: runs each command in one shell, as one types them, and notes its exit code and seconds.
cat > "$work/type" << 'END'
cd /root/rung
export HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive CMAKE_BUILD_PARALLEL_LEVEL=$(nproc)
export PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin
apt-get update -qq > /root/log 2>&1 || { tail -n 3 /root/log; echo "apt-get update failed" ; exit 1; }
whole=
while IFS= read -r line <&3; do
    whole=$whole$line
    case $line in *\\) whole=$whole$'\n'; continue ;; '') continue ;; esac
    started=$SECONDS
    echo "+ $whole" >> /root/log
    eval "$whole" >> /root/log 2>&1 < /dev/null
    code=$?
    echo "exit $code  $((SECONDS - started)) s  ${whole//$'\\\n'/}" | tee -a /root/result
    [ $code -eq 0 ] || tail -n 25 /root/log
    whole=
done 3< /root/commands
END

make_system
configure
awk '/^## / { skipped = /Windows/ } /^```sh$/ { inside = !skipped; next } /^```$/ { inside = 0 } inside' "$source/$page" > "$root/root/commands"
[ "$(grep -c . "$root/root/commands")" -gt 5 ] || { echo "$page has no commands?"; exit 1; }
cp "$work/type" "$root/root/type"
# Mounts of its own, which end with it; of this machine's environment only how to reach the network.
unshare --mount --pid --fork --kill-child bash -c '
    mount -t proc proc "$0/proc" && mount -t sysfs -o ro sysfs "$0/sys" && mount -t tmpfs tmpfs "$0/dev/shm" || exit
    exec env -i PATH="$PATH" ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
        ${PIP_CERT:+PIP_CERT=/root/certificates} chroot "$0" /bin/bash /root/type' "$root" &
child=$!
wait "$child" || { echo "the commands could not be run"; exit 1; }
child=

{
    echo "# The commands of $page in Debian $(cat "$root/etc/debian_version") with nothing but what it installs: exit codes and"
    echo "# seconds. Written by tests/docs/readme_debian.sh."
    cat "$root/root/result"
} > "$result"
commands=$(grep -c '^exit ' "$root/root/result") wrong=$(grep -vc '^exit 0 ' "$root/root/result" || true)
echo "$((commands - wrong)) of $commands commands of $page succeed"
[ "$wrong" -eq 0 ]
