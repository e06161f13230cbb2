"""`reveries models test` finds the tier of scripted models that answer like those of each tier."""

import asyncio
import random
from collections.abc import Collection, Iterable

import msgspec
import pytest

from reveries import protocol
from reveries.config import Home, load_settings
from reveries.daemon.models.tier_test import TierTester
from reveries.daemon.requests.admin import probe_models
from reveries.db.database import Database
from reveries.errors import ModelUnavailableError, NotFoundError
from reveries.llm.base import CHAT_ROLES, Prompt, Role
from reveries.llm.budget import Ledger
from reveries.llm.circuits import Circuits
from reveries.llm.metered import MeteredModel
from reveries.llm.role_model import ModelCandidate
from reveries.llm.tier import Tier
from reveries.llm.tier_results import TierResults, open_tier_results
from reveries.llm.tier_test_tasks import TIER_GROUPS, TaskGroup
from tests.daemon.asking import ask
from tests.daemon.mind_kit import living
from tests.fakes.clock import HandClock
from tests.fakes.scripted import Pause, Piece, Script, ScriptedModel
from tests.fakes.tier_answers import named, plays

NOTES, FORM, PERSONS, ENDING = TaskGroup.NOTES, TaskGroup.FORM, TaskGroup.PERSONS, TaskGroup.ENDING
EVIDENCE, UNTRUSTED = TaskGroup.EVIDENCE, TaskGroup.UNTRUSTED


def ignore(what: str, done: int, total: int) -> None:
    """Records progress."""


class Kit:
    """A tester with scripted models behind a ledger; the monologue may have its own model."""

    def __init__(
        self, database: Database, clock: HandClock, model: ScriptedModel, monologue: ScriptedModel | None = None
    ) -> None:
        self.ledger = Ledger(database, clock, lambda: load_settings(None).budget)
        self.results = TierResults(database, {})
        self.told: list[tuple[str, int, int]] = []
        models = dict.fromkeys(CHAT_ROLES, model) | {Role.MONOLOGUE: monologue or model}
        self.tester = TierTester(
            {
                role: ModelCandidate(one.name.partition("/")[0], MeteredModel(one, self.ledger))
                for role, one in models.items()
            },
            lambda role: Tier.SMALL,
            self.results,
            Circuits(database, clock, random.Random(1), {}),
            clock,
            lambda *told: self.told.append(told),
        )


def scripted(clock: HandClock, right: Collection[str], *first: Script, name: str = "scripted/model") -> ScriptedModel:
    return ScriptedModel(first, otherwise=plays(right), clock=clock, name=name)


@pytest.mark.parametrize(
    ("right", "tier"),
    [
        (named(), Tier.CAPABLE),
        (named()[1:], Tier.CAPABLE),
        ([*named(FORM, ENDING, EVIDENCE), *named(NOTES)[:5]], Tier.SMALL),
        ([name for name in named() if name not in named(UNTRUSTED)[:2]], Tier.SMALL),
        (named(FORM, PERSONS, ENDING), Tier.LOOSE),
        ([], Tier.LOOSE),
    ],
)
async def test_a_model_that_answers_like_a_tier_is_of_that_tier_after_a_restart_too(
    database: Database, clock: HandClock, right: list[str], tier: Tier
) -> None:
    kit = Kit(database, clock, scripted(clock, right))
    [test] = await kit.tester.test()
    assert (test.model, test.tier, test.error) == ("scripted/model", tier, "")
    by_group = {score.group: (score.right, score.asked) for score in test.scores}
    assert by_group == {group.value: (len(set(named(group)) & set(right)), len(named(group))) for group in TIER_GROUPS}
    assert (await open_tier_results(database)).known["scripted/model"].tier is tier


async def test_how_far_it_is_is_told_task_by_task(database: Database, clock: HandClock) -> None:
    kit = Kit(database, clock, scripted(clock, named()))
    await kit.tester.test()
    assert kit.told[6] == ("scripted/model: task 7 of 60", 6, 60)
    assert [done for _, done, _ in kit.told] == list(range(60))


