"""The figures of the house are what a person would count."""

from pathlib import Path

from tests.house_figures import figures, read_package

ONE = """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from house.two import Told
class Room: ...
def named(): ...
"""
TWO = """
from house import one
class Room: ...
class Told: ...
def named(): ...
def read_rows(told): return [one for one, turn in told]
"""


def test_each_figure_is_what_a_person_would_count(tmp_path: Path) -> None:
    folder = tmp_path / "house"
    folder.mkdir()
    for name, text in (("__init__", ""), ("one", ONE), ("two", TWO)):
        (folder / f"{name}.py").write_text(text)
    assert figures(read_package(folder)) == {
        "files": "3",
        "lines": "12",
        "files under 60 lines": "2",
        "files under 60 lines with one importer": "2",
        "modules with one importer": "3",
        "class names in two files": "1 of 2",
        "top-level function names in two files": "1 of 2",
        "functions named by a lone participle or verb": "2 of 3",
        "variables and parameters with a riddle for a name": "2",
        "pairs of structs that share more than half of their fields": "0 (0 structs)",
        "imports for types alone that hide a cycle": "1",
    }
