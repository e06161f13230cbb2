"""The models that a mind uses, built from its settings. The only place, with `app`, that knows an adapter by name."""

import asyncio
import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import msgspec

from reveries.api_keys import find_api_key
from reveries.clock import Clock
from reveries.config import Home, LimitSettings, LlmSettings, Settings
from reveries.daemon.embedders import Embedding, build_embedding
from reveries.errors import ModelUnavailableError, ReveriesError
from reveries.llm.assets import find_weights, resolve_auto_model
from reveries.llm.base import CHAT_ROLES, ChatModel, Embedder, Role
from reveries.llm.budget import CALL_MARGIN_SECONDS, Ledger
from reveries.llm.choose import Choice, choose, fallbacks
from reveries.llm.circuits import Circuits
from reveries.llm.embedded import SLOTS, EmbeddedModel, EmbeddedOptions
from reveries.llm.endpoints import endpoint_of, uses_base_url
from reveries.llm.fitting import fit_context
from reveries.llm.hosted import HostedModel, HostedOptions
from reveries.llm.metered import MeteredModel
from reveries.llm.ollama_chat import OllamaModel, billions_by_name, list_ollama, run_there
from reveries.llm.role_model import Candidate, RoleModel
from reveries.llm.tier import Tier, assumed_tier
from reveries.llm.tier_results import TierResult

_SLICE_TOKENS = 40


