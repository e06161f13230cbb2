"""Backups: killed while being made, restored, and their effect on conversations meanwhile (A9).

    make soak PART=backups                    # or ARGS="--kills 20 --pairs 2 --large FOLDER"

The real daemon with a mind of 10,000 episodes is killed at random moments while it makes a backup, until a hundred
kills left an unfinished one. After each kill the listed backups are checked; at the end of a home each backup is
restored into a new home, and all rows are compared. Then a mind of 100,000 episodes is backed up, restored and woken,
and talked to, alternately with and without a running backup. Missing minds are generated (in .soak; the large one takes
many minutes; `--large` names the home of a sleeping mind, of which copies are used). Ends with 1 if a listed backup is
not intact or lacks acknowledged data, if the large one took more than 60 s, or if a turn took more than 50 ms longer at
p99. Resumable.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from resumable import FOLDER, Parts

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))  # tests is not part of the package.

from large_mind import SETTINGS, fall_asleep, fill
from synthetic import make_mind
from talk_beside import BUDGET, WAKE_SECONDS, Beside, milliseconds, talk_beside_copies

from reveries.config import Home
from reveries.db.backups import find_backups
from tests.client.command_line import environment
from tests.durability.killed_copies import CopyLives, Seen, digests
from tests.durability.ledger import Acknowledged
from tests.durability.mind import Zygote
from tests.e2e.living import Living
from tests.fakes.provider import provider

_EPISODES = 10_000
_LARGE_EPISODES = 100_000
_TURNS_AN_EPISODE = 2
_KILLS_PER_HOME = 25
_MOST_SECONDS = 60.0
_MOST_ADDED_MS = 50.0
_COMMAND_SECONDS = 1200


def main() -> int:
    """Kill, restore, talk, print the result, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100, help="that fall into a copy")
    parser.add_argument("--pairs", type=int, default=5, help="copies that are made while somebody talks")
    parser.add_argument("--large", type=Path, help="the home of a mind of 100,000 episodes, which is only read")
    parser.add_argument("--minutes", type=float, default=35.0)
    options = parser.parse_args()
    parts = Parts("backups", options.minutes)
    for seed in range(0, options.kills, _KILLS_PER_HOME):
        if parts.is_time_left and seed not in {part.get("seed") for part in parts.done}:
            _kill(parts, seed, min(_KILLS_PER_HOME, options.kills - seed))
    if parts.is_time_left and not _parts_named(parts, "restored"):
        _put_large_back(parts, options.large or _large_home(_LARGE_EPISODES))
    if parts.is_time_left and not _parts_named(parts, "talked"):
        _talk(parts, options.large or _large_home(_LARGE_EPISODES), options.pairs)
    return _print_result(parts, options.kills)


def _parts_named(parts: Parts, name: str) -> list[dict[str, Any]]:
    return [part for part in parts.done if part.get("part") == name]


def _large_home(episodes: int) -> Path:
    """Return the home of a sleeping mind of `episodes`, with a snapshot and the real embedder; create it if needed."""
    kept = FOLDER / f"mind-{episodes}"
    if not kept.exists():
        with tempfile.TemporaryDirectory(prefix="rvc") as folder:
            home = Home(Path(folder) / "h")
            asyncio.run(_make(home, episodes))
            shutil.move(home.path, kept)
    return kept


async def _make(home: Home, episodes: int) -> None:
    print(f"making a mind of {episodes} episodes", flush=True)
    home.create()
    await fill(home, make_mind(episodes, hubs=False), _TURNS_AN_EPISODE)
    async with provider() as there:
        daemon = Living(home, settings=SETTINGS.format(url=there.url))
        await daemon.wake(WAKE_SECONDS)
        await fall_asleep(daemon)
    shutil.rmtree(home.backups)
    shutil.rmtree(home.path / "cache", ignore_errors=True)


# --- killed ----------------------------------------------------------------------------------------------------------


def _kill(parts: Parts, seed: int, kills: int) -> None:
    kept, began = _large_home(_EPISODES), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rvc") as folder:
        home = Home(Path(folder) / "h")
        shutil.copytree(kept, home.path)
        home.create()
        seen = asyncio.run(_lives(home, seed, kills))
        put_back = _put_back_each(home, Path(folder), seen)
    parts.add(
        part="killed",
        seed=seed,
        lives=seen.lives,
        in_a_copy=seen.in_a_copy,
        told_last=seen.told_last,
        copies=seen.copies,
        held=seen.held,
        acknowledged=seen.acknowledged,
        cleared=seen.cleared,
        put_back=put_back,
        wall_seconds=round(time.monotonic() - began, 1),
        wrong=seen.wrong,
    )
    print(f"home {seed}: {seen.lives} kills, {seen.in_a_copy} in a copy, {seen.wrong or 'nothing'} wrong", flush=True)


async def _lives(home: Home, seed: int, kills: int) -> Seen:
    zygote, ledger = Zygote.start(), Acknowledged(home.path.parent / "ledger.jsonl")
    try:
        async with provider() as there:
            home.config.write_text(SETTINGS.format(url=there.url) + BUDGET)
            home.config.chmod(0o600)
            return await CopyLives(home, ledger, zygote, random.Random(seed)).run(kills)
    finally:
        ledger.close()
        zygote.close()


