"""`reveries models test`: each role is called once, timed, charged to the ledger, and counted."""

import asyncio
import dataclasses
import random
from collections.abc import Sequence

import msgspec
import pytest

from reveries.config import Home, Settings, load_settings
from reveries.daemon.models.model_probe import ProbeAnswer, Prober
from reveries.daemon.models.models_overview import InUse, leaves_machine, models_overview
from reveries.daemon.models.role_models import build_models, longest_call_seconds
from reveries.db.database import Database
from reveries.errors import ModelFault, ModelUnavailableError, NotFoundError
from reveries.llm.answer_counts import AnswerCounts
from reveries.llm.base import CHAT_ROLES, MODEL_ROLES, Embedder, Role
from reveries.llm.budget import Ledger
from reveries.llm.circuit import Failure
from reveries.llm.circuits import Circuits, open_circuits
from reveries.llm.metered import MeteredModel
from reveries.llm.metered_embedding import EmbeddingCache, MeteredEmbedder
from reveries.llm.remote_embedding import RemoteEmbedder
from reveries.llm.role_model import ModelCandidate
from reveries.protocol import AnswerCount
from tests.fakes.clock import HandClock
from tests.fakes.scripted import HashingEmbedder, Pause, Script, ScriptedModel
from tests.llm.embedding_fakes import rows_for
from tests.llm.servers import model_server

GOOD = msgspec.json.encode(ProbeAnswer("heron", ["grey"], 2, "A grey heron stands in the cold water.")).decode()


SMALL = msgspec.structs.replace(load_settings(None).llm.embedded, model="smollm2-135m")


def _settings(**llm: object) -> Settings:
    settings = load_settings(None)
    return msgspec.structs.replace(settings, llm=msgspec.structs.replace(settings.llm, **llm))


class ServedEmbedder(RemoteEmbedder):
    """An endpoint that reports 1000 tokens for each call."""

    def __init__(self, model_id: str) -> None:
        super().__init__(model_id, load_settings(None).llm.limits)
        self.asked: list[str] = []

    async def aclose(self) -> None:
        """Do nothing."""

    async def _ask_provider(self, texts: list[str]) -> tuple[Sequence[object], int | None]:
        self.asked += texts
        return await rows_for(texts), 1000


