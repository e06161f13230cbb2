"""The commands that control thinking: their requests and pages; untrusted text cannot inject escapes."""

import json
from collections.abc import Sequence

import msgspec
import pytest

from reveries import protocol
from reveries.client.answers import render_answer
from reveries.client.features.thinking import notes_page, thoughts_page
from reveries.client.slash_parsing import parse_command
from reveries.config import Home
from reveries.protocol import Frame
from tests.client.command_line import reveries
from tests.client.slash import first_request
from tests.client.test_tui import HOSTILE
from tests.fakes.daemon import NOW, Script, awake_in_thread

ENTRY = protocol.ThoughtEntry(
    "a1b2c3d4", NOW - 60, NOW - 40, "nudge", "settled", "The pear tree stays.", 9, ["e1"], "It said so.", "the garden",
    2, 1520, 64, 0.0012, ["Ana told of the pear tree."], True, True, False,
)  # fmt: skip
NOTE = protocol.Note("n1", "a1", NOW - 60, "Water the pear tree.", "It came of thinking.", 0.0, 0.0)
CONTROLLED = protocol.ThinkingControlled(0, "settled", "", is_paused=False)


def text_of(page: Sequence[object]) -> str:
    return "\n".join(str(line) for line in page)


def answering(**frames: Frame) -> Script:
    return Script(looks=dict(frames))


@pytest.mark.requirement("R-25", "R-49")
def test_the_history_tells_why_what_for_how_much_and_from_what(home: Home) -> None:
    with awake_in_thread(home, Script(thoughts=[ENTRY])):
        shown = reveries(home, "monologue", "history", "--since", "2020-01-01").out
        told = json.loads(reveries(home, "monologue", "history", "--since", "2020-01-01", "--json").out)
    told_words = (
        "nudge: the garden",
        "ended: settled: It said so.",
        "1,520 tokens read, 64 written in 2 calls",
        "$0.0012",
        "used: e1  Ana told of the pear tree.",
        "pinned",
        "a1b2c3d4",
        "from outside sources",
    )
    for words in told_words:
        assert words in shown
    assert told["thoughts"][0]["dollars"] == 0.0012


@pytest.mark.parametrize("do", ["pause", "resume", "step"])
def test_pause_resume_and_step_ask_for_just_that(home: Home, do: str) -> None:
    with awake_in_thread(home, answering(ControlThinking=CONTROLLED)) as fake:
        ran = reveries(home, "monologue", do)
        as_json = reveries(home, "monologue", do, "--json")
    assert (ran.code, as_json.code) == (0, 0)
    assert [one.do for one in fake.received if isinstance(one, protocol.ControlThinking)] == [do, do]
    assert json.loads(as_json.out)["is_paused"] is False


RESTED = "After a trip of the breaker it rests until 14:05:00: The same words came again. \x1b[31m"


@pytest.mark.requirement("R-136")
def test_release_says_what_the_rest_was_and_that_it_is_over(home: Home) -> None:
    with awake_in_thread(home, answering(ReleaseThinking=protocol.ThinkingReleased(0, True, RESTED))) as fake:
        ran = reveries(home, "monologue", "release")
        told = json.loads(reveries(home, "monologue", "release", "--json").out)
    assert "can think again" in ran.out
    assert "rests until 14:05:00" in ran.out
    assert "\x1b" not in ran.out
    assert told["was_resting"] is True
    assert len([one for one in fake.received if isinstance(one, protocol.ReleaseThinking)]) == 2


def test_without_a_rest_release_says_that_there_is_none(home: Home) -> None:
    with awake_in_thread(home, answering(ReleaseThinking=protocol.ThinkingReleased(0, False, ""))):
        assert "no pause after a trip" in reveries(home, "monologue", "release").out


def test_a_nudge_during_the_rest_says_until_when_it_waits(home: Home) -> None:
    resting = protocol.ThinkingControlled(0, "tripped", RESTED, is_paused=False)
    with awake_in_thread(home, answering(NudgeThinking=resting)):
        assert "rests until 14:05:00" in reveries(home, "monologue", "nudge", "tea").out


def test_a_nudge_carries_the_owners_words_and_an_empty_one_is_refused(home: Home) -> None:
    with awake_in_thread(home, answering(NudgeThinking=CONTROLLED)) as fake:
        assert reveries(home, "monologue", "nudge", " think about the garden ").code == 0
        assert reveries(home, "monologue", "nudge", "  ").code == 2
        assert reveries(home, "monologue", "nudge", "x" * 2001).code == 2
    assert [one.about for one in fake.received if isinstance(one, protocol.NudgeThinking)] == ["think about the garden"]


