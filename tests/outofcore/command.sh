#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# rung multiply and what may happen to it: interrupted, refused, a full disk, two at once, what is left behind.
. "$(dirname "$0")/common.sh"
n=600
floats 1 $((n * n)) > a.bin
floats 2 $((n * n)) > b.bin
# In the background it is the command itself that a signal reaches, and no shell around it.
become() {
    exec "$RUNG" multiply a.bin b.bin -o c.bin --dtype f32 --shape-a ${n}x$n --shape-b ${n}x$n --memory 80K --quiet "$@"
}
multiply() { (become "$@"); }
refused() { # REASON COMMAND...
    local reason=$1
    shift
    "$@" > out.txt 2>&1
    local code=$?
    [ $code -eq 2 ] || { cat out.txt; fail "$*: exit $code"; }
    grep -q -e "$reason" out.txt || { cat out.txt; fail "$*: not a word of $reason"; }
}
# Stops it when the journal has some blocks. On a busy machine it may be done before the signal arrives: then once more.
interrupt() {
    local code=0
    for ((try = 0; try < 20 && code == 0; try++)); do
        rm -f c.bin*
        become > out.txt 2>&1 &
        for ((i = 0; i < 2000; i++)); do
            [ "$(grep -c '^block' c.bin.journal 2> /dev/null)" -ge 3 ] 2> /dev/null && break
            sleep 0.005
        done
        kill -TERM $! # a shell's background ignores SIGINT
        wait $!
        code=$?
    done
    [ $code -eq 130 ] || { cat out.txt; fail "interrupted: exit $code"; }
    grep -q 'run the same command again to resume' out.txt || fail "it does not say how to go on"
    [ -e c.bin.part ] && [ -e c.bin.journal ] && [ ! -e c.bin ] || fail "what is left is not what should be"
}

multiply > out.txt || fail "undisturbed"
grep -q 'checked .*within its bound' out.txt || fail "unchecked"
[ "$(ls c.bin*)" = c.bin ] || fail "something is left: $(ls)"
cp c.bin right.bin

# Each product is checked. Elements may have other bits, and the sampled check at the end is the same.
multiply --memory 2M --checked > out.txt || fail "--checked"
grep -q 'all products checked, 0 elements corrected' out.txt || { cat out.txt; fail "--checked is not reported"; }
multiply --memory 2M --checked --json > out.txt || fail "--checked --json"
tr -d ' \n' < out.txt | grep -q '"checked":true,"corrected":0' || { cat out.txt; fail "--checked is not part of the JSON"; }

# The output is not one of the inputs, under whatever name.
cp a.bin input.bin
ln -s a.bin link.bin
for output in a.bin link.bin b.bin; do
    refused 'also the input' "$RUNG" multiply a.bin b.bin -o $output --dtype f32 --shape-a ${n}x$n --shape-b ${n}x$n --quiet
    cmp a.bin input.bin || fail "-o $output: A was replaced"
done

# Words that are too long, or empty, are refused and not cut.
refused '--memory' multiply --memory "$(printf '%029d' 80)000K"
refused '--device' multiply --device "$(printf 'cpu%70s' '' | tr ' ' x)"
refused '--device' multiply --device ''

# Outputs are checked first: directories, files of others beside the output, symbolic links.
rm c.bin
mkdir c.bin
refused 'is a directory' multiply
rmdir c.bin
for name in part journal; do
    echo mine > c.bin.$name
    refused "c.bin.$name exists" multiply
    refused "c.bin.$name exists" multiply --restart
    [ "$(cat c.bin.$name)" = mine ] || fail "c.bin.$name was overwritten"
    rm c.bin.$name
done
mkdir target && ln -s target/product.bin c.bin
multiply > out.txt || fail "a symbolic link as output"
[ -L c.bin ] && cmp target/product.bin right.bin && [ "$(ls target)" = product.bin ] || fail "a symbolic link was replaced"
rm c.bin

interrupt
multiply > out.txt || fail "it does not go on"
grep -q 'resumed after' out.txt || fail "it began anew"
cmp c.bin right.bin || fail "other bits"

interrupt
touch a.bin
refused 'A (.*a.bin) has changed' multiply
interrupt
cp -p a.bin old.bin
printf 'abcd' | dd of=a.bin bs=1 seek=1000 conv=notrunc 2> /dev/null && touch -r old.bin a.bin # changed, and its time put back
refused 'A (.*a.bin) has changed' multiply --unchecked
cat old.bin > a.bin
interrupt
refused 'another problem' multiply --alpha 2
printf 'block 1 #' >> c.bin.journal
multiply --restart > out.txt || fail "--restart"
cmp c.bin right.bin || fail "other bits after --restart"

interrupt
head -c -5 c.bin.journal > cut && cp cut c.bin.journal # its last line is torn
multiply > out.txt || fail "a torn journal"
cmp c.bin right.bin || fail "other bits after a torn journal"

interrupt
sed -i '$!b; s/block/clock/' c.bin.journal && echo 'block 1 #00000000' >> c.bin.journal # and so is what stands behind it
multiply > out.txt || fail "a journal that a power cut has torn"
cmp c.bin right.bin || fail "other bits after a torn page"
interrupt
truncate -s 1000 c.bin.part
refused 'has 1000 bytes' multiply
interrupt
refused 'give that much memory' multiply --memory 10K
rm c.bin.part # nothing to go on with
multiply > out.txt || fail "without its part"
cmp c.bin right.bin || fail "other bits without its part"

# No room: told at once, nothing left, and the file of before is what it was.
rm -f c.bin
(ulimit -f 100; refused 'ulimit' multiply) || exit 1
! ls c.bin* 2> /dev/null || fail "left behind without room"
if [ "$(id -u)" -eq 0 ] && mkdir small && mount -t tmpfs -o size=512k tmpfs small 2> /dev/null; then
    "$RUNG" multiply a.bin b.bin -o small/c.bin --dtype f32 --shape-a ${n}x$n --shape-b ${n}x$n --quiet > out.txt 2>&1
    code=$? left=$(ls small)
    umount small
    [ $code -eq 2 ] && grep -q 'no room' out.txt || { cat out.txt; fail "a full disk: exit $code"; }
    [ -z "$left" ] || fail "a full disk: $left is left"
fi

# Two at once: one of them is refused and touches nothing.
become > one.txt 2>&1 &
for ((i = 0; i < 2000; i++)); do [ -s c.bin.journal ] && break; sleep 0.005; done
refused 'another call' multiply
wait $! || fail "the first of two"
cmp c.bin right.bin || fail "other bits beside another"

# Added to what is there: twice the product, which is exact.
multiply --beta 1 > out.txt || fail "--beta"
perl -e 'for (@ARGV) { local $/; open my $f, "<", $_; push @all, [unpack "f<*", <$f>] }
         for (0 .. $#{$all[0]}) { die "$_: $all[0][$_] $all[1][$_]" if abs($all[0][$_] - 2 * $all[1][$_]) > 1e-3 }' c.bin right.bin ||
    fail "not added"
exit 0