class Kit:
    """A prober with scripted models."""

    def __init__(
        self,
        database: Database,
        clock: HandClock,
        *scripts: Script,
        name: str = "scripted/model",
        model: ScriptedModel | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        settings = load_settings(None)
        self.model = model or ScriptedModel(scripts, otherwise=GOOD, clock=clock, name=name)
        self.ledger = Ledger(database, clock, lambda: settings.budget)
        self.counts = AnswerCounts(database)
        self.told: list[tuple[str, int, int]] = []
        metered = MeteredModel(self.model, self.ledger)
        self.circuits = Circuits(database, clock, random.Random(1), {})
        self.prober = Prober(
            dict.fromkeys(CHAT_ROLES, ModelCandidate("scripted", metered)),
            embedder or HashingEmbedder(),
            self.ledger,
            self.circuits,
            self.counts,
            clock,
            lambda *told: self.told.append(told),
        )


async def test_every_role_is_asked_once_and_in_its_own_words(database: Database, clock: HandClock) -> None:
    kit = Kit(database, clock)
    probes = await kit.prober.probe()
    assert [probe.role for probe in probes] == [role.value for role in MODEL_ROLES]
    assert [probe.answer for probe in probes] == ["valid", "valid", "valid", "valid", "vectors"]
    assert len({prompt.messages for prompt in kit.model.prompts}) == 4
    assert [done for _, done, _ in kit.told] == [0, 1, 2, 3, 4]


@pytest.mark.requirement("R-113")
async def test_the_form_is_judged_and_counted(database: Database, clock: HandClock) -> None:
    kit = Kit(database, clock, GOOD, "no", GOOD, "no", "no", GOOD)
    answers = [(await kit.prober.probe(role.value))[0].answer for role in CHAT_ROLES]
    assert answers == ["valid", "repaired", "failed", "valid"]
    assert await kit.counts.counts() == [AnswerCount("scripted/model", 2, 1, 1)]


async def test_the_clock_says_when_the_first_token_came_and_how_fast_the_rest(
    database: Database, clock: HandClock
) -> None:
    pieces = [GOOD[:10], GOOD[10:20], GOOD[20:]]
    model = ScriptedModel([[Pause(1.5), pieces[0], Pause(0.5), pieces[1], Pause(0.5), pieces[2]]], clock=clock)
    # Without the ledger, so that only the model takes time.
    chat = {Role.CONVERSATION: ModelCandidate("scripted", model)}
    prober = dataclasses.replace(Kit(database, clock).prober, chat=chat)
    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        testing = tasks.create_task(prober.probe("conversation"), name="test")
        await clock.advance(2.5)
    [probe] = testing.result()
    assert probe.first_token_seconds == pytest.approx(1.5)
    assert probe.tokens_per_second == pytest.approx(2.0)


@pytest.mark.requirement("G1")
async def test_a_probe_is_a_call_like_every_other(database: Database, clock: HandClock) -> None:
    kit = Kit(database, clock, name="openai/gpt-4.1")
    [probe] = await kit.prober.probe("monologue")
    assert 0 < probe.dollars < probe.reserved_dollars
    usage = {used.role: used for used in await kit.ledger.usage_today()}
    assert usage["monologue"].calls == 1
    assert usage["monologue"].dollars == pytest.approx(probe.dollars)


async def test_a_call_whose_usage_is_not_told_costs_what_was_reserved(database: Database, clock: HandClock) -> None:
    silent = ScriptedModel(otherwise=GOOD, clock=clock, name="openai/gpt-4.1", gives_usage=False)
    [probe] = await Kit(database, clock, model=silent).prober.probe("conversation")
    assert not probe.is_usage_known
    assert probe.dollars == probe.reserved_dollars > 0


async def test_a_call_that_was_never_sent_costs_nothing(database: Database, clock: HandClock) -> None:
    refused = ModelUnavailableError("There is no key.", advice="Name one.", fault=ModelFault.KEY_REFUSED)
    kit = Kit(database, clock, refused, name="openai/gpt-4.1")
    [probe] = await kit.prober.probe("conversation")
    assert "There is no key" in probe.error
    assert probe.is_usage_known
    assert probe.dollars == 0.0 < probe.reserved_dollars
    assert sum(used.dollars for used in await kit.ledger.usage_today()) == 0.0


async def test_a_model_that_cannot_be_asked_is_a_result(database: Database, clock: HandClock) -> None:
    kit = Kit(database, clock)
    limits = kit.ledger.budget()
    nothing = msgspec.structs.replace(limits.monologue, tokens_per_day=0)
    kit.ledger.budget = lambda: msgspec.structs.replace(limits, monologue=nothing)
    [probe] = await kit.prober.probe("monologue")
    assert "of its 0 tokens of this day" in probe.error
    assert probe.answer == ""
    with pytest.raises(NotFoundError, match="no role thinking"):
        await kit.prober.probe("thinking")


@pytest.mark.requirement("D3")
async def test_an_open_circuit_hides_nothing_and_an_answer_closes_it(database: Database, clock: HandClock) -> None:
    kit = Kit(database, clock, ModelUnavailableError("It is down now.", fault=ModelFault.BROKEN))
    for _ in range(20):
        await kit.circuits.record_failure("scripted", Failure(ModelFault.UNREACHABLE, "It was away.", None))
    assert kit.circuits.get("scripted").is_open
    [probe] = await kit.prober.probe("conversation")
    assert (probe.error, probe.model) == ("It is down now.", "scripted/model")
    assert kit.circuits.get("scripted").is_open
    [probe] = await kit.prober.probe("conversation")
    assert probe.answer == "valid"
    assert kit.circuits.get("scripted").is_healthy


@pytest.mark.requirement("D3")
async def test_the_first_model_is_tested_and_not_its_fallback(home: Home, database: Database, clock: HandClock) -> None:
    settings = _settings(provider="embedded", conversation_fallbacks=("ollama/small",), embedded=SMALL)
    circuits = await open_circuits(database, clock, random.Random(1))
    models = await build_models(settings, home, Ledger(database, clock, lambda: settings.budget), circuits, clock)
    first = models.first[Role.CONVERSATION]
    assert (first.provider, first.model.name) == ("embedded", "embedded/smollm2-135m")
    assert isinstance(first.model, MeteredModel)
    await models.aclose()


@pytest.mark.requirement("G1")
async def test_an_embedder_is_asked_anew_each_time_and_its_cost_is_the_ledger_s(
    database: Database, clock: HandClock
) -> None:
    ledger = Ledger(database, clock, lambda: load_settings(None).budget)
    served = ServedEmbedder("openai/text-embedding-3-small")
    kit = Kit(database, clock, embedder=MeteredEmbedder(served, ledger, EmbeddingCache(database)))
    for _ in range(2):
        await clock.advance(1)
        [probe] = await kit.prober.probe("embedding")
        assert (probe.answer, probe.prompt_tokens, probe.is_usage_known) == ("vectors", 1000, True)
        assert probe.dollars == pytest.approx(1000 * 0.02 / 1e6)
    assert len(served.asked) == 2


def test_no_call_expires_while_it_may_run() -> None:
    llm = load_settings(None).llm
    slow = msgspec.structs.replace(llm, hosted_limits=msgspec.structs.replace(llm.hosted_limits, total_seconds=5000.0))
    assert longest_call_seconds(slow) > 5000.0
    assert longest_call_seconds(llm) > llm.limits.total_seconds


async def test_the_overview_shows_what_the_roles_use_and_what_an_ollama_has(
    home: Home, database: Database, clock: HandClock
) -> None:
    async with model_server() as server:
        server.models = ["small:latest", "big:cloud"]
        settings = _settings(
            ollama_url=server.url,
            consolidation_model="anthropic/claude-haiku-4-5",
            monologue_fallbacks=("embedded",),
            embedded=SMALL,
        )
        circuits = await open_circuits(database, clock, random.Random(1))
        models = await build_models(settings, home, Ledger(database, clock, lambda: settings.budget), circuits, clock)
        states = {role: state for role, _, state in models.uses()}
        shown = await models_overview(
            settings,
            [AnswerCount("a", 1, 2, 3)],
            InUse(models.choices, models.fallbacks, states, models.embedder_name),
        )
        await models.aclose()
    roles = {role.role: role for role in shown.roles}
    assert roles["conversation"].model == "ollama/small:latest"
    assert roles["conversation"].reason == "Ollama answers, and nothing else was chosen"
    assert roles["monologue"].fallbacks == ["embedded/smollm2-135m"]
    assert roles["consolidation"].leaves_machine
    assert roles["consolidation"].price.output_dollars == 5.0
    assert [(model.name, model.leaves_machine) for model in shown.ollama] == [
        ("small:latest", False),
        ("big:cloud", True),
    ]
    assert shown.answers[0].repaired == 2


@pytest.mark.requirement("F2")
async def test_a_copy_of_a_model_of_ollamas_cloud_is_shown_as_what_leaves_the_machine() -> None:
    async with model_server() as server:
        server.models = ["mine:latest", "embed-mine:latest", "small:latest"]
        server.handed_on = {"mine:latest", "embed-mine:latest"}
        shown = await models_overview(
            _settings(ollama_url=server.url, monologue_model="mine", embedding_model="ollama/embed-mine")
        )
    roles = {role.role: role for role in shown.roles}
    assert (roles["conversation"].model, roles["conversation"].leaves_machine) == ("ollama/small:latest", False)
    assert (roles["monologue"].model, roles["monologue"].leaves_machine) == ("ollama/mine", True)
    assert roles["embedding"].leaves_machine
    assert [(one.name, one.leaves_machine, one.is_chosen) for one in shown.ollama] == [
        ("mine:latest", True, False), ("embed-mine:latest", True, False), ("small:latest", False, True),
    ]  # fmt: skip


async def test_a_gguf_file_that_the_settings_name_is_listed_as_the_owners_own(home: Home) -> None:
    own = str(home.path / "own.gguf")
    settings = _settings(provider="embedded", monologue_model=own, ollama_url="http://127.0.0.1:9")
    shown = await models_overview(settings)
    [offer] = [offer for offer in shown.weights if offer.name == own]
    assert (offer.licence, offer.is_here) == ("", False)
    assert not shown.ollama_answers
    assert "are not there" in next(role.state for role in shown.roles if role.role == "monologue")


@pytest.mark.requirement("R-118")
@pytest.mark.parametrize(
    ("name", "url", "leaves", "is_free"),
    [
        ("all-minilm-l6-v2", "http://127.0.0.1:9", False, True),
        ("ollama/nomic-embed-text", "http://127.0.0.1:9", False, True),
        ("ollama/embed:1t-cloud", "http://127.0.0.1:9", True, True),
        ("openai/text-embedding-3-small", "http://127.0.0.1:9", True, False),
    ],
)
async def test_the_embedder_is_told_as_what_it_is(name: str, url: str, leaves: bool, is_free: bool) -> None:
    shown = await models_overview(_settings(provider="embedded", embedding_model=name, ollama_url=url))
    embedding = shown.roles[-1]
    assert (embedding.model, embedding.leaves_machine) == (name, leaves)
    assert (embedding.price.input_dollars == 0) is is_free
    assert "this machine" not in embedding.reason
    assert "models pull" not in embedding.state or "/" not in name


async def test_a_name_that_no_embedder_has_is_said_to_be_none() -> None:
    shown = await models_overview(
        _settings(provider="embedded", embedding_model="nonsense", ollama_url="http://127.0.0.1:9")
    )
    assert "no embedder called nonsense" in shown.roles[-1].state
    assert "models pull" not in shown.roles[-1].state


def test_an_ollama_on_another_computer_is_not_this_machine() -> None:
    for here in ("http://127.0.0.1:11434", "localhost:11434", "http://[::1]:11434"):
        assert not leaves_machine("ollama", "small", here)
        assert leaves_machine("ollama", "big:cloud", here)
    assert leaves_machine("ollama", "small", "http://gpu.lan:11434")
    assert not leaves_machine("embedded", "small", "http://gpu.lan:11434")
