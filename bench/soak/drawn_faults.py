"""Mutation testing: how many random faults does the test suite detect? One changed line at a time, in a copy.

    make soak PART=drawn_faults ARGS="--faults 100 --seed 1 [--by-all] [--near] [--packages projects,tools]"

Faults are drawn evenly over all packages, or those that are named, inside functions: a comparison reversed or off by
one, `and` for `or`, a negated condition, a sign, a changed number, a removed statement, another return value. Each is
tried with the test files that import its module, then with those of its package, then with those of the modules that
import it; --near leaves these out, and with --by-all what they miss is tried with the whole suite, ten minutes each. A
fault that no test detects is printed with its line. Resumable.
"""

import argparse
import ast
import functools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from resumable import ROOT, Parts

_IN_PARTS: Final = ("memory",)
"""Packages whose folders are drawn from like packages: each is as large as others are."""
FAULT_SECONDS: Final = 1800
_SLOW: Final = ("tests/e2e", "tests/durability", "tests/faults", "tests/fuzz", "tests/test_wheel.py")
"""They run other processes, or the real model: only --by-all has them."""
_MAKE_TEST: Final = ("tests", "--ignore=tests/test_house.py", "--ignore=tests/test_requirements.py")
_COMPARED: Final[Mapping[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_CALCULATED: Final[Mapping[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One changed piece of one file: `old` at (`line`, `column`) becomes `new`."""

    file: str
    line: int
    end_line: int
    column: int
    end_column: int
    old: str
    new: str

    @property
    def name(self) -> str:
        return f"{self.file}:{self.line}:{self.column} {self.old!r} -> {self.new!r}"

    def apply(self, source: str) -> str:
        """`source` with the fault; columns are bytes of UTF-8, as in `ast`."""
        lines = source.encode().split(b"\n")
        before = b"\n".join([*lines[: self.line - 1], lines[self.line - 1][: self.column]])
        after = b"\n".join([lines[self.end_line - 1][self.end_column :], *lines[self.end_line :]])
        return (before + self.new.encode() + after).decode()


def faults_of(file: str, source: str) -> Iterator[Fault]:
    """Return every possible fault of a module, except in types, logs and docstrings."""
    tree, lines = ast.parse(source), source.encode().split(b"\n")
    for node in _nodes(tree):
        segment = _segment(lines, node)
        if segment.count("\n") > 2:
            continue
        for new in _changed(node):
            assert node.end_lineno is not None
            assert node.end_col_offset is not None
            yield Fault(file, node.lineno, node.end_lineno, node.col_offset, node.end_col_offset, segment, new)


def _segment(lines: Sequence[bytes], node: ast.expr | ast.stmt) -> str:
    """The source of a node; `ast.get_source_segment` splits the whole file for each."""
    assert node.end_lineno is not None
    own = list(lines[node.lineno - 1 : node.end_lineno])
    own[-1] = own[-1][: node.end_col_offset]
    own[0] = own[0][node.col_offset :]
    return b"\n".join(own).decode()


def _nodes(tree: ast.Module) -> Iterator[ast.expr | ast.stmt]:
    """Expressions and statements inside functions, without annotations, decorators, docstrings, logs and raises."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            todo: list[ast.AST] = list(function.body)
            while todo:
                node = todo.pop()
                if _is_idle(node):
                    continue
                if isinstance(node, ast.expr | ast.stmt):
                    yield node
                if isinstance(node, ast.AnnAssign):
                    todo += [node.value] if node.value is not None else []
                else:
                    todo += ast.iter_child_nodes(node)


def _is_idle(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Raise() | ast.Assert() | ast.FunctionDef() | ast.AsyncFunctionDef():
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="log")))):
            return True
    return False


def _changed(node: ast.expr | ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Constant):
        yield from _changed_constant(node)
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in _COMPARED:
            yield ast.unparse(ast.Compare(left, [_COMPARED[type(operator)]()], [right]))
        case ast.BoolOp(op=ast.And(), values=values):
            yield f"({ast.unparse(ast.BoolOp(ast.Or(), values))})"
        case ast.BoolOp(op=ast.Or(), values=values):
            yield f"({ast.unparse(ast.BoolOp(ast.And(), values))})"
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _CALCULATED:
            yield f"({ast.unparse(ast.BinOp(left, _CALCULATED[type(operator)](), right))})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield f"({ast.unparse(operand)})"
        case ast.IfExp(test=test, body=body, orelse=other):
            yield f"({ast.unparse(ast.IfExp(test, other, body))})"
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield "return None"
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Assign() | ast.AugAssign():
            yield "pass"


def _changed_constant(node: ast.Constant) -> Iterator[str]:
    match node.value:
        case bool(value):
            yield str(not value)
        case int(value):
            yield str(value + 1)
        case float(value):
            yield repr(value * 2 + 0.1)


def list_packages() -> list[str]:
    """Every folder of the product that has code, by its path within it: a new one is drawn from without a word here."""
    product = ROOT / "reveries"
    folders = [path for path in sorted(product.iterdir()) if path.is_dir() and path.name not in _IN_PARTS]
    folders += [path for name in _IN_PARTS for path in sorted((product / name).iterdir()) if path.is_dir()]
    return [str(path.relative_to(product)) for path in folders if any(path.rglob("[!_]*.py"))]


def draw(count: int, seed: int, packages: Sequence[str]) -> list[Fault]:
    """So many faults, evenly over the packages, at most one a function of a file's line. The same for a seed."""
    chance = random.Random(seed)
    chosen: list[Fault] = []
    for number, package in enumerate(packages):
        found = [
            fault
            for path in sorted((ROOT / "reveries" / package).rglob("*.py"))
            for fault in faults_of(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
        ]
        share = count // len(packages) + (number < count % len(packages))
        lines: set[tuple[str, int]] = set()
        for fault in chance.sample(found, len(found)):
            if len(lines) == share:
                break
            if (fault.file, fault.line) not in lines:
                lines.add((fault.file, fault.line))
                chosen.append(fault)
    return chosen


def tests_near(fault: Fault, *, only_near: bool) -> list[list[str]]:
    """Test files in the order in which they are tried: those that import the fault's module, then its package's, then,
    unless `only_near`, those that import a module which imports it."""
    module = fault.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    package, _, name = module.rpartition(".")
    imports = (f"from {module} import", f"import {module}", f"from {package} import {name}")
    files = sorted(path for path in (ROOT / "tests").rglob("test_*.py") if not _is_slow(path))
    bearing = package.rpartition(".")[2]
    near = [path for path in files if bearing in path.stem or any(one in _text(path) for one in imports)]
    folder = ROOT / _folder_of(fault)
    beside = [path for path in files if path.is_relative_to(folder) and path not in near]
    users = [] if only_near else _modules_that_import(imports)
    around = [
        path
        for path in files
        if path not in near and path not in beside and any(f"from {one} import" in _text(path) for one in users)
    ]
    return [[str(path.relative_to(ROOT)) for path in part] for part in (near, beside, around) if part]


def _modules_that_import(imports: Sequence[str]) -> list[str]:
    """Modules of the package that have one of these import lines."""
    return [
        str(path.relative_to(ROOT).with_suffix("")).replace("/", ".")
        for path in (ROOT / "reveries").rglob("*.py")
        if any(one in _text(path) for one in imports)
    ]


@functools.cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _is_slow(path: Path) -> bool:
    return any(str(path.relative_to(ROOT)).startswith(name) for name in _SLOW)


class Copy:
    """A copy of everything that the tests need."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in ("reveries", "tests", "docs", "bench"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.pyc", "__pycache__"))
        for name in ("pyproject.toml", "LICENSE", "README.md", "Makefile"):
            shutil.copy(ROOT / name, folder)

    def is_caught(self, fault: Fault, *, by_all: bool, only_near: bool) -> bool:
        """Whether a test fails, or hangs, with the fault: one near it, or `by_all` any that `make test` runs."""
        file = self._folder / fault.file
        source = file.read_text(encoding="utf-8")
        file.write_text(fault.apply(source), encoding="utf-8")
        try:
            runs = [*tests_near(fault, only_near=only_near), *([_MAKE_TEST] if by_all else [])]
            return any(not self._do_pass(tests) for tests in runs)
        finally:
            file.write_text(source, encoding="utf-8")

    def _do_pass(self, tests: Sequence[str]) -> bool:
        command = [sys.executable, "-B", "-m", "pytest", "-q", "-x", "-m", "not system", "-p", "no:cacheprovider"]
        env = {**os.environ, "PYTHONPATH": str(self._folder)}
        try:
            done = subprocess.run(
                [*command, *tests], cwd=self._folder, env=env, capture_output=True, timeout=FAULT_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode in (0, 5)


def _folder_of(fault: Fault) -> str:
    """The folder of tests that bears the name of the fault's package."""
    inside = Path(fault.file).relative_to("reveries").parent
    return next(str(Path("tests", one)) for one in (inside, *inside.parents) if (ROOT / "tests" / one).is_dir())


def main() -> int:
    """Draw and try faults, print the result; exit code 1 if fewer than 85 of 100 are caught."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=90.0)
    parser.add_argument("--by-all", action="store_true")
    parser.add_argument("--near", action="store_true")
    parser.add_argument("--packages", default="", help="By their folders, with commas; empty: all.")
    options = parser.parse_args()
    parts = Parts(f"drawn_faults-{options.seed}", options.minutes)
    done = {str(part["fault"]): bool(part["is_caught"]) for part in parts.done}
    with tempfile.TemporaryDirectory(prefix="rvfault") as folder:
        copy = Copy(Path(folder))
        packages = options.packages.split(",") if options.packages else list_packages()
        for fault in draw(options.faults, options.seed, packages):
            if fault.name in done or not parts.is_time_left:
                continue
            done[fault.name] = copy.is_caught(fault, by_all=options.by_all, only_near=options.near)
            parts.add(fault=fault.name, is_caught=done[fault.name])
            print("caught  " if done[fault.name] else "SURVIVES", fault.name, flush=True)
    caught = sum(done.values())
    survivors = [name for name, is_caught in done.items() if not is_caught]
    parts.print_rows((("faults", len(done)), ("caught", caught), ("survivors", json.dumps(survivors, indent=1))))
    return 0 if caught >= 0.85 * len(done) else 1


if __name__ == "__main__":
    sys.exit(main())
