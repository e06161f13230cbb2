"""Schedules of calls through the real ledger, against a provider that keeps its own bill (G1).

A schedule is data; `play_schedule` plays it and fails when the bill of any day, month or role is over a limit. The test
plays some hundred of them, `make soak PART=money` ten thousand.
"""

import asyncio
import math
import re
import tempfile
from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from reveries.config import BudgetSettings, RoleBudget, load_settings
from reveries.db.database import Database
from reveries.db.opening import open_database
from reveries.errors import BudgetExceededError, ModelError, ModelFault, ModelUnavailableError
from reveries.llm.base import ChatMessage, Delta, Finished, FinishReason, Prompt, Role, StreamEvent, Usage
from reveries.llm.budget import Ledger, Reservation
from reveries.llm.caps import MICRODOLLARS, PlannedCall
from reveries.llm.faults import NOT_BILLED
from reveries.llm.metered import MeteredModel
from reveries.llm.metered_embedding import EmbeddingCache, MeteredEmbedder
from reveries.llm.prices import Price, price_of
from reveries.llm.remote_embedding import RemoteEmbedder
from reveries.llm.tokens import estimate_tokens
from tests.fakes.clock import HandClock

_KNOWN_WORDS = re.compile(r"[A-Za-z]+")
_LOOSE_SPACES = re.compile(r"\s{2,}|[^\S ]|\s(?![A-Za-z])")
EMBEDDER = "openai/text-embedding-3-small"
ZONE = ZoneInfo("Europe/Zurich")
LONGEST_OPEN_SECONDS = 300.0
"""A call that is held open is cut before so long a wait, as every adapter does."""

Report = Literal["truth", "missing", "zero", "negative", "half", "tenth", "more"]
CAUGHT: tuple[Report, ...] = ("truth", "missing", "zero", "negative", "more")
"""What a provider that is believed may report: the truth, nothing, or what cannot be true. (A lie that could be true is
its invoice: a provider that is believed bills by what it reports.)"""


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the request, what the provider does, and what it reports."""

    role: Role
    prompt: str
    max_tokens: int
    visible: int
    hidden: int
    """Tokens of reasoning that are billed and not shown."""
    report: Report
    fails: ModelFault | None
    fails_after: int
    is_left: bool
    """Its reader goes away after the first piece; the provider goes on to the end, and bills it."""
    retries: int
    is_billed_at_its_end: bool


@dataclass(frozen=True, slots=True)
class Run:
    """Calls at the same time, each read to its end; all of it `times` over, as a storm would."""

    calls: tuple[Call, ...]
    times: int


@dataclass(frozen=True, slots=True)
class Hold:
    """A call that stays open; `KILL`, a long wait or the end of the schedule ends it."""

    call: Call


@dataclass(frozen=True, slots=True)
class Embed:
    """Texts to embed. `is_told`: the provider reports its usage. BROKEN: a reset after sending."""

    texts: tuple[str, ...]
    fails: ModelFault | None
    is_told: bool


@dataclass(frozen=True, slots=True)
class Wait:
    seconds: float


@dataclass(frozen=True, slots=True)
class SetClock:
    seconds: float


@dataclass(frozen=True, slots=True)
class Kill:
    """The process dies: open reservations are never settled. A new ledger opens the same file."""


@dataclass(frozen=True, slots=True)
class NewPrice:
    price: Price


Step = Run | Hold | Embed | Wait | SetClock | Kill | NewPrice


@dataclass(frozen=True, slots=True)
class Schedule:
    starts_at: float
    is_believed: bool
    letters_per_token: float
    share_of_worst: float
    budget: BudgetSettings
    steps: tuple[Step, ...]

    @property
    def clock_is_right(self) -> bool:
        return not any(isinstance(step, SetClock) for step in self.steps)


# --- the provider ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Item:
    """One line of the provider's bill."""

    role: Role
    ledger_time: float
    billed_at: float
    tokens: int
    microdollars: int