def test_during_a_conversation_it_says_when_it_will_think(home: Home) -> None:
    talking = protocol.ThinkingControlled(0, "talking", "", is_paused=False)
    with awake_in_thread(home, answering(NudgeThinking=talking)):
        assert "it will think when that is idle" in reveries(home, "monologue", "nudge", "tea").out


@pytest.mark.parametrize(("mark", "done"), [("pin", "pinned"), ("drop", "dropped")])
def test_pin_and_drop_name_the_thought(home: Home, mark: str, done: str) -> None:
    with awake_in_thread(home, answering(MarkThought=protocol.ThoughtMarked(0, "a1b2c3d4", done))) as fake:
        ran = reveries(home, "monologue", mark, "a1b2")
        wrong = reveries(home, "monologue", mark, "x" * 101)
    assert f"a1b2c3d4 is {done}" in ran.out
    assert wrong.code == 2
    assert [(one.thought_id, one.mark) for one in fake.received if isinstance(one, protocol.MarkThought)] == [
        ("a1b2", mark)
    ]


def test_notes_are_listed_with_their_reason_and_dismissed_by_id(home: Home) -> None:
    frames = answering(AskNotes=protocol.Notes(0, [NOTE], 1.0), DismissNote=protocol.Notes(0, [NOTE], 1.0))
    with awake_in_thread(home, frames) as fake:
        ran = reveries(home, "notes")
        gone = reveries(home, "notes", "dismiss", "n1")
    assert "Water the pear tree." in ran.out
    assert "It came of thinking." in ran.out
    assert "not shown yet" in ran.out
    assert "Dismissed" in gone.out
    assert [one.note_id for one in fake.received if isinstance(one, protocol.DismissNote)] == ["n1"]


def test_without_notes_it_says_so_and_whether_they_are_off(home: Home) -> None:
    with awake_in_thread(home, answering(AskNotes=protocol.Notes(0, [], 0.0))):
        assert "disabled" in reveries(home, "notes").out


def test_nothing_of_a_thought_or_a_note_reaches_the_terminal_unescaped() -> None:
    thought = protocol.ThoughtEntry(
        HOSTILE, NOW, NOW, "nudge", HOSTILE, HOSTILE, 1, [HOSTILE], HOSTILE, HOSTILE, 1, 1, 1, 0.0, [HOSTILE]
    )
    note = protocol.Note(HOSTILE, HOSTILE, NOW, HOSTILE, HOSTILE, 0.0, 0.0)
    for page in (thoughts_page([thought], NOW), notes_page(protocol.Notes(0, [note], 1.0), NOW)):
        assert "\x1b" not in text_of(page)
        assert "\x07" not in text_of(page)


@pytest.mark.requirement("R-28")
@pytest.mark.parametrize("words", [("monologue", "pause"), ("monologue", "nudge", "x"), ("notes",)])
def test_asleep_they_say_how_to_wake_it(home: Home, words: tuple[str, ...]) -> None:
    ran = reveries(home, *words)
    assert ran.code == 3
    assert "reveries wake" in ran.err


def test_in_the_chat_the_same_stands_behind_a_slash() -> None:
    made = [
        first_request(words)[0] for words in ("/notes", "/nudge the garden", "/pause", "/unpause", "/step", "/release")
    ]
    assert [type(one) for one in made] == [
        protocol.AskNotes,
        protocol.NudgeThinking,
        protocol.ControlThinking,
        protocol.ControlThinking,
        protocol.ControlThinking,
        protocol.ReleaseThinking,
    ]
    assert made[1] == protocol.NudgeThinking(7, "the garden")
    assert isinstance(parse_command("/nudge"), str)
    assert parse_command("/nothing is fun") is None
    released = protocol.ThinkingReleased(0, True, "The same words came again and again.")
    assert "The same words" in text_of(render_answer(released, NOW))
    assert "no pause after a trip" in text_of(render_answer(protocol.ThinkingReleased(0, False, ""), NOW))
    paused = protocol.ThinkingControlled(0, "talking", "", is_paused=True)
    assert "/unpause" in text_of(render_answer(paused, NOW))
    assert "when that is idle" in text_of(render_answer(msgspec.structs.replace(paused, is_paused=False), NOW))
