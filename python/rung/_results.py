# SPDX-License-Identifier: Apache-2.0
"""Results of the lab's commands: records and reports that print as text and render as HTML in Jupyter."""

from __future__ import annotations

from html import escape
from typing import Any

_TABLE_STYLE = "border-collapse:collapse;text-align:left"
_CELL_STYLE = "padding:2px 10px 2px 0;vertical-align:top;text-align:left"


def text_of(value: Any) -> str:
    """Returns a value as one cell of a table."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return " x ".join(map(text_of, value)) if all(isinstance(x, int) for x in value) else f"{len(value)} entries"
    if isinstance(value, dict):
        return f"{len(value)} entries"
    return str(value)


def text_table(columns: list, rows: list) -> str:
    """Returns a table with aligned columns."""
    cells = [list(columns), *([text_of(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells)


def html_table(columns: list, rows: list) -> str:
    """Returns the same table as HTML."""
    head = "".join(f'<th style="{_CELL_STYLE}">{escape(str(column))}</th>' for column in columns)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL_STYLE}">{escape(text_of(cell))}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    return f'<table style="{_TABLE_STYLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


class Records(list):
    """A list of dictionaries with the same keys; pandas.DataFrame takes it as it is.

    Text and HTML show only the columns of ``shown``.
    """

    def __init__(self, records: list, shown: list, **attributes: Any) -> None:
        super().__init__(records)
        self.shown = shown
        self.__dict__.update(attributes)

    def _rows(self) -> list:
        return [[record.get(column) for column in self.shown] for record in self]

    def __repr__(self) -> str:
        return text_table(self.shown, self._rows())

    def _repr_html_(self) -> str:
        return html_table(self.shown, self._rows())


def bars(values: dict, marked: str, width: int = 360) -> str:
    """Returns an SVG with one horizontal bar per value. The bar `marked` has another colour."""
    largest = max(values.values(), default=0) or 1
    row, left = 20, 120
    label = ", ".join(f"{name} {value:.0f}" for name, value in values.items())
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(label)}" '
        f'width="{left + width + 80}" height="{row * len(values) + 4}" '
        'font-family="sans-serif" font-size="12">'
    ]
    for index, (name, value) in enumerate(values.items()):
        y = index * row
        colour = "#c0504d" if name == marked else "#8aa4c8"
        length = max(1.0, value / largest * width)
        parts.append(
            f'<text x="{left - 6}" y="{y + 14}" text-anchor="end" fill="currentColor">{escape(name)}</text>'
            f'<rect x="{left}" y="{y + 3}" width="{length:.1f}" height="14" fill="{colour}"/>'
            f'<text x="{left + length + 4:.1f}" y="{y + 14}" fill="currentColor">{value:.0f}</text>'
        )
    return "".join(parts) + "</svg>"


class Report:
    """The JSON object of a command, as the attribute ``data``.

    ``source`` is what the command was given, so that another command can run on it: rung.explain(result.source).
    """

    def __init__(self, data: dict, source: Any = None) -> None:
        self.data = data
        self.source = source

    @property
    def kernels(self) -> list:
        """One dictionary per kernel."""
        return self.data.get("kernels", self.data.get("by_kernel", []))

    @property
    def findings(self) -> list:
        """What was found: one dictionary per finding."""
        return self.data.get("findings", [])


def _finding_rows(findings: list) -> list:
    return [[f.get("kind"), f.get("line") or "-", f.get("text"), f.get("fix", "")] for f in findings]


_FINDING_COLUMNS = ["finding", "line", "what happens", "how to fix it"]


def _finding_table(findings: list) -> str:
    """Returns the findings as HTML. Findings of rung.explain say in their text how to fix them."""
    rows, columns = _finding_rows(findings), _FINDING_COLUMNS
    if not any(row[-1] for row in rows):
        rows, columns = [row[:-1] for row in rows], columns[:-1]
    return html_table(columns, rows)


_RESOURCES = {"load_store": "load/store units", "l2": "L2", "dram": "DRAM"}


def _resource(name: str) -> str:
    """Returns the name of a resource of the GPU as people write it."""
    return _RESOURCES.get(name, name.replace("_", " "))


class Verification(Report):
    """The result of rung.verify(). It is true if every case was right and nothing was found."""

    @property
    def cases(self) -> int:
        return self.data["cases"]

    @property
    def wrong(self) -> int:
        return self.data["wrong"]

    def __bool__(self) -> bool:
        ran = all(kernel.get("ran", True) for kernel in self.kernels)
        return ran and self.cases > 0 and self.wrong == 0 and not self.findings

    def _facts(self, kernel: dict) -> list:
        """Returns the lines about a kernel: pairs of a name and a text."""
        if not kernel.get("ran", True):
            return [("not run", kernel.get("reason", ""))]
        facts = [("cases", f"{kernel['cases'] - kernel['wrong']} of {kernel['cases']} right")]
        for name, key in (
            ("parameters", "params"),
            ("type", "dtype"),
            ("computes", "computes"),
            ("sizes", "sizes"),
            ("first wrong", "first_wrong"),
            ("skipped because", "why_skipped"),
        ):
            if kernel.get(key):
                facts.append((name, kernel[key]))
        for failing in kernel.get("failing_sizes", [])[:1]:
            size = " x ".join(map(str, failing["size"]))
            where = f"line {failing['line']}, " if failing["line"] else ""
            facts.append(("fails", f"{size}, {where}{failing['kind']}: {failing['text']}"))
        return facts

    def _failures(self) -> list:
        return [failure["message"] for failure in self.data.get("failures", [])]

    def __repr__(self) -> str:
        lines = []
        for kernel in self.kernels:
            lines.append(kernel["kernel"])
            lines += [f"  {name}: {text}" for name, text in self._facts(kernel)]
        lines += [f"wrong: {message}" for message in self._failures()]
        lines += [f"{f.get('kind')}, line {f.get('line')}: {f.get('text')} {f.get('fix', '')}" for f in self.findings]
        lines.append("right" if self else "not right" if self.wrong or self.findings else "nothing was checked")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        parts = []
        for kernel in self.kernels:
            is_right = kernel.get("cases", 0) > 0 and kernel["wrong"] == 0
            mark = "&#10003;" if is_right else "&#10007;"
            parts.append(f"<p><b>{escape(kernel['kernel'])}</b> {mark}</p>")
            parts.append(html_table(["", ""], self._facts(kernel)))
        if self._failures():
            parts.append(html_table(["wrong"], [[message] for message in self._failures()]))
        if self.findings:
            parts.append(_finding_table(self.findings))
        return "".join(parts)


class Explanation(Report):
    """The result of rung.explain()."""

    @property
    def findings(self) -> list:
        return [finding for kernel in self.kernels for finding in kernel.get("findings", [])]

    def _facts(self, kernel: dict) -> list:
        facts = []
        if kernel.get("error"):
            facts.append(("error", kernel["error"]))
        if kernel.get("predicted_gflops"):
            share = kernel["predicted_gflops"] / kernel["peak_gflops"] if kernel.get("peak_gflops") else 0
            facts.append(
                (
                    "predicted",
                    f"{kernel['predicted_gflops']:.0f} GFLOPS, {share:.1%} of the peak, "
                    f"uncertain by a factor of {kernel['uncertainty']:.3g}",
                )
            )
            facts.append(("limited by", _resource(kernel["bound"])))
        for name, key, unit in (
            ("sectors per request", "sectors_per_request", "sectors_ideal"),
            ("wavefronts per request", "wavefronts_per_request", "wavefronts_ideal"),
        ):
            if kernel.get(key) is not None:
                facts.append((name, f"{kernel[key]:.2f} (ideal {kernel[unit]:.2f})"))
        if kernel.get("registers"):
            facts.append(("registers per thread", kernel["registers"]))
            facts.append(("shared memory per block", f"{kernel['shared_bytes']} bytes"))
            facts.append(("occupancy", f"{kernel['occupancy']:.0%}, limited by {kernel['occupancy_bound_by']}"))
        for key in ("not_looked_at", "not_compiled", "not_taken_apart", "not_predicted"):
            if kernel.get(key):
                facts.append((key.replace("_", " "), kernel[key]))
        return facts

    def _accesses(self, kernel: dict) -> list:
        rows = []
        for line in kernel.get("lines", []):
            is_global = line["kind"].startswith("global")
            total, ideal = ("sectors", "sectors_ideal") if is_global else ("wavefronts", "wavefronts_ideal")
            requests = line["requests"] or 1
            rows.append(
                [
                    line["line"],
                    line["kind"].replace("_", " "),
                    line["array"],
                    line["requests"],
                    f"{line[total] / requests:.2f} {total}",
                    f"{line[ideal] / requests:.2f}",
                ]
            )
        return rows

    _ACCESS_COLUMNS = ["line", "access", "array", "requests", "per request", "ideal"]

    def __repr__(self) -> str:
        lines = []
        for kernel in self.kernels:
            lines.append(kernel["kernel"])
            lines += [f"  {name}: {text}" for name, text in self._facts(kernel)]
            accesses = self._accesses(kernel)
            if accesses:
                table = text_table(self._ACCESS_COLUMNS, accesses)
                lines += ["  " + line for line in table.splitlines()]
        lines += [f"line {f.get('line')}: {f.get('text')}" for f in self.findings]
        return "\n".join(lines)

    def svg(self, index: int = 0) -> str:
        """Returns a drawing of the clocks per block that each resource of the GPU is busy; "" if not predicted."""
        kernel = self.kernels[index]
        clocks = kernel.get("clocks_a_block")
        named = {_resource(name): value for name, value in (clocks or {}).items()}
        return bars(named, _resource(kernel.get("bound", ""))) if clocks else ""

    def _repr_html_(self) -> str:
        parts = []
        for index, kernel in enumerate(self.kernels):
            parts.append(f"<p><b>{escape(kernel['kernel'])}</b></p>")
            parts.append(html_table(["", ""], self._facts(kernel)))
            if kernel.get("clocks_a_block"):
                parts.append(f"<p>clocks per block, by resource</p>{self.svg(index)}")
            accesses = self._accesses(kernel)
            if accesses:
                parts.append(html_table(self._ACCESS_COLUMNS, accesses))
        if self.findings:
            parts.append(_finding_table(self.findings))
        return "".join(parts)


class Grade(Report):
    """The result of rung.grade(). It is true if the kernel gets all points."""

    @property
    def task(self) -> str:
        return self.data["task"]

    @property
    def points(self) -> int:
        return self.data["points"]

    @property
    def max_points(self) -> int:
        return self.data["max_points"]

    @property
    def parts(self) -> list:
        """One dictionary per part of the points: ``name``, ``points``, ``max_points`` and ``text``."""
        return self.data["parts"]

    @property
    def problem(self) -> str:
        """Says why nothing ran, for example an error of the compiler; "" otherwise."""
        return self.data["problem"]

    @property
    def output(self) -> str:
        """The beginning of what the kernels printed."""
        return self.data["output"]

    def __bool__(self) -> bool:
        return self.points == self.max_points

    def part(self, name: str) -> dict:
        """Returns the part with a name."""
        for part in self.parts:
            if part["name"] == name:
                return part
        names = ", ".join(repr(part["name"]) for part in self.parts)
        raise KeyError(f"the task {self.task} has no part {name!r}; its parts are {names}")

    def check(self, name: str) -> None:
        """Raises AssertionError, with the reason, if a part has fewer than its points. For the tests of other graders."""
        part = self.part(name)
        if part["points"] < part["max_points"]:
            raise AssertionError(f"{name}: {self.problem or part['text']}")

    def _sum(self) -> str:
        return f"{self.task}: {self.points} of {self.max_points} points"

    def __repr__(self) -> str:
        lines = [self._sum()]
        if self.problem:
            lines.append(self.problem)
        for part in self.parts:
            lines.append(f"  {part['points']:4} of {part['max_points']:<4} {part['name']}: {part['text']}")
        lines += [f"{f.get('kind')}, line {f.get('line')}: {f.get('text')} {f.get('fix', '')}" for f in self.findings]
        if self.output:
            lines += ["The kernels printed:", self.output]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [
            [
                part["name"],
                part["points"] == part["max_points"],
                f"{part['points']}\u00a0of\u00a0{part['max_points']}",  # one line
                part["text"],
            ]
            for part in self.parts
        ]
        parts = [f"<p><b>{escape(self._sum())}</b></p>"]
        if self.problem:
            parts.append(f"<pre>{escape(self.problem)}</pre>")
        parts.append(html_table(["part", "reached", "points", "result"], rows))
        if self.findings:
            parts.append(_finding_table(self.findings))
        if self.output:
            parts.append(f"<p>The kernels printed:</p><pre>{escape(self.output)}</pre>")
        return "".join(parts)


class Page(Report):
    """The result of rung.page(): a page of ``rung explain --html`` as text."""

    def __init__(self, data: dict, html: str, source: Any = None) -> None:
        super().__init__(data, source)
        self.html = html

    def save(self, path: Any) -> None:
        """Writes the page to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html)

    def __repr__(self) -> str:
        names = ", ".join(kernel["kernel"] for kernel in self.kernels)
        return f"<rung.Page of {names}, {len(self.html)} characters; save(path) writes it to a file>"

    def _repr_html_(self) -> str:
        """Returns a frame with the page. The page's scripts run, but cannot access the notebook."""
        return (
            f'<iframe title="rung explain: {escape(self.kernels[0]["kernel"])}" sandbox="allow-scripts" '
            f'style="width:100%;height:720px;border:1px solid #888" srcdoc="{escape(self.html)}"></iframe>'
        )