@dataclass
class Provider:
    """Bills what it reads and generates by its own tokenizer and price, even if no client is listening any more."""

    schedule: Schedule
    clock: HandClock
    price: Price
    bill: list[Item] = field(default_factory=list)
    planned: dict[str, Call] = field(default_factory=dict)
    ledger_time: float = 0.0
    """Of the reservation that was made last: what follows it at once is its call."""
    name: str = "openai/gpt-4.1"
    context_tokens: int = 4096
    tells_probabilities: bool = False

    def tokens(self, text: str) -> int:
        """Return the tokens of `text`; at worst (`share_of_worst` 1) one per byte, like a tokenizer without words.

        It knows words, at `letters_per_token` letters per token (at least one token), a space before a word, and runs
        of white space. None of these is more than in the estimate, nor is a byte.
        """
        words = _KNOWN_WORDS.findall(text)
        unknown = len("".join(text.split()).encode()) - sum(map(len, words)) + len(_LOOSE_SPACES.findall(text))
        known = sum(max(1.0, len(word) / self.schedule.letters_per_token) for word in words)
        return math.ceil(known + unknown * self.schedule.share_of_worst)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[StreamEvent, None]:
        call = self.planned[prompt.messages[0].text]
        if call.fails in (ModelFault.RATE_LIMITED, ModelFault.UNREACHABLE, ModelFault.KEY_REFUSED):
            raise ModelUnavailableError("It does not begin.", fault=call.fails)
        read = sum(self.tokens(message.text) + 3 for message in prompt.messages)
        visible = min(call.visible, prompt.max_tokens)
        written = min(visible + call.hidden, prompt.max_tokens)
        item = Item(prompt.role, self.ledger_time, self.clock.now(), 0, 0)
        self.bill.append(item)
        item.tokens, item.microdollars = read + written, self.price.microdollars(read, written)
        try:
            if call.fails is ModelFault.BROKEN and not call.fails_after:
                raise ModelUnavailableError("Reset after it was sent.", fault=call.fails)
            for place in range(visible):
                if call.fails is not None and place >= call.fails_after:
                    raise ModelUnavailableError("It breaks off.", fault=call.fails)
                await asyncio.sleep(0)
                yield Delta("word ")
            reason = FinishReason.LENGTH if written >= prompt.max_tokens else FinishReason.STOP
            yield Finished(reason, _told(call.report, read, written))
        finally:
            if call.is_billed_at_its_end:
                item.billed_at = self.clock.now()

    async def count_tokens(self, text: str) -> int:
        return estimate_tokens(text)

    async def read_ahead(self, messages: object, role: Role) -> None: ...

    async def aclose(self) -> None: ...


class BillingEmbedder(RemoteEmbedder):
    """An embedder that adds to the provider's bill."""

    def __init__(self, provider: Provider) -> None:
        super().__init__(EMBEDDER, load_settings(None).llm.limits)
        self._provider = provider
        self.step = Embed((), None, True)

    async def _ask_provider(self, texts: list[str]) -> tuple[Sequence[object], int | None]:
        provider, fails = self._provider, self.step.fails
        if fails in NOT_BILLED:
            raise ModelUnavailableError("It does not begin.", fault=fails or ModelFault.BROKEN)
        read = sum(provider.tokens(text) for text in texts)
        price = price_of(EMBEDDER).microdollars(read, 0)
        provider.bill.append(Item(Role.EMBEDDING, provider.ledger_time, provider.clock.now(), read, price))
        if fails is not None:
            raise ModelUnavailableError("It breaks off.", fault=fails)
        return [[1.0, 2.0]] * len(texts), read if self.step.is_told else None


