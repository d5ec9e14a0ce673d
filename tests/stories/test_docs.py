"""What a reader does with the documentation: runs its examples, follows its links, looks at its picture."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = sorted((ROOT / "docs").glob("*.md"))
NAMED = {"argnames": "page", "ids": lambda page: page.name}


def prose(page: Path) -> str:
    """The text without code: what looks like a link or a heading there is none."""
    blocks = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"^ {4}.*$", "", blocks, flags=re.MULTILINE)


def links(page: Path) -> list[str]:
    """Where its links and pictures lead, but for other sites."""
    targets = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", prose(page)))
    return [target for target in targets if not re.match(r"https?:|mailto:", target)]


def anchors(page: Path) -> set[str]:
    """Of its headings, as GitHub makes them: lower case, without punctuation and symbols, a hyphen for each space."""
    headings = re.findall(r"^#{1,6} (.+)$", prose(page), flags=re.MULTILINE)
    kept = [re.sub(r"[^\w\- ]", "", heading.lower().replace("²", "")) for heading in headings]
    return {heading.replace(" ", "-") for heading in kept}


def test_the_pages_are_there():
    names = {page.stem for page in PAGES}
    coming_from = {f"coming-from-{other}" for other in ("scikit-learn", "river", "crfsuite")}
    assert names >= {"guide", "ranking", "sequences", "pitfalls", "performance"} | coming_from


@pytest.mark.parametrize(argvalues=PAGES, **NAMED)
def test_a_page_shows_what_happens(page):
    results = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert results.failed == 0
    assert results.attempted >= 5 or page.stem == "performance"


@pytest.mark.parametrize(argvalues=[README, *PAGES], **NAMED)
def test_every_relative_link_leads_to_a_file_and_a_heading_that_exist(page):
    found = links(page)
    assert found
    for target in found:
        name, _, anchor = target.partition("#")
        there = (page.parent / name).resolve() if name else page
        assert there.exists(), f"{page.name} links to {target}, which does not exist"
        assert there.is_relative_to(ROOT), f"{page.name} links to {target}, which is outside the project"
        if anchor:
            assert anchor in anchors(there), f"{page.name} links to {target}; {there.name} has no such heading"


@pytest.mark.parametrize(argvalues=PAGES, **NAMED)
def test_the_readme_leads_to_every_page(page):
    assert f"docs/{page.name}" in {target.partition("#")[0] for target in links(README)}


def test_the_readme_is_short():
    assert len(README.read_text("utf-8").splitlines()) <= 140


def test_the_pictures_are_small_and_shown():
    shown = {(page.parent / target).resolve() for page in [README, *PAGES] for target in links(page)}
    pictures = list((ROOT / "docs" / "images").iterdir())
    assert pictures
    for picture in pictures:
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size < 100_000
        assert picture in shown, f"no page shows {picture.name}"
