"""Builds the models of a mind from its settings. Only this module and `app` name the model adapters."""

import asyncio
import contextlib
import hashlib
import importlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType

import msgspec

from reveries.api_keys import find_api_key
from reveries.clock import Clock
from reveries.config import Home, LimitSettings, LlmSettings, Settings
from reveries.daemon.models.embedders import Embedding, build_embedding
from reveries.errors import ModelUnavailableError, ReveriesError
from reveries.llm.assets import find_weights, resolve_auto_model
from reveries.llm.base import CHAT_ROLES, ChatModel, Embedder, Role
from reveries.llm.budget import CALL_MARGIN_SECONDS, Ledger
from reveries.llm.choose import HOSTED_PROVIDERS, ModelChoice, choose_fallbacks, choose_models
from reveries.llm.circuits import Circuits
from reveries.llm.embedded import KEPT_SUFFIX, SLOTS, EmbeddedModel, EmbeddedOptions
from reveries.llm.endpoints import endpoint_of, uses_base_url
from reveries.llm.fitting import fit_context
from reveries.llm.hosted import HostedModel, HostedOptions
from reveries.llm.metered import MeteredModel
from reveries.llm.ollama_chat import OllamaModel, billions_by_name, list_ollama, local_model_names
from reveries.llm.prices import price_of, read_library_prices
from reveries.llm.reasoning import effort_of_role
from reveries.llm.role_model import ModelCandidate, RoleModel
from reveries.llm.schema_refusals import SchemaRefusals, open_schema_refusals
from reveries.llm.sight import assumed_to_see
from reveries.llm.tier import Tier, assumed_tier
from reveries.llm.tier_results import TierResult

_SLICE_TOKENS = 40


