#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# client.sh LIBRARY_FOLDER: runs programs that were compiled against the frozen headers of this folder with the librung
# of that folder: the compiled programs that are committed (x86-64), and the same programs compiled here.
set -eu
here=$RUNG_SOURCE/tests/abi folder=$1
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
export LD_LIBRARY_PATH=$folder RUNG_TUNING=off
unset RUNG_DEVICE RUNG_VERBOSE RUNG_THREADS
for version in "$here"/[0-9]*.[0-9]*; do
    cc -std=c99 -O2 -I"$version" "$version/client.c" -o "$work/client" "$folder/librung.so"
    echo "${version##*/}, compiled here: $("$work/client")" || exit 1
    if [ "$(uname -sm)" = "Linux x86_64" ]; then
        cp "$version/client-x86_64" "$work/frozen" && chmod +x "$work/frozen"
        echo "${version##*/}, committed: $("$work/frozen")" || exit 1
    fi
done
