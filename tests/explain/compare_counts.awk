# compare_counts.awk - compares two lists of rows of access_counts.jq; the first `old` rows are the older ones. Prints the
# rows that differ, with the reason, and how many are equal. Fails if a difference has no reason.
BEGIN {
    split("width requests lanes bytes sectors lines sectors_ideal wavefronts wavefronts_ideal", name, " ")
    WIDTH = 1; REQUESTS = 2; BYTES = 4; SECTORS = 5; LINES = 6; WAVEFRONTS = 8
}
{
    key = $2 "\t" $3 "\t" $4 "\t" $5
    array = $2 "\t" $4 "\t" $5
    is_new = NR > old
    type = $1
    for (i = 1; i <= 9; i++) {
        count[is_new, key, i] = $(i + 5)
        sum[is_new, array, i] += $(i + 5)
    }
    has[is_new, key] = 1
    if (!(key in array_of))
        keys[++key_count] = key
    array_of[key] = array
}
function differs(i) { return count[0, key, i] + 0 != count[1, key, i] + 0 }
function reason(    array, i) {
    array = array_of[key]
    if (key ~ /^11_wmma/ && (key ~ /_tile$/))
        return "wmma.load and wmma.store are counted element by element; Oclgrind counted the instruction that a GPU has"
    if (!has[0, key] || !has[1, key] || differs(BYTES)) {
        if (sum[0, array, BYTES] == sum[1, array, BYTES])
            return "NVRTC gives some instructions another line: the sum of all lines is equal"
        if (has[0, key] && !has[1, key] && count[0, key, REQUESTS] == 0)
            return "no request"
    } else if (count[1, key, REQUESTS] < count[0, key, REQUESTS] && count[1, key, WIDTH] > count[0, key, WIDTH])
        return "the compiler merges accesses of " count[0, key, WIDTH] " bytes"
    else if (!differs(REQUESTS) && !differs(SECTORS) && !differs(LINES) && count[1, key, WIDTH] == 16 &&
             count[1, key, WAVEFRONTS] < count[0, key, WAVEFRONTS])
        return "loads of 16 bytes take 2 wavefronts if pairs of lanes read the same address"
    return ""
}
END {
    for (k = 1; k <= key_count; k++) {
        key = keys[k]
        text = ""
        for (i = 1; i <= 9; i++)
            if (differs(i))
                text = text " " name[i] " " count[0, key, i] + 0 " -> " count[1, key, i] + 0
        if (text == "") {
            equal++
            continue
        }
        why = reason()
        if (why == "")
            unexplained++
        print type "\t" key "\t" (why == "" ? "NOT EXPLAINED" : why) "\t" substr(text, 2)
    }
    print type "\t" equal + 0 " of " key_count " rows are equal, " unexplained + 0 " differences have no reason"
    exit unexplained > 0
}
