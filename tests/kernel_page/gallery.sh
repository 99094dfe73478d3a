#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gallery.sh - the pages of docs/gallery are those that tools/build-gallery makes, each is small, and the kernels that are fixes are
# right. A kernel with a mistake shows it: its page has the finding or the counts that gallery.tsv promises.
set -u
. "$(dirname "$0")/common.sh"
gallery=$RUNG_SOURCE/docs/gallery
"$RUNG_SOURCE/tools/build-gallery" --check || fail "the gallery is not up to date"
for file in "$gallery"/*.html; do
    [ "$(wc -c < "$file")" -lt 200000 ] || fail "$file has more than 200,000 bytes"
done
[ "$(cat "$gallery"/*.html | wc -c)" -lt 2000000 ] || fail "the pages have more than 2,000,000 bytes together"

# has PAGE FILTER - the data of a page
has() {
    sed -n '/id="data">/,/<\/script>/p' "$gallery/$1.html" | sed '1d;s#</script>##' | jq -e "$2" > /dev/null ||
        fail "$1.html: not true: $2"
}
kinds='[.checks.findings[].kind, .findings[].kind] | index'
has uncoalesced_load "$kinds(\"uncoalesced\")"
has bank_conflict "$kinds(\"bank_conflict\")"
has missing_barrier "$kinds(\"race\")"
has overwritten_tile "$kinds(\"race\")"
has divergent_barrier "$kinds(\"barrier\")"
has outside_matrix "$kinds(\"out-of-bounds\")"
has misaligned_vectors "$kinds(\"misaligned\")"
has strided_store '[.lines[] | select(.kind == "global_store" and .sectors > 4 * .sectors_ideal)] | length > 0'
has sum_in_memory '[.lines[] | select(.array == "C" and .kind == "global_store") | .requests] | max > 1000'
has large_tile '.occupancy < 0.5'
for name in coalesced tiled padded_tile register_tile vector_loads; do
    has "$name" '.error == "" and (.checks.findings | length) == 0'
done
exit $bad
