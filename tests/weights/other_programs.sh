#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Files of the packages gguf (of llama.cpp) and safetensors (of Hugging Face), read by rung convert, and files of rung convert, read by gguf.
set -eu
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cd "$work"
python=$RUNG_TEST_TOOLS/python/bin/python3
"$python" -c 'import gguf, numpy, safetensors' 2> /dev/null ||
    { echo "the packages gguf and safetensors are not here; see tools/install-test-tools"; exit 77; }
cat > save.py <<'PYTHON'
import gguf
import numpy as np
from safetensors.numpy import save_file

random = np.random.default_rng(1)
w = random.standard_normal((5, 7, 64)).astype(np.float32)
tensors = {
    "f32": w,
    "f16": w.astype(np.float16),
    "f64": w.astype(np.float64),
    "i8": random.integers(-128, 128, (3, 64)).astype(np.int8),
    "i32": random.integers(-1000, 1000, (3, 5)).astype(np.int32),
    "vector": w[0, 0],
}
np.savez("tensors.npz", **tensors)
save_file({name: np.ascontiguousarray(value) for name, value in tensors.items()}, "m.safetensors", {"format": "np"})

writer = gguf.GGUFWriter("m.gguf", "test")
writer.add_string("general.name", "a test of rung")
writer.add_array("tokenizer.ggml.tokens", ["a", "b", "\N{EURO SIGN}"])
writer.add_array("numbers", [1.5, 2.5])
writer.add_custom_alignment(64)
for name, value in tensors.items():
    writer.add_tensor(name, value)
for kind in (gguf.GGMLQuantizationType.Q8_0, gguf.GGMLQuantizationType.Q4_0, gguf.GGMLQuantizationType.BF16):
    writer.add_tensor(kind.name, gguf.quants.quantize(w, kind), raw_dtype=kind)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
PYTHON
cat > compare.py <<'PYTHON'
import sys
import gguf
import numpy as np

def rows(array):
    return array.astype(np.float32).reshape(-1, array.shape[-1])

command, name = sys.argv[1:]
tensors = np.load("tensors.npz")
w = tensors["f32"]
if command == "input":  # out.npy is the tensor of gguf or safetensors
    kind = gguf.GGMLQuantizationType.__members__.get(name)
    expected = gguf.quants.dequantize(gguf.quants.quantize(w, kind), kind) if name.isupper() else tensors[name]
    result = np.load("out.npy")
    assert result.shape == rows(expected).shape, result.shape
    assert (result == rows(expected)).all(), name
else:  # out.gguf is w as rung wrote it
    kind = gguf.GGMLQuantizationType[name.upper()]
    reader = gguf.GGUFReader("out.gguf")
    (tensor,) = reader.tensors
    assert tensor.name == "f32" and tensor.tensor_type == kind, (tensor.name, tensor.tensor_type)
    assert list(tensor.shape) == [64, 7, 5], tensor.shape
    assert tensor.data_offset % 32 == 0
    expected = gguf.quants.quantize(w, kind)
    assert tensor.data.tobytes() == expected.tobytes(), name
PYTHON
"$python" save.py
for file in m.gguf m.safetensors; do
    names="f32 f16 f64 i8 i32 vector"
    [ $file = m.gguf ] && names="$names Q8_0 Q4_0 BF16"
    for name in $names; do
        "$RUNG" convert $file --tensor $name -o out.npy > out.txt || { echo "$file, $name"; exit 1; }
        "$python" compare.py input $name
    done
    for type in f32 f16 bf16 q8_0 q4_0; do
        "$RUNG" convert $file --tensor f32 -o out.gguf --to $type > out.txt
        "$python" compare.py output $type
    done
done
echo "all files are the same"