@dataclass(frozen=True, slots=True)
class Models:
    """Every role's model, behind the ledger, and the embedder. Built by `build_models`; call `aclose`.

    `run` unloads idle embedded models.
    """

    chat: Mapping[Role, ChatModel]
    embedding: Embedding
    choices: Mapping[Role, ModelChoice]
    fallbacks: Mapping[Role, tuple[ModelChoice, ...]]
    circuits: Circuits
    adapters: Mapping[str, ChatModel]
    """By model name; roles with the same model share its adapter."""
    weights: tuple[str, ...]
    """Names or paths of the weights that the chat models need."""
    embedder_name: str = ""
    """The embedder's name in the settings."""
    tested: Mapping[str, TierResult] = field(default_factory=dict)
    """Tier test results by model name; later tests update it."""
    billions: Mapping[str, float] = field(default_factory=dict)
    """Billions of parameters by model name, where Ollama reports them."""

    @property
    def embedder(self) -> Embedder:
        return self.embedding.embedder

    @property
    def conversation(self) -> ChatModel:
        return self.chat[Role.CONVERSATION]

    @property
    def monologue(self) -> ChatModel:
        return self.chat[Role.MONOLOGUE]

    @property
    def consolidation(self) -> ChatModel:
        return self.chat[Role.CONSOLIDATION]

    @property
    def work(self) -> ChatModel:
        return self.chat[Role.WORK]

    @property
    def first(self) -> Mapping[Role, ModelCandidate]:
        """The first model of each role, behind the ledger but without the circuit breaker."""
        return {role: self._first_candidate(role) for role in CHAT_ROLES}

    def slice_tokens(self) -> int | None:
        """Return how many tokens a thought requests at a time: few from an embedded model, all (None) from others.
        Hosted calls cost money each, and Ollama may not continue a begun text. The model may be a fallback, so call
        this before each request."""
        serving = self.monologue.name
        is_embedded = any(
            adapter.name == serving for adapter in self.adapters.values() if isinstance(adapter, EmbeddedModel)
        )
        return _SLICE_TOKENS if is_embedded else None

    def tier(self, role: Role) -> Tier:
        """Return the tier of the model that `role` uses now, which may be a fallback: call this at each turn."""
        name = self.chat[role].name
        result = self.tested.get(name)
        return result.tier if result else assumed_tier(name, self.billions.get(name, 0.0))

    def sees(self, role: Role) -> bool:
        """Whether the model that `role` uses now may be shown pictures: by its test, else by its name."""
        name = self.chat[role].name
        result = self.tested.get(name)
        return result.sees if result is not None and result.sees is not None else assumed_to_see(name)

    def may_be_local(self, role: Role) -> bool:
        """Whether a model on a machine of the owner's may answer for `role`, as its choice or as a fallback."""
        return any(not choice.is_hosted for choice in (self.choices[role], *self.fallbacks.get(role, ())))

    def require_weights(self) -> None:
        """Raise ModelMissingError for the first missing weights of a chat model. Those of the embedder are optional:
        recall uses words only then, and `problems` says so."""
        for name in self.weights:
            find_weights(name)

    def uses(self) -> list[tuple[str, str, str]]:
        """Return role, model, and whether it is loaded or why it was chosen, for `status`."""
        shown = [(role.value, self.chat[role].name, self._state(role)) for role in CHAT_ROLES]
        return [*shown, ("embedding", self.embedder.model_id, self.embedding.where)]

    def problems(self) -> list[str]:
        """Return the known problems of models, a sentence each with advice."""
        choices = [*self.choices.values(), *(choice for several in self.fallbacks.values() for choice in several)]
        problems = self.circuits.problems({*(choice.provider for choice in choices), self.embedder.model_id})
        for name in (*self.weights, *self.embedding.weights):
            try:
                find_weights(name)
            except ReveriesError as error:
                problems.append(str(error))
        return problems

    async def run(self) -> None:
        """Unload idle models and preload hosted ones, until cancelled."""
        in_use = {self.adapters[choice.name] for choice in self.choices.values()}
        async with asyncio.TaskGroup() as tasks:
            for adapter in self.adapters.values():
                if isinstance(adapter, EmbeddedModel):
                    tasks.create_task(adapter.watch_idle(), name="unload-idle-model")
                elif isinstance(adapter, HostedModel) and adapter in in_use:
                    tasks.create_task(_preload(adapter), name="preload-hosted-model")

    def forget_read(self, *, is_only_end: bool = False) -> None:
        """Have local models forget what they read for conversations, because something of it is erased, perhaps only
        the end. Raises OSError."""
        for adapter in self.adapters.values():
            if isinstance(adapter, EmbeddedModel):
                adapter.forget_read(is_only_end=is_only_end)

    async def aclose(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(self.embedder.aclose)
            for adapter in self.adapters.values():
                stack.push_async_callback(adapter.aclose)

    def _first_candidate(self, role: Role) -> ModelCandidate:
        model = self.chat[role]
        return (
            model.candidates[0] if isinstance(model, RoleModel) else ModelCandidate(self.choices[role].provider, model)
        )

    def _state(self, role: Role) -> str:
        adapter = self.adapters[self.choices[role].name]
        if isinstance(adapter, EmbeddedModel):
            return "loaded" if adapter.is_loaded else "not loaded"
        return self.choices[role].reason


def longest_call_seconds(llm: LlmSettings) -> float:
    """Return the time after which no model call can still be running."""
    return max(llm.limits.total_seconds, llm.hosted_limits.total_seconds) + CALL_MARGIN_SECONDS


async def build_models(
    settings: Settings,
    home: Home,
    ledger: Ledger,
    circuits: Circuits,
    clock: Clock,
    tested: Mapping[str, TierResult] = MappingProxyType({}),
) -> Models:
    """Choose and build every role's model. Nothing is loaded or called yet, except a check whether Ollama runs.

    `tested` are the results of tier tests, also later ones (`TierResults.known`). Missing weights are no error here
    (`Models.problems` reports them). Raises ConfigError for invalid settings.
    """
    llm = resolve_auto_model(settings.llm)
    listed = await list_ollama(llm.ollama_url) if _may_need_ollama(llm) else None
    local_names = None if listed is None else local_model_names(listed)
    choices, others = choose_models(llm, local_names), choose_fallbacks(llm, local_names)
    in_order = {role: (choices[role], *others[role]) for role in CHAT_ROLES}
    # One adapter per model: roles that share it share its process, memory and prompt cache.
    wanted = {choice.name: choice for chosen in in_order.values() for choice in chosen}
    if llm.embedding_model.startswith("ollama/") or any(choice.provider == "ollama" for choice in wanted.values()):
        await asyncio.to_thread(importlib.import_module, "ollama")  # Half a second for which the event loop goes on.
    refusals = await open_schema_refusals(ledger.database, clock)
    adapters = {
        name: _build_adapter(choice, llm, _model_socket(home, number), clock, refusals)
        for number, (name, choice) in enumerate(wanted.items())
    }
    await asyncio.to_thread(_remove_unused_kept_files, home, adapters.values())
    is_embedder_hosted = llm.embedding_model.partition("/")[0] in HOSTED_PROVIDERS
    if is_embedder_hosted or any(choice.is_hosted for choice in wanted.values()):
        await asyncio.to_thread(read_library_prices)
    # The usage that a custom endpoint reports is not trusted.
    doubted = {
        name for name, choice in wanted.items() if uses_base_url(choice.provider, llm) and not llm.believe_base_url
    }
    metered = {
        name: _meter(adapter, ledger, llm, believes_usage=name not in doubted) for name, adapter in adapters.items()
    }
    embedding = build_embedding(llm, ledger, circuits)
    embedded_names = {choice.model for choice in choices.values() if choice.provider == "embedded"}
    return Models(
        chat={
            role: RoleModel(
                [ModelCandidate(choice.provider, metered[choice.name]) for choice in chosen], circuits, clock
            )
            for role, chosen in in_order.items()
        },
        embedding=embedding,
        choices=choices,
        fallbacks=others,
        circuits=circuits,
        adapters=adapters,
        weights=tuple(sorted(embedded_names)),
        embedder_name=llm.embedding_model,
        tested=tested,
        billions=billions_by_name(listed or ()),
    )


def _meter(adapter: ChatModel, ledger: Ledger, llm: LlmSettings, *, believes_usage: bool) -> MeteredModel:
    if not isinstance(adapter, HostedModel):
        return MeteredModel(adapter, ledger, believes_usage=believes_usage)
    return MeteredModel(
        adapter,
        ledger,
        believes_usage=believes_usage,
        prepare=adapter.preload,
        find_price=partial(price_of, llm=llm),
        find_reasoning_tokens=adapter.reasoning_tokens,
    )


async def _preload(adapter: HostedModel) -> None:
    # If the extra is not installed, the first call reports it.
    with contextlib.suppress(ModelUnavailableError):
        await adapter.preload()


def _may_need_ollama(llm: LlmSettings) -> bool:
    """Whether the choice of models depends on what Ollama has."""
    named = (*llm.conversation_fallbacks, *llm.monologue_fallbacks, *llm.consolidation_fallbacks, *llm.work_fallbacks)
    return llm.provider in ("auto", "ollama") or "ollama" in named


def _model_socket(home: Home, number: int) -> Path:
    """Return the socket path of a local model; more than one is rare."""
    return home.model_socket if not number else home.model_socket.with_stem(f"model{number + 1}")


def _kept_file(socket: Path, model: str) -> Path:
    """Return where a model keeps what it read: no other one may go on from it, not even one of the same build."""
    digest = hashlib.blake2b(model.encode(), digest_size=6).hexdigest()
    return socket.with_name(f"{socket.stem}-{digest}{KEPT_SUFFIX}")


def _remove_unused_kept_files(home: Home, adapters: Iterable[ChatModel]) -> None:
    """Remove what local models kept of conversations and no longer use: nothing would erase words from it."""
    used = {adapter.kept_file for adapter in adapters if isinstance(adapter, EmbeddedModel)}
    for file in home.path.glob(f"{home.model_socket.stem}*{KEPT_SUFFIX}"):
        if file not in used:
            file.unlink(missing_ok=True)


def _build_adapter(
    choice: ModelChoice, llm: LlmSettings, socket: Path, clock: Clock, refusals: SchemaRefusals
) -> ChatModel:
    match choice.provider:
        case "embedded":
            name = Path(choice.model).stem if choice.model.endswith(".gguf") else choice.model
            options = EmbeddedOptions(
                name=name,
                weights=lambda: find_weights(choice.model),
                socket=socket,
                settings=fit_context(llm.embedded, choice.model, len(set(SLOTS.values()))),
                limits=llm.limits,
                kept=_kept_file(socket, choice.model),
            )
            return EmbeddedModel(options, clock)
        case "ollama":
            return OllamaModel(choice.model, llm.ollama_url, llm.limits, llm.ollama)
        case _:
            where = endpoint_of(choice.provider, llm, find_api_key, os.environ)
            return HostedModel(
                HostedOptions(
                    name=choice.name,
                    api_key=where.api_key,
                    base_url=where.base_url,
                    limits=_hosted_limits(llm),
                    effort_of=lambda role: effort_of_role(role, llm),
                ),
                refusals=refusals,
            )


def _hosted_limits(llm: LlmSettings) -> LimitSettings:
    """Return the limits with the shorter times of a hosted provider."""
    hosted = llm.hosted_limits
    return msgspec.structs.replace(
        llm.limits,
        first_token_seconds=hosted.first_token_seconds,
        idle_seconds=hosted.idle_seconds,
        total_seconds=hosted.total_seconds,
    )
