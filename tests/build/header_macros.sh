#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The public headers work with macros of short names that programs and system headers define, in C and in C++: before
# the headers, a macro keeps its value and changes no declaration; after the headers, it changes no macro of theirs.
# Each macro that a header defines begins with RUNG_.
set -eu
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/public_headers.sh"
# Names of complex.h and of Windows' headers, of compilers (unix, linux), and names that numerical programs use. As a
# number, each of them breaks a declaration that contains the name.
names="A B C D E I K L M N S T X Y Z OK NONE F16 F32 F64 I8 BF16 TF32 RELU GELU STATUS TYPE ERROR INVALID CPU CUDA
       MIN MAX min max abs near far small interface unix linux VERSION API LIST ENTRY TEXT"
define_names() {
    local name value=1000
    echo '#define X(name) own_##name'
    for name in $names; do
        value=$((value + 1))
        [ "$name" = X ] || printf '#undef %s\n#define %s %d\n' "$name" "$name" "$value"
    done
}
check_names() {
    local name value=1000
    for name in $names; do
        value=$((value + 1))
        [ "$name" = X ] || printf '#if !defined(%s) || %s != %d\n#error "%s has changed"\n#endif\n' \
            "$name" "$name" "$value" "$name"
    done
    echo 'int own_value;'
    echo 'int *where(void);'
    echo 'int *where(void) { return &X(value); }'
}
# System headers come first: their identifiers are not ours.
system_includes() {
    local header
    for header in $1; do grep -hoE '^ *# *include +<[^>]+>' "$RUNG_SOURCE/include/$header"; done |
        grep -v '<rung/' | sort -u
}
# Uses macros, an inline function and enumerators of rung.h.
use='int version(void);
int version(void) { return RUNG_VERSION == RUNG_VERSION_MAJOR * 10000 + RUNG_VERSION_MINOR * 100 + RUNG_VERSION_PATCH; }
RUNG_API rung_status declared_by_program(void);
rung_plan_options own_options(void);
rung_plan_options own_options(void) { return rung_plan_options_default(); }
rung_matrix own_matrix(const float *data);
rung_matrix own_matrix(const float *data) { return rung_matrix_of(RUNG_F32, 2, 2, data); }'

# Each header alone, and all together: none may depend on what another defined.
number=0
for set in $headers "$headers"; do
    for order in before after; do
        number=$((number + 1))
        {
            if [ $order = before ]; then
                system_includes "$set"
                define_names
            fi
            for header in $set; do echo "#include <$header>"; done
            [ $order = before ] || define_names
            echo "$use"
            check_names
        } > "$work/$number.c"
        for compiler in "cc -std=c99 -Wpedantic" "c++ -std=c++11 -x c++"; do
            $compiler -Wall -Wextra -Werror $header_flags -fsyntax-only "$work/$number.c" ||
                { echo "macros defined $order $set do not work ($compiler)"; exit 1; }
        done
    done
done
echo "$number programs, in C and in C++"

for header in $headers; do
    foreign=$(grep -hoE '^ *# *(define|undef) +[A-Za-z_0-9]+' "$RUNG_SOURCE/include/$header" | awk '{print $NF}' |
        grep -v '^RUNG_' | sort -u || true)
    [ -z "$foreign" ] || { echo "$header defines $foreign, which may be a program's own"; exit 1; }
done
