"""The whole loop with the real process, the real socket and the small real model: what it says is worth little, what
becomes of it is what counts."""

import asyncio
import os
import signal
from pathlib import Path

import psutil
import pytest

from reveries import protocol
from reveries.db.driver import dbapi
from tests.e2e.living import Living

pytestmark = [pytest.mark.e2e]

_PASS_SECONDS = 1500
"""A hang: a call of the model has ten minutes by itself, and a pass two calls or more."""


def _turns_on_disk(database: Path) -> list[tuple[str, str, int]]:
    connection = dbapi.connect(str(database))
    try:
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        return [tuple(row) for row in connection.execute("SELECT id, text, is_partial FROM turns ORDER BY position")]
    finally:
        connection.close()


@pytest.mark.requirement(
    "R-1", "R-3", "R-4", "R-5", "R-6", "R-88", "R-89", "R-92", "R-99", "R-102", "R-106", "R-154", "R-163"
)
@pytest.mark.timeout(2 * _PASS_SECONDS + 600)
async def test_a_mind_wakes_talks_consolidates_on_the_owners_word_sleeps_and_remembers(living: Living) -> None:
    await living.wake()
    async with living.client() as client:
        replied = await client.say("My sister Anna moved to Oslo in May.")
        assert replied.text
        assert replied.completion_tokens > 0
        tokens = "".join(frame.text for frame in client.seen if isinstance(frame, protocol.Token))
        assert tokens.strip() == replied.text
        assert [frame.what for frame in client.seen if isinstance(frame, protocol.Stored)] == ["words", "exchange"]
        client.send(protocol.Consolidate(client.number(), limit=1))
        done = await client.next_of(protocol.Consolidated, _PASS_SECONDS)
        assert done.processed + done.fallbacks == 1
        assert done.log
        client.send(protocol.Sleep(client.number()))
        await client.next_of(protocol.Ok, _PASS_SECONDS)
    assert living.process is not None
    assert await asyncio.to_thread(living.process.wait, 300) == 0
    assert not living.home.socket.exists()
    assert list(living.home.backups.glob("memory-*.db"))

    await living.wake()
    async with living.client() as client:
        assert (await client.status()).last_consolidation
        found = await client.search("Where does Anna live?")
        assert "My sister Anna moved to Oslo in May." in [turn.text for turn in found.turns]
        client.send(protocol.Inspect(client.number(), found.episodes[0].episode_id))
        detail = await client.next_of(protocol.EpisodeDetail)
        quotes = [exemplar.quote for exemplar in detail.exemplars]
        assert "My sister Anna moved to Oslo in May." in quotes
        assert any(turn.is_owner for turn in detail.sources)
        client.send(protocol.Attach(client.number()))
        attached = await client.next_of(protocol.Attached)
        assert attached.turns[0].text == "My sister Anna moved to Oslo in May."


@pytest.mark.requirement("R-9", "R-93", "A1")
async def test_kill_9_in_mid_reply_loses_nothing_that_was_acknowledged(living: Living) -> None:
    await living.wake()
    async with living.client() as client:
        await client.say("I keep bees behind the house.")
        client.send(protocol.Say(client.number(), "The white hive swarmed today."))
        await client.next_of(protocol.Token)
        acknowledged = {frame.turn_id for frame in client.seen if isinstance(frame, protocol.Stored)}
        living.kill()
    assert len(acknowledged) == 3
    rows = _turns_on_disk(living.home.database_default)
    assert acknowledged <= {turn_id for turn_id, _, _ in rows}
    assert "The white hive swarmed today." in [text for _, text, _ in rows]

    await living.wake()
    async with living.client() as client:

        async def is_recalled() -> bool:
            return "The white hive swarmed today." in [turn.text for turn in (await client.search("hive")).turns]

        await client.until(is_recalled)
        assert (await client.say("Are you there?")).text


def _with_long_replies(living: Living) -> str:
    """Its settings, by which a reply lasts until somebody ends it, however quick the machine is."""
    return living.settings.replace("reply_tokens = 48", "reply_tokens = 800")


def _with_breaker(settings: str) -> str:
    """These settings, with the breaker as it ships."""
    off, on = "\n[circuit_breaker]\nenabled = false\n", "\n[circuit_breaker]\nenabled = true\n"
    assert off in settings
    return settings.replace(off, on)


@pytest.mark.requirement("R-7", "B4")
async def test_sigterm_in_mid_reply_ends_it_cleanly_within_five_seconds(living: Living) -> None:
    living.settings = _with_long_replies(living)
    await living.wake()
    async with living.client() as client:
        client.send(protocol.Say(client.number(), "Tell me a very long story about the sea."))
        await client.next_of(protocol.Token)
        assert await living.end(signal.SIGTERM, seconds=5) == 0
    rows = _turns_on_disk(living.home.database_default)
    assert [partial for _, _, partial in rows] == [0, 1]
    assert not living.home.socket.exists()
    assert not living.home.database_default.with_name("memory.db-wal").exists()


