"""Safe mode: a mind that crashes while it starts can still be read, and does nothing else (B6)."""

import asyncio
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from reveries import protocol
from reveries.config import Home
from reveries.crash_history import (
    CRASHES_UNTIL_SAFE,
    clear_crash_history,
    count_recent_crashes,
    crash_history_file,
    record_start,
)
from reveries.daemon.process.safe_mode import require_allowed, require_memory, settings_in_safe_mode, why_after_crashes
from reveries.db.failpoints import Step
from reveries.errors import ConfigError, SafeModeError, StorageError
from tests.client.command_line import reveries
from tests.durability.mind import Zygote, client_of, prepare
from tests.fakes.provider import Provider, provider

NOW = 1_790_000_000.0
DANGER = "I want to kill myself tonight."


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    started = Zygote.start()
    yield started
    started.close()


@pytest.fixture
def short_home() -> Iterator[Home]:
    """The path of a socket must be short."""
    with tempfile.TemporaryDirectory(prefix="rv") as folder:
        yield Home(Path(folder) / "h")


@pytest.mark.requirement("B6")
def test_wakes_without_end_are_counted_for_ten_minutes_and_forgotten_when_one_answers(home: Home) -> None:
    home.create()
    for second in range(CRASHES_UNTIL_SAFE - 1):
        record_start(home, NOW + second)
    assert why_after_crashes(home, NOW + 10) == ""
    record_start(home, NOW + 9)
    assert "crashed 5 times" in why_after_crashes(home, NOW + 10)
    assert why_after_crashes(home, NOW + 1000) == ""
    assert why_after_crashes(home, NOW - 1e6) == ""  # The clock was set back.
    clear_crash_history(home)
    assert count_recent_crashes(home, NOW + 10) == 0


@pytest.mark.requirement("B6")
def test_a_record_that_is_junk_a_link_or_a_folder_counts_nothing_and_stops_nothing(home: Home, tmp_path: Path) -> None:
    home.create()
    record, elsewhere = crash_history_file(home), tmp_path / "elsewhere"
    for junk in (b"\xff\x00", b"nan inf -1e400 x", b"1 " * 100_000):
        record.write_bytes(junk)
        assert count_recent_crashes(home, NOW) == 0
        record_start(home, NOW)
        assert count_recent_crashes(home, NOW) == 1
    record.unlink()
    elsewhere.write_text("mine")
    record.symlink_to(elsewhere)
    record_start(home, NOW)
    assert (count_recent_crashes(home, NOW), elsewhere.read_text()) == (0, "mine")
    record.unlink()
    record.mkdir()
    record_start(home, NOW)
    assert count_recent_crashes(home, NOW) == 0


