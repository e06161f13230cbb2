"""Builds the answer of `reveries models`: what each role uses and why, and the alternatives. Loads and calls no
model."""

import asyncio
import importlib.util
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import msgspec

from reveries import protocol
from reveries.api_keys import find_key_source
from reveries.config import AUTO_MODEL, LlmSettings, Settings, find_models_folder
from reveries.errors import ReveriesError
from reveries.llm.assets import Asset, find_weights, has_weights, manifest, resolve_auto_model
from reveries.llm.base import CHAT_ROLES, Role
from reveries.llm.choose import (
    HOSTED_PROVIDERS,
    PRESETS,
    ModelChoice,
    choose_fallbacks,
    choose_models,
    is_remote_ollama_model,
    local_chat_models,
)
from reveries.llm.embedded import SLOTS
from reveries.llm.fitting import fit_context, read_machine_memory
from reveries.llm.hosted import CONTEXT_TOKENS as HOSTED_CONTEXT_TOKENS
from reveries.llm.ollama_chat import OllamaEntry, billions_by_name, list_ollama, local_model_names
from reveries.llm.prices import Price, background_day_dollars, hour_of_talk_dollars, price_of, read_library_prices
from reveries.llm.sight import assumed_to_see
from reveries.llm.tier import assumed_tier
from reveries.llm.tier_results import TierResult
from reveries.own_addresses import is_this_machine
from reveries.redaction import redact


@dataclass(frozen=True, slots=True)
class InUse:
    """What a running mind uses, by role."""

    choices: Mapping[Role, ModelChoice]
    fallbacks: Mapping[Role, Sequence[ModelChoice]]
    states: Mapping[str, str]
    embedder: str
    """The value of `llm.embedding_model`."""


async def models_overview(
    settings: Settings,
    answers: Sequence[protocol.AnswerCount] = (),
    in_use: InUse | None = None,
    tested: Mapping[str, TierResult] = MappingProxyType({}),
) -> protocol.ModelsOverview:
    """Return the overview. Without `in_use` it has what the next start would choose. Asks Ollama, for a second at most.

    Raises ConfigError for fallbacks that name no provider.
    """
    llm = resolve_auto_model(settings.llm)
    listed = await list_ollama(llm.ollama_url)
    names = None if listed is None else local_model_names(listed)
    handed_on = frozenset(model.name for model in listed or () if model.is_remote)
    used = in_use or InUse(choose_models(llm, names), choose_fallbacks(llm, names), {}, llm.embedding_model)
    choices = used.choices
    weights = await asyncio.to_thread(_weights_offers, llm, choices)
    if any(choice.is_hosted for choice in choices.values()) or "/" in used.embedder:
        await asyncio.to_thread(read_library_prices)
    machine = read_machine_memory()
    return protocol.ModelsOverview(
        request_id=0,
        roles=[
            *(_role_with_tier(_role(role, used, llm, handed_on), tested, listed or ()) for role in CHAT_ROLES),
            _embedding_role(used.embedder, llm, weights, handed_on),
        ],
        weights=weights,
        ollama_url=redact(llm.ollama_url),
        ollama_answers=listed is not None,
        ollama=_ollama(listed or (), llm.ollama_url),
        hosted=[_hosted_offer(provider, settings) for provider in HOSTED_PROVIDERS],
        is_hosted_installed=importlib.util.find_spec("litellm") is not None,
        answers=list(answers),
        cores=machine.cores,
        ram_bytes=machine.ram_bytes,
        dollars_per_day=settings.budget.dollars_per_day,
        dollars_per_month=settings.budget.dollars_per_month,
    )


def leaves_machine(provider: str, model: str, ollama_url: str, handed_on: Collection[str] = ()) -> bool:
    """Whether text sent to the model leaves this computer. An Ollama may run elsewhere, and forwards the requests of
    some models: those named "-cloud", and `handed_on`."""
    if provider != "ollama":
        return provider in HOSTED_PROVIDERS
    return is_remote_ollama_model(model, handed_on) or not is_this_machine(ollama_url)


def _role(role: Role, used: InUse, llm: LlmSettings, handed_on: Collection[str]) -> protocol.RoleUse:
    choice = used.choices[role]
    tokens, problem = _context_tokens(choice, llm)
    state = problem or used.states.get(role, "")
    # A waking mind says why it chose in the place of a state, where there is nothing to be loaded.
    return protocol.RoleUse(
        role=role.value,
        model=choice.name,
        reason=choice.reason,
        fallbacks=[other.name for other in used.fallbacks[role]],
        state="" if state == choice.reason else state,
        leaves_machine=leaves_machine(choice.provider, choice.model, llm.ollama_url, handed_on),
        price=_price(price_of(choice.name, llm)),
        context_tokens=tokens,
    )


