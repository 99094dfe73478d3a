# SPDX-License-Identifier: Apache-2.0
"""rung.devices, kernels, bench, verify, explain, page and grade, and the cell magic."""

import pathlib
import subprocess
import sys
import xml.etree.ElementTree

import pytest

import rung
from rung import _lab, _results, jupyter

ROOT = pathlib.Path(__file__).resolve().parents[2]
TILED = ROOT / "examples" / "cuda" / "tiled.cu"


def is_well_formed(html):
    xml.etree.ElementTree.fromstring(f"<div>{html.replace('&#10003;', '').replace('&#10007;', '')}</div>")
    return True


def test_devices_and_kernels():
    assert rung.devices()[0]["name"] == "cpu"
    assert "cpu" in repr(rung.devices())
    kernels = rung.kernels("cpu")
    assert {"10_pipeline", "01_naive"} <= {record["kernel"] for record in kernels}
    assert is_well_formed(kernels._repr_html_())


def test_bench():
    records = rung.bench("10_pipeline", [32, 48], device="cpu", threads=1, budget=0.02)
    assert [record["m"] for record in records] == [32, 48]
    assert all(record["median_ns"] > 0 for record in records)
    assert records.machine["device"] == "cpu"
    assert isinstance(records, list) and isinstance(records[0], dict)


def test_wrong_options():
    with pytest.raises(rung.CommandError, match="rung help kernels|unknown|option") as caught:
        _lab.run("kernels", "--colour-of-the-sky")
    assert caught.value.exit_code == 2
    with pytest.raises(TypeError, match="source text"):
        rung.verify(5)


def test_options():
    options = {"time_limit": 5, "define_macro": ["A=1", "B"], "sizes": [1, 2], "packed": True, "device": None}
    assert _lab.arguments_of(options) == [
        "--time-limit", "5", "--define-macro", "A=1", "--define-macro", "B", "--sizes", "1,2", "--packed",
    ]  # fmt: skip


def test_verify_a_kernel_of_the_ladder():
    result = rung.verify("10_pipeline", device="cpu", suite="quick", every=40)
    assert result and result.cases > 0 and result.wrong == 0
    assert is_well_formed(result._repr_html_())


@pytest.fixture(scope="module")
def tiled():
    return TILED.read_text()


def test_verify(tiled):
    result = rung.verify(TILED)
    assert result
    assert "multiple of 16" in repr(result)
    assert is_well_formed(result._repr_html_())
    racy = rung.verify(tiled.replace("__syncthreads();", ""))
    assert not racy
    assert {finding["kind"] for finding in racy.findings} == {"race"}
    assert "kernel.cu" in racy.data["file"] and "/" not in racy.data["file"]
    assert is_well_formed(racy._repr_html_())


def test_explain(tiled):
    result = rung.explain(tiled, m=1024)
    assert result.kernels[0]["kernel"] == "matmul"
    assert "global load" in repr(result)
    assert result.svg().startswith("<svg")
    assert is_well_formed(result._repr_html_())


def test_errors_of_source_text():
    with pytest.raises(rung.CommandError, match="three matrices"):
        rung.verify("__global__ void f(float *x) { x[0] = 1; }")


def test_does_not_compile():
    wrong = TILED.read_text().replace("int N", "imt N")
    found = rung.verify(wrong)
    assert not found and 'identifier "imt" is undefined' in repr(found)
    assert is_well_formed(found._repr_html_())
    for command in (rung.explain, rung.page):
        with pytest.raises(rung.CommandError, match='identifier "imt" is undefined'):
            command(wrong)


def test_page(tiled, tmp_path):
    page = rung.page(tiled, m=256)
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == page.html and page.html.startswith("<!")
    assert page.kernels[0]["kernel"] == "matmul" and "matmul" in repr(page)
    frame = xml.etree.ElementTree.fromstring(page._repr_html_())
    assert frame.get("srcdoc") == page.html.replace("\n", " ") and frame.get("sandbox") == "allow-scripts"
    assert "matmul" in frame.get("title")


NO_BOUND = ROOT / "tasks" / "vector_add" / "wrong" / "no_bound.cu"


def test_tasks():
    assert {"name": "vector_add", "max_points": 100}.items() <= rung.tasks()[0].items()
    assert "Vector addition" in repr(rung.tasks())
    assert rung.skeleton("vector_add") == (ROOT / "tasks" / "vector_add" / "skeleton.cu").read_text()
    with pytest.raises(rung.CommandError, match="there is no task nothing"):
        rung.skeleton("nothing")


