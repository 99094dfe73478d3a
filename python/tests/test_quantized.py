# SPDX-License-Identifier: Apache-2.0
"""rung.quantize, rung.matmul with quantized arrays, and rung.load_weights."""

import gc
import json
import os
import pathlib
import struct
import subprocess
import sys

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
    names = "F64 I64 U64 C64 F32 I32 U32 F16 I16 U16 I8 U8 BOOL".split()  # larger elements first: all are aligned
    kinds = {"F": "float", "I": "int", "U": "uint", "B": "bool", "C": "complex"}
    arrays = {name: random((2, 3, 4), "f4").astype(kinds[name[0]] + name[1:].strip("OL")) for name in names}
    tensors = {name: (name, array) for name, array in arrays.items()}
    tensors["scales"] = ("F8_E8M0", numpy.zeros(4, "uint8"))
    tensors["empty"] = ("F32", numpy.zeros((2, 0), numpy.float32))
    save_safetensors(tmp_path / "m.safetensors", tensors)
    weights = rung.load_weights(tmp_path / "m.safetensors")
    assert list(weights) == [*arrays, "scales", "empty"] and len(weights) == 15
    for name, array in arrays.items():
        assert weights[name].dtype == array.dtype and (weights[name] == array).all()
        assert not weights[name].flags.writeable
    assert weights["empty"].shape == (2, 0) and weights["empty"].dtype == "float32"
    assert weights.type_name("scales") == "F8_E8M0"
    assert "scales" in weights and "absent" not in weights
    with pytest.raises(TypeError, match="F8_E8M0, which NumPy does not have"):
        weights["scales"]
    with pytest.raises(KeyError):
        weights["absent"]


@pytest.mark.parametrize("offset", [1, 2, 3])
def test_misaligned_tensors_are_copied(tmp_path, offset):
    array = random((3, 4))
    save_safetensors(tmp_path / "m", {"first": ("U8", numpy.zeros(offset, "uint8")), "w": ("F32", array)})
    weights = rung.load_weights(tmp_path / "m")
    assert (weights["w"] == array).all() and weights["w"].dtype == array.dtype
    assert weights["w"].flags.aligned and not weights["w"].flags.writeable


