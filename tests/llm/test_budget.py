import asyncio
import contextlib
import dataclasses
from datetime import datetime
from zoneinfo import ZoneInfo

import msgspec
import pytest

from reveries.config import BudgetSettings, RoleBudget, load_settings
from reveries.daemon.models.usage_report import usage_report
from reveries.db.database import Database
from reveries.errors import BudgetExceededError, ModelFault, ModelMissingError, ModelUnavailableError
from reveries.llm.base import ChatMessage, Delta, Prompt, Role, Usage
from reveries.llm.budget import LONGEST_CALL_SECONDS, Ledger
from reveries.llm.caps import PlannedCall, Span, periods_at
from reveries.llm.metered import MeteredModel
from reveries.llm.prices import Price, hour_of_talk_dollars, price_of
from reveries.llm.tokens import estimate_tokens, template_tokens
from tests.fakes.clock import HandClock, settle
from tests.fakes.scripted import Pause, ScriptedModel
from tests.llm.contract import play

ZURICH = ZoneInfo("Europe/Zurich")
NOON = datetime(2026, 11, 21, 12, tzinfo=ZURICH).timestamp()
BUDGET = load_settings(None).budget
DOLLAR_A_THOUSAND = Price(1000.0, 1000.0, "test")
FREE = Price(0.0, 0.0, "test")


def _ledger(
    database: Database, clock: HandClock, *, monologue_tokens_per_day: int | None = None, **budget: object
) -> Ledger:
    if monologue_tokens_per_day is not None:
        limited = msgspec.structs.replace(BUDGET.monologue, tokens_per_day=monologue_tokens_per_day)
        budget = {**budget, "monologue": limited}
    limits = msgspec.structs.replace(BUDGET, **budget)
    return Ledger(database, clock, lambda: limits, timezone=ZURICH)


