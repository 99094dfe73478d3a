# SPDX-License-Identifier: Apache-2.0
"""The declarations for ctypes are those of the header: a C program compares them."""

import ctypes
import os
import pathlib
import pickle
import subprocess
import sys

import pytest

import rung
from rung import _arrays, _library

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "include"


def header_lines(structs, returned):
    """Yields C statements that print a line for each difference between the declarations and the header."""
    for name, struct in structs.items():
        if name not in returned:
            yield f'equal("sizeof({name})", sizeof({name}), {ctypes.sizeof(struct)});'
        for field, kind in struct._fields_:
            declared = getattr(struct, field)
            yield f'equal("offset of {name}.{field}", offsetof({name}, {field}), {declared.offset});'
            yield f'equal("size of {name}.{field}", sizeof((({name} *)0)->{field}), {declared.size});'


def enum_lines():
    for number, name in _library.STATUSES.items():
        constant = "RUNG_OK" if number == 0 else f"RUNG_STATUS_{name}"
        yield f'equal("{constant}", {constant}, {number});'
    for name, number in {**_library.TYPES, **_library.BLOCK_TYPES}.items():
        yield f'equal("RUNG_{name}", RUNG_{name}, {number});'
    for prefix, table in (
        ("COMPUTE", _library.COMPUTES),
        ("ACTIVATION", _library.ACTIVATIONS),
        ("ORIGIN", _library.ORIGINS),
    ):
        for name, number in table.items():
            yield f'equal("RUNG_{prefix}_{name.upper()}", RUNG_{prefix}_{name.upper()}, {number});'


def differences(lines, folder):
    source = folder / "compare.c"
    source.write_text(
        "#include <rung/weights.h>\n#include <stdio.h>\n"
        "static void equal(const char *what, long long header, long long declared)\n"
        "{ if (header != declared)\n"
        '  printf("%s is %lld in the header and %lld in _library.py\\n", what, header, declared); }\n'
        "int main(void) {\n" + "\n".join(lines) + "\nreturn 0; }\n"
    )
    program = folder / "compare"
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-I", str(HEADERS), str(source), "-o", str(program)], check=True)
    return subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout


@pytest.mark.skipif(not HEADERS.is_dir(), reason="the header is in the source tree only")
def test_declarations_match_the_header(tmp_path):
    lines = [*header_lines(_library.STRUCTS, _library.RETURNED_STRUCTS), *enum_lines()]
    assert len(lines) > 100
    assert differences(lines, tmp_path) == ""


@pytest.mark.skipif(not HEADERS.is_dir(), reason="the header is in the source tree only")
def test_a_difference_is_found(tmp_path):
    class Shifted(ctypes.Structure):
        _fields_ = [("size", ctypes.c_size_t), ("gap", ctypes.c_int64), ("threads", ctypes.c_int64)]

    del Shifted._fields_[1]  # the header has no such field; the offset of the next one remains wrong
    found = differences(header_lines({"rung_multiply_options": Shifted}, ()), tmp_path)
    assert "offset of rung_multiply_options.threads" in found


def test_result_types_are_those_of_the_library():
    accumulator = _library.load().rung_accumulator_type
    for kind in _library.TYPES.values():
        valid = {c for c in _library.TYPES.values() if accumulator(kind, kind, c) != 0}
        if kind == _library.TYPES["I8"]:  # F32 and BF16 are results of quantized matrices, which are no plain arrays
            valid.remove(_library.TYPES["F32"])
            valid.remove(_library.TYPES["BF16"])
        assert valid == set(_arrays.RESULT_TYPES[kind]), kind


def test_the_layout_of_arrays_is_known():
    """Otherwise every call takes the slow path."""
    assert _arrays.HAS_KNOWN_LAYOUT


def test_the_import_does_not_load_numpy():
    """The console script imports the package each time and multiplies nothing."""
    program = "import sys, rung; print('numpy' in sys.modules); rung.matmul; print('numpy' in sys.modules)"
    folder = str(pathlib.Path(rung.__file__).parents[1])
    environment = dict(os.environ, PYTHONPATH=folder)
    done = subprocess.run([sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True"]


def test_version():
    assert rung.__version__.count(".") == 2


def test_error_has_a_status_and_can_be_pickled():
    error = pickle.loads(pickle.dumps(rung.Error("text", -6)))
    assert isinstance(error, RuntimeError)
    assert (str(error), error.status, error.name) == ("text", -6, "UNSUPPORTED")


def test_missing_library_says_what_to_do(tmp_path):
    program = "import rung; rung.matmul([[1.0]], [[1.0]])"
    environment = {
        **os.environ,
        "RUNG_LIBRARY_DIR": str(tmp_path),
        "PYTHONPATH": str(pathlib.Path(rung.__file__).parents[1]),
    }
    done = subprocess.run([_python(), "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert "set it to the folder of a build" in done.stderr


def _python():
    import sys

    return sys.executable