def test_bfloat16_and_8_bit_floats_are_read(tmp_path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    types = {"BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2"}
    arrays = {name: random((3, 4), getattr(ml_dtypes, theirs)) for name, theirs in types.items()}
    save_safetensors(tmp_path / "m", {name: (name, array) for name, array in arrays.items()})
    weights = rung.load_weights(tmp_path / "m")
    for name, array in arrays.items():
        assert weights[name].dtype == array.dtype and weights[name].tobytes() == array.tobytes()


def is_mapped(path):
    with open("/proc/self/maps") as maps:
        return str(path) in maps.read()


def test_weights_can_be_closed(tmp_path):
    array = random((100, 100))
    save_safetensors(tmp_path / "m", {"w": ("F32", array)})
    with rung.load_weights(tmp_path / "m") as weights:
        tensor = weights["w"]
        assert "1 tensors" in repr(weights)
    for use in (lambda: weights["w"], lambda: len(weights), lambda: list(weights), lambda: weights.type_name("w")):
        with pytest.raises(ValueError, match="m is closed"):
            use()
    assert "closed" in repr(weights)
    weights.close()  # has no effect
    assert (tensor == array).all() and is_mapped(tmp_path / "m")
    del tensor
    gc.collect()
    assert not is_mapped(tmp_path / "m")


def test_arrays_are_valid_at_exit(tmp_path):
    """A function registered before the package is imported runs after the package's own."""
    save_safetensors(tmp_path / "m", {"w": ("F32", numpy.ones(5000, numpy.float32))})
    program = "import atexit, sys; kept = []; atexit.register(lambda: print(kept[0].sum())); import rung; "
    program += "kept.append(rung.load_weights(sys.argv[1])['w'])"
    folder = pathlib.Path(rung.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", program, tmp_path / "m"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout) == (0, "5000.0\n"), done.stderr


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


# Errors of an element as part of the largest magnitude of its block.
FORMAT_BOUNDS = {
    "int8": (0, 1 / 254),
    "int4": (32, 1 / 14),
    "uint4": (128, 2 / 15),
    "f8e4m3": (0, 1 / 16),
    "f8e5m2": (0, 1 / 8),
    "mxfp8": (32, 1 / 8),
    "mxfp4": (32, 1 / 4),
    "nvfp4": (16, 1 / 5),
}
ALL_FORMATS = [*BOUNDS, *FORMAT_BOUNDS]


def largest_of_blocks(array, block):
    """Returns the largest magnitude of the block of each element; blocks lie in rows."""
    result = numpy.empty(array.shape)
    block = block or array.shape[-1]
    for first in range(0, array.shape[-1], block):
        part = numpy.abs(array[..., first : first + block]).max(axis=-1, keepdims=True)
        result[..., first : first + block] = part
    return result


@pytest.mark.parametrize("kind", FORMAT_BOUNDS)
@pytest.mark.parametrize("shape", [(5,), (7, 150), (2, 3, 33)])
def test_formats_with_scales_are_within_the_bound(kind, shape):
    array = random(shape)
    quantized = rung.quantize(array, kind)
    block, bound = FORMAT_BOUNDS[kind]
    assert quantized.type == kind and quantized.shape == shape and quantized.block == (1, block)
    bits = 4 if "4" in kind.replace("e4m3", "") else 8
    assert quantized.data.nbytes == (array.size * bits + 7) // 8
    assert (quantized.zero_points is not None) == (kind == "uint4")
    errors = numpy.abs(quantized.dequantize() - array) / largest_of_blocks(array, block)
    assert 0 < errors.max() <= bound * 1.02
    assert quantized.nbytes > quantized.data.nbytes


@pytest.mark.parametrize("size", [1e-37, 1e-6, 0.005, 1, 1e4, 1e35])
def test_nvfp4_has_a_global_scale(size):
    array = random((33, 256)) * numpy.float32(size)
    quantized = rung.quantize(array, "nvfp4")
    assert quantized.global_scale == pytest.approx(numpy.abs(array).max() / 2688, rel=1e-3)
    assert quantized.T.global_scale == quantized.global_scale
    errors = numpy.abs(quantized.dequantize().astype(float) - array) / largest_of_blocks(array, 16)
    assert errors.max() <= 0.204
    a = random((3, 256))
    values = quantized.dequantize("float64").T
    assert (values == quantized.dequantize().T).all()
    bound = 1e-5 * (numpy.abs(a) @ numpy.abs(values))
    assert (numpy.abs(rung.matmul(a, quantized.T, alpha=2) - 2 * (a @ values)) <= 2 * bound).all()
    (result,) = rung.group_matmul([a], [quantized.T], alpha=2)
    assert (result == rung.matmul(a, quantized.T, alpha=2)).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_nvfp4_dequantizes_to_other_types(dtype):
    dtype = getattr(pytest.importorskip("ml_dtypes"), dtype) if dtype == "bfloat16" else dtype
    quantized = rung.quantize((random((3, 64)) / 200).astype(dtype), "nvfp4")
    assert (quantized.dequantize(dtype) == quantized.dequantize().astype(dtype)).all()


def test_nvfp4_of_zeros_and_of_wrong_values():
    zeros = rung.quantize(numpy.zeros((2, 16), numpy.float32), "nvfp4")
    assert zeros.global_scale == 1 and (zeros.dequantize() == 0).all()
    assert rung.quantize(numpy.zeros((2, 0), numpy.float32), "nvfp4").global_scale == 1
    for value in (numpy.inf, numpy.nan, 1e300):
        with pytest.raises(rung.Error, match="finite"):
            rung.quantize(numpy.full((1, 16), value), "nvfp4")
    with pytest.raises(rung.Error, match="i32"):
        rung.quantize(numpy.ones((1, 16), numpy.int32), "nvfp4")


def test_the_operator_multiplies():
    weights, a = rung.quantize(random((20, 64)), "q8_0"), random((2, 3, 64))
    assert (a @ weights.T == rung.matmul(a, weights.T)).all()
    with pytest.raises(ValueError, match="do not match"):
        a @ weights
    with pytest.raises(TypeError):
        weights @ a


@pytest.mark.parametrize("block", [7, 0, (3, 4), (0, 0), (0, 1)])
@pytest.mark.parametrize("kind", ["int8", "uint4", "f8e4m3"])
def test_blocks_have_the_requested_size(kind, block):
    quantized = rung.quantize(random((10, 21)), kind, block)
    rows, cols = quantized.block
    blocks = -(-10 // (rows or 10)) * -(-21 // (cols or 21))
    assert quantized.scales.size == blocks
    assert numpy.abs(quantized.dequantize() - random((10, 21))).max() < 1
    assert (quantized.T.dequantize() == quantized.dequantize().T).all()
    product = rung.matmul(random((4, 10)), quantized)
    assert numpy.allclose(product, random((4, 10)) @ quantized.dequantize(), atol=1e-4)


@pytest.mark.parametrize("kind", ALL_FORMATS)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("compute", [None, "bf16x1", "q8"])
def test_matmul_multiplies_by_transposed_weights(kind, dtype, compute):
    weights = rung.quantize(random((37, 96)), kind)
    a = random((5, 96), dtype)
    product = rung.matmul(a, weights.T, compute=compute)
    assert product.dtype == a.dtype and product.shape == (5, 37)
    values = weights.dequantize().astype(numpy.float64).T
    sizes = numpy.abs(a.astype(numpy.float64)) @ numpy.abs(values)
    factor = 2**-16 if compute is None else 2**-7 + 2**-16 if compute == "bf16x1" else 2**-4
    errors = numpy.abs(product - a.astype(numpy.float64) @ values)
    assert (errors <= (factor + 2**-10 * (dtype == "float16")) * sizes + 1e-3 * (dtype == "float16")).all()


def test_matmul_has_batches_vectors_and_an_epilogue():
    weights = rung.quantize(random((20, 33)), "int4", 8)
    values = weights.dequantize().T
    batch = random((2, 3, 4, 33))
    assert numpy.allclose(rung.matmul(batch, weights.T), batch @ values, atol=1e-4)
    assert numpy.allclose(rung.matmul(batch[0, 0, 0], weights.T), batch[0, 0, 0] @ values, atol=1e-4)
    bias, out = random((20,)), random((4, 20))
    expected = numpy.maximum(2 * batch[0, 0] @ values + 3 * out + bias, 0)
    result = rung.matmul(batch[0, 0], weights.T, out, alpha=2, beta=3, bias=bias, activation="relu", threads=1)
    assert result is out and numpy.allclose(out, expected, atol=1e-3)
    half = rung.matmul(batch[0, 0].astype("float16"), weights.T, numpy.empty((4, 20), numpy.float32))
    assert half.dtype == numpy.float32 and numpy.allclose(half, batch[0, 0] @ values, atol=1e-1)
    # A plain multiplication of the same shapes does not see the scales of the calls before.
    assert numpy.allclose(rung.matmul(batch, numpy.ascontiguousarray(values)), batch @ values, atol=1e-4)


@pytest.mark.parametrize("kind", ["q4_0", "nvfp4"])
def test_an_opencl_device_multiplies(kind):
    weights, a, bias = rung.quantize(random((40, 64)), kind), random((5, 64)), random((40,))
    expected = numpy.maximum(a @ weights.dequantize().T + bias, 0)
    assert numpy.allclose(
        rung.matmul(a, weights.T, bias=bias, activation="relu", device="opencl"), expected, atol=1e-4
    )
    experts = [weights, rung.quantize(3 * random((24, 64)), kind)]
    products = rung.group_matmul([a, a[:2]], [expert.T for expert in experts], device="opencl")
    for product, rows, expert in zip(products, (5, 2), experts):
        assert numpy.allclose(product, a[:rows] @ expert.dequantize().T, atol=1e-4)


def test_matmul_of_empty_arrays():
    weights = rung.quantize(numpy.empty((0, 32), numpy.float32), "int8")
    assert rung.matmul(random((2, 32)), weights.T).shape == (2, 0)
    for kind in ALL_FORMATS:
        weights = rung.quantize(numpy.empty((3, 0), numpy.float32), kind)
        assert (rung.matmul(random((2, 0)), weights.T) == numpy.zeros((2, 3))).all()


def test_an_out_that_overlaps_the_elements_is_computed_apart():
    weights = rung.quantize(random((4, 64)), "int8")
    values = weights.dequantize().T
    a = random((2, 64))
    out = weights.data[:32].view(numpy.float32).reshape(2, 4)
    rung.matmul(a, weights.T, out)
    assert numpy.allclose(out, a @ values, atol=1e-4)


def test_wrong_calls_with_quantized_arrays_are_rejected():
    weights = rung.quantize(random((4, 64)), "int8")
    with pytest.raises(ValueError, match="do not match"):
        rung.matmul(random((2, 64)), weights)
    with pytest.raises(TypeError, match="float64"):
        rung.matmul(random((2, 64), "float64"), weights.T)
    with pytest.raises(TypeError, match="out has type float16"):
        rung.matmul(random((2, 64)), weights.T, numpy.empty((2, 4), numpy.float16))
    with pytest.raises(ValueError, match="3 dimensions"):
        rung.quantize(random((2, 2, 32)), "int8").T
    with pytest.raises(ValueError, match="two dimensions"):
        rung.matmul(random((2, 32)), rung.quantize(random((2, 2, 32)), "int8"))
    with pytest.raises(ValueError, match="always have 32"):
        rung.quantize(random((2, 32)), "q8_0", 16)
    with pytest.raises(ValueError, match="blocks of 16 elements"):
        rung.quantize(random((2, 32)), "nvfp4", 32)
    for block in (-1, (1, 2, 3), (1.5, 2)):
        with pytest.raises(ValueError, match="block is"):
            rung.quantize(random((2, 32)), "int8", block)
    with pytest.raises(rung.Error, match="lie along k"):
        rung.matmul(random((2, 4)), rung.quantize(random((4, 64)), "q8_0"))


PAIRS = ["int8", "int4", "uint4", "f8e4m3", "f8e5m2", "mxfp8", "mxfp4", "nvfp4"]


@pytest.mark.parametrize("kind_a", PAIRS)
@pytest.mark.parametrize("kind_b", PAIRS)
def test_two_quantized_arrays_are_multiplied(kind_a, kind_b):
    a, b = rung.quantize(random((5, 160)), kind_a), rung.quantize(random((7, 160)), kind_b)
    expected = a.dequantize().astype(float) @ b.dequantize().astype(float).T
    sizes = abs(a.dequantize()) @ abs(b.dequantize()).T
    for product in (rung.matmul(a, b.T), a @ b.T):
        assert product.dtype == numpy.float32 and (abs(product - expected) <= 2**-16 * sizes).all()
    transposed = rung.matmul(b, a.T)
    assert (abs(transposed.T - expected) <= 2**-16 * sizes).all()


def test_two_quantized_arrays_have_an_epilogue():
    a, b = rung.quantize(random((3, 64)), "nvfp4"), rung.quantize(random((64, 8)).T, "nvfp4").T
    out = random((3, 8))
    expected = numpy.maximum(2 * a.dequantize() @ b.dequantize() + 0.5 * out + 1, 0)
    assert a.global_scale != 1 and b.global_scale != 1
    result = rung.matmul(a, b, out=out, alpha=2, beta=0.5, bias=1, activation="relu")
    assert result is out and numpy.allclose(out, expected, atol=1e-4)
    assert rung.matmul(rung.quantize(numpy.zeros((0, 64), "f4"), "mxfp8"), b).shape == (0, 8)


def test_wrong_pairs_of_quantized_arrays_are_rejected():
    a, b = rung.quantize(random((3, 64)), "mxfp8"), rung.quantize(random((8, 64)), "mxfp4").T
    with pytest.raises(TypeError, match="a is quantized and b is not; quantize b, too"):
        rung.matmul(a, random((64, 8)))
    with pytest.raises(TypeError, match="a has type q8_0; a quantized a and its b are of int8"):
        rung.matmul(rung.quantize(random((3, 64)), "q8_0"), b)
    with pytest.raises(TypeError, match="with a quantized a and b it must be float32 or bfloat16"):
        rung.matmul(a, b, out=numpy.zeros((3, 8), numpy.float16))
    with pytest.raises(ValueError, match="a has shape"):
        rung.matmul(rung.quantize(random((2, 3, 64)), "mxfp8"), b)
