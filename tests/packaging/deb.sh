#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Debian packages of this build: their names and files, what they depend on, and what lintian says. The test
# packaging_debian compiles the packages and installs them.
set -u
command -v lintian > /dev/null && command -v dh > /dev/null || { echo "lintian or debhelper is not here"; exit 77; }
git -C "$RUNG_SOURCE" rev-parse --verify --quiet HEAD > /dev/null || { echo "no repository here"; exit 77; }
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
bad=0
"$RUNG_SOURCE/tools/make-deb" --from "$RUNG_BUILD" "$work/debs" > "$work/log" 2>&1 || { tail -n 30 "$work/log"; exit 1; }
version=$("$RUNG_SOURCE/tools/project-version")
# has PACKAGE PATTERN...: the package contains a file that matches each pattern.
has() {
    local package=$1 pattern files
    shift
    files=$(dpkg-deb --contents "$work/debs/${package}_$version"-1_*.deb | awk '{ print $6 }') || { bad=1; return; }
    for pattern in "$@"; do
        grep -qE "^\./$pattern\$" <<< "$files" || { echo "$package has no $pattern"; bad=1; }
    done
}
library='usr/lib/[a-z0-9_]*-linux-gnu[a-z]*'
has librung0 "$library/librung\.so\.0" "$library/librung-outofcore\.so\.0" "$library/librung-cluster\.so\.0" "$library/librung-emulator\.so\.0" "$library/librung-weights\.so\.0"
has librung-dev usr/include/rung/rung.h "$library/librung\.so" "$library/pkgconfig/rung\.pc" "$library/cmake/rung/rungConfig\.cmake"
has librung-blas0 "$library/librung-blas\.so\.0"
has rung usr/bin/rung usr/share/man/man1/rung-bench\.1\.gz usr/share/bash-completion/completions/rung "$library/rung/emulated/libcuda\.so\.1" \
    usr/share/rung/machines/dgx-a100\.txt usr/share/rung/tasks/vector_add/task\.toml
[ "$(find "$work/debs" -name '*.deb' | wc -l)" -eq 4 ] || { ls "$work/debs"; echo "there are not four packages"; bad=1; }
depends() { dpkg-deb --field "$work/debs/$1"_*.deb Depends; }
depends rung | grep -qE "librung0 \(>= $version\)" || { depends rung; echo "rung does not depend on librung0 of its version"; bad=1; }
for package in "$work"/debs/*.deb; do
    ! dpkg-deb --field "$package" Depends | grep -qiE 'opencl|cuda|mpi|nvidia' || { echo "$package depends on a driver"; bad=1; }
done
# A copy of a file that no package has is a file that was forgotten.
lintian --fail-on error --no-tag-display-limit "$work"/debs/*.deb > "$work/lintian" 2>&1 || { cat "$work/lintian"; echo "lintian finds errors"; bad=1; }
grep -c '^W:' "$work/lintian" | sed 's/$/ warnings of lintian/'
du -ck "$work"/debs/*.deb | sed "s,$work/debs/,,"
exit $bad
