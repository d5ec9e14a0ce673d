"""The recipes of CONTRIBUTING.md, followed word by word in a copy of the tree."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest

from onkel._core import _native

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")

# Without the finder of an editable install, which would import onkel from this tree.
RUN = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "Redirect" not in type(finder).__name__]
sys.path[:0] = ["src", "tests"]
import onkel, pytest, runpy
assert onkel.__file__.startswith({root!r}), onkel.__file__
runpy.run_path("tests/contract/test_public_paths.py", run_name="__main__")  # pins the new names
sys.exit(pytest.main({arguments!r}))
"""


class Edit(NamedTuple):
    """What a recipe says to write into a file: at its end, or below or above a line."""

    file: str
    place: str
    line: str
    code: str

    def apply(self, root: Path) -> None:
        path = root / self.file
        lines = path.read_text("utf-8").splitlines()
        if self.place == "at the end":
            lines += ["", "", *self.code.splitlines()]
        else:
            found = [i for i, line in enumerate(lines) if line.startswith(self.line)]
            assert len(found) == 1, f"{self.file} has {len(found)} lines that start with {self.line!r}"
            start = found[0] + (self.place == "below")
            gap = ["", ""] if self.place == "above" else []
            lines[start:start] = [*self.code.splitlines(), *gap]
        path.write_text("\n".join(lines) + "\n", "utf-8")


def recipe(title: str) -> str:
    section = re.search(rf"^## {title}\n(.*?)(?=^## )", TEXT, re.DOTALL | re.MULTILINE)
    assert section, f"CONTRIBUTING.md has no section {title!r}"
    return section.group(1)


def edits(text: str) -> list[Edit]:
    """Every ``In `file`, below `line`:`` with the code that follows."""
    step = r"In\s+`(?P<file>[^`]+)`,\s+(?P<place>at the end|below|above)(?:\s+`(?P<line>[^`]+)`)?:\n\n   ```python\n"
    found = re.finditer(step + r"(?P<code>.*?)\n   ```\n", text, re.DOTALL)
    return [Edit(m["file"], m["place"], m["line"] or "", _dedent(m["code"])) for m in found]


def _dedent(code: str) -> str:
    """The three spaces of the list item go; the rest is as it is to be written."""
    assert all(not line or line.startswith("   ") for line in code.splitlines())
    return "\n".join(line[3:] for line in code.splitlines())


def named_tests(text: str) -> list[str]:
    command = re.search(r"`python -m pytest ([^`]+)`", text)
    assert command
    return command.group(1).split()


@pytest.fixture
def copy(tmp_path):
    """The tree as a newcomer has it, with the core built."""
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    for name in ("pyproject.toml", "CONTRIBUTING.md", "CHANGELOG.md", "README.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copy(_native.__file__, tmp_path / "src" / "onkel" / "_core")
    return tmp_path


# title → the steps that write code, and which of the tests it names to run
RECIPES = {
    "How to add a kernel on vectors": (9, ["-k", "Cauchy or symmetric or diagonal or same_bits or reads_back"]),
    "How to add an update rule": (4, ["-k", "log-cosh and (twin or chunk)"]),
}


@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_followed_word_by_word_gives_what_it_promises(title, copy):
    text, (steps, chosen) = recipe(title), RECIPES[title]
    found = edits(text)
    assert len(found) == text.count("```python") == steps
    for edit in found:
        edit.apply(copy)
    arguments = [*named_tests(text), *chosen, "-n0", "-v", "-p", "no:cacheprovider", "--hypothesis-profile=few"]
    code = textwrap.dedent(RUN).format(root=str(copy), arguments=arguments)
    run = subprocess.run([sys.executable, "-c", code], cwd=copy, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-1000:]
    if "public_paths" in text:
        pinned = (copy / "tests" / "contract" / "public_paths.txt").read_text("utf-8")
        assert "onkel.kernels.Cauchy(gamma=1.0)" in pinned
    passed = re.search(r"(\d+) passed", run.stdout)
    assert passed
    assert int(passed[1]) >= 4
