# SPDX-License-Identifier: Apache-2.0
"""make_wheels.py BUILD TOOLS RUNG FOLDER... - what `pip install "rung[lab]"` needs without a network: writes to RUNG the wheel of
rung, with the command and the libraries of a build, and to FOLDER its dependencies.

The dependencies are made from the files that are installed in TOOLS. NVRTC and NumPy are whole; the others are empty, because
grading needs none of their files.
"""
import base64
import hashlib
import pathlib
import subprocess
import sys
import tomllib
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
WHOLE = ("nvidia-cuda-nvrtc-cu12", "numpy")
UNUSED = (".a", ".pyc", ".pyi", ".h", ".alt.so.12", ".alt.so.12.9")


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def write_wheel(folder, name, version, tag, files, metadata="", scripts=""):
    """Writes a wheel. `files` are pairs of a name in the wheel and a path."""
    name = name.replace("-", "_")
    info = f"{name}-{version}.dist-info"
    texts = {f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{metadata}",
             f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: rung\nRoot-Is-Purelib: false\nTag: {tag}\n"}
    if scripts:
        texts[f"{info}/entry_points.txt"] = scripts
    record = []
    with zipfile.ZipFile(folder / f"{name}-{version}-{tag}.whl", "w") as wheel:
        for place, path in files:
            wheel.write(path, place)  # with its permissions
            record.append(f"{place},,")
        for place, text in texts.items():
            wheel.writestr(place, text)
            record.append(f"{place},sha256={digest(text.encode())},{len(text.encode())}")
        wheel.writestr(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,"]) + "\n")


def rung_files(build, staged):
    """Lists the files that the wheel of tools/build-wheel has, as far as grading needs them."""
    done = subprocess.run(["cmake", "--install", build, "--prefix", staged], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
    yield from ((f"rung/{path.name}", path) for path in sorted((SOURCE / "python/rung").iterdir()) if path.is_file())
    yield "rung/bin/rung", staged / "bin/rung"
    yield from ((f"rung/lib/{path.name}", path) for path in sorted((staged / "lib").glob("librung*.so.0")))
    for path in sorted((staged / "share/rung").rglob("*")):
        if path.is_file():
            yield f"rung/{path.relative_to(staged)}", path


def installed_files(tools, name, version):
    site = next(pathlib.Path(tools).glob("python/lib/python3*/site-packages"))
    record = site / f"{name.replace('-', '_')}-{version}.dist-info" / "RECORD"
    if not record.exists():
        sys.exit(f"{name} {version} is not installed in {tools}: run tools/install-test-tools")
    for line in record.read_text().splitlines():
        place = line.split(",")[0]
        if ".dist-info/" not in place and "/tests/" not in place and not place.startswith("..") and not place.endswith(UNUSED):
            yield place, site / place


def main():
    build, tools, own, others = sys.argv[1:]
    own, others = pathlib.Path(own), pathlib.Path(others)
    project = tomllib.loads((SOURCE / "pyproject.toml").read_text())["project"]
    version = subprocess.run([SOURCE / "tools/project-version"], capture_output=True, text=True, check=True).stdout.strip()
    requires = "".join(f"Requires-Dist: {requirement}\n" for requirement in project["dependencies"])
    requires += "Provides-Extra: lab\n"
    for requirement in project["optional-dependencies"]["lab"]:
        package, _, marker = requirement.partition(";")
        marker = f"({marker.strip()}) and " if marker else ""
        requires += f"Requires-Dist: {package}; {marker}extra == 'lab'\n"
        name, _, number = package.partition("==")
        files = installed_files(tools, name, number) if name in WHOLE else ()
        write_wheel(others, name, number, "py3-none-any", files)
    numbers = [path.stem.split("-")[1] for path in pathlib.Path(tools).glob("python/lib/python3*/site-packages/numpy-*.dist-info")]
    write_wheel(others, "numpy", numbers[0], "py3-none-any", installed_files(tools, "numpy", numbers[0]))
    scripts = "[console_scripts]\n" + "".join(f"{name} = {place}\n" for name, place in project["scripts"].items())
    write_wheel(own, "rung", version, "py3-none-linux_x86_64", rung_files(build, own.parent / "staged"), requires, scripts)


main()
