"""Figures on the size and structure of reveries/, to measure a reorganisation.

    python tests/house_figures.py

`make check` prints them; docs/explain/design.md has earlier values. They cannot fail a check.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
SMALL_LINES: Final = 60
"""A file with fewer lines should have at least two importers."""
FEWEST_FIELDS: Final = 5
"""Structs that share fewer fields are no copies of each other."""
_LONE_WORD: Final = re.compile(
    r"[a-z]{2,}(?:ed|ing)|"
    r"add|ask|be|become|begin|bring|call|check|choose|close|come|cut|draw|drop|end|fall|fill|find|fit|"
    r"follow|forget|get|give|go|guess|hear|heed|hold|join|judge|keep|know|last|lay|leave|let|listen|"
    r"look|lose|make|mark|meet|mend|need|note|open|part|pass|place|play|point|put|reach|read|reckon|"
    r"rest|run|say|see|send|set|show|sit|sleep|sow|spare|speak|stand|start|stay|stir|stop|take|talk|"
    r"tell|think|tick|touch|trim|try|turn|wait|wake|warm|watch|weigh|write"
)
"""A participle, or a verb without an object."""
_RIDDLES: Final = frozenset({"one", "every", "there", "told", "held", "known", "found", "said", "each"})
"""Names of variables that do not say what the variable is."""


@dataclass(frozen=True)
class Module:
    """One file of the package."""

    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    def imports(self, *, for_types: bool) -> set[str]:
        """Return the imported modules and names; with `for_types` only those under TYPE_CHECKING."""
        blocks = [
            node for node in ast.walk(self.tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        ]
        typed = {id(node) for block in blocks for node in ast.walk(block)}
        return {
            name
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Import | ast.ImportFrom) and (id(node) in typed) is for_types
            for name in _imported_names(node)
        }


def _imported_names(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom):
        yield node.module or ""
    yield from (
        f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name for alias in node.names
    )


def read_package(folder: Path) -> list[Module]:
    """Read every module under `folder`."""
    paths = sorted(folder.rglob("*.py"))
    return [Module(_name_of(path, folder.parent), path.read_text(encoding="utf-8")) for path in paths]


def _name_of(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def names_in_two_files(modules: Iterable[Module], *kinds: type[ast.stmt]) -> tuple[int, int]:
    """Count the top-level names of those kinds that are in two files or more, and all such names."""
    file_counts = Counter(
        name
        for module in modules
        for name in {node.name for node in module.tree.body if isinstance(node, kinds)}  # type: ignore[attr-defined]
    )
    return sum(count > 1 for count in file_counts.values()), len(file_counts)


def lone_names(modules: Iterable[Module]) -> tuple[int, int]:
    """Count the functions whose name is a single participle or verb, and all functions."""
    names = [
        node.name.lstrip("_")
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and not node.name.startswith("__")
        and not any("property" in ast.unparse(decorator) for decorator in node.decorator_list)
    ]
    return sum(_is_lone(name) for name in names), len(names)


def _is_lone(name: str) -> bool:
    return _LONE_WORD.fullmatch(name) is not None


def riddles(modules: Iterable[Module]) -> int:
    """Count the places that bind a variable or parameter to a name that does not say what it is."""
    nodes = [node for module in modules for node in ast.walk(module.tree)]
    stored = [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    arguments = [node.arg for node in nodes if isinstance(node, ast.arg)]
    return sum(name in _RIDDLES for name in stored + arguments)


def importers(modules: Iterable[Module]) -> Mapping[str, set[str]]:
    """Return for each module the modules that import it."""
    by_name = {module.name for module in modules}
    imported_by: defaultdict[str, set[str]] = defaultdict(set)
    for module in modules:
        for name in module.imports(for_types=False) | module.imports(for_types=True):
            if name in by_name and name != module.name:
                imported_by[name].add(module.name)
    return imported_by


def hidden_cycles(modules: Iterable[Module]) -> int:
    """Count the imports under TYPE_CHECKING of a module that imports back, directly or indirectly."""
    by_name = {module.name: module for module in modules}
    leads_to = {
        name: {imported for imported in module.imports(for_types=False) if imported in by_name}
        for name, module in by_name.items()
    }

    def reaches(start: str, goal: str) -> bool:
        seen, todo = set[str](), [start]
        while todo:
            if (name := todo.pop()) == goal:
                return True
            todo += leads_to[name] - seen
            seen.add(name)
        return False

    return sum(
        reaches(name, module.name)
        for module in by_name.values()
        for name in module.imports(for_types=True)
        if name in by_name
    )


def struct_pairs(modules: Iterable[Module]) -> tuple[int, int]:
    """Count the pairs of structs and dataclasses that share more than half of the fields of the larger one, by name and
    five at least, and all structs with five fields or more."""
    structs = [
        fields
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef) and len(fields := _struct_fields(node)) >= FEWEST_FIELDS
    ]
    pairs = sum(
        len(first & second) >= FEWEST_FIELDS and 2 * len(first & second) > max(len(first), len(second))
        for first, second in combinations(structs, 2)
    )
    return pairs, len(structs)


def _struct_fields(node: ast.ClassDef) -> set[str]:
    """Return the fields that a struct or dataclass defines itself; empty for other classes."""
    marks = " ".join(ast.unparse(mark) for mark in (*node.decorator_list, *node.bases))
    if not re.search(r"\b(?:dataclass|Struct|Request|Answer|Frame|NamedTuple)\b", marks):
        return set()
    named = (part for part in node.body if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name))
    return {ast.unparse(part.target) for part in named if "ClassVar" not in ast.unparse(part.annotation)}


def figures(modules: list[Module]) -> dict[str, str]:
    """Return all figures by their description."""
    imported_by = importers(modules)
    # A package whose file holds nothing but its docstring is no module that could be joined with another.
    small = [module for module in modules if module.lines < SMALL_LINES and len(module.tree.body) > 1]
    lone, functions = lone_names(modules)
    classes, of_classes = names_in_two_files(modules, ast.ClassDef)
    twice, of_functions = names_in_two_files(modules, ast.FunctionDef, ast.AsyncFunctionDef)
    pairs, structs = struct_pairs(modules)
    return {
        "files": str(len(modules)),
        "lines": str(sum(module.lines for module in modules)),
        f"files under {SMALL_LINES} lines": str(len(small)),
        f"files under {SMALL_LINES} lines with one importer": str(
            sum(len(imported_by[module.name]) == 1 for module in small)
        ),
        "modules with one importer": str(sum(len(imported_by[module.name]) == 1 for module in modules)),
        "class names in two files": f"{classes} of {of_classes}",
        "top-level function names in two files": f"{twice} of {of_functions}",
        "functions named by a lone participle or verb": f"{lone} of {functions}",
        "variables and parameters with a riddle for a name": str(riddles(modules)),
        "pairs of structs that share more than half of their fields": f"{pairs} ({structs} structs)",
        "imports for types alone that hide a cycle": str(hidden_cycles(modules)),
    }


if __name__ == "__main__":
    for what, figure in figures(read_package(ROOT / "reveries")).items():
        print(f"{figure:>14}  {what}")  # noqa: T201  # The purpose of the script.
