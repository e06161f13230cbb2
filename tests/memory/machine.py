"""A memory compared with a plain model of what was acknowledged, under random operations in random order (A10).

Each rule does one operation on the real memory, with a real file, and records what was acknowledged. Killed means that
the next life finds the file and its log as they are at that moment.
"""

import asyncio
import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hypothesis import HealthCheck
from hypothesis import seed as seeded
from hypothesis import settings as checking
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from reveries.db.backups import find_backups, restore_backup_copy
from reveries.db.driver import dbapi
from reveries.errors import NotFoundError, UndoError, UsageError
from reveries.memory.conversations import Thought
from reveries.memory.importing import PastTurn
from tests.durability.checks import half_made
from tests.fakes.clock import HandClock
from tests.memory.kit import NOW, open_memory
from tests.memory.test_memory import SAYINGS, do, picture
from tests.memory.test_snapshots import happen

if TYPE_CHECKING:
    from reveries.memory.memory import Memory
    from reveries.memory.model import Turn

DAY = 86_400.0
_QUICK = Path("/dev/shm")  # Every step commits: a disk in memory, where there is one.
T = TypeVar("T")
TEXTS = st.one_of(st.sampled_from(SAYINGS), st.text("abcde fghij. KLM\u00e9\n", min_size=1, max_size=40))


