#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The public headers leave a program's own macros alone, in C and in C++: one that has an X before it includes them
# still has the same X afterwards; and each macro that a header defines and keeps begins with RUNG_.
set -eu
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
include=$RUNG_SOURCE/include
headers="rung/rung.h rung/outofcore.h rung/cluster.h"
# cluster.h declares more after an mpi.h; the MPI's compiler wrapper knows where that is.
mpi=$(command -v mpicc || true)
flags="-I$include"
with_mpi=
if [ -n "$mpi" ]; then
    with_mpi="mpi.h $headers"
    # As a system's folder: warnings about an MPI's header are not ours.
    folders=$(mpicc --showme:compile 2> /dev/null || mpicc -compile_info)
    flags="$flags $(grep -oE -- '-I[^ ]+' <<< "$folders" | sed 's/^-I/-isystem /' | tr '\n' ' ')"
fi

# Each header alone, and all together: none may depend on what another defined.
number=0
# An MPI may come before the headers, or between two inclusions of cluster.h.
for set in $headers "$headers" ${with_mpi:+"$with_mpi" "rung/cluster.h $with_mpi"}; do
    number=$((number + 1))
    {
        echo '#define X(name) own_##name'
        echo '#define TEXT(x) #x'
        for header in $set; do echo "#include <$header>"; done
        echo '#ifndef X'
        echo '#error "X is gone"'
        echo '#endif'
        echo 'int own_value;'
        echo 'int *where(void);'
        echo 'int *where(void) { return &X(value); }'
    } > "$work/$number.c"
    cc -std=c99 -Wall -Wextra -Wpedantic -Werror $flags -c "$work/$number.c" -o "$work/$number.o"
    c++ -std=c++11 -Wall -Wextra -Werror -x c++ $flags -c "$work/$number.c" -o "$work/$number.oo"
done
echo "$number sets of headers, in C and in C++"

# What a header keeps defined: all macros with it, less those that its system headers and an MPI define.
for header in $headers; do
    kept=$(grep -hoE '^ *# *define +[A-Za-z_0-9]+' "$include/$header" | awk '{print $NF}' | sort -u)
    undone=$(grep -hoE '^ *# *undef +[A-Za-z_0-9]+' "$include/$header" | awk '{print $NF}' | sort -u)
    foreign=$(comm -23 <(echo "$kept") <(echo "$undone") | grep -v '^RUNG_' || true)
    [ -z "$foreign" ] || { echo "$header defines $foreign"; exit 1; }
    others=$(echo "$kept" | grep -v '^RUNG_' || true)
    [ -z "$others" ] || { echo "$header uses the names $others, which may be a program's own"; exit 1; }
done
