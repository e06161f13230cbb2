"""Claims: found where a sentence can hardly mean anything else; the newer outranks the older, both are kept, the less
trusted never outranks the owner; contradictions are noticed and wait to be settled."""

from dataclasses import replace
from pathlib import Path

import pytest

from reveries.errors import NotFoundError
from reveries.memory.claims import CONTRADICTION, UPDATE, conflict_between
from reveries.memory.importing import PastTurn
from reveries.memory.memory import Memory
from reveries.memory.model import Origin
from reveries.memory.sleep.claims.extraction import extract_claims
from reveries.memory.views.search import EVERYTHING, recall_within
from reveries.memory.views.why import explain
from tests.fakes.clock import HandClock
from tests.memory.kit import NOW, answering, context, deep_answer, open_memory, talk, turn
from tests.memory.test_memory import picture
from tests.rows import check_rows

DAY = 86_400.0


def read(text: str, **chosen: object) -> list[tuple[str, str, str, bool]]:
    return [
        (one.subject, one.relation, one.value, one.is_change) for one in extract_claims([turn("t1", text, **chosen)])
    ]


@check_rows(
    ("text", "claims"),
    [
        ("I live in Lisbon.", [("ana", "lives in", "Lisbon", False)]),
        ("I just moved to Porto, it was hard.", [("ana", "lives in", "Porto", True)]),
        ("I've moved from Lisbon to New York City last week!", [("ana", "lives in", "New York City", True)]),
        ("My sister Marta lives in Berlin now.", [("marta", "lives in", "Berlin", True)]),
        ("I work at Siemens.", [("ana", "works at", "Siemens", False)]),
        ("I got a new job at Bosch and love it.", [("ana", "works at", "Bosch", True)]),
        ("My favourite colour is green.", [("ana", "my colour favourit", "green", False)]),
        ("My phone number is now 555 1234.", [("ana", "my number phon", "555 1234", True)]),
        ("My car is now a red Fiat.", [("ana", "my car", "a red Fiat", True)]),
        ("The meeting is on Thursday.", [("ana meet", "is set for", "Thursday", False)]),
        ("Our meeting was moved to Friday.", [("ana meet", "is set for", "Friday", True)]),
        ("I hate olives.", [("ana", "feels about oliv", "dislikes", False)]),
        ("I don't like olives anymore.", [("ana", "feels about oliv", "dislikes", True)]),
        ("I changed my mind about olives.", [("ana", "feels about oliv", "another mind", True)]),
    ],
)
def test_a_plain_statement_is_a_claim(text: str, claims: list[tuple[str, str, str, bool]]) -> None:
    assert read(text) == claims


@check_rows(
    "text",
    [
        "Do you think I live in Lisbon?",
        "If I moved to Porto, I would miss it.",
        "I used to live in Lisbon.",
        "I might get a new job at Bosch.",
        "I moved to a bigger flat.",
        "My idea is to paint it.",
        "My problem is that I sleep badly.",
        "I like that you ask.",
        "The meeting is in the big room.",
        "We were thinking of moving it to Friday.",
        "I lived in Lisbon ten years ago.",
        "The rehearsal moved to Friday.",
        "Marta said that she would love it.",
    ],
)
def test_what_could_mean_something_else_is_no_claim(text: str) -> None:
    assert read(text) == []


def test_the_mind_claims_nothing_for_it_has_everything_from_somebody() -> None:
    assert read("I live in Lisbon.", origin=Origin.SELF) == []


def kinds(earlier: str, later: str, *, days: float = 3.0, **chosen: object) -> str:
    (one,) = extract_claims([turn("t1", earlier)])
    (other,) = extract_claims([turn("t2", later, said_at=NOW + days * DAY, **chosen)])
    found = conflict_between(other, one, NOW)
    return "" if found is None else found.kind


@check_rows(
    ("earlier", "later", "days", "kind"),
    [
        ("I live in Lisbon.", "I moved to Porto.", 0.01, UPDATE),
        ("I live in Lisbon.", "I live in Porto.", 3.0, UPDATE),
        ("I live in Lisbon.", "I live in Porto.", 0.5, CONTRADICTION),
        ("I live in Lisbon.", "I live in Lisbon.", 3.0, ""),
        ("I live in York.", "I live in New York.", 3.0, ""),
        ("I love olives.", "I hate olives.", 30.0, CONTRADICTION),
        ("I love olives.", "I don't like olives anymore.", 30.0, UPDATE),
        ("The meeting is on Thursday.", "The meeting was postponed to Friday.", 0.1, UPDATE),
    ],
)
def test_a_later_value_is_an_update_or_a_contradiction(earlier: str, later: str, days: float, kind: str) -> None:
    assert kinds(earlier, later, days=days) == kind


