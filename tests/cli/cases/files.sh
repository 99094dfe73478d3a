# SPDX-License-Identifier: Apache-2.0
# Only regular files up to a size are read: a FIFO, a device, a folder or a huge file ends in 2 at once, with a sentence.
limited() { timeout -k 5 60 "$@"; }
export -f limited
attempt() { try limited "$@" 2>&1 | sed 's/^\$ limited /$ /'; }
mkfifo fifo.cu fifo.json fifo.txt
mkdir folder.cu folder.json
truncate -s 3G huge.cu huge.json huge.txt
echo '{}' > empty.json
for file in fifo.cu folder.cu huge.cu /dev/zero; do
    attempt rung verify $file --device cpu
done
attempt rung bench fifo.cu 16 --device cpu
attempt rung explain fifo.cu
attempt rung explain huge.cu
attempt rung explain --compare fifo.txt
attempt rung explain --compare huge.txt
attempt rung explain 04 --machine ./fifo.txt
attempt rung plan --ranks 4 --m 1024 --machine ./fifo.txt
attempt rung plan --ranks 4 --m 1024 --machine /dev/zero
attempt rung compare fifo.json empty.json
attempt rung compare huge.json empty.json
attempt rung compare folder.json empty.json
attempt rung report fifo.json
attempt rung report /dev/zero
attempt rung bench --device cpu --sizes 16 --baseline fifo.json
attempt rung tune --device cpu --kernels fifo.cu --state state.txt
attempt rung tune --device cpu --m 16 --state fifo.txt