@pytest.mark.requirement("B6", "C4")
@pytest.mark.parametrize(
    ("toml", "place"),
    [
        (
            "[storage]\ndb_path = '/elsewhere/m.db'\n[mind]\nname = 'Ava'\n[monologue]\nenabled = true",
            "/elsewhere/m.db",
        ),
        ("[storage]\ndb_path = '/elsewhere/m.db'\n[nonsense]\nx = 1", "/elsewhere/m.db"),
        ("[mind]\nname = 3\nowner = 4", ""),
        ("mind = 3\nstorage = 'x'", ""),
        ("[mind\nname = 'Ava'\n# db_path = '/elsewhere/m.db'", ""),
        ("\x00\x01", ""),
    ],
)
def test_of_a_broken_settings_file_it_takes_where_the_memory_is(tmp_path: Path, toml: str, place: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(toml)
    settings, _ = settings_in_safe_mode(file)
    assert settings.storage.db_path == place
    assert not settings.monologue.enabled


@pytest.mark.requirement("B6", "C4")
@pytest.mark.parametrize("toml", ["[storage\ndb_path = '/elsewhere/m.db'", "[storage]\ndb_path = 3"])
def test_where_it_cannot_know_which_memory_is_meant_it_shows_none(tmp_path: Path, toml: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(toml)
    with pytest.raises(ConfigError, match="The path of the memory"):
        settings_in_safe_mode(file)


@pytest.mark.requirement("B6")
def test_it_never_begins_an_empty_mind(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="creates none"):
        require_memory(tmp_path / "memory.db", tmp_path / "backups")
    (tmp_path / "memory.db").touch()
    with pytest.raises(StorageError, match="creates none"):
        require_memory(tmp_path / "memory.db", tmp_path / "backups")
    (tmp_path / "memory.db").write_bytes(b"something")
    require_memory(tmp_path / "memory.db", tmp_path / "backups")


@pytest.mark.requirement("B6")
def test_what_thinks_sleeps_asks_a_model_or_changes_what_it_knows_is_refused() -> None:
    refused = (
        protocol.Consolidate(1),
        protocol.PreviewSleep(1),
        protocol.Observe(1),
        protocol.ProbeModels(1),
        protocol.AskModels(1),
        protocol.NudgeThinking(1, "x"),
        protocol.Remember(1, "x"),
        protocol.ApplyConfig(1),
    )
    for request in refused:
        require_allowed(request, "")
        with pytest.raises(SafeModeError):
            require_allowed(request, "It crashed.")
    require_allowed(protocol.Search(1, "x"), "It crashed.")


@pytest.mark.system  # For its length alone.
@pytest.mark.requirement("B6")
async def test_the_sixth_wake_after_five_crashes_is_a_safe_one_and_the_next_is_in_full(
    short_home: Home, zygote: Zygote
) -> None:
    async with provider() as asked:
        prepare(short_home, asked)
        await _say_something(short_home, zygote)
        for crash in range(CRASHES_UNTIL_SAFE):
            child = zygote.wake(short_home, f"{Step.WOKEN}:1")
            assert await asyncio.to_thread(zygote.reap, child) == -signal.SIGKILL, crash
        child, calls = await _woken(short_home, zygote), _calls(asked)
        await _look_at_it_in_safe_mode(short_home)
        assert _calls(asked) == calls
        os.kill(child, signal.SIGTERM)
        assert await asyncio.to_thread(zygote.reap, child) == 0
        child = await _woken(short_home, zygote)
        async with client_of(short_home) as client:
            assert (await client.status()).state != protocol.SAFE_MODE
        os.kill(child, signal.SIGTERM)
        assert await asyncio.to_thread(zygote.reap, child) == 0


async def _say_something(home: Home, zygote: Zygote) -> None:
    child = await _woken(home, zygote)
    async with client_of(home) as client:
        await client.say("The boat of Ines is called Aurora.")
        # A search finds what was slept on; on a busy machine no wake after this one lives until then.
        client.send(protocol.Consolidate(client.number()))
        await client.next_of(protocol.Consolidated)
    os.kill(child, signal.SIGTERM)
    assert await asyncio.to_thread(zygote.reap, child) == 0


async def _look_at_it_in_safe_mode(home: Home) -> None:
    async with client_of(home) as client:
        status = await client.status()
        assert status.state == protocol.SAFE_MODE
        assert status.health == "degraded"
        assert "crashed 5 times" in status.problems[0]
        client.send(protocol.Attach(client.number()))
        attached = await client.next_of(protocol.Attached)
        assert attached.turns[0].text == "The boat of Ines is called Aurora."
        assert any("Safe mode" in notice for notice in attached.notices)
        client.send(protocol.Search(client.number(), "Aurora"))
        assert (await client.next_of(protocol.Found)).turns
        client.send(protocol.Consolidate(client.number()))
        assert (await client.next_of(protocol.Failed)).code == SafeModeError.code
        client.send(protocol.Say(client.number(), DANGER))
        assert (await client.next_of(protocol.Help)).text
        assert "safe mode" in (await client.next_of(protocol.Replied)).explanation
        client.send(protocol.MakeBackup(client.number()))
        assert not (await client.next_of(protocol.Backups)).backups[0].problems


@pytest.mark.system  # For its length alone.
@pytest.mark.requirement("B6", "C4")
async def test_a_home_with_broken_settings_offers_safe_mode_and_there_all_that_reads_works(
    short_home: Home, zygote: Zygote, tmp_path: Path
) -> None:
    async with provider() as asked:
        prepare(short_home, asked)
        await _say_something(short_home, zygote)
    short_home.config.write_text("[broken")

    async def run(*words: str) -> tuple[int, str]:
        ran = await asyncio.to_thread(reveries, short_home, *words)
        return ran.code, ran.out + ran.err

    code, told = await run("wake")
    assert (code, "reveries wake --safe" in told) == (ConfigError.exit_code, True), told
    code, told = await run("wake", "--safe")
    assert (code, "Safe mode." in told, "is not valid TOML" in told) == (0, True, True), told
    try:
        for words in (
            ("status",),
            ("memory", "search", "Aurora"),
            ("export", "--mind", str(tmp_path / "mind.jsonl")),
            ("backup", "create"),
        ):
            code, told = await run(*words)
            assert code == 0, (words, told)
        assert "Aurora" in (tmp_path / "mind.jsonl").read_text()
        assert (await run("consolidate"))[0] == SafeModeError.exit_code
    finally:
        assert (await run("sleep"))[0] == 0
    code, told = await run("backup", "restore", "--yes")
    assert (code, "The memory was restored from" in told) == (0, True), told


async def _woken(home: Home, zygote: Zygote) -> int:
    child = zygote.wake(home)
    async with asyncio.timeout(300):
        while True:
            try:
                async with client_of(home):
                    return child
            except OSError:
                await asyncio.sleep(0.05)


def _calls(asked: Provider) -> int:
    return len(asked.requests)