class MindMachine(RuleBasedStateMachine):
    """One mind, life after life."""

    def __init__(self) -> None:
        super().__init__()
        self._runner = asyncio.Runner()
        self._folder = Path(tempfile.mkdtemp(prefix="rvm", dir=_QUICK if _QUICK.is_dir() else None))
        self._clock = HandClock(NOW)
        self._lives = 0
        self._count = 0
        self._home = self._folder / "0"
        self._home.mkdir()
        self._said: dict[str, str] = {}
        self._thoughts: dict[str, str] = {}
        self._imported: list[str] = []
        self._last: list[Turn] = []
        self._kept: tuple[dict[str, str], dict[str, str], list[str]] | None = None
        self._wake()

    # --- what happens ------------------------------------------------------------------------------------------------

    @rule(words=TEXTS, rests=st.booleans())
    def say(self, words: str, rests: bool) -> None:
        async def work() -> None:
            conversation = await self._memory.conversations.open_conversation(12 * 3600)
            asked = await self._memory.conversations.append_owner_turn(conversation.id, words)
            self._said[asked.id] = words
            exchange = await self._memory.conversations.record_exchange(asked, f"I see: {words}", shown=(words,))
            assert exchange.reply is not None
            self._said[exchange.reply.id] = f"I see: {words}"
            self._last = [asked, exchange.reply]
            if rests:
                await self._memory.conversations.mark_conversation_idle(conversation.id)

        self._do(work())

    @rule(words=TEXTS)
    def say_without_a_reply(self, words: str) -> None:
        async def work() -> None:
            conversation = await self._memory.conversations.open_conversation(12 * 3600)
            asked = await self._memory.conversations.append_owner_turn(conversation.id, words)
            self._said[asked.id] = words
            self._last = []

        self._do(work())

    @rule(words=st.sampled_from(SAYINGS))
    def think(self, words: str) -> None:
        async def work() -> None:
            at = self._clock.now()
            name = f"t{self._next()}"
            await self._memory.conversations.record_thought(
                Thought(name, at, at + 9.0, "idle", "settled", words, 9, "m")
            )
            self._thoughts[name] = words

        self._do(work())

    @rule(words=st.lists(st.sampled_from(SAYINGS), min_size=1, max_size=4))
    def take_in(self, words: list[str]) -> None:
        async def work() -> None:
            source = self._next()
            past = [PastTurn(NOW - 50 * DAY + place, "Bea", f"{text} ({source})") for place, text in enumerate(words)]
            await self._memory.begin_import(f"past {source}").add(past)
            self._imported += [turn.text for turn in past]

        self._do(work())

    @rule(
        deed=st.sampled_from(["light", "deep", "deep badly", "decay", "rest", "recall"]), words=st.sampled_from(SAYINGS)
    )
    def sleep_or_recall(self, deed: str, words: str) -> None:
        self._do(do(self._memory, self._clock, deed, words))

    @rule(deed=st.sampled_from(["dormant", "wake up", "put away", "undo", "snapshot", "half a snapshot"]))
    def happens(self, deed: str) -> None:
        self._do(happen(self._memory, self._clock, deed, ""))

    @rule(deed=st.sampled_from(["pin", "drop"]))
    def mark_a_thought(self, deed: str) -> None:
        self._do(happen(self._memory, self._clock, deed, ""))

    @rule(words=st.sampled_from(SAYINGS))
    def correct(self, words: str) -> None:
        async def work() -> None:
            with contextlib.suppress(UsageError):
                await self._memory.self_edits.edit("owner_facts", words)

        self._do(work())

    @rule()
    def take_back_what_was_said(self) -> None:
        async def work() -> None:
            if not self._last:
                return
            with contextlib.suppress(UndoError, NotFoundError):
                for turn in await self._memory.past_talk.delete_last_exchange(self._last[0].conversation_id):
                    del self._said[turn.id]
            self._last = []

        self._do(work())

    @rule(seconds=st.sampled_from([-400 * DAY, -3600.0, -1.0, 3600.0, 2 * DAY, 400 * DAY]))
    def step_the_clock(self, seconds: float) -> None:
        self._clock.step_wall(seconds)

    # --- how a life ends ---------------------------------------------------------------------------------------------

    @rule()
    def restart(self) -> None:
        """Restart from the snapshot, if there is one, and the changes since."""
        before = picture(self._memory)
        self._sleep()
        self._wake()
        self._same(before)

    @rule()
    def kill(self) -> None:
        before = picture(self._memory)
        home = self._folder / f"{self._lives}"
        home.mkdir()
        files = [file for file in self._home.iterdir() if file.is_file() and not file.name.endswith("-shm")]
        # By another process: whoever closes a file here lets go of SQLite's locks on it.
        subprocess.run(["cp", *files, home], check=True)
        self._sleep()
        self._home = home
        self._wake()
        self._same(before)

    @rule()
    def restart_from_the_rows(self) -> None:
        before = picture(self._memory)
        self._sleep()
        (self._home / "memory.snapshot").unlink(missing_ok=True)
        self._wake()
        self._same(before)

    @rule()
    def back_up(self) -> None:
        folder = self._folder / "backups"
        folder.mkdir(exist_ok=True)
        for old in find_backups(folder):
            old.path.unlink()
        looked = self._do(self._memory._parts.database.backup_to(folder / f"memory-{self._next()}.db"))
        assert not looked.problems
        assert not looked.rotten
        self._kept = dict(self._said), dict(self._thoughts), list(self._imported)

    @precondition(lambda self: self._kept is not None)
    @rule()
    def restore(self) -> None:
        self._sleep()
        (backup,) = find_backups(self._folder / "backups")
        restore_backup_copy(self._home / "memory.db", backup, self._next(), "The test wants it.")
        assert self._kept is not None
        said, thoughts, imported = self._kept
        self._said, self._thoughts, self._imported = dict(said), dict(thoughts), list(imported)
        self._last = []
        self._wake()

    # --- what must hold ----------------------------------------------------------------------------------------------

    @invariant()
    def what_was_acknowledged_is_there_once_and_nothing_else(self) -> None:
        look = self._look
        said = dict(look.execute("SELECT id, text FROM turns WHERE import_key IS NULL").fetchall())
        assert said == self._said
        imported = [row[0] for row in look.execute("SELECT text FROM turns WHERE import_key IS NOT NULL")]
        assert sorted(imported) == sorted(self._imported)
        assert dict(look.execute("SELECT id, text FROM monologue_log").fetchall()) == self._thoughts
        assert list(half_made(look)) == []
        assert look.execute("PRAGMA foreign_key_check").fetchall() == []

    def teardown(self) -> None:
        try:
            self.restart_from_the_rows()
            self._sleep()
        finally:
            self._runner.close()
            shutil.rmtree(self._folder)

    def _same(self, before: dict[str, object]) -> None:
        for name, shown in picture(self._memory).items():
            assert shown == before[name], name

    def _wake(self) -> None:
        self._lives += 1
        self._life = open_memory(self._home, self._clock, first_id=self._lives * 100_000)
        self._memory: Memory = self._do(self._life.__aenter__())
        # One for a whole life: what it has once read of the schema it need not read at each step.
        self._look = dbapi.connect(f"{(self._home / 'memory.db').as_uri()}?mode=ro", uri=True)

    def _sleep(self) -> None:
        self._look.close()  # Who closes last folds the log, and that is to be the memory.
        self._do(self._life.__aexit__(None, None, None))

    def _do(self, work: Coroutine[object, object, T]) -> T:
        return self._runner.run(work)

    def _next(self) -> int:
        self._count += 1
        return self._count


def check(examples: int, steps: int, *, seed: int | None = None) -> None:
    """Check `examples` lives of `steps` steps each, chosen by `seed` or the same each time. Raises the failure found,
    with the steps that lead to it."""
    chosen = checking(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        derandomize=seed is None,
        suppress_health_check=list(HealthCheck),
    )

    class Seeded(MindMachine):
        """Hypothesis keeps a seed on the class."""

    run_state_machine_as_test(Seeded if seed is None else seeded(seed)(Seeded), settings=chosen)