def _ask(role: Role = Role.CONVERSATION, tokens: int = 100, price: Price = FREE) -> PlannedCall:
    return PlannedCall(role, "test/model", price, tokens // 2, tokens - tokens // 2)


def _prompt(role: Role = Role.MONOLOGUE, max_tokens: int = 50) -> Prompt:
    return Prompt(role, (ChatMessage("user", "Think of something."),), max_tokens)


@pytest.fixture
def clock() -> HandClock:
    return HandClock(NOON)


@pytest.mark.requirement("R-49", "G1")
async def test_what_was_reserved_counts_until_it_is_settled(database: Database, clock: HandClock) -> None:
    ledger = _ledger(database, clock, monologue_tokens_per_day=150)
    reservation = await ledger.reserve(_ask(Role.MONOLOGUE, 100))
    with pytest.raises(BudgetExceededError, match="monologue"):
        await ledger.reserve(_ask(Role.MONOLOGUE, 100))
    await ledger.settle(reservation, Usage(20, 10))
    await ledger.reserve(_ask(Role.MONOLOGUE, 100))


@pytest.mark.requirement("G1")
async def test_what_an_earlier_run_did_not_settle_keeps_its_worst_case(database: Database, clock: HandClock) -> None:
    await _ledger(database, clock).reserve(_ask(Role.MONOLOGUE, 100))
    later = _ledger(database, clock, monologue_tokens_per_day=150)
    with pytest.raises(BudgetExceededError):
        await later.reserve(_ask(Role.MONOLOGUE, 100))


async def test_a_second_settling_changes_nothing(database: Database, clock: HandClock) -> None:
    ledger = _ledger(database, clock)
    reservation = await ledger.reserve(_ask(tokens=100))
    await ledger.settle(reservation, Usage(30, 20))
    await ledger.settle(reservation, Usage(0, 0))
    await ledger.release(reservation)
    conversation = (await ledger.usage_today())[0]
    assert (conversation.calls, conversation.prompt_tokens, conversation.completion_tokens) == (1, 30, 20)


async def test_each_role_has_a_day_of_its_own(database: Database, clock: HandClock) -> None:
    ledger = _ledger(database, clock, monologue_tokens_per_day=100)
    await ledger.reserve(_ask(Role.MONOLOGUE, 100))
    await ledger.reserve(_ask(Role.CONVERSATION, 100))
    await ledger.reserve(_ask(Role.CONSOLIDATION, 100))
    with pytest.raises(BudgetExceededError, match="The monologue has used 100 of its 100 tokens"):
        await ledger.reserve(_ask(Role.MONOLOGUE, 1))


@pytest.mark.requirement("G4")
async def test_thinking_stops_at_its_share_of_the_day_then_sleep_and_the_rest_is_the_conversations(
    database: Database, clock: HandClock
) -> None:
    """Whichever role used it: at 60 % of the day thinking stops, at 80 % sleep; conversation may use all."""
    ledger = Ledger(database, clock, lambda: _tight(dollars_per_day=1.0), timezone=ZURICH)

    async def spend(role: Role, cents: int) -> None:
        reservation = await ledger.reserve(_ask(role, cents * 10, DOLLAR_A_THOUSAND))
        await ledger.settle(reservation, Usage(cents * 5, cents * 5))

    await spend(Role.CONVERSATION, 50)
    await spend(Role.MONOLOGUE, 9)
    with pytest.raises(BudgetExceededError, match=r"\$0\.59 of the day's \$1\.00 are used") as caught:
        await spend(Role.MONOLOGUE, 2)
    assert "your own conversation" in caught.value.advice
    await spend(Role.MONOLOGUE, 1)
    await spend(Role.CONSOLIDATION, 19)
    with pytest.raises(BudgetExceededError, match=r"\$0\.79 of the day's \$1\.00 are used") as caught:
        await spend(Role.CONSOLIDATION, 2)
    assert "your own conversation" in caught.value.advice
    await spend(Role.CONSOLIDATION, 1)
    await spend(Role.CONVERSATION, 19)
    with pytest.raises(BudgetExceededError, match=r"\$0\.99 of the day's \$1\.00 are used"):
        await spend(Role.CONVERSATION, 2)


@pytest.mark.requirement("G4")
async def test_thinking_stops_at_its_share_of_the_tokens_too(database: Database, clock: HandClock) -> None:
    ledger = Ledger(database, clock, lambda: _tight(tokens_per_month=1000), timezone=ZURICH)
    await ledger.reserve(_ask(Role.CONVERSATION, 600))
    with pytest.raises(BudgetExceededError, match="600 of their 1,000 tokens of this month"):
        await ledger.reserve(_ask(Role.MONOLOGUE, 2))
    await ledger.reserve(_ask(Role.CONSOLIDATION, 200))
    with pytest.raises(BudgetExceededError, match="800 of their 1,000 tokens of this month"):
        await ledger.reserve(_ask(Role.CONSOLIDATION, 2))


@pytest.mark.requirement("G4")
async def test_reading_stops_with_work_and_what_judges_their_outcome_goes_on_a_little_longer(
    database: Database, clock: HandClock
) -> None:
    ledger = Ledger(database, clock, lambda: _tight(tokens_per_day=1000), timezone=ZURICH)
    await ledger.reserve(_ask(Role.CONVERSATION, 700))
    for role in (Role.WORK, Role.READING):
        with pytest.raises(BudgetExceededError, match="700 of their 1,000 tokens of this day"):
            await ledger.reserve(_ask(role, 2))
    await ledger.reserve(_ask(Role.LEARNING, 50))
    with pytest.raises(BudgetExceededError, match="750 of their 1,000 tokens of this day"):
        await ledger.reserve(_ask(Role.LEARNING, 2))
    await ledger.reserve(_ask(Role.CONSOLIDATION, 50))


def test_learning_and_reading_may_use_half_of_what_work_may_and_no_role_more_than_all_together() -> None:
    for role in Role:
        limits = getattr(BUDGET, role.value)
        assert 0 < limits.dollars_per_day <= BUDGET.dollars_per_day
        assert limits.dollars_per_day < limits.dollars_per_month <= BUDGET.dollars_per_month
        if role is not Role.EMBEDDING:
            assert limits.tokens_per_day <= BUDGET.tokens_per_day
            assert limits.tokens_per_month <= BUDGET.tokens_per_month
    for limits in (BUDGET.learning, BUDGET.reading):
        assert 2 * limits.tokens_per_day == BUDGET.work.tokens_per_day
        assert 2 * limits.dollars_per_month == BUDGET.work.dollars_per_month


@pytest.mark.requirement("G1")
@pytest.mark.parametrize("price", [FREE, DOLLAR_A_THOUSAND], ids=["free", "paid"])
async def test_usage_below_zero_gives_nothing_back(database: Database, clock: HandClock, price: Price) -> None:
    ledger = Ledger(database, clock, lambda: _tight(tokens_per_day=100, dollars_per_day=0.1), timezone=ZURICH)
    await ledger.settle(await ledger.reserve(_ask(tokens=100, price=price)), Usage(50, 50))
    assert {limit.used for limit in await ledger.limits() if limit.key == "budget.tokens_per_day"} == {100}
    ledger.budget = _tight
    await ledger.settle(await ledger.reserve(_ask(tokens=100, price=price)), Usage(-5000, -5000, -5000))
    used = {limit.key: limit.used for limit in await ledger.limits()}
    assert used["budget.tokens_per_day"] == 100
    assert used["budget.dollars_per_day"] == price.microdollars(50, 50) / 1e6
    (model,) = await ledger.usage_since(Span.DAY)
    assert (model.prompt_tokens, model.cached_tokens, model.completion_tokens) == (50, 0, 50)


async def test_the_month_has_a_limit_too(database: Database, clock: HandClock) -> None:
    ledger = _ledger(database, clock, dollars_per_day=1.0, dollars_per_month=1.5)
    await ledger.reserve(_ask(tokens=1000, price=DOLLAR_A_THOUSAND))
    await clock.advance(86400)
    with pytest.raises(BudgetExceededError, match="month"):
        await ledger.reserve(_ask(tokens=1000, price=DOLLAR_A_THOUSAND))
    assert await ledger.dollars_this_month() == 1.0
    await clock.advance(12 * 86400)
    await ledger.reserve(_ask(tokens=1000, price=DOLLAR_A_THOUSAND))


@pytest.mark.requirement("R-48")
async def test_local_models_cost_nothing_even_with_no_money_at_all(database: Database, clock: HandClock) -> None:
    ledger = _ledger(database, clock, dollars_per_day=0.0, dollars_per_month=0.0)
    await ledger.settle(await ledger.reserve(_ask(tokens=100)), Usage(50, 50))
    assert (await ledger.usage_today())[0].dollars == 0.0
    with pytest.raises(BudgetExceededError):
        await ledger.reserve(_ask(tokens=1, price=DOLLAR_A_THOUSAND))


async def test_the_day_begins_at_local_midnight(database: Database, clock: HandClock) -> None:
    ledger = _ledger(database, clock, monologue_tokens_per_day=100)
    await ledger.reserve(_ask(Role.MONOLOGUE, 100))
    await clock.advance(12 * 3600 - 1)
    with pytest.raises(BudgetExceededError):
        await ledger.reserve(_ask(Role.MONOLOGUE, 1))
    await clock.advance(2)
    await ledger.reserve(_ask(Role.MONOLOGUE, 100))


@pytest.mark.requirement("E1", "G1")
async def test_setting_the_clock_back_opens_no_day_again(database: Database, clock: HandClock) -> None:
    ledger = _ledger(database, clock, monologue_tokens_per_day=100)
    await ledger.reserve(_ask(Role.MONOLOGUE, 100))
    clock.step_wall(-3 * 86400)
    for again in (ledger, _ledger(database, clock, monologue_tokens_per_day=100)):
        with pytest.raises(BudgetExceededError):
            await again.reserve(_ask(Role.MONOLOGUE, 1))
    assert (await ledger.usage_today())[1].prompt_tokens == 100


@pytest.mark.requirement("E1")
async def test_a_clock_that_was_once_years_ahead_does_not_close_the_budget_for_years(
    database: Database, clock: HandClock
) -> None:
    ledger = _ledger(database, clock, monologue_tokens_per_day=100)
    clock.step_wall(12 * 365 * 86400)
    await ledger.reserve(_ask(Role.MONOLOGUE, 100))
    clock.step_wall(-12 * 365 * 86400)
    await clock.advance(86400)
    await ledger.reserve(_ask(Role.MONOLOGUE, 100))
    with pytest.raises(BudgetExceededError, match="The monologue has used 100 of its 100 tokens"):
        await ledger.reserve(_ask(Role.MONOLOGUE, 1))


def test_unknown_prices_are_the_worst_and_local_ones_are_zero() -> None:
    assert price_of("embedded/x").is_free
    assert price_of("ollama/y").is_free
    unknown = price_of("openai/no-such-model")
    assert not unknown.is_known
    assert all(
        unknown.input >= price_of(name).input and unknown.output >= price_of(name).output
        for name in ("openai/gpt-4.1", "anthropic/claude-opus-5", "cerebras/gpt-oss-120b", "cerebras/kimi-k2.5")
    )
    assert price_of("openai/gpt-4.1").microdollars(1000, 500) == 6000


def test_a_part_of_a_microdollar_counts_as_a_whole_one() -> None:
    assert Price(0.1, 0.1).microdollars(1, 0) == 1


@pytest.mark.requirement("R-49")
async def test_a_metered_call_is_settled_with_what_it_used(database: Database, clock: HandClock) -> None:
    ledger = _ledger(database, clock)
    model = MeteredModel(ScriptedModel(["one two three"]), ledger)
    _, end = await play(model, _prompt())
    assert end.usage is not None
    used = (await ledger.usage_today())[1]
    assert (used.calls, used.completion_tokens) == (1, 3)
    assert used.prompt_tokens == end.usage.prompt_tokens


@pytest.mark.requirement("G1")
async def test_a_call_that_does_not_fit_is_never_made(database: Database, clock: HandClock) -> None:
    script = ScriptedModel(["x"])
    model = MeteredModel(script, _ledger(database, clock, monologue_tokens_per_day=10))
    with pytest.raises(BudgetExceededError):
        await play(model, _prompt())
    assert not script.prompts


@pytest.mark.requirement("G1")
@pytest.mark.parametrize("ending", ["unknown usage", "error", "left"])
async def test_a_paid_call_that_nobody_counted_keeps_its_worst_case(
    database: Database, clock: HandClock, ending: str
) -> None:
    ledger = _ledger(database, clock, dollars_per_day=100.0, dollars_per_month=100.0)
    script = ScriptedModel(
        [["a", "b", ModelUnavailableError("gone")] if ending == "error" else ["a", "b", "c"]],
        name="openai/gpt-4.1",
        gives_usage=False,
    )
    model = MeteredModel(script, ledger)
    events = model.stream(_prompt(max_tokens=1000))
    with contextlib.suppress(ModelUnavailableError):
        async for event in events:
            if ending == "left" and isinstance(event, Delta):
                break
    await events.aclose()
    assert await ledger.dollars_this_month() > 1000 * 8 / 1e6


@pytest.mark.requirement("G1")
async def test_a_paid_call_whose_caller_left_before_it_was_sent_costs_nothing(
    database: Database, clock: HandClock
) -> None:
    ledger = _ledger(database, clock, dollars_per_day=100.0, dollars_per_month=100.0)
    script = ScriptedModel(otherwise=["one", Pause(60)], name="openai/gpt-4.1", clock=clock)

    async def import_library() -> None:
        await clock.sleep(3)

    unsent = 0
    for steps, prepare in ((4, import_library), *((steps, None) for steps in range(40))):
        model, asked = MeteredModel(script, ledger, prepare=prepare), len(script.prompts)
        before = (await ledger.usage_today())[1]
        async with asyncio.TaskGroup() as tasks:
            call = tasks.create_task(play(model, _prompt()), name="call")
            for _ in range(steps):
                await asyncio.sleep(0.0002)
            call.cancel()
        async with database.transaction():  # What was under way is done.
            pass
        after = (await ledger.usage_today())[1]
        if len(script.prompts) == asked:
            unsent += 1
            assert after.prompt_tokens == before.prompt_tokens, steps
    assert unsent > 1


async def test_a_local_call_that_was_left_counts_what_was_said(database: Database, clock: HandClock) -> None:
    ledger = _ledger(database, clock)
    model = MeteredModel(ScriptedModel([["a", "b", Pause(60), "c"]], clock=clock, gives_usage=False), ledger)

    async def read() -> None:
        await play(model, _prompt(max_tokens=1000))

    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(read(), name="reading")
        while clock.sleeper_count == 0:
            await settle()
        reading.cancel()
    used = (await ledger.usage_today())[1]
    assert used.completion_tokens == 2
    assert 0 < used.prompt_tokens < 100


async def test_a_model_that_is_not_there_uses_nothing(database: Database, clock: HandClock) -> None:
    ledger = _ledger(database, clock)
    model = MeteredModel(ScriptedModel([ModelMissingError("not here")], name="openai/gpt-4.1"), ledger)
    with pytest.raises(ModelMissingError):
        await play(model, _prompt())
    assert await ledger.dollars_this_month() == 0.0
    assert (await ledger.usage_today())[1].calls == 0


def test_the_settings_have_a_limit_for_every_role() -> None:
    names = BudgetSettings.__struct_fields__
    assert all(role.value in names for role in Role)


# --- every limit -----------------------------------------------------------------------------------------------------


def _tight(**limits: object) -> BudgetSettings:
    """Limits that nothing reaches, but for `limits` of all roles and, as role__limit, of one."""
    wide = {"tokens_per_day": 10**9, "tokens_per_month": 10**9, "dollars_per_day": 1e6, "dollars_per_month": 1e6}
    roles = {role.value: RoleBudget(**wide) for role in Role}  # type: ignore[arg-type]
    for key, value in limits.items():
        role, _, name = key.rpartition("__")
        if role:
            roles[role] = msgspec.structs.replace(roles[role], **{name: value})
        else:
            wide[name] = value  # type: ignore[assignment]
    return BudgetSettings(**wide, conversation_reserve_share=0.2, **roles)  # type: ignore[arg-type]


@pytest.mark.requirement("R-49", "G1")
@pytest.mark.parametrize("role", [None, *Role])
@pytest.mark.parametrize(
    ("name", "limit"),
    [("tokens_per_day", 150), ("tokens_per_month", 150), ("dollars_per_day", 0.15), ("dollars_per_month", 0.15)],
)
async def test_every_limit_of_every_role_and_of_all_stops_the_second_call(
    database: Database, clock: HandClock, role: Role | None, name: str, limit: float
) -> None:
    key = f"{role.value}__{name}" if role else name
    ledger = Ledger(database, clock, lambda: _tight(**{key: limit}), timezone=ZURICH)
    asked = role or Role.CONVERSATION
    await ledger.reserve(_ask(asked, 100, DOLLAR_A_THOUSAND))
    with pytest.raises(BudgetExceededError) as caught:
        await ledger.reserve(_ask(asked, 100, DOLLAR_A_THOUSAND))
    assert f"budget.{role.value}.{name}" if role else f"budget.{name}" in caught.value.advice
    midnight = datetime(2026, 11, 22, tzinfo=ZURICH) if "day" in name else datetime(2026, 12, 1, tzinfo=ZURICH)
    assert caught.value.goes_on_after_seconds == midnight.timestamp() - clock.now()


@pytest.mark.requirement("G1", "E1")
async def test_after_a_clock_that_was_a_year_ahead_the_wait_is_a_day_and_so_is_the_sentence(
    database: Database, clock: HandClock
) -> None:
    ledger = Ledger(database, clock, lambda: _tight(dollars_per_day=0.15), timezone=ZURICH)
    clock.step_wall(365 * 86400)
    await ledger.reserve(_ask(tokens=100, price=DOLLAR_A_THOUSAND))
    clock.step_wall(-365 * 86400)
    with pytest.raises(BudgetExceededError) as caught:
        await ledger.reserve(_ask(tokens=100, price=DOLLAR_A_THOUSAND))
    seconds = caught.value.goes_on_after_seconds
    assert seconds is not None
    assert 0 < seconds <= 25 * 3600
    there = datetime.fromtimestamp(clock.now() + seconds, ZURICH)
    assert f"({there:%a} {there.day} {there:%b}, {there:%H:%M})" in caught.value.advice
    [limit] = [limit for limit in await ledger.limits() if limit.key == "budget.dollars_per_day"]
    assert limit.renews_at == pytest.approx(clock.now() + seconds)


async def test_a_call_that_no_empty_day_has_room_for_promises_no_tomorrow(database: Database, clock: HandClock) -> None:
    ledger = Ledger(database, clock, lambda: _tight(dollars_per_day=0.01), timezone=ZURICH)
    with pytest.raises(BudgetExceededError, match="more than the limit") as caught:
        await ledger.reserve(_ask(tokens=100, price=DOLLAR_A_THOUSAND))
    assert caught.value.goes_on_after_seconds is None


@pytest.mark.requirement("G1", "E1")
@pytest.mark.parametrize(
    ("now", "hours"),
    [(datetime(2026, 10, 25, 12, tzinfo=ZURICH), 25), (datetime(2026, 3, 29, 12, tzinfo=ZURICH), 23)],
)
def test_a_day_is_as_long_as_the_wall_clocks_make_it(now: datetime, hours: int) -> None:
    day = periods_at(now.timestamp(), ZURICH)[Span.DAY]
    assert day.until - day.since == hours * 3600


@pytest.mark.requirement("G1")
async def test_a_call_that_runs_over_midnight_counts_in_both_days(database: Database) -> None:
    clock = HandClock(datetime(2026, 11, 21, 23, 58, tzinfo=ZURICH).timestamp())
    ledger = _ledger(database, clock, monologue_tokens_per_day=150)
    reservation = await ledger.reserve(_ask(Role.MONOLOGUE, 100))
    await clock.advance(300)
    await ledger.settle(reservation, Usage(50, 50))
    with pytest.raises(BudgetExceededError):
        await ledger.reserve(_ask(Role.MONOLOGUE, 100))


@pytest.mark.requirement("G1")
async def test_what_can_no_longer_be_running_expires_and_is_shown_as_unknown(
    database: Database, clock: HandClock
) -> None:
    ledger = _ledger(database, clock)
    await ledger.reserve(_ask(Role.MONOLOGUE, 100, DOLLAR_A_THOUSAND))
    await clock.advance(LONGEST_CALL_SECONDS + 1)
    (used,) = await ledger.usage_since(Span.DAY)
    assert (used.running_calls, used.worst_case_calls) == (0, 1)
    assert used.worst_case_dollars == used.dollars == 0.1


async def test_an_earlier_runs_calls_expire_at_once_and_a_late_settling_still_counts(
    database: Database, clock: HandClock
) -> None:
    earlier = _ledger(database, clock)
    reservation = await earlier.reserve(_ask(Role.MONOLOGUE, 100, DOLLAR_A_THOUSAND))
    later = _ledger(database, clock)
    assert (await later.usage_since(Span.DAY))[0].worst_case_calls == 1
    await earlier.settle(reservation, Usage(10, 10))
    (used,) = await later.usage_since(Span.DAY)
    assert (used.worst_case_calls, used.dollars) == (0, 0.02)


async def test_the_report_has_every_limit_and_every_day(database: Database, clock: HandClock) -> None:
    ledger = _ledger(database, clock)
    await ledger.settle(await ledger.reserve(_ask(Role.MONOLOGUE, 100, DOLLAR_A_THOUSAND)), Usage(10, 10))
    await clock.advance(86400)
    await ledger.settle(await ledger.reserve(_ask(Role.CONVERSATION, 100)), Usage(20, 10))
    report = await usage_report(7, ledger, 3)
    assert [(day.day, day.tokens, day.dollars) for day in report.days] == [
        ("2026-11-20", 0, 0.0),
        ("2026-11-21", 20, 0.02),
        ("2026-11-22", 30, 0.0),
    ]
    used = {limit.key: limit.used for limit in report.limits}
    assert len(used) == len(report.limits) == 4 + 4 * len(Role)
    assert (used["budget.tokens_per_day"], used["budget.tokens_per_month"]) == (30, 50)
    assert (used["budget.monologue.dollars_per_day"], used["budget.monologue.dollars_per_month"]) == (0.0, 0.02)
    assert [(one.role, one.calls) for one in report.today] == [("conversation", 1)]


# --- what a provider says --------------------------------------------------------------------------------------------


class _Liar(ScriptedModel):
    def __init__(self, told: Usage, name: str = "openai/gpt-4.1") -> None:
        super().__init__(["one two three four five six"], name=name)
        self._told = told

    def _usage(self, prompt: Prompt, said: int) -> Usage | None:
        return self._told


@pytest.mark.requirement("G1")
@pytest.mark.parametrize(
    ("told", "believes", "charged"),
    [
        (Usage(30, 6), True, (30, 6)),
        (Usage(0, 6), True, "worst"),
        (Usage(30, 0), True, "worst"),
        (Usage(-5, -5), True, "worst"),
        (Usage(30, 2), True, "worst"),
        (Usage(30, 6), False, "worst"),
        (Usage(5000, 6000), False, (5000, 6000)),
    ],
)
async def test_what_cannot_be_true_or_is_not_vouched_for_never_lowers_the_worst_case(
    database: Database, clock: HandClock, told: Usage, believes: bool, charged: object
) -> None:
    ledger = _ledger(database, clock)
    await play(MeteredModel(_Liar(told), ledger, believes_usage=believes), _prompt())
    (used,) = await ledger.usage_since(Span.DAY)
    seen = (used.prompt_tokens, used.completion_tokens)
    reserved = template_tokens(_prompt().messages) + estimate_tokens("Think of something.")
    worst = (max(told.prompt_tokens, reserved), max(told.completion_tokens, 50))
    assert seen == (worst if charged == "worst" else charged)
    assert used.worst_case_calls == (told != Usage(30, 6) or not believes)


@pytest.mark.requirement("G1")
@pytest.mark.parametrize(("fault", "calls"), [(ModelFault.RATE_LIMITED, 0), (ModelFault.OVERLOADED, 1)])
async def test_an_outage_does_not_eat_the_budget_but_what_may_have_begun_counts(
    database: Database, clock: HandClock, fault: ModelFault, calls: int
) -> None:
    ledger = _ledger(database, clock)
    model = MeteredModel(ScriptedModel([ModelUnavailableError("no", fault=fault)], name="openai/gpt-4.1"), ledger)
    with pytest.raises(ModelUnavailableError):
        await play(model, _prompt())
    assert sum(used.calls for used in await ledger.usage_since(Span.DAY)) == calls


@pytest.mark.requirement("G1")
async def test_the_form_of_an_answer_is_part_of_what_is_reserved(database: Database, clock: HandClock) -> None:
    ledger = _ledger(database, clock)
    model = MeteredModel(ScriptedModel(["x", "x"], name="openai/gpt-4.1", gives_usage=False), ledger)
    await play(model, _prompt())
    plain = (await ledger.usage_since(Span.DAY))[0].unsettled_tokens
    await play(model, dataclasses.replace(_prompt(), schema={"type": "object", "required": ["a"] * 50}))
    assert (await ledger.usage_since(Span.DAY))[0].unsettled_tokens > 2 * plain + 100


@pytest.mark.requirement("G1")
def test_an_hour_of_talk_costs_its_turns_at_the_prices_of_the_model() -> None:
    dollars_per_million = {"prompt": 2.0, "reply": 8.0}  # gpt-4.1
    turn = (3000 * dollars_per_million["prompt"] + 200 * dollars_per_million["reply"]) / 1e6
    assert hour_of_talk_dollars(price_of("openai/gpt-4.1")) == pytest.approx(40 * turn)
