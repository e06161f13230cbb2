"""What is done every day: remember, the digest, waking after an upgrade."""

import json
import os
import time

import pytest

from reveries import __version__, protocol
from reveries.client.features.digest import Digest, digest_page
from reveries.client.features.wake import Awake, wake_installed_version, wake_mind
from reveries.config import Home, load_settings
from tests.client.command_line import reveries
from tests.client.test_tui import HOSTILE
from tests.client.test_waking import _plan
from tests.daemon.asking import ask
from tests.daemon.mind_kit import NOON, living
from tests.fakes.daemon import Script, awake_in_thread
from tests.fakes.listening import until_it_listens
from tests.fakes.patient_clock import PatientClock
from tests.fakes.scripted import ScriptedModel

NOW = time.time()


def thought(text: str, tokens: int = 10, **more: object) -> protocol.ThoughtEntry:
    fields = {"why_began": "timer", "why_ended": "settled", "recalled": [], "dollars": 0.01} | more
    return protocol.ThoughtEntry("t1", NOW - 600, NOW - 500, text=text, tokens=tokens, **fields)  # type: ignore[arg-type]


def change(at: float) -> protocol.SelfChange:
    of_field = protocol.SelfFieldChange("owner_facts", ["You live in Bern."], ["You live in Lisbon."])
    return protocol.SelfChange(3, at, "said so", "r1", False, [of_field], [])


def slept(at: float, processed: int = 5) -> protocol.SleepRun:
    return protocol.SleepRun("r1", "deep", "time", at, at + 9, processed, 3, 1, 0, "done", "", "", "")


def looks() -> dict[str, protocol.Frame]:
    note = protocol.Note("n1", "t1", NOW - 400, "Marta's birthday is on Friday.", "It came by itself.", 0.0, 0.0)
    old = protocol.Note("n0", "t0", NOW - 9 * 86400, "An old one.", "", 0.0, 0.0)
    return {
        "AskThoughts": protocol.Thoughts(0, [thought("She sounded tired."), thought("  ")]),
        "AskNotes": protocol.Notes(0, [old, note], 1.0),
        "AskSleepLog": protocol.SleepLog(0, [slept(NOW - 3600), slept(NOW - 9 * 86400)]),
        "AskSelfHistory": protocol.SelfHistory(0, [change(NOW - 3000), change(NOW - 9 * 86400)], 2),
        "AskContradictions": protocol.Contradictions(0, []),
    }


def test_the_digest_tells_what_came_since_and_nothing_older(home: Home) -> None:
    script = Script(looks=looks(), thoughts=[thought("She sounded tired."), thought("  ")])
    with awake_in_thread(home, script):
        ran = reveries(home, "digest")
        told = json.loads(reveries(home, "digest", "--since", "20h", "--json").out)
    assert (ran.code, ran.err) == (0, "")
    for expected in (
        "Marta's birthday",
        "+ You live in Lisbon.",
        "- You live in Bern.",
        "She sounded tired.",
        "1 pass",
    ):
        assert expected in ran.out
    assert "An old one." not in ran.out
    assert [len(told[part]) for part in ("thoughts", "notes", "sleep", "learned", "contradictions")] == [1, 1, 1, 1, 0]


def test_a_digest_of_nothing_says_so() -> None:
    page = digest_page(Digest(NOW, [], [], [], [], []), NOW)
    assert "neither thought nor slept" in "".join(part.text for row in page for part in row)


def test_of_many_thoughts_the_pinned_and_the_longest_are_told_and_no_dropped_one() -> None:
    many = [thought(f"Thought {number}.", tokens=number + 1) for number in range(20)]
    many += [thought("Pinned.", tokens=0, is_pinned=True), thought("Dropped.", tokens=99, is_dropped=True)]
    page = digest_page(Digest(NOW - 9, many, [], [], [], []), NOW)
    shown = "\n".join("".join(part.text for part in row) for row in page)
    assert "Pinned." in shown
    assert "Thought 19." in shown
    assert "Thought 3." not in shown
    assert "Dropped." not in shown
    assert "22 thoughts" in shown


def test_nothing_in_a_digest_reaches_the_terminal_unescaped(home: Home) -> None:
    note = protocol.Note("n1", "t1", NOW, HOSTILE, HOSTILE, 0.0, 0.0)
    script = Script(looks=looks() | {"AskNotes": protocol.Notes(0, [note], 1.0)}, thoughts=[thought(HOSTILE)])
    with awake_in_thread(home, script):
        out = reveries(home, "digest").out + reveries(home, "digest", "--json").out
    assert not {char for char in out if (ord(char) < 32 and char != "\n") or 127 <= ord(char) < 160}


def test_remember_says_what_it_made_of_it(home: Home) -> None:
    with awake_in_thread(home, Script(looks={"Remember": protocol.Remembered(0, True, 1)})) as fake:
        ran = reveries(home, "remember", "Marta", "likes", "tea")
        told = json.loads(reveries(home, "remember", "--json", stdin="Marta likes tea").out)
    assert ran.out == "It will remember that (1 episode created).\n"
    assert told == {"stored": True, "episodes": 1}
    texts = [request.text for request in fake.received if isinstance(request, protocol.Remember)]
    assert texts == ["Marta likes tea"] * 2
    assert reveries(home, "remember", stdin=" ").code == 2


async def test_what_is_to_be_remembered_is_recalled_at_once_as_the_owners_words(home: Home) -> None:
    async with living(home, ScriptedModel(otherwise="So."), PatientClock(NOON), load_settings(None)) as life:
        done = await ask(life.mind, protocol.Remember(9, "Marta's cat is called Basalt."), protocol.Remembered)
        assert done == protocol.Remembered(9, True, 1)
        found = await life.mind.memory.search("Marta cat", 5)
        [turn] = [ranked.turn for ranked in found.turns if "Basalt" in ranked.turn.text]
        assert (turn.origin.value, turn.tainted) == ("owner", False)


@pytest.mark.requirement("R-8")
@pytest.mark.parametrize("older", ["reveries='0.0.1'", "version=99"])
def test_after_an_upgrade_wake_puts_the_older_one_to_sleep_first(
    home: Home, older: str, capsys: pytest.CaptureFixture[str]
) -> None:
    start = "from tests.fakes.daemon import main, Script; main({})"
    if older.startswith("version"):
        # It cannot be greeted, so nobody waits for its answer: the lock says when it lives.
        os.spawnve(
            os.P_NOWAIT, _plan(home, start).command[0], [*_plan(home, start.format(f"Script({older})")).command], {}
        )
        until_it_listens(home.socket)
        first = int(home.lock.read_text())
    else:
        outcome = wake_mind(_plan(home, start.format(f"Script({older})")))
        assert isinstance(outcome, Awake)
        first = outcome.pid
    second = wake_installed_version(_plan(home, start.format("")))
    try:
        assert isinstance(second, Awake)
        assert second.pid != first
        assert (second.was_awake, second.reveries) == (False, __version__)
        assert "It is restarted" in capsys.readouterr().err
    finally:
        os.waitpid(first, 0)
        assert reveries(home, "sleep").code == 0
        if isinstance(second, Awake):
            os.waitpid(second.pid, 0)