async def test_each_model_is_tested_once_in_the_name_of_the_first_role_that_has_it(
    database: Database, clock: HandClock
) -> None:
    shared, own = scripted(clock, named()), scripted(clock, [], name="scripted/own")
    kit = Kit(database, clock, shared, own)
    assert [(test.model, test.tier) for test in await kit.tester.test()] == [("scripted/model", 2), ("scripted/own", 0)]
    assert {prompt.role for prompt in shared.prompts} == {Role.CONVERSATION}
    assert {prompt.role for prompt in own.prompts} == {Role.MONOLOGUE}
    [alone] = await kit.tester.test("monologue")
    assert alone.model == "scripted/own"
    assert await kit.tester.test("embedding") == []
    with pytest.raises(NotFoundError, match="no role thinking"):
        await kit.tester.test("thinking")


@pytest.mark.requirement("G1")
async def test_every_task_is_paid_for_and_one_beyond_the_budget_is_said_and_changes_nothing(
    database: Database, clock: HandClock
) -> None:
    kit = Kit(database, clock, scripted(clock, named(), name="openai/gpt-4.1"))
    [test] = await kit.tester.test("conversation")
    [used] = [used for used in await kit.ledger.usage_today() if used.role == Role.CONVERSATION]
    assert used.calls == 63
    assert test.scores[-1] == protocol.TierScore("sight", 3, 3)
    assert test.dollars == pytest.approx(used.dollars)
    assert test.dollars > 0
    before = kit.results.known["openai/gpt-4.1"]
    spent = used.prompt_tokens + used.completion_tokens
    limits = kit.ledger.budget()
    tight = msgspec.structs.replace(limits.conversation, tokens_per_day=spent + 2000)
    kit.ledger.budget = lambda: msgspec.structs.replace(limits, conversation=tight)
    [test] = await kit.tester.test("conversation")
    assert "of its" in test.error
    assert "tokens of this day" in test.error
    assert (test.scores, test.tier) == ([], Tier.SMALL)
    assert kit.results.known["openai/gpt-4.1"] == before


async def test_a_waking_mind_asks_by_the_tier_that_was_found_at_once_and_in_its_next_life(
    home: Home, clock: HandClock
) -> None:
    def answers(prompt: Prompt) -> Iterable[str]:
        is_probe = any("morning walk" in message.text for message in prompt.messages)
        return ["{}"] if is_probe else plays(named())(prompt)

    for life in range(2):
        model = ScriptedModel(otherwise=answers, clock=clock)
        async with living(home, model, clock, load_settings(None), first_id=life * 100) as mind:
            assert mind.mind.models.tier(Role.CONVERSATION) is (Tier.CAPABLE if life else Tier.SMALL)
            probes, tiers = await probe_models(mind.mind, "conversation", ignore, with_tiers=not life)
            assert len(probes) == 1
            assert [test.tier for test in tiers] == ([] if life else [2])
            assert mind.mind.models.tier(Role.MONOLOGUE) is Tier.CAPABLE
            [shown, *_] = (await ask(mind.mind, protocol.AskModels(1), protocol.ModelsOverview)).roles
            assert shown.tier == 2
            assert shown.tier_tested_at == pytest.approx(clock.now(), abs=3600)


async def test_a_test_that_fails_midway_asks_no_further_and_keeps_what_was_known(
    database: Database, clock: HandClock
) -> None:
    await Kit(database, clock, scripted(clock, [])).tester.test("conversation")
    before = (await open_tier_results(database)).known
    failing = scripted(clock, named(), *[plays(named())] * 10, ModelUnavailableError("It is gone."))
    [test] = await Kit(database, clock, failing).tester.test("conversation")
    assert test.error == "It is gone."
    assert len(failing.prompts) == 11
    assert (await open_tier_results(database)).known == before


async def test_a_test_that_is_stopped_keeps_what_was_known_and_stops_the_model(
    database: Database, clock: HandClock
) -> None:
    await Kit(database, clock, scripted(clock, [])).tester.test("conversation")
    before = (await open_tier_results(database)).known
    was_asked = asyncio.Event()

    def takes_long(_: Prompt) -> list[Piece]:
        was_asked.set()
        return ["Let", Pause(1000.0), "me"]

    slow = scripted(clock, named(), *[plays(named())] * 10, takes_long)
    kit = Kit(database, clock, slow)
    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        testing = tasks.create_task(kit.tester.test("conversation"), name="test")
        await was_asked.wait()
        testing.cancel()
    assert testing.cancelled()
    assert slow.stopped == 1
    assert (await open_tier_results(database)).known == before
