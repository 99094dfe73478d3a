#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# debian.sh [RESULT] - builds the Debian packages from the source tarball without a network, installs them in a new
# Debian 12 and uses them there, and writes the commands with their outputs to RESULT. Needs root, debootstrap, debhelper and
# lintian; takes 5 to 20 minutes. RUNG_DEBIAN_BASE names a folder made by debootstrap (--variant=minbase
# --include=gcc,libc6-dev,pkg-config,libblas3 bookworm) to start from, RUNG_DEBS a folder with packages of this commit.
set -eu
source=${RUNG_SOURCE:-$(realpath "$(dirname "$0")/../..")}
result=$(realpath -m "${1:-/dev/stdout}")
[ "$(id -u)" -eq 0 ] || { echo "skipped: debootstrap and chroot need root"; exit 77; }
for tool in debootstrap lintian dh; do
    command -v $tool > /dev/null || { echo "skipped: $tool is not here (apt-get install debootstrap lintian debhelper)"; exit 77; }
done
work=$(mktemp -d) && trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2> /dev/null |
    awk '$1 == "URIs:" { print $2; exit } $1 == "deb" { print $2 ~ /^\[/ ? $3 : $2; exit }')

# ---- The packages ----------------------------------------------------------------------------------------
debs=${RUNG_DEBS:-}
if [ -z "$debs" ]; then
    debs=$work/debs
    "$source/tools/make-deb" "$debs"
fi
lintian --fail-on error "$debs"/*.deb > "$work/lintian" 2>&1 || { cat "$work/lintian"; echo "lintian finds errors"; exit 1; }

# ---- A new system ------------------------------------------------------------------------------------------
if [ -n "${RUNG_DEBIAN_BASE:-}" ]; then
    cp -a "$RUNG_DEBIAN_BASE" "$root"
else
    debootstrap --variant=minbase --include=gcc,libc6-dev,pkg-config,libblas3 bookworm "$root" "$mirror" > "$work/log" 2>&1 ||
        { tail -n 5 "$work/log"; echo "debootstrap failed"; exit 1; }
fi
mkdir "$root/root/debs"
cp "$debs"/*.deb "$root/root/debs/"
cat > "$root/root/hello.c" <<'PROGRAM'
#include <rung/rung.h>
#include <stdio.h>

int main(void)
{
    float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 0, 1, 1, 1}, c[4];
    rung_status status = rung_gemm(NULL, 1.0, rung_matrix_of(RUNG_F32, 2, 3, a), rung_matrix_of(RUNG_F32, 3, 2, b), 0.0,
                                   rung_matrix_of(RUNG_F32, 2, 2, c));
    printf("%s %g %g %g %g\n", rung_status_text(status), c[0], c[1], c[2], c[3]);
    return status != RUNG_OK;
}
PROGRAM
cat > "$root/root/blas.c" <<'PROGRAM'
#include <stdio.h>

void cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);

int main(void)
{
    float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 0, 1, 1, 1}, c[4];
    cblas_sgemm(101, 111, 111, 2, 2, 3, 1, a, 3, b, 2, 0, c, 2);
    printf("%g %g %g %g\n", c[0], c[1], c[2], c[3]);
    return 0;
}
PROGRAM
# Each command, and a pattern of a line that it must print.
cat > "$root/root/commands" <<'END'
dpkg -i debs/*.deb | grep -c '^Setting up'	^4$
rung --version	^rung [0-9.]+$
rung devices	cpu
rung verify --device cpu --kernels 10 --suite quick	10_pipeline
rung plan --machine dgx-a100 --m 20000 --ranks 64 --dtype f64	of peak
cc hello.c -o hello $(pkg-config --cflags --libs rung) && ./hello	success 4 5 10 11
cc blas.c -o blas /usr/lib/*-linux-gnu/libblas.so.3 && ./blas	4 5 10 11
RUNG_VERBOSE=1 LD_PRELOAD=librung-blas.so.0 ./blas 2>&1	2x2x3 f32
rung emulate true && echo the program ran	the program ran
ldconfig -p | grep -c 'libcuda\.so' || true	^0$
dpkg --purge rung librung-dev librung-blas0 librung0 > /dev/null && find / -xdev -path /root -prune -o -path /proc -prune -o -name '*rung*' -print | wc -l	^0$
END
cat > "$root/root/run" <<'END'
cd /root
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
bad=0
while IFS=$'\t' read -r command expected <&3; do
    echo "\$ $command"
    bash -c "$command" > output 2> errors < /dev/null
    code=$?
    cat output
    if [ $code -ne 0 ] || ! grep -qE -- "$expected" output; then
        cat errors
        echo "FAILED: exit code $code; expected a line with '$expected'"
        bad=1
    fi
done 3< commands
exit $bad
END
code=0
unshare --net --mount --pid --fork --kill-child bash -c '
    mount -t proc proc "$0/proc" && mount -t sysfs -o ro sysfs "$0/sys" || exit
    exec env -i PATH="$PATH" chroot "$0" /bin/bash /root/run' "$root" > "$work/output" 2>&1 || code=$?
{
    echo "# The Debian packages, built from the source tarball without a network, in a new Debian $(cat "$root/etc/debian_version") without a"
    echo "# network. Written by tests/packaging/debian.sh."
    for deb in "$debs"/*.deb; do
        echo "$(basename "$deb"): $(stat -c %s "$deb") bytes; depends on $(dpkg-deb --field "$deb" Depends)"
    done
    echo "lintian: $(grep -c '^E:' "$work/lintian" || true) errors, $(grep -c '^W:' "$work/lintian" || true) warnings"
    cat "$work/output"
} > "$result"
[ $code -eq 0 ] || { cat "$work/output"; echo "the packages do not work in Debian"; exit 1; }
echo "$(grep -c '^\$ ' "$work/output") commands succeed in a new Debian"