def _role_with_tier(
    role: protocol.RoleUse, tested: Mapping[str, TierResult], listed: Sequence[OllamaEntry]
) -> protocol.RoleUse:
    result, sees = tested.get(role.model), assumed_to_see(role.model)
    if result is not None:
        sees = sees if result.sees is None else result.sees
        return msgspec.structs.replace(role, tier=int(result.tier), tier_tested_at=result.tested_at, sees=sees)
    billions = billions_by_name(listed).get(role.model, 0.0)
    return msgspec.structs.replace(role, tier=int(assumed_tier(role.model, billions)), sees=sees)


def _context_tokens(choice: ModelChoice, llm: LlmSettings) -> tuple[int, str]:
    """Return the context size in tokens, and its problem."""
    if choice.provider == "ollama":
        return llm.ollama.context_tokens, ""
    if choice.is_hosted:
        return HOSTED_CONTEXT_TOKENS, ""
    try:
        find_weights(choice.model)
        return fit_context(llm.embedded, choice.model, len(set(SLOTS.values()))).context_tokens, ""
    except ReveriesError as error:
        return 0, str(error)


def _embedding_role(
    name: str, llm: LlmSettings, weights: Sequence[protocol.WeightsOffer], handed_on: Collection[str]
) -> protocol.RoleUse:
    provider, is_served, model = name.partition("/")
    return protocol.RoleUse(
        role=Role.EMBEDDING.value,
        model=name,
        reason="llm.embedding_model names it",
        fallbacks=[],
        state="" if is_served else _weights_state(name, weights),
        leaves_machine=bool(is_served) and leaves_machine(provider, model, llm.ollama_url, handed_on),
        # A name without a provider runs in the daemon itself.
        price=_price(price_of(name, llm)) if is_served else protocol.ModelPrice(0.0, 0.0, is_known=True),
        context_tokens=0,
    )


def _weights_state(name: str, weights: Sequence[protocol.WeightsOffer]) -> str:
    """Return "here" if the embedder is on this machine, else what to do."""
    embedders = {offer.name: offer.is_here for offer in weights if offer.kind == "embedding"}
    if name not in embedders:
        return f"There is no embedder called {name}. Local embedders: {', '.join(embedders)}."
    return "here" if embedders[name] else f"Not here. Fetch it: reveries models pull {name}"


def _weights_offers(llm: LlmSettings, choices: Mapping[Role, ModelChoice]) -> list[protocol.WeightsOffer]:
    folder = find_models_folder()
    offers = [_weights_offer(asset, folder) for asset in manifest()]
    named = {choice.model for choice in choices.values() if choice.provider == "embedded"} | {llm.embedded.model}
    named.discard(AUTO_MODEL)
    return [*offers, *(_file_offer(name) for name in sorted(named - {offer.name for offer in offers}))]


def _weights_offer(asset: Asset, folder: Path) -> protocol.WeightsOffer:
    return protocol.WeightsOffer(
        asset.name, asset.kind, asset.about, asset.licence, asset.size_bytes, has_weights(asset, folder), asset.sees
    )


def _file_offer(name: str) -> protocol.WeightsOffer:
    try:
        size_bytes, is_there = Path(name).expanduser().stat().st_size, True
    except OSError:
        size_bytes, is_there = 0, False
    return protocol.WeightsOffer(name, "chat", "A file that the settings name.", "", size_bytes, is_there)


def _ollama(listed: Sequence[OllamaEntry], url: str) -> list[protocol.OllamaOffer]:
    chosen = next(iter(local_chat_models(local_model_names(listed))), None)
    is_far = not is_this_machine(url)
    return [
        protocol.OllamaOffer(model.name, model.size_bytes, is_far or model.is_remote, is_chosen=model.name == chosen)
        for model in listed
    ]


def _hosted_offer(provider: str, settings: Settings) -> protocol.HostedOffer:
    preset = PRESETS[provider]
    conversation = price_of(f"{provider}/{preset.conversation}", settings.llm)
    background = price_of(f"{provider}/{preset.background}", settings.llm)
    return protocol.HostedOffer(
        provider=provider,
        conversation_model=preset.conversation,
        conversation_price=_price(conversation),
        background_model=preset.background,
        background_price=_price(background),
        key_found_in=find_key_source(settings.llm, provider),
        hour_of_talk_dollars=hour_of_talk_dollars(conversation),
        background_day_dollars=background_day_dollars(background, settings.budget),
    )


def _price(price: Price) -> protocol.ModelPrice:
    return protocol.ModelPrice(price.input, price.output, price.is_known)