@pytest.mark.requirement("F2")
@pytest.mark.parametrize(
    "chosen",
    [{"tainted": True}, {"origin": Origin.DOCUMENT, "tainted": True}, {"speaker": "Ana", "origin": Origin.CHANNEL}],
)
def test_who_is_trusted_less_never_outranks_the_owner(chosen: dict[str, object]) -> None:
    (own,) = extract_claims([turn("t1", "I live in Lisbon.")])
    (other,) = extract_claims([turn("t2", "I moved to Porto.", said_at=NOW + 9 * DAY, **chosen)])
    found = conflict_between(own, other, NOW)
    assert found is not None
    assert (found.kind, found.outranked_claim) == (CONTRADICTION, None)


@pytest.mark.parametrize("word", ["moved to", "lives in"])
def test_of_two_speakers_who_are_trusted_alike_neither_outranks_the_other(word: str) -> None:
    """However much later, and even if the later one says that it changed."""
    (one,) = extract_claims([turn("t1", "Marta lives in Berlin.", speaker="Ana")])
    (other,) = extract_claims([turn("t2", f"Marta {word} Porto.", speaker="Tom", said_at=NOW + 9 * DAY)])
    assert one.trust == other.trust
    found = conflict_between(one, other, NOW)
    assert found is not None
    assert (found.kind, found.outranked_claim) == (CONTRADICTION, None)
    again = replace(other, speaker="ana")  # One speaker, however written: now it is an update.
    assert (update := conflict_between(one, again, NOW)) is not None
    assert (update.kind, update.outranked_claim) == (UPDATE, one)


async def moved(memory: Memory, clock: HandClock) -> None:
    await talk(memory, ("I live in Lisbon, near the river where the old boats are.", "Nice."))
    await memory.light_sleep()
    await clock.advance(40 * DAY)
    await talk(memory, ("Guess what, I moved to Porto.", "Good luck there."))
    await memory.light_sleep()


