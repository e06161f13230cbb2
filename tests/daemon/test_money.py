"""What a mind costs: nothing when nothing happens, what the plan says when idle, and quiet at the limit."""

import itertools
import re
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest

from reveries.config import Home, Settings, load_settings
from reveries.daemon.notices import attach_notices
from reveries.errors import BudgetExceededError
from reveries.llm.base import Prompt, Role, Usage
from reveries.llm.prices import price_of
from tests.daemon.asking import status_of
from tests.daemon.mind_kit import NOON, Living, living
from tests.day_cost import SIZES, idle_day
from tests.fakes.patient_clock import PatientClock
from tests.fakes.prose import prose
from tests.fakes.scripted import Piece, ScriptedModel
from tests.memory.kit import sleep_answer

_DEFAULTS = load_settings(None)
_SHORT_REPLIES = msgspec.structs.replace(_DEFAULTS.llm.limits, reply_tokens=512)
SETTINGS = msgspec.structs.replace(_DEFAULTS, llm=msgspec.structs.replace(_DEFAULTS.llm, limits=_SHORT_REPLIES))
"""A reply of 4,000 tokens would not fit the small budgets of these tests."""
COST = Path(__file__).parents[2] / "docs/reference/cost.md"
_STATED = re.compile(r"^\| (\w+) \| (\d+) \| ([\d,]+) \|$", re.MULTILINE)
PAID = "openai/gpt-4.1-mini"
SUBJECTS = (
    "the garden and its pear tree",
    "my sister's wedding in Oslo",
    "the broken bicycle chain",
    "learning the cello slowly",
    "a storm over the lake",
    "grandfather's old letters",
    "the new job at the library",
    "baking rye bread badly",
    "our cat who ran away",
    "a train journey through the Alps",
    "the neighbour's loud drums",
    "fear of the dentist",
)


def mind_of(prompt: Prompt, number: int) -> Iterable[Piece]:
    """A model that answers, thinks about something new each time, and consolidates."""
    match prompt.role:
        case Role.CONSOLIDATION:
            meant = {
                "summary": f"Number {number}: something that mattered.",
                "reasoning": " ".join(prose(number, 75)),
            }
            answer = msgspec.json.decode(sleep_answer(prompt, 0.6, **meant))
            for part in answer.get("parts", ())[1:]:
                part["summary"] += " " + " ".join(prose(75 * (20 * number + part["number"]), 25))
            return re.findall(r".{1,4}", msgspec.json.encode(answer).decode())
        case Role.MONOLOGUE:
            words = [f"{word} " for word in prose(118 * number, 118)]
            return [*words, "and ", "that is enough for now."]
        case _:
            return ["I ", "see, ", "tell ", "me ", "more."]


def a_model(name: str = PAID) -> ScriptedModel:
    # Numbered by role: the text has words for thirteen thoughts that share nothing, whatever was asked between them.
    counts = {role: itertools.count() for role in Role}
    return ScriptedModel(
        otherwise=lambda prompt: mind_of(prompt, next(counts[prompt.role])), name=name, context_tokens=16384
    )


def changed(*, thinks: bool = True, **budget: object) -> Settings:
    settings = msgspec.structs.replace(SETTINGS, budget=msgspec.structs.replace(SETTINGS.budget, **budget))
    return msgspec.structs.replace(settings, monologue=msgspec.structs.replace(settings.monologue, enabled=thinks))


async def fill(life: Living) -> None:
    """Store twelve consolidated conversations from more than a week ago."""
    for subject in SUBJECTS:
        await life.say(f"Let me tell you about {subject}.")
        life.clock.step_wall(3600)
        await life.mind.sleep.light_sleep()
    await life.mind.sleep.consolidate(None, trigger="test")
    life.clock.step_wall(8 * 86400)
    await life.pass_time(6.5)
    # Something new: the stretches in which a memory comes up are short again, from half an hour before the end of this.
    await life.say("Good evening.")
    await life.pass_time(0.5)
    await life.mind.sleep.consolidate(None, trigger="test")


# --- idle ------------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("RA-9", "R-46", "G2")
async def test_an_hour_with_nothing_to_process_asks_no_model(home: Home) -> None:
    async with living(home, a_model(), PatientClock(NOON), SETTINGS) as life:
        await life.pass_time(24)
        assert life.model.prompts == []


@pytest.mark.requirement("G2")
async def test_with_thinking_switched_off_an_idle_day_asks_no_model(home: Home) -> None:
    async with living(home, a_model(), PatientClock(NOON), changed(thinks=False)) as life:
        await fill(life)
        before = len(life.model.prompts)
        await life.pass_time(24)
        assert len(life.model.prompts) == before


@pytest.mark.requirement("G2", "R-46")
async def test_an_idle_day_makes_the_calls_and_uses_the_tokens_of_the_plan(home: Home) -> None:
    """docs/reference/cost.md says what an idle day costs; a size or a pace that changes must change it, too. What the
    page says is read from the page: a plan that is reckoned anew would follow the program into any fault."""
    rows = _STATED.findall(COST.read_text(encoding="utf-8"))
    stated = {role: (int(calls), int(tokens.replace(",", ""))) for role, calls, tokens in rows}
    assert set(stated) == {"monologue", "consolidation", "together"}
    async with living(home, a_model(), PatientClock(NOON), SETTINGS) as life:
        await fill(life)
        before = len(life.model.prompts)
        used_before = await _used(life)
        await life.pass_time(24)
        await life.mind.sleep.consolidate(None, trigger="test")
        asked = [prompt.role for prompt in life.model.prompts[before:]]
        used = await _used(life)
        assert await life.mind.memory.unprocessed_count() == 0
        for planned in idle_day(thinks=True):
            assert asked.count(planned.role) == planned.calls
            role, size = planned.role, SIZES[planned.role]
            read, written = (now - then for now, then in zip(used[role], used_before[role], strict=True))
            assert read == pytest.approx(planned.calls * size.read, rel=0.05)
            assert written == pytest.approx(planned.calls * size.written, rel=0.05)
            calls, tokens = stated[role.value]
            assert asked.count(role) == calls
            assert read + written == pytest.approx(tokens, rel=0.05)
        assert len(asked) == stated["together"][0]


