from pathlib import Path
from random import Random

import msgspec
import pytest

from reveries.config import Home, Settings, load_settings
from reveries.daemon.checkup.inside import Inside, run_checks
from reveries.daemon.models.models_overview import models_overview
from reveries.daemon.models.role_models import Models, build_models
from reveries.db.database import Database
from reveries.errors import BudgetExceededError, ConfigError, ModelFault, ModelMissingError, ModelUnavailableError
from reveries.llm.base import CHAT_ROLES, Role
from reveries.llm.budget import Ledger
from reveries.llm.circuit import Failure
from reveries.llm.circuits import open_circuits
from reveries.llm.embedded import EmbeddedModel
from reveries.llm.metered import MeteredModel
from reveries.llm.metered_embedding import MeteredEmbedder
from reveries.llm.remote_embedding import GuardedEmbedder
from reveries.llm.role_model import RoleModel
from reveries.llm.tier import GroupScore, Tier
from reveries.llm.tier_results import open_tier_results
from reveries.llm.tier_test_tasks import TIER_GROUPS
from tests.fakes.clock import HandClock
from tests.fakes.weights import put_weights
from tests.llm.contract import a_prompt, play
from tests.llm.servers import model_server
from tests.llm.test_fitting import TOY, a_head


def _settings(**llm: object) -> Settings:
    settings = load_settings(None)
    return msgspec.structs.replace(settings, llm=msgspec.structs.replace(settings.llm, **llm))


async def _build(settings: Settings, home: Home, database: Database, clock: HandClock):  # type: ignore[no-untyped-def]
    circuits = await open_circuits(database, clock, Random(1))
    return await build_models(settings, home, Ledger(database, clock, lambda: settings.budget), circuits, clock)


def _role_model(models: Models, role: Role) -> RoleModel:
    model = models.chat[role]
    assert isinstance(model, RoleModel)
    return model


@pytest.mark.requirement("R-45")
async def test_roles_of_one_model_share_one_process(home: Home, database: Database, clock: HandClock) -> None:
    models = await _build(_settings(provider="embedded"), home, database, clock)
    assert len(models.adapters) == 1
    used = [candidate.model for role in CHAT_ROLES for candidate in _role_model(models, role).candidates]
    assert used[0] is used[1] is used[2] is used[3]
    await models.aclose()


async def test_an_embedder_in_no_price_list_costs_what_the_owner_says(
    home: Home, database: Database, clock: HandClock
) -> None:
    own = {"embedding_model": "openai/of-my-own", "base_url": "http://127.0.0.1:9"}
    texts = [f"{number} long texts of many words " * 60 for number in range(1000)]
    dear = await _build(_settings(**own), home, database, clock)
    with pytest.raises(BudgetExceededError):
        await dear.embedding.embedder.embed(texts)
    await dear.aclose()
    free = await _build(
        _settings(**own, unlisted_input_dollars=0.0, unlisted_output_dollars=0.0), home, database, clock
    )
    with pytest.raises(ModelUnavailableError):
        await free.embedding.embedder.embed(texts)
    await free.aclose()


async def test_what_a_model_kept_of_a_talk_goes_when_it_is_no_longer_used(
    home: Home, database: Database, clock: HandClock
) -> None:
    """No erasure would reach it, and no other model can go on from it."""
    models = await _build(_settings(provider="embedded"), home, database, clock)
    [adapter] = models.adapters.values()
    assert isinstance(adapter, EmbeddedModel)
    assert adapter.kept_file is not None
    adapter.kept_file.write_bytes(b"what was said")
    await (await _build(_settings(provider="embedded"), home, database, clock)).aclose()
    assert adapter.kept_file.exists()
    await (await _build(_settings(provider="openai"), home, database, clock)).aclose()
    assert not adapter.kept_file.exists()
    adapter.kept_file.write_bytes(b"what was said")
    other = _settings(provider="embedded", conversation_model="smollm2-135m", monologue_model="smollm2-135m",
                      consolidation_model="smollm2-135m", work_model="smollm2-135m")  # fmt: skip
    await (await _build(other, home, database, clock)).aclose()
    assert not adapter.kept_file.exists()


@pytest.mark.requirement("G1")
async def test_every_role_is_behind_the_ledger(home: Home, database: Database, clock: HandClock) -> None:
    for provider in ("embedded", "ollama", "openai"):
        models = await _build(_settings(provider=provider), home, database, clock)
        for role in CHAT_ROLES:
            candidates = _role_model(models, role).candidates
            assert candidates
            assert all(isinstance(candidate.model, MeteredModel) for candidate in candidates)
        await models.aclose()


async def test_a_roles_tier_is_that_of_its_own_model(home: Home, database: Database, clock: HandClock) -> None:
    settings = _settings(provider="embedded", conversation_model="openai/gpt-4.1", monologue_model="smollm2-135m")
    models = await _build(settings, home, database, clock)
    assert [models.tier(role) for role in CHAT_ROLES] == [Tier.CAPABLE, Tier.LOOSE, Tier.SMALL, Tier.SMALL]
    await models.aclose()


