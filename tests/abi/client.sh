#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# client.sh LIBRARY_FOLDER: runs programs that were compiled against the frozen headers of this folder with the librung
# of that folder: the compiled programs that are committed (x86-64), and the same programs compiled here.
set -eu
here=$RUNG_SOURCE/tests/abi folder=$1
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
export LD_LIBRARY_PATH=$folder RUNG_TUNING=off
unset RUNG_DEVICE RUNG_VERBOSE RUNG_THREADS
# run_client PROGRAM NAME - runs a program, and exits with 1 if it fails.
run_client() {
    local said
    said=$("$1") || { echo "$2: $said"; exit 1; }
    echo "$2: $said"
}
for version in "$here"/[0-9]*.[0-9]*; do
    cc -std=c99 -O2 -I"$version" "$version/client.c" -o "$work/client" "$folder/librung.so"
    run_client "$work/client" "${version##*/}, compiled here"
    if [ "$(uname -sm)" = "Linux x86_64" ]; then
        cp "$version/client-x86_64" "$work/frozen" && chmod +x "$work/frozen"
        run_client "$work/frozen" "${version##*/}, committed"
    fi
done
