"""Thirty small programs with their tests, and a worker that writes each as one would: runs the test, writes, runs it
again, hands in."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.projects.kit import finished
from tests.tools.test_task_with_a_folder import Worker, step

_RUN: Final = "python3 -B -m unittest -q test_it"


@dataclass(frozen=True)
class Exercise:
    """`body` is the body of a function, `checks` are pairs of its arguments and its result."""

    name: str
    arguments: str
    body: str
    checks: tuple[tuple[str, str], ...]

    def lay_out(self, folder: Path) -> None:
        (folder / "it.py").write_text(f"def {self.name}({self.arguments}):\n    raise NotImplementedError\n")
        lines = [f"        self.assertEqual({self.name}({given}), {wanted})" for given, wanted in self.checks]
        head = f"import unittest\nfrom it import {self.name}\n\nclass Test(unittest.TestCase):\n    def test(self):\n"
        (folder / "test_it.py").write_text(head + "\n".join(lines) + "\n")


def _one(name: str, arguments: str, body: str, *checks: tuple[str, str]) -> Exercise:
    return Exercise(name, arguments, body, checks)


EXERCISES: Final = (
    _one("reverse", "text", "return text[::-1]", ("'abc'", "'cba'"), ("''", "''")),
    _one("is_leap", "year", "return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)", ("2000", "True"), ("1900", "False")),
    _one("hamming", "a, b", "return sum(x != y for x, y in zip(a, b))", ("'GAG', 'CAT'", "2")),
    _one("is_pangram", "text", "return set('abcdefghijklmnopqrstuvwxyz') <= set(text.lower())", ("'abc'", "False")),
    _one("is_isogram", "word", "return len(set(word.lower())) == len(word)", ("'lumber'", "True"), ("'eleven'", "False")),
    _one("gcd", "a, b", "while b:\n        a, b = b, a % b\n    return a", ("12, 18", "6")),
    _one("factors", "n", "out, d = [], 2\n    while n > 1:\n        while n % d == 0:\n            out.append(d)\n            n //= d\n        d += 1\n    return out", ("12", "[2, 2, 3]")),
    _one("fibonacci", "n", "a, b = 0, 1\n    for _ in range(n):\n        a, b = b, a + b\n    return a", ("10", "55")),
    _one("is_prime", "n", "return n > 1 and all(n % d for d in range(2, int(n ** 0.5) + 1))", ("7", "True"), ("9", "False")),
    _one("sieve", "n", "return [p for p in range(2, n + 1) if all(p % d for d in range(2, int(p ** 0.5) + 1))]", ("10", "[2, 3, 5, 7]")),
    _one("roman", "n", "out = ''\n    for v, s in ((10,'X'),(9,'IX'),(5,'V'),(4,'IV'),(1,'I')):\n        while n >= v:\n            out += s\n            n -= v\n    return out", ("14", "'XIV'")),
    _one("collatz", "n", "steps = 0\n    while n != 1:\n        n = n // 2 if n % 2 == 0 else 3 * n + 1\n        steps += 1\n    return steps", ("6", "8")),
    _one("is_armstrong", "n", "d = str(n)\n    return sum(int(c) ** len(d) for c in d) == n", ("153", "True"), ("154", "False")),
    _one("luhn", "text", "d = [int(c) for c in text[::-1]]\n    return sum(d[::2] + [sum(divmod(2 * x, 10)) for x in d[1::2]]) % 10 == 0", ("'059'", "True")),
    _one("rle", "text", "import itertools\n    return ''.join(f'{len(g)}{c}' for c, g in ((k, list(v)) for k, v in itertools.groupby(text)))", ("'aab'", "'2a1b'")),
    _one("rotate", "text, by", "return ''.join(chr((ord(c) - 97 + by) % 26 + 97) for c in text)", ("'abz', 1", "'bca'")),
    _one("acronym", "text", "return ''.join(w[0].upper() for w in text.split())", ("'portable network graphics'", "'PNG'")),
    _one("anagrams", "word, words", "return [w for w in words if sorted(w) == sorted(word) and w != word]", ("'tan', ['ant', 'no']", "['ant']")),
    _one("brackets", "text", "stack = []\n    for c in text:\n        if c in '([{':\n            stack.append(c)\n        elif c in ')]}' and (not stack or stack.pop() + c not in ('()', '[]', '{}')):\n            return False\n    return not stack", ("'([])'", "True"), ("'(]'", "False")),
    _one("transpose", "rows", "return [list(r) for r in zip(*rows)]", ("[[1, 2], [3, 4]]", "[[1, 3], [2, 4]]")),
    _one("flatten", "xs", "return [y for x in xs for y in (flatten(x) if isinstance(x, list) else [x])]", ("[1, [2, [3]]]", "[1, 2, 3]")),
    _one("binary_search", "xs, x", "import bisect\n    i = bisect.bisect_left(xs, x)\n    return i if i < len(xs) and xs[i] == x else -1", ("[1, 3, 5], 3", "1"), ("[1], 2", "-1")),
    _one("pascal", "n", "row = [1]\n    for _ in range(n):\n        row = [a + b for a, b in zip([0, *row], [*row, 0])]\n    return row", ("3", "[1, 3, 3, 1]")),
    _one("digits", "n, base", "out = []\n    while n:\n        n, d = divmod(n, base)\n        out.insert(0, d)\n    return out or [0]", ("5, 2", "[1, 0, 1]")),
    _one("word_count", "text", "import collections\n    return dict(collections.Counter(text.lower().split()))", ("'a b A'", "{'a': 2, 'b': 1}")),
    _one("matching", "a, b", "return len(set(a) & set(b))", ("'abc', 'bcd'", "2")),
    _one("steps", "n", "a, b = 1, 1\n    for _ in range(n):\n        a, b = b, a + b\n    return a", ("4", "5")),
    _one("change", "amount, coins", "ways = [1] + [0] * amount\n    for c in coins:\n        for i in range(c, amount + 1):\n            ways[i] += ways[i - c]\n    return ways[amount]", ("5, [1, 2, 5]", "4")),
    _one("edit_distance", "a, b", "row = list(range(len(b) + 1))\n    for i, x in enumerate(a, 1):\n        last, row[0] = row[0], i\n        for j, y in enumerate(b, 1):\n            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))\n    return row[-1]", ("'kitten', 'sitting'", "3")),
    _one("say", "n", "return ['zero', 'one', 'two', 'three'][n]", ("2", "'two'")),
)  # fmt: skip


def solve(exercise: Exercise) -> Worker:
    """Red, written, green, handed in with the command that shows it."""
    text = f"def {exercise.name}({exercise.arguments}):\n    {exercise.body}\n"
    return Worker(
        step("run_command", command=_RUN, seconds=20),
        step("read_file", path="test_it.py", from_line=1),
        step("write_file", path="it.py", text=text),
        step("run_command", command=_RUN, seconds=20),
        finished("complete", f"{exercise.name} passes its test.", files=["it.py"], commands=[_RUN]),
    )
