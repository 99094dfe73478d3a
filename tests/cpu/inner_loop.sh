# SPDX-License-Identifier: Apache-2.0
# Read by port_model.sh and port_model_aarch64.sh.

# inner_loop FUNCTION COMMENT JUMP MULTIPLICATION END: reads the output of objdump and prints the innermost loop of a function that
# has most multiplications, as assembly. COMMENT, JUMP and MULTIPLICATION are patterns: of what follows an instruction, of jumps,
# and of multiplications. END is the jump that ends the loop.
inner_loop() {
    awk -v name="<$1>:" -v comment="$2" -v jump="$3" -v multiplication="$4" -v end_of_loop="$5" '
        /^[0-9a-f]+ </ { inside = $2 == name; next }
        inside && /^ *[0-9a-f]+:/ {
            address[++count] = $1; sub(":", "", address[count])
            at[address[count]] = count
            $1 = ""; sub(comment, "")
            text[count] = $0
        }
        END {
            for (i = 1; i <= count; i++) {
                words = split(text[i], word, " ")
                if (word[1] !~ jump || !(word[words] in at) || at[word[words]] > i)
                    continue
                first = at[word[words]]; multiplications = 0
                for (j = first; j <= i; j++)
                    multiplications += text[j] ~ multiplication
                if (first > last_end && multiplications > most) { most = multiplications; begin = first; end = i }
                last_end = i
            }
            print ".Lloop:"
            for (i = begin; most && i <= end; i++)
                print i == end ? " " end_of_loop " .Lloop" : text[i]
        }'
}
