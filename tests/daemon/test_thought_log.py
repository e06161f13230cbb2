"""What the log stores of a thought, and what the next one gets."""

from dataclasses import replace
from pathlib import Path

import pytest

from reveries.memory.model import ExperienceKind
from reveries.monologue.ports import SavedState
from reveries.monologue.thought import ActivatedMemory, FinishedThought, Reactivation, ThinkingReason
from tests.daemon.kit import Talk, talking, thoughts_of

DAY_SECONDS = 86400.0
THOUGHT = FinishedThought(
    "t1", 10.0, 20.0, "step", "finished", "Paul may grieve.", 4, "m", explanation="It had no more to say."
)


async def _kinds(talk: Talk) -> list[str]:
    database = talk.memory.conversations._store.database
    return [str(row["kind"]) for row in await database.rows_of_text("SELECT kind FROM raw_experiences", ())]


@pytest.mark.requirement("R-56", "R-151", "R-172")
@pytest.mark.parametrize("is_quiescent", [True, False])
async def test_whether_the_last_thought_had_settled_is_stored(tmp_path: Path, is_quiescent: bool) -> None:
    async with talking(tmp_path) as talk:
        await thoughts_of(talk).record(THOUGHT, SavedState("Paul may grieve.", is_quiescent=not is_quiescent))
        state = SavedState("Paul may grieve.", is_quiescent=is_quiescent)
        await thoughts_of(talk).record(replace(THOUGHT, id="t2"), state)
        assert (await thoughts_of(talk).restore()).is_quiescent is is_quiescent


@pytest.mark.requirement("R-41")
@pytest.mark.parametrize(("why", "is_experience"), [("", True), ("It only repeated what it had read.", False)])
async def test_a_thought_that_adds_nothing_is_in_the_log_and_is_no_experience(
    tmp_path: Path, why: str, is_experience: bool
) -> None:
    async with talking(tmp_path) as talk:
        sources = thoughts_of(talk)
        await sources.record(replace(THOUGHT, unkept_because=why), SavedState())
        (entry,) = await sources.entries(0.0, 10)
        assert entry.text == THOUGHT.text
        assert (ExperienceKind.MONOLOGUE.value in await _kinds(talk)) is is_experience


async def test_the_next_thought_is_given_other_memories_than_the_last_unless_the_owner_asks(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        for words in (
            "Paul has a red sailing boat.",
            "Paul repairs the old garden shed.",
            "Paul sings with the choir.",
        ):
            await talk.say(words)
            await talk.memory.light_sleep()
            talk.clock.step_wall(DAY_SECONDS)
            await talk.conversation.open()
        sources, why = (
            thoughts_of(talk),
            Reactivation(ThinkingReason.CALENDAR, "Paul comes", event_key="k", at=talk.clock.now()),
        )
        first = (await sources.gather(why, "", comfort=False)).memories
        assert first
        last = (ActivatedMemory(first[0].episode_id, first[0].text, "", False),)
        await sources.record(replace(THOUGHT, memories=last), SavedState())
        nudge = replace(why, reason=ThinkingReason.NUDGE)
        given = [
            {one.episode_id for one in (await sources.gather(w, "", comfort=False)).memories} for w in (why, nudge)
        ]
        assert last[0].episode_id not in given[0]
        assert last[0].episode_id in given[1]
