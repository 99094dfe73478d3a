#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The C blocks of README.md and docs/start/first-multiply.md compile without warnings and run. The complete program of
# first-multiply.md is built by the commands of the page and prints what the page says. The other blocks are parts of a program:
# they run in one function each, after a declaration of the names that they use.
set -u
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
bad=0
# The folder as the page describes it: the repository, after the build.
mkdir -p "$work/build"
ln -s "$RUNG_BUILD" "$work/build/release"
ln -s "$RUNG_SOURCE/include" "$work/include"
cd "$work" || exit 1
# blocks PAGE KIND: writes the blocks of a kind to block.1, block.2, ... and prints how many there are.
blocks() {
    rm -f block.*
    awk -v kind="$2" '$0 == "```" kind { inside = 1; ++count; next } /^```$/ { inside = 0 } inside { print > "block." count }
        END { print count + 0 }' "$RUNG_SOURCE/$1"
}

# ---- The complete program --------------------------------------------------------------------------------
page=docs/start/first-multiply.md
[ "$(blocks $page sh)" -eq 1 ] && mv block.1 commands || { echo "$page has not one block of commands"; exit 1; }
[ "$(blocks $page text)" -eq 1 ] && mv block.1 expected || { echo "$page has not one block of output"; exit 1; }
blocks $page c > count
program=$(grep -l 'int main' block.*) && cp "$program" first.c || { echo "$page has no complete program"; exit 1; }
bash -e commands > output 2>&1 || { cat output; echo "$page: the commands fail"; bad=1; }
diff expected output || { echo "$page: the program prints something else"; bad=1; }

# ---- Parts of programs -----------------------------------------------------------------------------------
# The last line of each function says what the block must have computed.
write_function() { # FILE NUMBER CHECK
    cat <<END
static int part_$2(void)
{
    int64_t m = 2, n = 2, k = 3, lda = 2, heads = 1;
    float a_data[] = {1, 2, 3, 4, 5, 6}, b_data[] = {1, 0, 0, 1, 1, 1}, c_data[4] = {0}, bias_data[] = {1, 2};
    rung_matrix a = rung_matrix_of(RUNG_F32, m, k, a_data), b = rung_matrix_of(RUNG_F32, k, n, b_data);
    rung_matrix c = rung_matrix_of(RUNG_F32, m, n, c_data), bias = rung_matrix_of(RUNG_F32, 1, n, bias_data);
    (void)lda, (void)heads, (void)a, (void)b, (void)c, (void)bias;
    {
$(grep -v '^#include' "$1")
$3
    }
}
END
}
parts=0
{
    printf '#include <rung/rung.h>\n#include <stdint.h>\n#include <stdio.h>\n'
    for block in block.*; do
        [ "$block" = "$program" ] && continue
        parts=$((parts + 1))
        if grep -q 'rung_matrix_transpose' "$block"; then
            write_function "$block" $parts 'return at.rows == 3 && block.cols == 2 && blas.rows == 2;'
        else
            write_function "$block" $parts 'return status == RUNG_OK && c_data[0] > 4.9f && c_data[3] > 12.9f;'
        fi
    done
    blocks README.md c >> count
    parts=$((parts + 1))
    write_function block.1 $parts 'return c_data[0] == 4 && c_data[1] == 5 && c_data[2] == 10 && c_data[3] == 11;'
    printf 'int main(void)\n{\n    return part_1() && part_2() && part_3() ? 0 : 1;\n}\n'
} > parts.c
[ "$(paste -sd ' ' count)" = "3 1" ] || { echo "the pages have other blocks ($(paste -sd ' ' count)) than this test expects (3 1): add them to it"; bad=1; }
cc -std=c11 -Wall -Wextra -Werror -Wno-shadow parts.c -o parts -I include -L build/release -lrung -Wl,-rpath,"$work/build/release" ||
    { echo "a C block of README.md or $page does not compile"; exit 1; }
./parts || { echo "a C block of README.md or $page computes something else"; bad=1; }
exit $bad
