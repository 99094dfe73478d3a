# SPDX-License-Identifier: Apache-2.0
# rung convert: every type and both outputs, what is refused, and that an output is complete or absent.
npy() { # FILE ROWS COLS VALUE...: a matrix of F32 that repeats the values
    perl -e 'my ($rows, $cols, @values) = @ARGV;
        my $text = sprintf "{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (%d, %d), }", $rows, $cols;
        print "\x93NUMPY\x01\x00", pack("v", 118), sprintf("%-117s\n", $text),
            pack("f<*", map { $values[$_ % @values] } 0 .. $rows * $cols - 1)' "${@:2}" > "$1"
}
safetensors() { # FILE HEADER BYTES
    perl -e 'my $header = sprintf "%-*s", 8 * int((length($ARGV[0]) + 7) / 8), $ARGV[0]; # the data are aligned
        print pack("Q<", length $header), $header, "\x3c" x $ARGV[1]' "$2" "$3" > "$1"
}
npy a.npy 4 64 1 -2 3 0.1 5 -6 7
npy odd.npy 2 33 1 2
npy large.npy 1 32 1e30
npy infinite.npy 2 32 1 2 inf
safetensors two.safetensors '{"w":{"dtype":"F32","shape":[2,32],"data_offsets":[0,256]},"bias":{"dtype":"F16","shape":[2],"data_offsets":[256,260]}}' 260
safetensors misaligned.safetensors '{"x":{"dtype":"I8","shape":[1],"data_offsets":[0,1]},"w":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}}' 5
safetensors bool.safetensors '{"mask":{"dtype":"BOOL","shape":[4],"data_offsets":[0,4]}}' 4
safetensors empty.safetensors '{}' 0

for type in q4_0 q8_0 bf16 f16 f32; do
    try rung convert a.npy -o a_$type.gguf --to $type
    try rung convert a_$type.gguf -o back.npy
    cmp -s a.npy back.npy && echo "the same file"
done
try rung convert a.npy -o a.gguf --to q4_0 --tensor output.weight --json
try rung convert two.safetensors -o two.gguf --to q8_0
try rung convert two.gguf -o w.gguf --tensor w --to f32

try rung convert
try rung convert a.npy --to q4_0
try rung convert a.npy -o a.gguf
try rung convert a.npy -o a.txt --to q4_0
try rung convert a.npy -o a.gguf --to q4_k
try rung convert a.npy -o b.npy --to q4_0
try rung convert absent.gguf -o b.gguf --to q4_0
try rung convert odd.npy -o odd.gguf --to q4_0
try rung convert large.npy -o large.gguf --to f16
try rung convert large.npy -o large.gguf --to q8_0
try rung convert infinite.npy -o infinite.gguf --to f32
try rung convert two.gguf -o two.npy
try rung convert two.gguf -o two.npy --tensor v
try rung convert bool.safetensors -o bool.gguf --to f32
try rung convert misaligned.safetensors -o w.npy --tensor w
try rung convert empty.safetensors -o empty.gguf --to f32
try rung convert a.npy -o absent/a.gguf --to f32
try rung convert a.npy -o a.gguf --to f32 --tensor 0123456789012345678901234567890123456789012345678901234567890123
head -c 100 two.gguf > cut.gguf
try rung convert cut.gguf -o b.gguf --to f32
find . -type f | sort