@pytest.mark.requirement("R-93", "E2")
async def test_a_client_that_vanishes_does_not_stop_the_reply(living: Living) -> None:
    await living.wake()
    async with living.client() as client:
        client.send(protocol.Say(client.number(), "Tell me about mountains."))
        await client.next_of(protocol.Token)
        client.writer.transport.abort()
    async with living.client() as client:

        async def has_both_turns() -> bool:
            return (await client.status()).memory.turns == 2

        await client.until(has_both_turns)
        client.send(protocol.Attach(client.number()))
        attached = await client.next_of(protocol.Attached)
        # Whole, or as long as it may be: that its reader left did not end it after the first words.
        assert not attached.turns[1].is_partial or len(attached.turns[1].text.split()) > 20


@pytest.mark.requirement("R-92", "E2")
async def test_a_cancelled_reply_is_kept_as_far_as_it_went(living: Living) -> None:
    living.settings = _with_long_replies(living)
    await living.wake()
    async with living.client() as client:
        number = client.number()
        client.send(protocol.Say(number, "Tell me a very long story about the sea."))
        await client.next_of(protocol.Token)
        client.send(protocol.Cancel(client.number(), number))
        replied = await client.next_of(protocol.Replied)
        assert replied.reason == "cancelled"
        assert replied.text


@pytest.mark.requirement("R-30", "R-31", "R-39", "R-41", "R-95", "RA-5")
async def test_it_thinks_when_the_window_closes_and_remembers_the_thought(living: Living) -> None:
    """With the breaker as it ships: the small model's thought may be cut, and is remembered all the same."""
    living.thinks, living.settings = True, _with_breaker(living.settings)
    await living.wake()
    async with living.client() as watcher, living.client() as reader:
        watcher.send(protocol.Observe(watcher.number()))
        async with living.client() as talker:
            talker.send(protocol.Attach(talker.number()))
            await talker.next_of(protocol.Attached)
            await talker.say("I am worried about my thesis on lichens.")
        began = await watcher.next_of(protocol.ThoughtBegan)
        assert began.reason
        await watcher.next_of(protocol.ThoughtToken)
        ended = await watcher.next_of(protocol.ThoughtEnded)
        assert ended.tokens > 0

        async def is_logged() -> bool:
            reader.send(protocol.AskThoughts(reader.number(), 0.0))
            thoughts = (await reader.next_of(protocol.Thoughts)).thoughts
            return bool(thoughts and thoughts[0].text and thoughts[0].why_ended)

        await reader.until(is_logged)


@pytest.mark.requirement("B5")
async def test_a_model_that_crashes_costs_a_restart_of_the_model_and_nothing_else(living: Living) -> None:
    await living.wake()
    async with living.client() as client:
        await client.say("Hello.")
        assert living.process is not None
        (child,) = _model_processes(living.process.pid)
        child.kill()
        replied = await client.say("Are you still there?")
        if replied.reason == "failed":
            replied = await client.say("And now?")
        assert replied.text
        assert (await client.status()).pid == living.process.pid


@pytest.mark.requirement("B5")
async def test_the_model_ends_when_the_daemon_is_killed(living: Living) -> None:
    await living.wake()
    async with living.client() as client:
        await client.say("Hello.")
    assert living.process is not None
    (child,) = _model_processes(living.process.pid)
    living.kill()
    _, alive = await asyncio.to_thread(psutil.wait_procs, [child], 300)
    assert alive == []


def _model_processes(daemon: int) -> list[psutil.Process]:
    return [
        process
        for process in psutil.Process(daemon).children(recursive=True)
        if any("embedded_server" in word for word in process.cmdline())
    ]


@pytest.mark.requirement("R-14", "F4", "F4b")
async def test_nothing_listens_on_the_network_and_nobody_else_can_read_the_home(living: Living) -> None:
    await living.wake()
    async with living.client() as client:
        await client.say("Hello.")
    assert living.process is not None
    everyone = [psutil.Process(living.process.pid), *psutil.Process(living.process.pid).children(recursive=True)]
    assert [c for process in everyone for c in process.net_connections("inet") if c.status == "LISTEN"] == []
    for path in [living.home.path, *living.home.path.rglob("*")]:
        assert os.lstat(path).st_mode & 0o077 == 0, path


@pytest.mark.requirement("A9")
async def test_a_waking_mind_makes_a_backup_when_it_is_asked_to(living: Living) -> None:
    await living.wake()
    async with living.client() as client:
        client.send(protocol.MakeBackup(client.number()))
        assert (await client.next_of(protocol.Progress)).what == "copying, MB"
        [made] = (await client.next_of(protocol.Backups)).backups
    assert (living.home.backups / made.name).stat().st_size == made.size_bytes
    assert made.is_looked_at
    assert made.problems == []


@pytest.mark.requirement("R-130", "R-134")
async def test_a_real_model_that_goes_round_is_cut_kept_and_talked_with_again(living: Living) -> None:
    """The breaker as it ships, before a model that is small enough to meet it, though not in each of its stories: six
    in a row without were seen once."""
    living.settings = _with_breaker(_with_long_replies(living))
    await living.wake()
    async with living.client() as client:
        for subject in ("the sea", "a forest", "two brothers", "a train", "the moon", "a baker") * 3:
            cut = await client.say(f"Tell me a very long story about {subject}.")
            if cut.reason == "tripped":
                break
        assert cut.reason == "tripped"
        assert cut.explanation
        assert cut.text
        after = await client.say("Thank you. Good night!")
        assert after.text
        rows = {name: (text, partial) for name, text, partial in _turns_on_disk(living.home.database_default)}
        assert rows[cut.turn_id] == (cut.text, 1)