async def test_a_test_counts_before_what_ollama_says_of_a_size_and_that_before_a_name(
    home: Home, database: Database, clock: HandClock
) -> None:
    async with model_server() as server:
        server.models, server.sizes = ["mine:latest", "other-1b:latest"], {"mine:latest": "7.6B"}
        settings = _settings(provider="ollama", ollama_url=server.url, monologue_model="mine")
        circuits, ledger = (
            await open_circuits(database, clock, Random(1)),
            Ledger(database, clock, lambda: settings.budget),
        )
        results = await open_tier_results(database)
        models = await build_models(settings, home, ledger, circuits, clock, results.known)
        shown = await models_overview(settings, tested=results.known)
    assert [models.tier(role) for role in CHAT_ROLES] == [Tier.CAPABLE] * 4
    assert [role.tier for role in shown.roles] == [2, 2, 2, 2, msgspec.UNSET]
    await results.record("ollama/mine", [GroupScore(group, 0, 6) for group in TIER_GROUPS], 100.0)
    assert [models.tier(role) for role in CHAT_ROLES] == [Tier.CAPABLE, Tier.LOOSE, Tier.CAPABLE, Tier.CAPABLE]
    await models.aclose()


async def test_the_tier_is_that_of_the_fallback_while_it_answers(
    home: Home, database: Database, clock: HandClock
) -> None:
    settings = _settings(provider="openai", conversation_fallbacks=("embedded/smollm2-135m",))
    models = await _build(settings, home, database, clock)
    role_model = _role_model(models, Role.CONVERSATION)
    assert models.tier(Role.CONVERSATION) is Tier.CAPABLE
    role_model._serving = role_model.candidates[1]
    assert models.tier(Role.CONVERSATION) is Tier.LOOSE
    await models.aclose()


async def test_missing_weights_are_a_problem_that_is_told_and_not_a_mind_that_does_not_wake(
    home: Home, database: Database, clock: HandClock
) -> None:
    settings = _settings(provider="embedded", conversation_model=str(home.path / "none.gguf"))
    models = await _build(settings, home, database, clock)
    assert any("none.gguf" in problem for problem in models.problems())
    with pytest.raises(ModelMissingError):
        await play(models.conversation, a_prompt())
    assert [role for role, _, _ in models.uses()] == [role.value for role in (*CHAT_ROLES, Role.EMBEDDING)]
    await models.aclose()


async def test_a_provider_that_failed_before_the_settings_named_another_is_no_problem_any_more(
    home: Home, database: Database, clock: HandClock
) -> None:
    failure = Failure(ModelFault.UNREACHABLE, "openai cannot be reached.")
    circuits = await open_circuits(database, clock, Random(1))
    await circuits.record_failure("openai", failure, Role.CONVERSATION)
    for settings, is_told in ((_settings(provider="openai"), True), (_settings(provider="embedded"), False)):
        models = await _build(settings, home, database, clock)
        assert any("openai" in problem for problem in models.problems()) is is_told
        await models.aclose()


@pytest.mark.requirement("R-48")
async def test_auto_uses_the_ollama_that_answers(home: Home, database: Database, clock: HandClock) -> None:
    async with model_server() as server:
        models = await _build(_settings(provider="auto", ollama_url=server.url), home, database, clock)
        text, _ = await play(models.conversation, a_prompt())
        assert text == "Hello there, friend."
        assert models.conversation.name == "ollama/small:latest"
        await models.aclose()


async def test_two_embedded_models_have_a_socket_each(home: Home, database: Database, clock: HandClock) -> None:
    models = await _build(_settings(provider="embedded", monologue_model="smollm2-135m"), home, database, clock)
    assert len(models.adapters) == 2
    await models.aclose()


@pytest.mark.parametrize(("provider", "is_sliced"), [("embedded", True), ("ollama", False), ("openai", False)])
async def test_only_the_embedded_model_is_asked_for_a_thought_in_slices(
    home: Home, database: Database, clock: HandClock, provider: str, is_sliced: bool
) -> None:
    """Other models may not continue their text, or cost money for each call."""
    models = await _build(_settings(provider=provider), home, database, clock)
    assert (models.slice_tokens() is not None) is is_sliced
    await models.aclose()


@pytest.mark.parametrize("first", ["embedded/smollm2-135m", "openai/gpt-4.1"])
async def test_a_thought_is_asked_for_in_slices_as_the_model_that_thinks_now_wants_it(
    home: Home, database: Database, clock: HandClock, first: str
) -> None:
    """The slicing follows the model that serves now, not the first one."""
    second = "openai/gpt-4.1" if first.startswith("embedded") else "embedded/smollm2-135m"
    settings = _settings(provider="embedded", monologue_model=first, monologue_fallbacks=(second,))
    models = await _build(settings, home, database, clock)
    role_model = _role_model(models, Role.MONOLOGUE)
    is_sliced_first = models.slice_tokens() is not None
    role_model._serving = role_model.candidates[1]
    assert [is_sliced_first, models.slice_tokens() is not None] == [
        one.startswith("embedded") for one in (first, second)
    ]
    await models.aclose()


