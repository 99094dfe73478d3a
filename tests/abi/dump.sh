# SPDX-License-Identifier: Apache-2.0
# Sourced by compare.sh and update. The interface is dumped from the headers: each public function of a header is defined
# without a body in a small library with debug information. That is fast, needs no debug build of librung, and contains
# public types only. The test build_symbols compares the functions of the headers with those of the real libraries.
command -v abidw > /dev/null || { echo "abidw is not installed; run tools/install-test-tools"; exit 77; }

# dump_header HEADER FILE - writes the interface of include/rung/HEADER to FILE, as abidw does.
dump_header() {
    local header=$1 file=$2 name
    local include="-I$RUNG_SOURCE/include -I$RUNG_SOURCE/tests/abi/mpi"
    local lines="#include <mpi.h>
#include <rung/$header>" # cluster.h declares more after an mpi.h
    # Names that this header declares, and not a header that it includes.
    sed -n '/^RUNG_API/,/;/p' "$RUNG_SOURCE/include/rung/$header" | grep -oE '\brung_[a-z0-9_]+\(' | tr -d '(' |
        sort -u > "$work/names"
    {
        echo "$lines"
        echo "$lines" | gcc -std=c11 -E -P $include -x c - | awk -v names="$work/names" '
            BEGIN { while ((getline name < names) > 0) wanted[name] = 1; RS = ";"; mark = "__attribute__((visibility(\"default\")))" }
            {
                gsub(/\n/, " ")
                while ((at = index($0, mark)) > 0)
                    { $0 = substr($0, at + length(mark)); found = 1 }
                if (!found)
                    next
                found = 0
                sub(/\) *__attribute__\(\((__format__|access).*$/, ")") # belongs to declarations only
                match($0, /rung_[a-z0-9_]+ *\(/)
                name = substr($0, RSTART, RLENGTH)
                sub(/ *\($/, "", name)
                if (name in wanted)
                    print $0 " { __builtin_trap(); }"
            }'
    } > "$work/stubs.c"
    [ "$(grep -c '__builtin_trap' "$work/stubs.c")" = "$(wc -l < "$work/names")" ] ||
        { echo "not every function of rung/$header was found"; exit 1; }
    name=${header%.h}
    [ "$name" = rung ] || name=rung-$name
    (cd "$work" && gcc -std=c11 -g -O0 -fPIC -fvisibility=hidden -shared -Wl,-soname,lib$name.so.0 $include \
        stubs.c -o lib$name.so) # the dump has the path of the source as it is given
    abidw --no-show-locs --no-corpus-path --no-comp-dir-path --no-architecture --type-id-style hash \
        --out-file "$file" "$work/lib$name.so"
}

# list_interface FILE - prints a line for each thing of the dump FILE that a program may use: functions with their
# types, fields with their offsets and types, enumerators with their values. Types are abidw's hashes of their names.
list_interface() {
    awk -F"'" '
        function field(name,    i) {
            for (i = 1; i < NF; i += 2)
                if ($i ~ " " name "=$")
                    return $(i + 1)
            return "-"
        }
        /<class-decl / { owner = "struct " field("name") }
        # Passed by value: not even its size may change. Other structs may have fields appended.
        /<class-decl name=.rung_matrix. / { print owner " has " field("size-in-bits") " bits" }
        /<union-decl / { owner = "union " field("name") }
        /<enum-decl / { owner = "enum " field("name") }
        /<data-member / { offset = field("layout-offset-in-bits") }
        /<var-decl / { print owner " field " field("name") " at bit " offset " type " field("type-id") }
        /<enumerator / { print owner " value " field("name") " = " field("value") }
        /<typedef-decl / { print "typedef " field("name") " type " field("type-id") }
        /<function-decl |<function-type / { owner = $0 ~ /function-decl/ ? "function " field("name") : "function type " field("id"); number = 0 }
        /<parameter / { print owner " argument " ++number " type " (/is-variadic/ ? "..." : field("type-id")) }
        /<return / { print owner " returns " field("type-id") " after " number " arguments" }
    ' "$1" | sort
}