@dataclass(frozen=True, slots=True)
class Models:
    """Every role's model, behind the ledger, and the embedder. Made by `build_models`; `aclose` it.

    `run` belongs into the daemon's task group: it unloads an embedded model that nobody uses.
    """

    chat: Mapping[Role, ChatModel]
    embedding: Embedding
    choices: Mapping[Role, Choice]
    fallbacks: Mapping[Role, tuple[Choice, ...]]
    circuits: Circuits
    adapters: Mapping[str, ChatModel]
    """By the choice's name: each once, however many roles share it."""
    weights: tuple[str, ...]
    """The names or paths of the weights without which it cannot speak."""
    embedder_name: str = ""
    """As the settings name it."""
    tested: Mapping[str, TierResult] = field(default_factory=dict)
    """What tests found, by a model's name; a later test shows in it at once."""
    billions: Mapping[str, float] = field(default_factory=dict)
    """How many parameters a model has, by its name, where an Ollama said so."""

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
    def first(self) -> Mapping[Role, Candidate]:
        """What each role asks first, behind the ledger and not behind its circuit."""
        return {role: self._first(role) for role in CHAT_ROLES}

    def slice_tokens(self) -> int | None:
        """How many tokens a thought asks for at a time of the model that thinks now: few of the embedded one, all of
        any other (None). Of a hosted one every call is paid; of an Ollama's nothing says whether it goes on with the
        words that it began. That may be a fallback, so ask anew before each call."""
        serving = self.monologue.name
        is_embedded = any(one.name == serving for one in self.adapters.values() if isinstance(one, EmbeddedModel))
        return _SLICE_TOKENS if is_embedded else None

    def tier(self, role: Role) -> Tier:
        """What may be asked of the model that `role` talks to now: that may be a fallback, so ask anew at each turn."""
        name = self.chat[role].name
        result = self.tested.get(name)
        return result.tier if result else assumed_tier(name, self.billions.get(name, 0.0))

    def require_weights(self) -> None:
        """Raise ModelMissingError for the first weights that are not on this machine. Without those of the embedder it
        wakes all the same: memory goes by words then, and `problems` says so."""
        for name in self.weights:
            find_weights(name)

    def uses(self) -> list[tuple[str, str, str]]:
        """For `status`: role, model, and whether it is loaded or why it was chosen."""
        shown = [(role.value, self.chat[role].name, self._state(role)) for role in CHAT_ROLES]
        return [*shown, ("embedding", self.embedder.model_id, self.embedding.where)]

    def problems(self) -> list[str]:
        """What keeps a role from its model, a sentence each with what to do; empty when nothing is known to."""
        choices = [*self.choices.values(), *(one for several in self.fallbacks.values() for one in several)]
        found = self.circuits.problems({*(choice.provider for choice in choices), self.embedder.model_id})
        for name in (*self.weights, *self.embedding.weights):
            try:
                find_weights(name)
            except ReveriesError as error:
                found.append(str(error))
        return found

    async def run(self) -> None:
        """Until cancelled."""
        in_use = {self.adapters[choice.name] for choice in self.choices.values()}
        async with asyncio.TaskGroup() as tasks:
            for adapter in self.adapters.values():
                if isinstance(adapter, EmbeddedModel):
                    tasks.create_task(adapter.watch_idle(), name="unload-idle-model")
                elif isinstance(adapter, HostedModel) and adapter in in_use:
                    tasks.create_task(_preload(adapter), name="preload-hosted-model")

    async def aclose(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(self.embedder.aclose)
            for adapter in self.adapters.values():
                stack.push_async_callback(adapter.aclose)

    def _first(self, role: Role) -> Candidate:
        model = self.chat[role]
        return model.candidates[0] if isinstance(model, RoleModel) else Candidate(self.choices[role].provider, model)

    def _state(self, role: Role) -> str:
        adapter = self.adapters[self.choices[role].name]
        if isinstance(adapter, EmbeddedModel):
            return "loaded" if adapter.is_loaded else "not loaded"
        return self.choices[role].reason


def longest_call_seconds(llm: LlmSettings) -> float:
    """After which no call can still be running, wherever its model is: for the ledger."""
    return max(llm.limits.total_seconds, llm.hosted_limits.total_seconds) + CALL_MARGIN_SECONDS


async def build_models(
    settings: Settings,
    home: Home,
    ledger: Ledger,
    circuits: Circuits,
    clock: Clock,
    tested: Mapping[str, TierResult] = MappingProxyType({}),
) -> Models:
    """Choose and make every role's model; nothing is loaded or called yet, but Ollama is asked whether it is there.

    `tested`: what tests found of models, and will find (`TierResults.known`).
    Missing weights are no error here (`Models.problems` tells of them). Raises ConfigError for settings that name what
    cannot be.
    """
    llm = resolve_auto_model(settings.llm)
    listed = await list_ollama(llm.ollama_url) if _may_need_ollama(llm) else None
    found = None if listed is None else run_there(listed)
    choices, others = choose(llm, found), fallbacks(llm, found)
    in_order = {role: (choices[role], *others[role]) for role in CHAT_ROLES}
    # One adapter for each model: roles that share it share its process, its memory and its prompt cache.
    wanted = {choice.name: choice for chosen in in_order.values() for choice in chosen}
    adapters = {
        name: _adapter(choice, llm, _model_socket(home, number), clock)
        for number, (name, choice) in enumerate(wanted.items())
    }
    # At an endpoint of the owner's choosing nobody vouches for what it says it used.
    doubted = {name for name, one in wanted.items() if uses_base_url(one.provider, llm) and not llm.believe_base_url}
    metered = {
        name: MeteredModel(adapter, ledger, believes_usage=name not in doubted) for name, adapter in adapters.items()
    }
    embedding = build_embedding(llm, ledger, circuits)
    embedded_names = {choice.model for choice in choices.values() if choice.provider == "embedded"}
    return Models(
        chat={
            role: RoleModel([Candidate(choice.provider, metered[choice.name]) for choice in chosen], circuits, clock)
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


async def _preload(adapter: HostedModel) -> None:
    # Where the extra is missing, the call that needs it says so.
    with contextlib.suppress(ModelUnavailableError):
        await adapter.preload()


def _may_need_ollama(llm: LlmSettings) -> bool:
    """Whether it matters what an Ollama has: it is looked for, or it is to be used and no model of it is named."""
    named = (*llm.conversation_fallbacks, *llm.monologue_fallbacks, *llm.consolidation_fallbacks, *llm.work_fallbacks)
    return llm.provider in ("auto", "ollama") or "ollama" in named


def _model_socket(home: Home, number: int) -> Path:
    """A socket for each model that runs here; the second and later ones are the exception."""
    return home.model_socket if not number else home.model_socket.with_stem(f"model{number + 1}")


def _adapter(choice: Choice, llm: LlmSettings, socket: Path, clock: Clock) -> ChatModel:
    match choice.provider:
        case "embedded":
            name = Path(choice.model).stem if choice.model.endswith(".gguf") else choice.model
            options = EmbeddedOptions(
                name=name,
                weights=lambda: find_weights(choice.model),
                socket=socket,
                settings=fit_context(llm.embedded, choice.model, len(set(SLOTS.values()))),
                limits=llm.limits,
            )
            return EmbeddedModel(options, clock)
        case "ollama":
            return OllamaModel(choice.model, llm.ollama_url, llm.limits, llm.ollama)
        case _:
            where = endpoint_of(choice.provider, llm, find_api_key, os.environ)
            return HostedModel(HostedOptions(choice.name, where.api_key, where.base_url, _hosted_limits(llm)))


def _hosted_limits(llm: LlmSettings) -> LimitSettings:
    """The limits with the times of a hosted provider, which does not read prompts slowly."""
    hosted = llm.hosted_limits
    return msgspec.structs.replace(
        llm.limits,
        first_token_seconds=hosted.first_token_seconds,
        idle_seconds=hosted.idle_seconds,
        total_seconds=hosted.total_seconds,
    )
