"""What a day costs: the plan that an idle mind keeps, and what a day of talk adds, from the real settings and prices.

docs/generate.py makes docs/reference/cost.md of it. The sizes of calls were read from the ledger of a simulated day
(tests/daemon/test_money.py), whose prompts the real program builds; that test fails when a size here is off by more
than 5 %.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from reveries.config import load_settings, settings_from
from reveries.daemon.spontaneous_recall import ASSOCIATION_SECONDS
from reveries.llm.base import Role
from reveries.llm.choose import HOSTED_PROVIDERS, choose
from reveries.llm.prices import price_of, price_table_version
from reveries.monologue.spontaneous_recall import quiet_stretches

DAY_SECONDS = 86400.0
TURNS_OF_A_USED_DAY = 40


@dataclass(frozen=True, slots=True)
class Size:
    """Tokens of one call."""

    read: int
    written: int


SIZES = {
    Role.MONOLOGUE: Size(read=515, written=120),
    Role.CONSOLIDATION: Size(read=881, written=147),
    Role.CONVERSATION: Size(read=1100, written=120),
}
"""The first two as the simulated day has them; the third is a conversation some way in, with a reply of ten lines."""


@dataclass(frozen=True, slots=True)
class Planned:
    """Calls of one role in a day."""

    role: Role
    calls: int

    @property
    def tokens(self) -> int:
        size = SIZES[self.role]
        return self.calls * (size.read + size.written)


def idle_day(*, thinks: bool) -> tuple[Planned, ...]:
    """Nobody speaks for a day, the first one: a memory comes up less and less often; each thought is slept on, once."""
    thoughts, passed = 0, float(ASSOCIATION_SECONDS)
    while thinks and passed <= DAY_SECONDS:
        thoughts += 1
        passed += ASSOCIATION_SECONDS * quiet_stretches(thoughts)
    return Planned(Role.MONOLOGUE, thoughts), Planned(Role.CONSOLIDATION, thoughts)


def used_day() -> tuple[Planned, ...]:
    """Forty turns, each slept on and thought about at the pace of ten thoughts more, beside the idle day's."""
    thoughts, sleeps = idle_day(thinks=True)
    return (
        Planned(Role.CONVERSATION, TURNS_OF_A_USED_DAY),
        Planned(Role.MONOLOGUE, thoughts.calls + 10),
        Planned(Role.CONSOLIDATION, sleeps.calls + TURNS_OF_A_USED_DAY + 10),
    )


def dollars(plan: tuple[Planned, ...], provider: str) -> float:
    """What `plan` costs with the models that `provider` stands for."""
    return sum(one.calls * _call_dollars(one.role, provider) for one in plan)


def _call_dollars(role: Role, provider: str) -> float:
    size = SIZES[role]
    return price_of(_models(provider)[role]).microdollars(size.read, size.written) / 1e6


def _models(provider: str) -> dict[Role, str]:
    settings = settings_from({"llm": {"provider": provider}}, "this script").llm
    return {role: choice.name for role, choice in choose(settings, None).items()}


def page() -> str:
    """docs/reference/cost.md."""
    budget = load_settings(None).budget
    return "\n".join([*_head(), *_table(), "", *_foot(budget.dollars_per_day, budget.dollars_per_month)])


def _head() -> Iterator[str]:
    idle = idle_day(thinks=True)
    yield "# What a day costs"
    yield ""
    yield f"Made by docs/generate.py from the settings and the prices (table {price_table_version()}); see"
    yield "[how money is kept](../explain/money.md) for what the words mean."
    yield ""
    yield "| an idle day | calls | tokens |"
    yield "|---|---:|---:|"
    for one in idle:
        yield f"| {one.role} | {one.calls} | {one.tokens:,} |"
    yield f"| together | {sum(one.calls for one in idle)} | {sum(one.tokens for one in idle):,} |"
    yield "| with `monologue.enabled = false` | 0 | 0 |"
    yield ""


def _table() -> Iterator[str]:
    yield "| `llm.provider` | conversation | everything else | idle day | used day |"
    yield "|---|---|---|---:|---:|"
    for provider in ("embedded", *HOSTED_PROVIDERS):
        models = _models(provider)
        idle, used = dollars(idle_day(thinks=True), provider), dollars(used_day(), provider)
        yield (
            f"| {provider} | {models[Role.CONVERSATION].partition('/')[2]} "
            f"| {models[Role.MONOLOGUE].partition('/')[2]} | ${idle:.3f} | ${used:.2f} |"
        )


def _foot(day: float, month: float) -> Iterator[str]:
    yield f"A used day: {TURNS_OF_A_USED_DAY} turns, ten thoughts more than an idle one, and all of it slept on."
    yield f"Whatever happens, no day costs more than ${day:.2f} and no month more than ${month:.2f} (`budget`)."