@pytest.mark.requirement("R-48", "R-119")
@pytest.mark.parametrize(
    ("name", "model_id", "where"),
    [
        ("all-minilm-l6-v2", "all-minilm-l6-v2-int8", "on this machine"),
        ("ollama/nomic-embed-text", "ollama/nomic-embed-text", "Ollama"),
        ("openai/text-embedding-3-small", "openai/text-embedding-3-small", "away from this machine"),
    ],
)
async def test_the_embedder_is_the_one_that_is_named_behind_the_ledger(
    home: Home, database: Database, clock: HandClock, name: str, model_id: str, where: str
) -> None:
    models = await _build(_settings(provider="embedded", embedding_model=name), home, database, clock)
    assert isinstance(models.embedder, MeteredEmbedder | GuardedEmbedder)
    assert models.embedder.model_id == model_id
    role, shown, told = models.uses()[-1]
    assert (role, shown) == ("embedding", model_id)
    assert where in told
    await models.aclose()


@pytest.mark.parametrize("provider", ["openai", "auto"])
async def test_a_hosted_provider_for_chat_takes_no_embedding_abroad(
    home: Home, database: Database, clock: HandClock, provider: str
) -> None:
    models = await _build(_settings(provider=provider), home, database, clock)
    assert models.embedder.model_id == "all-minilm-l6-v2-int8"
    await models.aclose()


@pytest.mark.parametrize("name", ["text-embedding-3-small", "openai/", "ollama/", "nobody/x", "smollm2-135m"])
async def test_a_name_that_no_embedder_has_is_refused_with_those_there_are(
    home: Home, database: Database, clock: HandClock, name: str
) -> None:
    with pytest.raises(ConfigError, match="embedding_model") as caught:
        await _build(_settings(provider="embedded", embedding_model=name), home, database, clock)
    assert "all-minilm-l6-v2" in caught.value.advice


@pytest.mark.requirement("D1")
async def test_without_the_embedders_weights_it_wakes_and_they_are_looked_for(
    home: Home, database: Database, clock: HandClock
) -> None:
    models = await _build(_settings(provider="openai"), home, database, clock)
    models.require_weights()
    assert models.weights == ()
    assert models.embedding.weights == ("all-minilm-l6-v2",)
    await models.aclose()


async def test_the_embedder_of_earlier_vectors_is_asked_only_where_nothing_leaves_the_machine(
    home: Home, database: Database, clock: HandClock
) -> None:
    models = await _build(_settings(provider="embedded"), home, database, clock)
    assert models.embedding.old("openai/text-embedding-3-small") is None
    assert models.embedding.old("unheard-of") is None
    ollama = models.embedding.old("ollama/nomic-embed-text")
    assert ollama is not None
    assert ollama.model_id == "ollama/nomic-embed-text"
    await ollama.aclose()
    await models.aclose()


@pytest.mark.requirement("F2")
async def test_the_key_and_address_of_the_chosen_provider_reach_no_other(
    home: Home, database: Database, clock: HandClock
) -> None:
    key = home.path / "key"
    home.create()
    key.write_text("sk-of-openai")
    key.chmod(0o600)
    async with model_server() as server:
        settings = _settings(
            provider="openai",
            base_url=f"{server.url}/v1",
            api_key_file=str(key),
            conversation_fallbacks=("anthropic/claude-haiku-4-5",),
            embedding_model="openrouter/x/y",
        )
        models = await _build(settings, home, database, clock)
        with pytest.raises(ModelUnavailableError, match="no key"):
            await play(models.adapters["anthropic/claude-haiku-4-5"], a_prompt())
        with pytest.raises(ModelUnavailableError, match="no key"):
            await models.embedder.embed(["x"])
        assert server.requests == []
        await models.aclose()


async def test_a_home_that_names_no_model_goes_on_with_the_one_that_is_here(
    home: Home, database: Database, clock: HandClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REVERIES_MODELS", str(tmp_path))
    settings = _settings(provider="embedded")
    findings, _ = await run_checks(Inside(settings, home))
    [finding, *_] = [found for found in findings if found.fault == "weights-missing"]
    assert finding.advice == "Fetch one that suits it: reveries models choose"
    put_weights(tmp_path, "qwen2.5-coder-1.5b-instruct", head=a_head(**TOY))
    models = await _build(settings, home, database, clock)
    assert models.conversation.name == "embedded/qwen2.5-coder-1.5b-instruct"
    models.require_weights()
    await models.aclose()
