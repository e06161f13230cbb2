"""Undoing a pass restores the earlier state in memory and in the database, and is logged."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as checking
from hypothesis import strategies as st

from reveries.errors import ModelAnswerError, NotFoundError, UndoError
from reveries.memory.importing import PastTurn
from reveries.memory.memory import Memory
from reveries.memory.model import Episode, SelfModel
from reveries.memory.sleep.pass_records import episode_change
from reveries.memory.sleep.undo_plan import restore_episode
from tests.fakes.clock import HandClock
from tests.fakes.scripted import ScriptedModel
from tests.memory.kit import NOW, answering, deep_answer, episode, open_memory, talk
from tests.memory.test_memory import SAYINGS, do, picture, recalled

BOAT = "The wooden boat Sole needs blue paint."


async def sleep_deeply(memory: Memory, text: str = BOAT) -> str:
    """Run a pass whose answers merge, link and change the self-model; return its id."""
    answers: list[dict[str, object]] = [
        deep_answer(0.9, text, summary="About the boat.", patterns=["Speaks of the boat."]),
        {"owner_facts": ["Ana has a boat."], "narrative": "I know of a boat.", "current_focus": "the boat"},
    ] * 40
    return (await memory.deep_sleep(ScriptedModel(answers), limit=3)).run_id


DEEDS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["talk", "import"]), st.sampled_from(SAYINGS)),
        st.sampled_from([("light", ""), ("deep", ""), ("deep badly", ""), ("decay", ""), ("recall", "")]),
    ),
    max_size=8,
)


@checking(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(DEEDS)
@pytest.mark.requirement("R-104", "R-107", "R-154", "R-169")
async def test_sleep_and_then_undo_equals_before_in_memory_and_in_the_file(
    tmp_path_factory: pytest.TempPathFactory, deeds: list[tuple[str, str]]
) -> None:
    folder, clock = tmp_path_factory.mktemp("mind"), HandClock(NOW)
    async with open_memory(folder, clock) as memory:
        await talk(memory, (BOAT, "I see."))
        for deed, text in deeds:
            await do(memory, clock, deed, text)
        await memory.light_sleep()
        await memory.decay_and_prune()
        before = picture(memory)
        waiting = await memory._deep_sleep.unprocessed_count(with_held=True)
        run_id = await sleep_deeply(memory)
        slept = picture(memory)
        await memory.undo_pass(run_id)
        assert picture(memory) == before
        assert await memory._deep_sleep.unprocessed_count(with_held=True) == waiting
        answer = await recalled(memory)
    async with open_memory(folder, clock, first_id=100_000) as memory:
        assert picture(memory) == before
        again = await recalled(memory)
        assert [one.episode.id for one in again.episodes] == [one.episode.id for one in answer.episodes]
        await sleep_deeply(memory)
        assert picture(memory).keys() == slept.keys()


NIGHTS = st.lists(
    st.tuples(st.sampled_from(["talk", "import", "deep", "deep badly"]), st.sampled_from(SAYINGS)), max_size=8
)


Stored = dict[str, set[tuple[object, ...]]]
_MADE_BY_SLEEP = {
    "episodes": "id, created_at, ended_at, last_accessed_at, access_count, summary, exemplars, salience, confidence, "
    "valence, topics, entities, origin, tainted, conversation_id, depth, accessibility, last_decayed_at, merged_into, "
    "temporal_before, temporal_after, dormant",
    "episode_links": "from_id, to_id, type, strength",
    "episode_sources": "episode_id, experience_id",
    "claims": "id, quote, value",
    "claim_conflicts": "id, kind, settled",
    "raw_experiences": "id, salience, valence, light_slept, processed, attempts",
}


async def stored(memory: Memory) -> Stored:
    """Return the exact rows that sleep writes."""
    found: Stored = {}
    for table, columns in _MADE_BY_SLEEP.items():
        rows = await memory._parts.database.rows_of_text(f"SELECT {columns} FROM {table}", ())
        found[table] = {tuple(row) for row in rows}
    return found


@dataclass
class Nights:
    """A conversation with several passes, and the rows before each pass."""

    memory: Memory
    clock: HandClock
    passes: list[tuple[str, dict[str, object], Stored]] = field(default_factory=list)

    async def live(self, deed: str, text: str) -> None:
        if deed == "talk":
            await talk(self.memory, (text, "I see."))
        if deed == "import":
            await self.memory.begin_import("past").add([PastTurn(self.clock.now() - 9e6, "Bea", text)])
        before = picture(self.memory), await stored(self.memory)
        if (await self.memory.light_sleep()).experiences:
            self.passes.append((await _newest(self.memory), *before))
        before = picture(self.memory), await stored(self.memory)
        match deed:
            case "deep":
                self.passes.append((await sleep_deeply(self.memory, text), *before))
            case "deep badly":
                slept = await self.memory.deep_sleep(answering(ModelAnswerError("No.")), limit=1)
                self.passes.append((slept.run_id, *before))


@checking(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(NIGHTS, st.booleans())
@pytest.mark.requirement("R-104", "R-169")
async def test_every_pass_taken_back_newest_first_leads_back_through_every_state(
    tmp_path_factory: pytest.TempPathFactory, deeds: list[tuple[str, str]], is_woken_between: bool
) -> None:
    folder, clock = tmp_path_factory.mktemp("mind"), HandClock(NOW)
    async with open_memory(folder, clock) as memory:
        nights = Nights(memory, clock)
        for deed, text in deeds:
            await nights.live(deed, text)
        if not is_woken_between:
            live = await _all_taken_back(memory, nights)
    async with open_memory(folder, clock, first_id=100_000) as memory:
        if is_woken_between:
            live = await _all_taken_back(memory, nights)
    async with open_memory(folder, clock, first_id=200_000) as memory:
        assert picture(memory) == live


async def _all_taken_back(memory: Memory, nights: Nights) -> dict[str, object]:
    for run_id, before, rows in reversed(nights.passes):
        (done,) = await memory.undo_pass(run_id)
        assert done.run_id == run_id
        assert picture(memory) == before
        now = await stored(memory)
        # Imported turns are not part of the pass and stay.
        assert rows.pop("raw_experiences") <= now.pop("raw_experiences")
        assert now == rows
    return picture(memory)


@checking(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(NIGHTS, st.randoms(use_true_random=False))
@pytest.mark.requirement("R-104", "R-169")
async def test_passes_taken_back_in_any_order_leave_what_was_there_before_the_first(
    tmp_path_factory: pytest.TempPathFactory, deeds: list[tuple[str, str]], chance: Random
) -> None:
    folder, clock = tmp_path_factory.mktemp("mind"), HandClock(NOW)
    async with open_memory(folder, clock) as memory:
        nothing = picture(memory)
        nights = Nights(memory, clock)
        for deed, text in deeds:
            await nights.live(deed, text)
        left = [run_id for run_id, _, _ in nights.passes]
        while left:
            for done in await memory.undo_pass(chance.choice(left), through=True):
                left.remove(done.run_id)
        now = picture(memory)
        for part in ("episodes", "vectors", "links", "turns", "self_model", "claims", "conflicts"):
            assert now[part] == nothing[part], part
    async with open_memory(folder, clock, first_id=100_000) as memory:
        assert picture(memory) == now


async def _newest(memory: Memory) -> str:
    runs = await memory.sleep_log(1)
    return runs[0].run_id if runs else ""


async def _two_boats(memory: Memory) -> str:
    """Create two episodes that deep sleep merges; return the pass."""
    await memory.begin_import("a").add([PastTurn(NOW - 50 * 3600, "Bea", BOAT)])
    await memory.begin_import("b").add([PastTurn(NOW - 20 * 3600, "Bea", BOAT)])
    await memory.light_sleep()
    slept = await memory.deep_sleep(ScriptedModel([deep_answer(0.5, BOAT, summary=BOAT)] * 2))
    assert slept.merged == 1
    return slept.run_id


@pytest.mark.requirement("R-23", "R-105")
async def test_whoever_asks_for_an_episode_that_was_merged_away_is_told_where_it_went(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await _two_boats(memory)
        (home,) = memory.live.graph.episodes()
        (gone,) = [row["id"] for row in await memory._parts.database.rows("episodes.merged_like", {"prefix": ""})]
        with pytest.raises(NotFoundError, match=f"{gone} was about the same thing as {home.id}") as refused:
            await memory.inspect(gone)
        assert refused.value.advice.endswith(f"inspect {home.id}")
        with pytest.raises(NotFoundError, match="There is no episode nobody"):
            await memory.inspect("nobody")


@pytest.mark.requirement("R-105", "R-169")
async def test_a_merge_that_is_taken_back_leaves_two_episodes_with_their_own_turns(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        run_id = await _two_boats(memory)
        (undone,) = await memory.undo_pass(run_id)
        assert "1 separated again" in undone.line
        assert [len(one.experience_ids) for one in memory.live.graph.episodes()] == [1, 1]
        assert {len(memory.live.turns.turns_of(one.id)) for one in memory.live.graph.episodes()} == {1}
        newest, taken_back = (await memory.sleep_log(10))[:2]
        assert (newest.undoes, taken_back.undone_by) == (run_id, undone.undo_id)


async def test_what_was_recalled_since_stays_easier_to_find_after_the_undo(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, (BOAT, "I see."))
        await memory.light_sleep()
        (light,) = memory.live.graph.episodes()
        run_id = await sleep_deeply(memory)
        await memory.reinforce([await memory.search("boat paint", 3)])
        await memory.undo_pass(run_id)
        (now,) = memory.live.graph.episodes()
        assert now.access_count == light.access_count + 1
        assert now.last_accessed_at == NOW
        assert now.salience > light.salience
        assert now.summary == light.summary


async def test_a_pass_that_a_later_one_built_upon_is_refused_and_says_which(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, (BOAT, "I see."))
        await memory.light_sleep()
        light_run = await _newest(memory)
        deep_run = await sleep_deeply(memory)
        before = picture(memory)
        with pytest.raises(UndoError, match=deep_run) as refused:
            await memory.undo_pass(light_run)
        assert "--through" in refused.value.advice
        assert picture(memory) == before
        undone = await memory.undo_pass(light_run, through=True)
        assert [one.run_id for one in undone] == [deep_run, light_run]
        assert len(memory.live.graph) == 0
        assert (await memory.light_sleep()).episodes == 1


async def test_a_pass_is_taken_back_once_and_an_undo_not_at_all(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        run_id = await _two_boats(memory)
        (undone,) = await memory.undo_pass(run_id)
        with pytest.raises(UndoError, match="already"):
            await memory.undo_pass(run_id)
        with pytest.raises(UndoError, match="itself"):
            await memory.undo_pass(undone.undo_id)
        with pytest.raises(NotFoundError):
            await memory.undo_pass("nothing")


@pytest.mark.requirement("R-98", "R-99")
async def test_what_was_taken_back_waits_for_the_owner_and_not_for_the_next_pass(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await memory.undo_pass(await _two_boats(memory))
        model = ScriptedModel()
        assert (await memory.deep_sleep(model, trigger="time")).processed == 0
        assert model.prompts == []
        assert await memory.unprocessed_count() == 0
        again = ScriptedModel([deep_answer(0.5, BOAT, summary=BOAT)] * 2)
        assert (await memory.deep_sleep(again, trigger="owner")).processed == 2


async def test_an_answer_that_could_not_be_used_is_taken_back_with_its_attempt(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, (BOAT, "I see."))
        await memory.light_sleep()
        before = picture(memory)
        slept = await memory.deep_sleep(answering(ModelAnswerError("No.")))
        assert picture(memory) != before
        await memory.undo_pass(slept.run_id)
        assert picture(memory) == before
        (light, *_) = await memory._parts.database.rows("experiences.next_to_process", _WAITING)
        assert light["attempts"] == 0


_WAITING = {"max_attempts": 3, "passed_over": "[]", "with_held": 1}


@pytest.mark.requirement("R-87")
async def test_the_self_model_goes_back_and_its_history_keeps_both_steps(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, (BOAT, "I see."))
        run_id = await sleep_deeply(memory)
        assert memory.self_model.owner_facts
        await memory.undo_pass(run_id)
        assert memory.self_model == SelfModel()
        assert len(await memory._parts.database.rows("self_model.history", {"limit": 9})) == 2


def test_field_by_field_only_what_the_pass_changed_goes_back() -> None:
    was: Episode = episode("e", summary="light", after=("x",), access_count=1, salience=0.4)
    became = replace(was, summary="deep", after=("x", "y"), salience=0.6, depth="deep")
    now = replace(became, after=("x", "y", "z"), access_count=3, salience=0.65, last_accessed_at=NOW + 5)
    back = restore_episode(episode_change(was, became), now)
    assert (back.summary, back.depth, back.after) == ("light", "light", ("x", "z"))
    assert (back.access_count, back.last_accessed_at) == (3, NOW + 5)
    assert back.salience == pytest.approx(0.45)


async def test_a_pass_of_an_earlier_version_is_refused_with_a_reason_and_nothing_changes(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, (BOAT, "I see."))
        run_id = await sleep_deeply(memory)
        before = picture(memory)
        connection = memory._parts.database._connection
        await connection.execute("UPDATE consolidation_changes SET change_set = json_remove(change_set, '$.standings')")
        with pytest.raises(UndoError, match="earlier version"):
            await memory.undo_pass(run_id)
        assert picture(memory) == before
        assert all(not run.undoes for run in await memory.sleep_log(9))
