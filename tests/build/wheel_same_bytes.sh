#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wheel_same_bytes.sh [PROCESSOR ...] - builds the wheel of HEAD for each processor (default: x86_64 aarch64) in two clones
# whose paths have different lengths. Both must have the same bytes. Without embedded CUDA kernels, which take minutes to
# compile; these are data that the wheel only contains.
set -eu
git -C "$RUNG_SOURCE" rev-parse --verify --quiet HEAD > /dev/null || { echo "no repository here"; exit 77; }
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
export RUNG_IMAGES=OFF
# build FOLDER PROCESSOR: the clones share the compiler.
build() {
    if [ ! -d "$1" ]; then
        git clone -q "$RUNG_SOURCE" "$1"
        mkdir -p "$RUNG_SOURCE/build/wheel/tools" "$1/build/wheel"
        ln -s "$RUNG_SOURCE/build/wheel/tools" "$1/build/wheel/tools"
    fi
    "$1/tools/build-wheel" "$2" "$1/dist" > "$work/log" 2>&1 || { tail -n 20 "$work/log"; echo "tools/build-wheel $2 failed"; exit 1; }
}
first=$work/a second=$work/another/folder/with/a/longer/name bad=0
[ $# -gt 0 ] || set -- x86_64 aarch64
for processor; do
    build "$first" "$processor"
    build "$second" "$processor"
    wheel=$(basename "$first"/dist/rung-*_"$processor".whl)
    if cmp "$first/dist/$wheel" "$second/dist/$wheel"; then
        echo "$wheel: the same $(stat -c %s "$first/dist/$wheel") bytes twice, sha256 $(sha256sum < "$first/dist/$wheel" | cut -d ' ' -f 1)"
    else
        bad=1
        echo "two builds of $wheel differ in these files; find out what of the folder or the time they contain:"
        python3 - "$first/dist/$wheel" "$second/dist/$wheel" <<'END'
import sys, zipfile
one, other = ({i.filename: (i.CRC, i.date_time, i.external_attr) for i in zipfile.ZipFile(f).infolist()} for f in sys.argv[1:])
print("\n".join(sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))))
END
    fi
done
exit $bad
