"""What sleep reads of a talk with a capable model, beside what the talk itself read."""

import random

import pytest

from reveries.config import Home
from reveries.llm.base import Prompt, Role
from tests.daemon.mind_kit import NOON, living
from tests.daemon.test_money import PAID, SUBJECTS, changed
from tests.day_cost import SLEEP_ON_TALK
from tests.fakes.patient_clock import PatientClock
from tests.fakes.prose import prose
from tests.fakes.scripted import ScriptedModel
from tests.memory.kit import sleep_answer

_ASKED_WORDS, _REPLY_WORDS = 30, 110
"""Of the talk that was answered by hand with a capable model: the medians of a turn."""


def mind_of(prompt: Prompt) -> list[str]:
    if prompt.role is Role.CONSOLIDATION:
        return [sleep_answer(prompt, 0.9)]
    words = prose(random.Random(len(prompt.messages[-1].text)).randrange(4000), _REPLY_WORDS)
    return [f"{word} " for word in words]


@pytest.mark.requirement("G1")
async def test_sleep_on_a_talk_of_ten_turns_takes_two_requests_and_reads_half_of_what_the_talk_read(home: Home) -> None:
    model = ScriptedModel(otherwise=mind_of, name=PAID, context_tokens=32_000)
    async with living(home, model, PatientClock(NOON), changed(thinks=False)) as life:
        for place, subject in enumerate(SUBJECTS[:10]):
            more = " ".join(prose(900 + place * _ASKED_WORDS, _ASKED_WORDS))
            await life.say(f"Let me tell you about {subject}. {more}")
        await life.mind.sleep.consolidate(None, trigger="test")
        rows = await life.mind.database.rows("usage.used_by_role_and_model", {"since": 0.0})
        read = {Role(str(row["role"])): int(row["prompt_tokens"]) for row in rows}
        requests = [prompt.role for prompt in model.prompts].count(Role.CONSOLIDATION)
        assert await life.mind.memory.unprocessed_count() == 0
        assert read[Role.CONSOLIDATION] == pytest.approx(SLEEP_ON_TALK.read, rel=0.1)
        assert requests <= 2
        assert read[Role.CONSOLIDATION] <= 0.5 * read[Role.CONVERSATION]