def _put_back_each(home: Home, folder: Path, seen: Seen) -> int:
    """Make one more copy, then restore each into a separate home; return how many."""
    made = json.loads(_reveries(home, "backup", "create", "--json"))["backups"][0]["name"]
    kept = find_backups(home.backups)
    for backup in kept:
        other = Home(folder / "other")
        other.create()
        shutil.copyfile(backup.path, other.backups / backup.name)
        _reveries(other, "backup", "restore", backup.name, "--yes", "--json")
        found = digests(other.database_default)
        originals = [backup.path, *([home.database_default] if backup.name == made else [])]
        for original in originals:
            rows = digests(original)
            others = sorted(name for name in rows.keys() | found.keys() if rows.get(name) != found.get(name))
            seen.wrong += [f"{backup.name} put back: {others} is not as in {original.name}"] if others else []
        shutil.rmtree(other.path)
    return len(kept)


def _reveries(home: Home, *words: str) -> str:
    """Return the output of the command. Raises CalledProcessError."""
    return subprocess.run(
        [sys.executable, "-m", "reveries", *words],
        capture_output=True,
        text=True,
        check=True,
        env=environment(home),
        cwd=Path(__file__).parents[2],
        timeout=_COMMAND_SECONDS,
    ).stdout


# --- large -----------------------------------------------------------------------------------------------------------


def _put_large_back(parts: Parts, large: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="rvc") as folder:
        home = Home(Path(folder) / "h")
        shutil.copytree(large, home.path)
        load = os.getloadavg()[0]
        create_seconds = _seconds(lambda: _reveries(home, "backup", "create", "--json"))
        restore_seconds = _seconds(lambda: _reveries(home, "backup", "restore", "--yes", "--json"))
        [kept] = home.path.glob("memory.db.replaced-*")
        is_same = digests(home.database_default) == digests(kept)
        answers_seconds = asyncio.run(_answers(home))
    parts.add(
        part="restored",
        create_seconds=create_seconds,
        restore_seconds=restore_seconds,
        answers_seconds=answers_seconds,
        load=[round(load, 1), round(os.getloadavg()[0], 1)],
        wrong=[] if is_same else ["the large mind that was put back is another"],
    )


def _seconds(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return round(time.monotonic() - began, 1)


async def _answers(home: Home) -> float:
    """Seconds from the start of the daemon until it has answered with its status."""
    async with provider() as there:
        daemon = Living(home, settings=SETTINGS.format(url=there.url))
        began = time.monotonic()
        await daemon.wake(WAKE_SECONDS)
        async with daemon.client() as client:
            await client.status()
        seconds = time.monotonic() - began
        await daemon.end(seconds=600)
    return round(seconds, 1)


def _talk(parts: Parts, large: Path, pairs: int) -> None:
    with tempfile.TemporaryDirectory(prefix="rvc") as folder:
        home = Home(Path(folder) / "h")
        shutil.copytree(large, home.path)
        seen = asyncio.run(talk_beside_copies(home, pairs))
    parts.add(part="talked", copy_seconds=seen.copy_seconds, load=seen.load, wrong=_slow(seen), **_percentiles(seen))


def _percentiles(seen: Beside) -> dict[str, float]:
    return {
        f"{what}_{when}_p{percent}_ms": milliseconds(getattr(waited, what), percent)
        for when, waited in (("alone", seen.alone), ("copying", seen.copying))
        for what in ("stored", "asked")
        for percent in (50, 99)
    } | {"turns_alone": len(seen.alone.stored), "turns_copying": len(seen.copying.stored)}


def _slow(seen: Beside) -> list[str]:
    added = {
        what: milliseconds(getattr(seen.copying, what), 99) - milliseconds(getattr(seen.alone, what), 99)
        for what in ("stored", "asked")
    }
    return [f"{what}: p99 {ms:.0f} ms later beside a copy" for what, ms in added.items() if ms > _MOST_ADDED_MS]


# --- told ------------------------------------------------------------------------------------------------------------


def _print_result(parts: Parts, kills: int) -> int:
    wrong = [one for part in parts.done for one in part["wrong"]]
    told_last: Counter[str] = Counter()
    for part in _parts_named(parts, "killed"):
        told_last.update(part["told_last"])
    rows: list[tuple[str, object]] = [
        ("kills in a copy", f"{parts.sum('in_a_copy'):.0f} of {kills}, of {parts.sum('lives'):.0f} kills"),
        ("while it was", dict(told_last)),
        ("broken-off copies cleared", f"{parts.sum('cleared'):.0f}"),
        ("copies seen", f"{parts.sum('copies'):.0f}, {parts.sum('held'):.0f} turns looked for in them"),
        ("put back and compared", f"{parts.sum('put_back'):.0f}"),
    ]
    for part in (*_parts_named(parts, "restored"), *_parts_named(parts, "talked")):
        rows += [(name, value) for name, value in part.items() if name not in ("commit", "code", "at", "wrong")]
        if part.get("restore_seconds", 0.0) > _MOST_SECONDS:
            wrong.append("putting it back took too long")
    parts.print_rows((*rows, ("wrong", "; ".join(wrong) or "nothing")))
    is_done = parts.sum("in_a_copy") >= kills and _parts_named(parts, "restored") and _parts_named(parts, "talked")
    return 1 if wrong or not is_done else 0


if __name__ == "__main__":
    sys.exit(main())
