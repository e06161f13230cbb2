"""Damaged documents for long: each is read or refused, and what reads them neither ends nor hangs.

    make soak PART=damaged_documents               # or ARGS="--mutants 1000 --seed 5"

5,000 mutants of PDF, DOCX, XLSX, CSV, EML, HTML and Markdown files (tests/fuzz/documents.py), in processes of 250, each
mutant with a limit of 20 s. One in fifty goes through the product's reader as well, with its sandbox. Ends with 1 if a
process ended or hung, or if the reader did anything but give pages or raise a DocumentError.
"""

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # tests is not part of the package.

from reveries.errors import DocumentError
from reveries.tools.document_reader import SandboxedDocumentReader
from reveries.tools.sandbox import find_sandbox
from tests.fuzz.documents import make_mutant

BATCH = 250
ONE_IN = 50


async def read_batch(seed: int, count: int) -> tuple[int, Counter[str]]:
    """The exit code of a process, and what came of its mutants."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.fuzz.documents", str(seed), str(count),
        stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[2], env=os.environ,
    )  # fmt: skip
    out, _ = await child.communicate()
    return child.returncode or 0, Counter(json.loads(out)) if out else Counter()


async def read_through_product(seed: int, count: int, folder: Path) -> Counter[str]:
    """The same through the sandboxed reader, one after another."""
    reader, chance, results = SandboxedDocumentReader(find_sandbox()), random.Random(seed), Counter[str]()
    for number in range(count):
        name, content = make_mutant(chance)
        path = folder / f"{seed}.{number}.{name}"
        path.write_bytes(content)
        try:
            results["pages"] += bool([page async for page in reader.read(path)])
        except DocumentError as error:
            results[f"reader: {error.fault.value}"] += 1
        path.unlink()
    return results


async def run(chosen: argparse.Namespace) -> int:
    failures, total = 0, Counter[str]()
    for seed in range(chosen.seed, chosen.seed + -(-chosen.mutants // BATCH)):
        code, results = await read_batch(seed, min(BATCH, chosen.mutants))
        total += results
        if code:
            failures += 1
            print(f"seed {seed}: the process ended with {code}")
        with tempfile.TemporaryDirectory(prefix="rv") as folder:
            total += await read_through_product(seed, BATCH // ONE_IN, Path(folder))
    print(dict(total.most_common()))
    print(f"{failures} processes ended or hung")
    return 1 if failures else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--mutants", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    sys.exit(asyncio.run(run(parser.parse_args())))


if __name__ == "__main__":
    main()