def _told(report: Report, read: int, written: int) -> Usage | None:
    match report:
        case "missing":
            return None
        case "zero":
            return Usage(0, 0)
        case "negative":
            return Usage(-read, -written)
        case "half":
            return Usage(read // 2, written // 2)
        case "tenth":
            return Usage(read // 10, written // 10)
        case "more":
            return Usage(read + 1, written + 1)
        case _:
            return Usage(read, written)


class MortalLedger(Ledger):
    """The real one, which can die: from then on it writes nothing."""

    provider: Provider
    is_dead = False

    async def reserve(self, ask: PlannedCall) -> Reservation:
        reservation = await super().reserve(ask)
        self.provider.ledger_time = reservation.reserved_at
        check_share(self.provider.bill, self.budget(), ask, reservation.reserved_at)
        return reservation

    async def settle(self, reservation: Reservation, usage: Usage, outcome: str = "answered") -> None:
        if not self.is_dead:
            await super().settle(reservation, usage, outcome)

    async def leave_reserved(self, reservation: Reservation) -> None:
        if not self.is_dead:
            await super().leave_reserved(reservation)

    async def release(self, reservation: Reservation) -> None:
        if not self.is_dead:
            await super().release(reservation)


# --- playing ---------------------------------------------------------------------------------------------------------


class Player:
    """One schedule under way."""

    def __init__(self, schedule: Schedule, database: Database) -> None:
        self.schedule = schedule
        self.database = database
        self.clock = HandClock(schedule.starts_at)
        self.provider = Provider(schedule, self.clock, Price(1000.0, 1000.0, "first"))
        self.open: list[AsyncGenerator[StreamEvent, None]] = []
        self.refused = 0
        self.asked = 0
        self.wake()

    def wake(self) -> None:
        self.ledger = MortalLedger(self.database, self.clock, lambda: self.schedule.budget, timezone=ZONE)
        self.ledger.provider = self.provider
        self.model = MeteredModel(
            self.provider,
            self.ledger,
            believes_usage=self.schedule.is_believed,
            find_price=lambda name: self.provider.price,
        )
        self.embedding = BillingEmbedder(self.provider)
        self.embedder = MeteredEmbedder(self.embedding, self.ledger, EmbeddingCache(self.database))

    async def play(self) -> None:
        for step in self.schedule.steps:
            await self._step(step)
            self._check()
        await self._end_open()
        self._check()

    async def _step(self, step: Step) -> None:
        match step:
            case Run(calls, times):
                for _ in range(times):
                    await self._at_once(calls)
            case Hold(call):
                stream = self._stream(call)
                with suppress(ModelError, StopAsyncIteration):
                    await anext(stream)
                    self.open.append(stream)
            case Embed():
                await self._embed(step)
            case Wait(seconds):
                if seconds > LONGEST_OPEN_SECONDS:
                    await self._end_open()
                await self.clock.advance(seconds)
            case SetClock(seconds):
                self.clock.step_wall(seconds)
            case Kill():
                self.ledger.is_dead = True
                await self._end_open()
                self.wake()
            case NewPrice(price):
                self.provider.price = price

    async def _at_once(self, calls: Sequence[Call]) -> None:
        async with asyncio.TaskGroup() as tasks:
            for call in calls:
                tasks.create_task(self._whole(call), name="call")

    async def _embed(self, step: Embed) -> None:
        self.embedding.step = step
        try:
            await self.embedder.embed(step.texts)
        except BudgetExceededError:
            self.refused += 1
        except ModelError:
            return

    def _stream(self, call: Call) -> AsyncGenerator[StreamEvent, None]:
        self.asked += 1
        self.provider.planned[call.prompt] = call
        return self.model.stream(Prompt(call.role, (ChatMessage("user", call.prompt),), call.max_tokens))

    async def _whole(self, call: Call) -> None:
        for _ in range(1 + call.retries):
            stream = self._stream(call)
            try:
                async for event in stream:
                    if call.is_left and isinstance(event, Delta):
                        break
                return
            except BudgetExceededError:
                self.refused += 1
                return
            except ModelError:
                continue
            finally:
                await stream.aclose()

    async def _end_open(self) -> None:
        while self.open:
            await self.open.pop().aclose()

    def _check(self) -> None:
        self._check_by(lambda item: item.ledger_time)
        if self.schedule.clock_is_right:
            self._check_by(lambda item: item.billed_at)

    def _check_by(self, time_of) -> None:  # type: ignore[no-untyped-def]
        used: dict[tuple[str, Role | None], list[int]] = defaultdict(lambda: [0, 0])
        for item in self.provider.bill:
            local = datetime.fromtimestamp(time_of(item), ZONE)
            for span in (f"{local:%Y-%m-%d}", f"{local:%Y-%m}"):
                for role in (item.role, None):
                    used[span, role][0] += item.tokens if role or item.role is not Role.EMBEDDING else 0
                    used[span, role][1] += item.microdollars
        for (span, role), (tokens, microdollars) in used.items():
            token_limit, dollar_limit = limits(self.schedule.budget, role, is_day=len(span) > 7)
            assert tokens <= token_limit, (span, role, tokens, token_limit)
            assert microdollars <= dollar_limit * MICRODOLLARS, (span, role, microdollars, dollar_limit)


def limits(budget: BudgetSettings, role: Role | None, *, is_day: bool) -> tuple[int, float]:
    """Tokens and dollars that a role, or all of them (None), may use; thinking and sleep only of their share."""
    of: BudgetSettings | RoleBudget = budget if role is None else getattr(budget, role.value)
    tokens, dollars = (of.tokens_per_day, of.dollars_per_day) if is_day else (of.tokens_per_month, of.dollars_per_month)
    if role is None:
        return tokens, dollars
    share = share_of_all(role, budget)
    shared = limits(budget, None, is_day=is_day)
    return (min(tokens, int(shared[0] * share)) if role is not Role.EMBEDDING else tokens), min(
        dollars, shared[1] * share
    )


def share_of_all(role: Role, budget: BudgetSettings) -> float:
    """Return the share of the total limits up to which a role may begin calls, by docs/explain/money.md and not by the
    code."""
    shares = {Role.MONOLOGUE: 2.0, Role.WORK: 1.5, Role.READING: 1.5, Role.LEARNING: 1.25, Role.CONSOLIDATION: 1.0}
    return max(0.0, 1.0 - shares.get(role, 0.0) * budget.conversation_reserve_share)


def check_share(bill: Sequence[Item], budget: BudgetSettings, ask: PlannedCall, now: float) -> None:
    """Check that a call began only while the bill before it was within its role's share of the total limits."""
    local = datetime.fromtimestamp(now, ZONE)
    for form in ("%Y-%m-%d", "%Y-%m"):
        span = [
            item for item in bill if f"{datetime.fromtimestamp(item.ledger_time, ZONE):{form}}" == f"{local:{form}}"
        ]
        tokens, dollars = limits(budget, None, is_day=form.endswith("d"))
        share = share_of_all(ask.role, budget)
        if ask.role is not Role.EMBEDDING:
            used = sum(item.tokens for item in span if item.role is not Role.EMBEDDING)
            assert used <= tokens * share, (ask.role, used, tokens, share)
        if ask.microdollars:
            spent = sum(item.microdollars for item in span)
            assert spent <= dollars * MICRODOLLARS * share, (ask.role, spent, dollars, share)


def _local(at: float, form: str) -> str:
    return datetime.fromtimestamp(at, ZONE).strftime(form)


@dataclass(slots=True)
class Played:
    """What a schedule came to."""

    asked: int
    begun: int
    refused: int


async def play_schedule(schedule: Schedule, folder: str | None = None) -> Played:
    """Play the schedule on a separate database. Raises AssertionError if a bill is over a limit."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        database = await open_database(Path(name) / "memory.db")
        try:
            player = Player(schedule, database)
            await player.play()
            return Played(player.asked, len(player.provider.bill), player.refused)
        finally:
            await database.aclose()


# --- schedules -------------------------------------------------------------------------------------------------------

_ALPHABET = "abc def 日本09.,ሰ😀𠀀\n"
_MOMENTS = [
    datetime(2026, 11, 21, 12, tzinfo=ZONE),
    datetime(2026, 11, 21, 23, 57, tzinfo=ZONE),
    datetime(2026, 11, 30, 23, 58, tzinfo=ZONE),
    datetime(2026, 12, 31, 23, 50, tzinfo=ZONE),
    datetime(2026, 10, 24, 23, 58, tzinfo=ZONE),  # The clocks go back in the night that follows,
    datetime(2026, 3, 28, 23, 58, tzinfo=ZONE),  # and here forward.
    datetime(2026, 10, 25, 2, 30, tzinfo=ZONE),
]
_FAULTS = [
    None,
    None,
    None,
    ModelFault.UNREACHABLE,
    ModelFault.RATE_LIMITED,
    ModelFault.OVERLOADED,
    ModelFault.BROKEN,
    ModelFault.TIMED_OUT,
]
_WAITS = [1.0, 60.0, 200.0, 200.0, 290.0, 290.0, 3600.0, 6 * 3600.0, 86400.0, 25 * 3600.0, 31 * 86400.0]
_SET = [-60.0, -3600.0, -86400.0, -40 * 86400.0, 3600.0, 86400.0, 33 * 86400.0]
_PRICES = [Price(1000.0, 1000.0, "first"), Price(300.0, 2500.0, "second"), Price(0.7, 3.3, "third")]


def _calls(reports: tuple[Report, ...]) -> st.SearchStrategy[Call]:
    return st.builds(
        Call,
        role=st.sampled_from(list(Role)),
        prompt=st.text(_ALPHABET, min_size=0, max_size=120),
        max_tokens=st.sampled_from([1, 10, 30, 60, 200]),
        visible=st.integers(0, 40),
        hidden=st.sampled_from([0, 0, 5, 300]),
        report=st.sampled_from(reports),
        fails=st.sampled_from(_FAULTS),
        fails_after=st.integers(0, 3),
        is_left=st.sampled_from([False, False, True]),
        retries=st.integers(0, 3),
        is_billed_at_its_end=st.booleans(),
    )


def _steps(reports: tuple[Report, ...], *, sets_clock: bool) -> st.SearchStrategy[tuple[Step, ...]]:
    calls = _calls(reports)
    kinds: list[st.SearchStrategy[Step]] = [
        st.builds(Run, st.lists(calls, min_size=1, max_size=3).map(tuple), st.sampled_from([1, 2, 4, 12])),
        calls.map(Hold),
        st.builds(
            Embed,
            texts=st.lists(st.text(_ALPHABET, max_size=200), min_size=1, max_size=4).map(tuple),
            fails=st.sampled_from(_FAULTS),
            is_told=st.booleans(),
        ),
        st.sampled_from(_WAITS).map(Wait),
        st.just(Kill()),
        st.sampled_from(_PRICES).map(NewPrice),
    ]
    if sets_clock:
        kinds.append(st.sampled_from(_SET).map(SetClock))
    return st.lists(st.one_of(*kinds), min_size=4, max_size=12).map(tuple)


def _role_budgets() -> st.SearchStrategy[RoleBudget]:
    return st.builds(
        RoleBudget,
        tokens_per_day=st.sampled_from([300, 900, 10_000]),
        tokens_per_month=st.sampled_from([1200, 20_000, 20_000]),
        dollars_per_day=st.sampled_from([0.3, 0.6, 5.0]),
        dollars_per_month=st.sampled_from([0.8, 10.0, 10.0]),
    )


def _budgets() -> st.SearchStrategy[BudgetSettings]:
    return st.builds(
        BudgetSettings,
        tokens_per_day=st.sampled_from([800, 5000]),
        tokens_per_month=st.sampled_from([1500, 50_000]),
        dollars_per_day=st.sampled_from([0.5, 1.0, 3.0]),
        dollars_per_month=st.sampled_from([1.0, 20.0]),
        conversation_reserve_share=st.sampled_from([0.0, 0.2, 0.5]),
        **{role.value: _role_budgets() for role in Role},
    )


def _schedules(is_believed: bool, sets_clock: bool) -> st.SearchStrategy[Schedule]:  # Drawn.
    reports = CAUGHT if is_believed else (*CAUGHT, "half", "half", "tenth", "tenth")
    return st.builds(
        Schedule,
        starts_at=st.sampled_from([moment.timestamp() for moment in _MOMENTS]),
        is_believed=st.just(is_believed),
        letters_per_token=st.floats(4.0, 6.0),
        share_of_worst=st.sampled_from([1.0, 1.0, 0.6, 0.2]),
        budget=_budgets(),
        steps=_steps(reports, sets_clock=sets_clock),
    )


SCHEDULES: st.SearchStrategy[Schedule] = st.tuples(st.booleans(), st.booleans()).flatmap(lambda two: _schedules(*two))
"""Half of them with a provider that is believed, half with a clock that somebody sets."""