async def _used(life: Living) -> dict[Role, tuple[int, int]]:
    """Return the prompt and completion tokens of each role."""
    rows = await life.mind.database.rows("usage.used_by_role_and_model", {"since": 0.0})
    return {Role(str(row["role"])): (int(row["prompt_tokens"]), int(row["completion_tokens"])) for row in rows}


class Billing(ScriptedModel):
    """Keeps its own account of the complete calls."""

    billed = 0

    def _usage(self, prompt: Prompt, said: int) -> Usage | None:
        usage = super()._usage(prompt, said)
        self.billed += price_of(self.name).of(usage) if usage else 0
        return usage


@pytest.mark.requirement("G1")
async def test_a_day_of_talk_is_charged_at_most_five_percent_above_the_bill(home: Home) -> None:
    """Twenty-four turns in six conversations, the thoughts after them and the sleep: all of it settled at the end."""
    count = itertools.count()
    model = Billing(otherwise=lambda prompt: mind_of(prompt, next(count)), name=PAID, context_tokens=16384)
    # No pass begins by volume while they talk: one that words break off is charged the most that it could have used.
    memory = msgspec.structs.replace(SETTINGS.memory, consolidation_volume=1000)
    async with living(home, model, PatientClock(NOON), msgspec.structs.replace(SETTINGS, memory=memory)) as life:
        for hour in range(6):
            for subject in SUBJECTS[hour * 2 : hour * 2 + 2] * 2:
                await life.say(f"Let me tell you about {subject}.")
                await life.clock.advance(20)
            await life.pass_time(1)
        await life.mind.sleep.consolidate(None, trigger="test")
        charged = await life.mind.ledger.dollars_this_month() * 1e6
        over = charged / model.billed - 1
        assert -1e-9 <= over <= 0.05  # a sum of dollars is rounded


# --- at the limit ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("G4", "R-49")
async def test_at_the_limit_it_says_so_in_the_chat_and_search_history_and_status_still_work(home: Home) -> None:
    async with living(home, a_model(), PatientClock(NOON), changed(dollars_per_day=0.002)) as life:
        replies = [await life.say(f"Let me tell you about {subject}.") for subject in SUBJECTS]
        assert replies[0].draft.reason == "stop"
        refused = replies[-1]
        assert refused.draft.reason == "failed"
        assert "of the day's $0.00 are used" in refused.draft.explanation
        assert "It continues with the next day (Sun 22 Nov, 00:00)" in refused.draft.explanation
        mind = life.mind
        await mind.sleep.light_sleep()
        assert (await mind.memory.search("fear of the dentist", 5)).turns
        assert len(await mind.memory.conversations.recent_turns(mind.conversation.conversation_id, 100)) >= len(
            SUBJECTS
        )
        assert (await status_of(mind)).usage[0].calls >= 1


@pytest.mark.requirement("G4")
async def test_thinking_stops_first_then_sleep_and_both_say_until_when(home: Home) -> None:
    async with living(home, a_model(), PatientClock(NOON), SETTINGS) as life:
        for subject in SUBJECTS * 4:
            await life.say(f"Let me tell you about {subject}.")
        ledger = life.mind.ledger
        tight = msgspec.structs.replace(
            SETTINGS.budget, dollars_per_day=await ledger.dollars_this_month() / 0.82, conversation_reserve_share=0.2
        )
        ledger.budget = lambda: tight
        await life.pass_time(6)
        asked = len(life.model.prompts)
        assert life.mind.activity.state()[0] == "quiet"
        assert "It continues with the next day (Sun 22 Nov, 00:00)" in life.mind.activity.state()[1]
        with pytest.raises(BudgetExceededError, match="your own conversation"):
            await life.mind.sleep.consolidate(None, trigger="owner")
        notices = await attach_notices(life.mind)
        assert any(notice.startswith("It does not think for now.") for notice in notices)
        assert any(notice.startswith("Deep sleep waits; nothing is lost.") for notice in notices)
        assert (await life.say("Are you there?")).draft.reason == "stop"
        await life.pass_time(5)
        assert len(life.model.prompts) == asked + 1
        await life.pass_time(3)
        assert len(life.model.prompts) > asked + 1


@pytest.mark.requirement("G4", "E1")
async def test_a_day_after_a_clock_that_was_a_year_ahead_it_thinks_again(home: Home) -> None:
    clock = PatientClock(NOON)
    roles = msgspec.structs.replace(SETTINGS.budget.monologue, tokens_per_day=9_000)
    async with living(home, a_model(), clock, changed(monologue=roles)) as life:
        clock.step_wall(365 * 86400)
        await life.say("Let me tell you about the garden.")
        clock.step_wall(-365 * 86400)
        life.mind.monologue.resume()
        for hour in range(12):
            await life.say(f"And about {SUBJECTS[hour % len(SUBJECTS)]}.")
            await life.pass_time(0.5)
        assert life.mind.monologue.state_detail == life.mind.monologue.quiet_reason != ""
        before = sum(prompt.role is Role.MONOLOGUE for prompt in life.model.prompts)
        await life.pass_time(24)
        await life.say("Good morning.")
        await life.pass_time(1)
        assert sum(prompt.role is Role.MONOLOGUE for prompt in life.model.prompts) > before