def test_grade():
    right = rung.grade("vector_add", ROOT / "tasks" / "vector_add" / "solution.cu", seed=3)
    assert right and right.points == right.max_points == 100 and right.data["seed"] == 3
    wrong = rung.grade(ROOT / "tasks" / "vector_add", NO_BOUND.read_text())
    assert not wrong and wrong.points == 80 and wrong.data["file"] == "kernel.cu"
    assert [finding["kind"] for finding in wrong.findings] == ["out-of-bounds"]
    assert "80 of 100" in repr(wrong) and "Write of 4 bytes" in repr(wrong)
    assert is_well_formed(wrong._repr_html_()) and "80 of 100" in wrong._repr_html_()
    wrong.check("public shapes")
    with pytest.raises(AssertionError, match="no wrong accesses: 1 finding"):
        wrong.check("no wrong accesses")
    with pytest.raises(KeyError, match="'no wrong accesses'"):
        wrong.part("no races")


def test_grade_of_what_does_not_run():
    bad = rung.grade("vector_add", "// rung: grid=1 block=1\n__global__ void vector_add(int n) { <b>; }")
    assert bad.points == 0 and "did not compile" in bad.problem and "did not compile" in repr(bad)
    assert is_well_formed(bad._repr_html_()) and "<b>;" not in bad._repr_html_()
    with pytest.raises(AssertionError, match="did not compile"):
        bad.check("public shapes")
    with pytest.raises(rung.CommandError, match="rung tasks lists the tasks"):
        rung.grade("nothing", NO_BOUND)
    with pytest.raises(TypeError, match="source text"):
        rung.grade("vector_add", None)


def test_magic_options():
    assert jupyter.parse_line("--arch sm_86 --metrics --grid='N/16,N/16'") == (
        "", [], {"arch": "sm_86", "metrics": True, "grid": "N/16,N/16"},
    )  # fmt: skip
    assert jupyter.parse_line("grade vector_add --seed 5") == ("grade", ["vector_add"], {"seed": "5"})
    with pytest.raises(ValueError, match="not a command of cells"):
        jupyter.parse_line("sm_86")
    with pytest.raises(ValueError, match="not an option"):
        jupyter.parse_line("verify sm_86")
    with pytest.raises(ValueError, match="name a task"):
        jupyter.parse_line("grade --seed 5")


def test_magic(tiled):
    results, into = jupyter.check_cell("--arch sm_80 --m 512 --into found", tiled)
    assert into == "found"
    assert isinstance(results[0], _results.Verification) and results[0]
    assert isinstance(results[1], _results.Explanation) and results[1].kernels
    results, _ = jupyter.check_cell("--no-explain", "__global__ void f(float *x) { x[0] = 1; }")
    assert len(results) == 1 and isinstance(results[0], rung.CommandError)


def test_magic_with_a_command(tiled):
    assert jupyter.check_cell("verify --into found", tiled)[0]
    assert jupyter.check_cell("explain --m 512", tiled)[0].kernels
    assert jupyter.check_cell("page --m 256", tiled)[0].html
    result, into = jupyter.check_cell("grade vector_add --seed 2 --into mine", NO_BOUND.read_text())
    assert (result.points, into) == (80, "mine")
    assert rung.grade("vector_add", result.source).points == 80
    # Lines are those of the cell: the first one is the line with %%rung.
    lines = NO_BOUND.read_text().splitlines()
    assert "c[i] = " in ["%%rung", *lines][result.findings[0]["line"] - 1]
    assert isinstance(jupyter.check_cell("grade nothing", "x")[0], rung.CommandError)


def test_magic_is_registered():
    class Shell:
        def register_magic_function(self, function, kind, name):
            self.registered = (kind, name)

    shell = Shell()
    rung.load_ipython_extension(shell)
    assert shell.registered == ("cell", "rung")


def test_magic_in_ipython(tiled):
    testing = pytest.importorskip("IPython.testing.globalipapp")
    shell = testing.start_ipython()
    shell.run_line_magic("load_ext", "rung")
    shell.run_cell_magic("rung", "--into found", tiled)
    assert shell.user_ns["found"][0]
    assert shell.run_cell(f"%%rung grade vector_add --into mine\n{NO_BOUND.read_text()}").success
    assert shell.user_ns["mine"].points == 80 and shell.user_ns["_rung"] is shell.user_ns["mine"]
    # A cell that cannot run fails, so that a notebook that is executed stops.
    assert not shell.run_cell("%%rung grade nothing\nx").success
    assert not shell.run_cell("%%rung colour\nx").success


def test_console_script():
    line = [sys.executable, "-c", "import sys; from rung._command import main; sys.argv[1:] = ['--version']; main()"]
    environment = {**_lab.environment(), "PYTHONPATH": str(pathlib.Path(rung.__file__).parents[1])}
    done = subprocess.run(line, capture_output=True, text=True, env=environment)
    assert done.stdout.split()[:2] == ["rung", rung.__version__]
