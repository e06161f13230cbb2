"""Every link of the documentation points somewhere: its file is there, and so is the heading that it names."""

import re
from pathlib import Path
from typing import Final

from tests.rows import check_rows

_ROOT: Final = Path(__file__).parents[1]
_PAGES: Final = sorted([*_ROOT.glob("*.md"), *(_ROOT / "docs").rglob("*.md")])
_CODE: Final = re.compile(r"`[^`\n]*`")
_LINK: Final = re.compile(r"\]\(([^)\s]+)\)")
_HEADING: Final = re.compile(r"^#+ (.*)$", re.MULTILINE)


def _anchors(page: Path) -> set[str]:
    """Its headings as a forge names them: lower case, no punctuation, a hyphen for each blank."""
    headings = _HEADING.findall(page.read_text(encoding="utf-8"))
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in plain}


@check_rows("page", _PAGES)
def test_every_link_of_a_page_points_to_a_file_and_a_heading_that_are_there(page: Path) -> None:
    text = _CODE.sub("", page.read_text(encoding="utf-8"))
    for link in (link for link in _LINK.findall(text) if "://" not in link):
        place, _, anchor = link.partition("#")
        target = page.parent / place if place else page
        assert target.exists(), link
        assert not anchor or anchor in _anchors(target), link


def test_a_heading_is_named_as_a_forge_names_it(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Ranking: before, `simpler` (23 Nov 2026)\n\n## [Talk](talk.md) & facts\n", encoding="utf-8")
    assert _anchors(page) == {"ranking-before-simpler-23-nov-2026", "talk--facts"}


def test_each_page_of_measurements_is_named_by_the_front_page() -> None:
    front = (_ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")
    for page in (_ROOT / "docs/benchmarks").glob("*.md"):
        assert f"](benchmarks/{page.name}" in front, page.name
