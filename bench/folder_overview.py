"""A project that summarises a folder of notes with the local model: is the resulting overview correct?

    python bench/folder_overview.py [DIR] [--goal "..."]     # without DIR: bench/notes, twelve files

The simulated owner approves the draft and answers "both" to conflicts. Code then checks the file: every note is named
once, none is invented, every quote is word for word in the note that it is attributed to.
"""

import argparse
import asyncio
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))  # tests is not part of the package.

from work import Bench, open_bench

from reveries.projects.answers import CONFLICT_TAG
from reveries.projects.evidence import stands_in
from reveries.projects.folder_recipe import FILE

HERE: Final = Path(__file__).parent
GOAL: Final = "make an index of these notes with one line each, and list what contradicts what"
_MOST_FILES: Final = 40
_MOST_WAKES: Final = 3
_ENTRY: Final = re.compile(r"^- \*\*(.+?)\*\*", re.MULTILINE)
_QUOTE: Final = re.compile(r"^(?:- |  )(?:\*\*)?([^*\n]+?\.\w+)(?:\*\*)?[^\n“]*: “(.*)”$", re.MULTILINE)


def lay_out(source: Path, folder: Path) -> list[str]:
    """Copy the first forty notes; their paths."""
    paths = [str(one.relative_to(source)) for one in sorted(source.rglob("*.md"))][:_MOST_FILES]
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / path, folder / path)
    return paths


def check(folder: Path, paths: list[str]) -> str:
    """What of the overview is not so, in figures."""
    text = (folder / FILE).read_text(encoding="utf-8")
    named = _ENTRY.findall(text)
    quotes = _QUOTE.findall(text)
    wrong = [path for path, quote in quotes if not stands_in(quote, (folder / path).read_text(encoding="utf-8"))]
    missing, twice = set(paths) - set(named), len(named) - len(set(named))
    conflicts = text.partition("does not go together")[2].count("\n- ")
    return (
        f"{len(named)} of {len(paths)} notes named, {len(missing)} missing, {twice} twice, "
        f"{len(set(named) - set(paths))} invented; {len(quotes)} quotes, {len(wrong)} not verbatim; "
        f"{conflicts} pairs that do not go together"
    )


async def pursue(bench: Bench, folder: Path, goal: str) -> None:
    project = await bench.store.create("Notes", str(folder), may_write=True)
    await bench.store.set_goal(project, goal, None)
    for _ in range(_MOST_WAKES):
        began = time.monotonic()
        report = await bench.work.wake(project.id)
        for action, words in bench.told:
            print(f"    {action:11} {words[:150]}".replace("\n", " / "))
        bench.told.clear()
        print(f"    {'':11} {report.reason.value} after {time.monotonic() - began:.0f} s")
        open_ones = [one for _, one in await bench.store.open_questions()]
        drafts = [one for one in open_ones if one.kind.value == "approval"]
        for one in open_ones:
            if one in drafts:
                print(f"\n{one.question}\n\n{one.context}")
                await bench.store.answer(one.id, "yes")
            elif CONFLICT_TAG in one.context_tags:
                print(f"    {'asks':11} {one.question} {one.context}".replace("\n", " / "))
                await bench.store.answer(one.id, "both")
        if not drafts and await asyncio.to_thread((folder / FILE).exists):
            return


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", nargs="?", type=Path, default=HERE / "notes")
    parser.add_argument("--goal", default=GOAL)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "folder"
        paths = await asyncio.to_thread(lay_out, given.source, folder)
        async with open_bench(Path(name) / "home") as bench:
            await pursue(bench, folder, given.goal)
        print(check(folder, paths))


if __name__ == "__main__":
    asyncio.run(main())
