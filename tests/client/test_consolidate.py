"""What sleep did, shown and taken back on the command line."""

import json

import pytest

from reveries import protocol
from reveries.config import Home
from tests.client.command_line import reveries
from tests.fakes.daemon import NOW, Script, awake_in_thread

RUN = protocol.SleepRun("run1abcdef012345", "deep", "owner", NOW, NOW + 60, 2, 1, 1, 0, "done", "", "", "")
ASKS = protocol.SleepRun(
    "run2abcdef012345", "deep", "volume", NOW, NOW + 9, 5, 4, 1, 0, "asks", "", "", "Next it would merge \u201ca\u201d."
)
CHANGE = protocol.SleepChange(
    experience_id="x1",
    line="0.60  Ana has a boat.",
    episodes=[
        protocol.ChangedEpisode("e1abcdef", "changed", "a boat", "Ana has a boat.", "", ["a boat\x1b[2J"], 0.4, 0.6),
        protocol.ChangedEpisode("e2abcdef", "merged away", "the same boat", "", "e1abcdef", [], None, None),
    ],
    new_links=[protocol.NewLink("e1abcdef", "e3", "causal", 0.5)],
    stronger_links=0,
    superseded=["\u201cThe boat is red.\u201d ranks under \u201cThe boat is blue now.\u201d"],
    self_model=["+ owner_facts: Ana has a boat."],
)


def asleep(**answers: protocol.Frame) -> Script:
    return Script(sleep=dict(answers))


def test_the_log_lists_passes_with_their_reasons_and_what_one_asks(home: Home) -> None:
    with awake_in_thread(home, asleep(AskSleepLog=protocol.SleepLog(0, [ASKS, RUN]))) as fake:
        ran = reveries(home, "consolidate", "log", "--limit", "7")
        told = json.loads(reveries(home, "consolidate", "log", "--json").out)
    assert "you asked" in ran.out
    assert "many experiences" in ran.out
    assert "reveries consolidate confirm run2abcdef012345" in ran.out
    assert [run["run_id"] for run in told["runs"]] == [ASKS.run_id, RUN.run_id]
    assert [asked.limit for asked in fake.received if isinstance(asked, protocol.AskSleepLog)] == [7, 20]


def test_one_pass_is_shown_as_a_diff_that_no_remembered_text_can_colour(home: Home) -> None:
    detail = protocol.SleepRunDetail(0, RUN, [CHANGE], 3)
    with awake_in_thread(home, asleep(InspectSleep=detail)):
        ran = reveries(home, "consolidate", "log", "run1")
        told = json.loads(reveries(home, "consolidate", "log", "run1", "--json").out)
    assert "- a boat" in ran.out
    assert "+ Ana has a boat." in ran.out
    assert "merged away into e1abcdef" in ran.out
    assert "1 new link (causal)" in ran.out
    assert "ranks under" in ran.out
    assert "3 changes more" in ran.out
    assert "\x1b" not in ran.out
    assert told["changes"][0]["episodes"][1]["merged_into"] == "e1abcdef"


def test_undo_asks_for_that_pass_and_says_what_was_taken_back(home: Home) -> None:
    undone = protocol.SleepUndone(
        0, [protocol.UndoneRun(RUN.run_id, "u1", "Undid run1: 0 episodes restored, 1 separated again.")]
    )
    with awake_in_thread(home, asleep(UndoSleep=undone)) as fake:
        ran = reveries(home, "consolidate", "undo", "run1", "--through")
    assert "1 separated again" in ran.out
    (asked,) = [request for request in fake.received if isinstance(request, protocol.UndoSleep)]
    assert (asked.run_id, asked.through) == ("run1", True)


def test_a_refused_undo_ends_with_its_reason_and_what_to_do(home: Home) -> None:
    failed = protocol.Failed(0, "undo", "The pass run2 built upon what run1 did.", "Use --through.")
    with awake_in_thread(home, Script(failures={"UndoSleep": failed})):
        ran = reveries(home, "consolidate", "undo", "run1")
    assert ran.code == 1
    assert "run2 built upon" in ran.err
    assert "--through" in ran.err


@pytest.mark.parametrize(("word", "do_it"), [("confirm", True), ("drop", False)])
def test_the_owners_word_on_what_a_pass_asks_is_handed_on(home: Home, word: str, do_it: bool) -> None:
    with awake_in_thread(home, asleep(AnswerSleep=protocol.SleepAnswered(0, "run2", "It is so."))) as fake:
        ran = reveries(home, "consolidate", word, "run2")
    assert "It is so." in ran.out
    (asked,) = [request for request in fake.received if isinstance(request, protocol.AnswerSleep)]
    assert asked.do_it is do_it


def test_a_dry_run_says_that_nothing_was_changed_and_what_it_cost(home: Home) -> None:
    seen = protocol.SleepPreview(0, [CHANGE], 0, 4, True, False, 12.0, 3, 4200, 0.0)
    with awake_in_thread(home, asleep(PreviewSleep=seen)) as fake:
        ran = reveries(home, "consolidate", "--dry-run", "--limit", "2")
        told = json.loads(reveries(home, "consolidate", "--dry-run", "--json").out)
    assert "Nothing was changed." in ran.out
    assert "3 calls" in ran.out
    assert "ask you first" in ran.out
    assert "4 experiences more are waiting." in ran.out
    assert told["tokens"] == 4200
    assert not [request for request in fake.received if isinstance(request, protocol.Consolidate)]


def test_contradictions_are_shown_with_both_quotes_and_settled_on_the_owners_word(home: Home) -> None:
    sides = [protocol.ClaimSaid(f"I live in {city}.", "Ana", NOW, "owner", "t1") for city in ("Lisbon", "Porto")]
    found = protocol.Contradictions(
        0, [protocol.Contradiction("c0ffee12", "contradiction", "Both within a day.", sides[0], sides[1], "")]
    )
    none = protocol.ProjectConflicts(0, [])
    answers = asleep(AskContradictions=found, SettleContradiction=found, AskProjectConflicts=none)
    with awake_in_thread(home, answers) as fake:
        ran = reveries(home, "memory", "contradictions")
        told = json.loads(reveries(home, "memory", "contradictions", "--json").out)
        settled = reveries(home, "memory", "contradictions", "settle", "c0ff", "--keep", "B")
        wrong = reveries(home, "memory", "contradictions", "settle", "c0ff", "--keep", "C")
    assert "A  \u201cI live in Lisbon.\u201d" in ran.out
    assert "B  \u201cI live in Porto.\u201d" in ran.out
    assert told["contradictions"][0]["later"]["quote"] == "I live in Porto."
    assert settled.code == 0
    assert wrong.code == 2
    asked = [request for request in fake.received if isinstance(request, protocol.SettleContradiction)]
    assert [(one.conflict_id, one.keep) for one in asked] == [("c0ff", "later")]
