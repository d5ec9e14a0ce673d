"""The recipes of CONTRIBUTING.md, followed word by word in a copy of the tree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from onkel._core import _native

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")

# Python imports this module first. Without the finder of an editable install, onkel is imported from the copy.
SITE = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "Redirect" not in type(finder).__name__]
sys.path.insert(0, {source!r})
"""


def run(root: Path, *arguments: str) -> str:
    """Runs Python in a copy of the tree; returns what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(root / "tests")}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    return done.stdout


class Edit(NamedTuple):
    """What a recipe says to write: a new file, or into one, at its end, or below or above a line."""

    file: str
    place: str
    line: str
    code: str

    def apply(self, root: Path) -> None:
        path = root / self.file
        lines = path.read_text("utf-8").splitlines() if self.place != "as a new file" else []
        if self.place == "as a new file":
            assert not path.exists()
            lines = self.code.splitlines()
        elif self.place == "at the end":
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
    places = "as a new file|at the end|below|above"
    step = rf"In\s+`(?P<file>[^`]+)`,\s+(?P<place>{places})(?:\s+`(?P<line>[^`]+)`)?:\n\n   ```python\n"
    found = re.finditer(step + r"(?P<code>.*?)\n   ```\n", text, re.DOTALL)
    return [Edit(m["file"], m["place"], m["line"] or "", _dedent(m["code"])) for m in found]


def _dedent(code: str) -> str:
    """The three spaces of the list item go; the rest is as it is to be written."""
    assert all(not line or line.startswith("   ") for line in code.splitlines())
    return "\n".join(line[3:] for line in code.splitlines())


def named_commands(text: str) -> tuple[list[list[str]], list[str]]:
    """The arguments of Python in the commands of a recipe: programs that write files, and the tests to run last."""
    commands = [found.split() for found in re.findall(r"`(?:PYTHONPATH=tests )?python ([^`]+)`", text)]
    *programs, tests = commands
    assert tests[:2] == ["-m", "pytest"]
    return programs, tests


@pytest.fixture
def copy(tmp_path):
    """The tree as a newcomer has it, with the core built, and compiled modules where there are some."""
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("*.so"))
    for name in ("pyproject.toml", "Makefile", "CONTRIBUTING.md", "CHANGELOG.md", "README.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copy(_native.__file__, tmp_path / "src" / "onkel" / "_core")
    (tmp_path / "tests" / "sitecustomize.py").write_text(SITE.format(source=str(tmp_path / "src")), "utf-8")
    assert run(tmp_path, "-c", "import onkel; print(onkel.__file__)").startswith(str(tmp_path))
    return tmp_path


class Recipe(NamedTuple):
    """The steps of a recipe that write code, which of the tests that it names to run here, and a path that is new."""

    steps: int
    chosen: list[str]
    path: str | None = None


RECIPES = {
    "How to add a kernel on vectors": Recipe(
        9, ["-k", "Cauchy or symmetric or diagonal or same_bits or reads_back"], "onkel.kernels.Cauchy(gamma=1.0)"
    ),
    "How to add an update rule": Recipe(4, ["-k", "log-cosh and (twin or chunk)"]),
    "How to add a learner": Recipe(
        8,
        # Not test_files.py, which writes a file of every estimator first: the kept files of Pegasos are loaded anyway.
        [
            "-k",
            "(Pegasos and not finds_nothing_wrong and not another_process and not of_a_file and not a_file_is)"
            " or has_a_slow_twin or every_kind or every_form",
        ],
        "onkel.Pegasos(",
    ),
}


@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_followed_word_by_word_gives_what_it_promises(title, copy):
    text, (steps, chosen, path) = recipe(title), RECIPES[title]
    found = edits(text)
    assert len(found) == text.count("```python") == steps
    for edit in found:
        edit.apply(copy)
    programs, tests = named_commands(text)
    for program in programs:
        run(copy, *program)
    printed = run(copy, *tests, *chosen, "-n0", "-v", "-p", "no:cacheprovider", "--hypothesis-profile=few")
    if path is not None:
        assert path in (copy / "tests" / "contract" / "public_paths.txt").read_text("utf-8")
    passed = re.search(r"(\d+) passed", printed)
    assert passed
    assert int(passed[1]) >= 4
