# SPDX-License-Identifier: Apache-2.0
"""rung.quantize and rung.load_weights: errors within the bounds of the formats, and files of weights."""

import gc
import json
import struct

import numpy
import pytest

import rung

BOUNDS = {"q8_0": 0.5 / 127 + 2**-10, "q4_0": 1 / 8 + 2**-10}


def random(shape, dtype=numpy.float32):
    return numpy.random.default_rng(1).standard_normal(shape).astype(dtype)


def save_safetensors(path, tensors, extra=b""):
    header, data = {}, b""
    for name, (dtype, array) in tensors.items():
        header[name] = {
            "dtype": dtype,
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + array.nbytes],
        }
        data += array.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data + extra)


def save_gguf(path, name, dimensions, kind, data):
    """Writes a file with one tensor. `dimensions` begin with the contiguous one."""
    text = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + struct.pack("<Q", len(name)) + name.encode()
    text += struct.pack("<I", len(dimensions)) + b"".join(struct.pack("<Q", size) for size in dimensions)
    text += struct.pack("<IQ", kind, 0)
    path.write_bytes(text + bytes(-len(text) % 32) + data)


@pytest.mark.parametrize("kind", ["q8_0", "q4_0"])
@pytest.mark.parametrize("shape", [(64,), (5, 96), (2, 3, 32)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_errors_are_within_the_bound(kind, shape, dtype):
    array = random(shape, dtype)
    quantized = rung.quantize(array, kind)
    assert (quantized.type, quantized.shape, quantized.data.dtype) == (kind, shape, numpy.uint8)
    assert quantized.nbytes == array.size // 32 * (34 if kind == "q8_0" else 18)
    back = quantized.dequantize()
    assert back.dtype == numpy.float32 and back.shape == shape
    blocks = array.astype(numpy.float64).reshape(-1, 32)
    errors = numpy.abs(back.reshape(-1, 32) - blocks) / numpy.abs(blocks).max(axis=1, keepdims=True)
    assert 0 < errors.max() <= BOUNDS[kind]
    assert (quantized.dequantize("float64") == back).all()
    assert (quantized.dequantize("float16") == back.astype("float16")).all()


def test_arrays_with_strides_are_copied():
    array = random((64, 33))
    assert (rung.quantize(array.T, "q8_0").data == rung.quantize(array.T.copy(), "q8_0").data).all()
    assert rung.quantize(numpy.empty((0, 32), numpy.float32), "q4_0").dequantize().shape == (0, 32)


def test_wrong_arguments_are_rejected():
    with pytest.raises(ValueError, match="'q8_0', 'q4_0'"):
        rung.quantize(random((1, 32)), "q4_k")
    with pytest.raises(ValueError, match="multiple of 32"):
        rung.quantize(random((2, 33)), "q8_0")
    with pytest.raises(rung.Error, match="finite"):
        rung.quantize(numpy.full((1, 32), numpy.inf, numpy.float32), "q8_0")
    with pytest.raises(rung.Error):
        rung.quantize(numpy.zeros((1, 32), numpy.int32), "q8_0")
    with pytest.raises(TypeError, match="uint16"):
        rung.quantize(numpy.zeros((1, 32), numpy.uint16), "q8_0")


def test_safetensors_are_read(tmp_path):
    arrays = {"f32": random((3, 4)), "f16": random((2, 3, 4), "float16"), "i8": numpy.arange(8, dtype="int8")}
    names = {"f32": "F32", "f16": "F16", "i8": "I8"}
    tensors = {name: (names[name], array) for name, array in arrays.items()}
    tensors["mask"] = ("BOOL", numpy.zeros(4, bool))
    tensors["empty"] = ("F32", numpy.zeros((2, 0), numpy.float32))
    save_safetensors(tmp_path / "m.safetensors", tensors)
    weights = rung.load_weights(tmp_path / "m.safetensors")
    assert list(weights) == [*arrays, "mask", "empty"] and len(weights) == 5
    for name, array in arrays.items():
        assert weights[name].dtype == array.dtype and (weights[name] == array).all()
        assert not weights[name].flags.writeable
    assert weights["empty"].shape == (2, 0)
    assert weights.type_name("mask") == "BOOL"
    with pytest.raises(TypeError, match="BOOL"):
        weights["mask"]
    with pytest.raises(KeyError):
        weights["absent"]


@pytest.mark.parametrize(("kind", "number"), [("q8_0", 8), ("q4_0", 2)])
def test_gguf_is_read(tmp_path, kind, number):
    quantized = rung.quantize(random((6, 64)), kind)
    save_gguf(tmp_path / "m.gguf", "w", (64, 6), number, quantized.data.tobytes())
    weights = rung.load_weights(str(tmp_path / "m.gguf"))
    assert repr(weights["w"]) == repr(quantized)
    assert (weights["w"].data == quantized.data).all()
    assert (weights["w"].dequantize() == quantized.dequantize()).all()


def test_arrays_keep_the_file_open(tmp_path):
    array = random((100, 100))
    save_safetensors(tmp_path / "m", {"w": ("F32", array)})
    weights = rung.load_weights(tmp_path / "m")
    tensor = weights["w"]
    del weights
    gc.collect()
    assert (tensor == array).all()


def test_damaged_files_are_rejected(tmp_path):
    save_safetensors(tmp_path / "m", {"w": ("F32", random((2, 2)))}, extra=b"x")
    with pytest.raises(rung.Error, match="belong to no tensor") as caught:
        rung.load_weights(tmp_path / "m")
    assert caught.value.name == "INVALID"
    with pytest.raises(rung.Error, match="cannot be opened") as caught:
        rung.load_weights(tmp_path / "absent")
    assert caught.value.name == "IO"