async def test_why_and_an_explained_search_put_what_was_superseded_where_recall_puts_it(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await moved(memory, clock)
        cue = "I live in Lisbon near the river, boats, moved"
        vector, when = await memory.embed_cue(cue), context(now=clock.now())
        found = memory.live.recall(cue, vector, when)
        shown = recall_within(memory.live, cue, vector, when, EVERYTHING)
        assert [one.turn.id for one in shown.turns] == [one.turn.id for one in found.turns]
        assert [one.episode.id for one in shown.episodes] == [one.episode.id for one in found.episodes]
        for place, one in enumerate(found.episodes, 1):
            why = explain(memory.live, cue, vector, when, one.episode)
            assert why.rank == place
        named = {reason.name for one in why.turns for reason in one.reasons}
        assert "replaced" in named


async def test_who_moved_twice_is_told_the_last_place_also_where_the_first_is_recalled(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await moved(memory, clock)
        await clock.advance(40 * DAY)
        await talk(memory, ("Guess what, I moved to Berlin.", "Again?"))
        await memory.light_sleep()
        found = await memory.search("I live in Lisbon near the river, boats, moved", 10)
        for words in ("river", "Porto"):
            old = next(ranked for ranked in found.turns if words in ranked.turn.text)
            assert old.replaced_by is not None
            assert old.replaced_by.quote == "Guess what, I moved to Berlin."


@pytest.mark.requirement("R-118", "R-128")
async def test_what_was_superseded_ranks_under_what_replaced_it_and_both_are_kept(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await moved(memory, clock)
        found = await memory.search("I live in Lisbon near the river, boats, moved", 10)
        order = [ranked.turn.text for ranked in found.turns]
        old = next(ranked for ranked in found.turns if "river" in ranked.turn.text)
        assert order.index("Guess what, I moved to Porto.") < order.index(old.turn.text)
        assert old.replaced_by is not None
        assert old.replaced_by.quote == "Guess what, I moved to Porto."
        nearest = next(ranked for ranked in found.nearest if ranked.turn.id == old.turn.id)
        assert nearest.replaced_by == old.replaced_by, "a chat turn is told what is nearest, too"
        assert old.reasons[0].name == "replaced"
        (conflict,) = memory.live.claims.conflicts.values()
        assert conflict.kind == UPDATE
        live = picture(memory)
    async with open_memory(tmp_path, clock, first_id=1000) as memory:
        assert picture(memory) == live


async def test_a_supersession_is_taken_back_with_the_pass_that_found_it(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await moved(memory, clock)
        (newest, *_) = await memory.sleep_log(1)
        detail = await memory.sleep_run(newest.run_id)
        assert "ranks under" in detail.changes[0].superseded[0]
        await memory.undo_pass(newest.run_id)
        assert not memory.live.claims.conflicts
        assert [claim.value for claim in memory.live.claims.claims.values()] == ["Lisbon"]
        await memory.light_sleep()
        assert len(memory.live.claims.conflicts) == 1


async def test_of_an_old_conversation_that_comes_in_late_the_older_value_is_the_one_that_ranks_under(
    tmp_path: Path,
) -> None:
    async with open_memory(tmp_path, HandClock(NOW)) as memory:
        await talk(memory, ("I live in Porto.", "Yes."))
        await memory.light_sleep()
        await memory.begin_import("past").add([PastTurn(NOW - 400 * DAY, "Ana", "I live in Lisbon.")])
        await memory.light_sleep()
        (conflict,) = memory.live.claims.conflicts.values()
        assert (conflict.earlier.value, conflict.later.value) == ("Lisbon", "Porto")


@pytest.mark.requirement("R-113")
async def test_what_deep_sleep_finds_counts_only_where_the_words_stand_there(tmp_path: Path) -> None:
    said = "The boat got renamed yesterday, Sole is now called Estrela."
    async with open_memory(tmp_path) as memory:
        await talk(memory, (said, "A star."))
        true = {"quote": said, "about": "the boat", "what": "called", "value": "Estrela"}
        false = {"quote": said, "about": "the boat", "what": "colour", "value": "blue"}
        invented = {"quote": "I sold the boat.", "about": "the boat", "what": "owner", "value": "Bea"}
        slept = await memory.deep_sleep(answering(deep_answer(0.5, said, facts=[true, false])))
        (claim,) = memory.live.claims.claims.values()
        assert (claim.value, claim.found_by, claim.quote) == ("Estrela", "model", said)
        await memory.undo_pass(slept.run_id)
        assert not memory.live.claims.claims
        await memory.deep_sleep(answering(deep_answer(0.5, said, facts=[invented, false])))
        assert not memory.live.claims.claims


async def test_a_denial_and_a_deed_are_noticed_as_a_contradiction_whichever_comes_first(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await talk(memory, ("I've never restored any wooden boats.", "I see."), ("Bread needs salt.", "Yes."))
        await memory.light_sleep()
        await clock.advance(DAY)
        await talk(memory, ("Last year I restored two wooden boats, and it took ages.", "Impressive."))
        await talk(memory, ("How do I restore wooden boats?", "Slowly."))
        await memory.light_sleep()
        (one,) = await memory.contradictions()
        assert one.earlier.quote == "I've never restored any wooden boats."
        assert one.later.quote == "Last year I restored two wooden boats, and it took ages."
        await clock.advance(DAY)
        await talk(memory, ("I have never restored wooden boats.", "Oh?"))
        await memory.light_sleep()
        assert len(await memory.contradictions()) == 2


@pytest.mark.parametrize(("keep", "above"), [("later", "Porto"), ("earlier", "Lisbon"), ("both", "")])
async def test_the_owner_settles_a_contradiction_and_it_stays_settled(tmp_path: Path, keep: str, above: str) -> None:
    async with open_memory(tmp_path, HandClock(NOW)) as memory:
        await talk(memory, ("I live in Lisbon.", "Yes."), ("I live in Porto.", "Oh?"))
        await memory.light_sleep()
        (one,) = await memory.contradictions()
        await memory.settle_contradiction(one.id[:4], keep)
        assert await memory.contradictions() == []
        (settled,) = await memory.contradictions(with_settled=True)
        assert (settled.prevailing_claim.value if settled.prevailing_claim else "") == above
        live = picture(memory)
        with pytest.raises(NotFoundError):
            await memory.settle_contradiction("zz", keep)
    async with open_memory(tmp_path, first_id=1000) as memory:
        assert picture(memory) == live


async def test_more_updates_at_once_than_a_share_are_listed_instead_of_taking_effect(tmp_path: Path) -> None:
    names = ("car", "bike", "boat", "desk", "lamp", "sofa", "coat")
    async with open_memory(tmp_path, HandClock(NOW)) as memory:
        await talk(memory, *((f"My {name} is now red.", "Ok.") for name in names))
        await memory.light_sleep()
        await talk(memory, *((f"My {name} is now blue.", "Ok.") for name in names))
        await memory.light_sleep()
        assert len(await memory.contradictions()) == len(names)


@pytest.mark.requirement("F1")
async def test_many_foreign_claims_take_no_effect_from_what_the_owner_says(tmp_path: Path) -> None:
    things = ("car", "bike", "boat", "desk", "lamp", "sofa", "coat", "cup", "hat")
    async with open_memory(tmp_path, HandClock(NOW)) as memory:
        await talk(memory, ("I live in Lisbon.", "Ok."))
        await memory.begin_import("b").add(
            [PastTurn(NOW - 2 * DAY, "Bea", f"My {name} is now red.") for name in things]
        )
        await memory.light_sleep()
        await memory.begin_import("b").add([PastTurn(NOW - DAY, "Bea", f"My {name} is now blue.") for name in things])
        await talk(memory, ("I just moved to Porto.", "Ok."))
        await memory.light_sleep()
        found = memory.live.claims.conflicts.values()
        assert [(one.kind, one.later.value) for one in found if one.later.origin is Origin.OWNER] == [(UPDATE, "Porto")]
        foreign = [one for one in found if one.later.origin is not Origin.OWNER]
        assert len(foreign) == len(things)
        assert all(one.kind == CONTRADICTION for one in foreign)


async def test_of_two_things_said_in_one_turn_both_can_be_out_of_date(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    said = (
        "I live in Lisbon. My favourite colour is red.",
        "My favourite colour is now green.",
        "I moved to Porto.",
        "My favourite colour is now blue.",
        "I moved to Braga.",
    )
    async with open_memory(tmp_path, clock) as memory:
        for words in said:
            await talk(memory, (words, "I see."))
            await memory.light_sleep()
            await clock.advance(3 * DAY)
        found = {(one.earlier.value, one.later.value) for one in await memory.contradictions(with_settled=True)}
        assert found == {("red", "green"), ("green", "blue"), ("Lisbon", "Porto"), ("Porto", "Braga")}


async def test_each_of_three_values_said_at_once_is_replaced_by_the_next_and_by_no_other(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await talk(memory, ("I live in Lisbon.", "I see."))
        await memory.light_sleep()
        for words in ("I moved to Porto.", "I moved to Braga."):  # Slept on together.
            await clock.advance(3 * DAY)
            await talk(memory, (words, "I see."))
        await memory.light_sleep()
        found = {(one.earlier.value, one.later.value) for one in await memory.contradictions(with_settled=True)}
        assert found == {("Lisbon", "Porto"), ("Porto", "Braga")}


@pytest.mark.requirement("R-118")
async def test_of_two_things_said_in_one_turn_only_the_one_that_changed_is_told_as_outdated(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await _said_days_apart(memory, clock, "My phone number is 5551234. My boss is Ingrid.", "My boss is now Peter.")
        assert await _replaced(memory, "What is my phone number?") == []
        assert await _replaced(memory, "Who is my boss?") == [("My boss is Ingrid.", "My boss is now Peter.")]
        await _said_days_apart(memory, clock, "My phone number is now 5559999.")
        boss = ("My boss is Ingrid.", "My boss is now Peter.")
        phone = ("My phone number is 5551234.", "My phone number is now 5559999.")
        assert await _replaced(memory, "What is my phone number?") == [phone, boss]
        assert await _replaced(memory, "Who is my boss?") == [boss, phone]
        live = [await _replaced(memory, cue) for cue in ("What is my phone number?", "Who is my boss?")]
    async with open_memory(tmp_path, clock, first_id=1000) as memory:
        assert [await _replaced(memory, cue) for cue in ("What is my phone number?", "Who is my boss?")] == live


async def _said_days_apart(memory: Memory, clock: HandClock, *said: str) -> None:
    for words in said:
        await talk(memory, (words, "I see."))
        await memory.light_sleep()
        await clock.advance(3 * DAY)


async def _replaced(memory: Memory, cue: str) -> list[tuple[str, str]]:
    """Return what replaces the turn that said both, and which of its sentences."""
    found = next(one for one in (await memory.search(cue, 10)).turns if "Ingrid" in one.turn.text)
    every = [*([found.replaced_by] if found.replaced_by else []), *found.also_replaced_by]
    return [(one.of, one.quote) for one in every]
