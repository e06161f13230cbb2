"""What a client asks of models: which there are, whether they answer, what they used."""

from typing import Annotated

import msgspec

from reveries.protocol.message import Answer, Request
from reveries.protocol.registry import request


class ModelUse(msgspec.Struct, frozen=True):
    role: str
    model: str
    state: str


class UsageToday(msgspec.Struct, frozen=True):
    role: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    dollars: float
    token_limit: int


class ModelPrice(msgspec.Struct, frozen=True):
    """US dollars for a million tokens. `is_known` false: not listed, so it counts at the dearest that there is."""

    input_dollars: float
    output_dollars: float
    is_known: bool


class TierScore(msgspec.Struct, frozen=True):
    """How many tasks of a group (form, persons, notes, ending) a model did right."""

    group: str
    right: int
    asked: int


class RoleUse(msgspec.Struct, frozen=True):
    """A role's model ("provider/name") and why it is this one. `context_tokens` 0: not known, or none.

    `tier`: what may be asked of a language model, 0 to 2; assumed where there is no `tier_tested_at`.
    """

    role: str
    model: str
    reason: str
    fallbacks: list[str]
    state: str
    leaves_machine: bool
    price: ModelPrice
    context_tokens: int
    tier: int | msgspec.UnsetType = msgspec.UNSET
    tier_tested_at: float | msgspec.UnsetType = msgspec.UNSET


class WeightsOffer(msgspec.Struct, frozen=True):
    """Weights that can run here: of the manifest, or (no licence given) a GGUF file that the settings name."""

    name: str
    kind: str
    about: str
    licence: str
    size_bytes: int
    is_here: bool


class SuggestedModel(msgspec.Struct, frozen=True):
    """The chat model that suits this machine, for whoever sets it up. `larger`: a better one that is fetched only when
    the owner says so; empty: none. `silent`: the publishers that were asked for a better one, and have none now."""

    model: str
    size_bytes: int
    is_here: bool
    larger: str = ""
    larger_bytes: int = 0
    cores: int = 1
    free_bytes: int = 0
    silent: list[str] = []


class OllamaOffer(msgspec.Struct, frozen=True):
    """A model of the owner's Ollama. `leaves_machine`: Ollama hands it on to somebody else's computer. `is_chosen`: it
    is the one that is used when none is named."""

    name: str
    size_bytes: int
    leaves_machine: bool
    is_chosen: bool = False


class HostedOffer(msgspec.Struct, frozen=True):
    """A hosted provider with the models it would use: only ever by the owner's explicit choice.

    `key_found_in` names the setting or the environment variable that has a key; empty: none has. The dollars are
    computed: for an hour of talk (40 turns), and what thinking and sleep could use in a day at the most.
    """

    provider: str
    conversation_model: str
    conversation_price: ModelPrice
    background_model: str
    background_price: ModelPrice
    key_found_in: str
    hour_of_talk_dollars: float
    background_day_dollars: float


class AnswerCount(msgspec.Struct, frozen=True):
    """How often a model kept to the form it was asked for: at once, after one repair, or not."""

    model: str
    valid: int
    repaired: int
    failed: int


class ModelsOverview(Answer, frozen=True):
    """`ollama_url` with `ollama_answers` false: nobody answered there within a second. `cores` and `ram_bytes` are of
    the machine that the mind runs on."""

    roles: list[RoleUse]
    weights: list[WeightsOffer]
    ollama_url: str
    ollama_answers: bool
    ollama: list[OllamaOffer]
    hosted: list[HostedOffer]
    is_hosted_installed: bool
    answers: list[AnswerCount]
    cores: int
    ram_bytes: int
    dollars_per_day: float
    dollars_per_month: float


class ModelProbe(msgspec.Struct, frozen=True):
    """What one question to a role's model came to. `answer`: valid, repaired or failed, as for `AnswerCount`; vectors
    for the embedding; empty when there was none, and then `error` and `advice` say why.

    `load_seconds`: until a model of this machine was in memory. `dollars`: what it did cost, or, without
    `is_usage_known`, what stays reserved for it.
    """

    role: str
    model: str
    answer: str
    load_seconds: float
    first_token_seconds: float
    tokens_per_second: float
    seconds: float
    prompt_tokens: int
    completion_tokens: int
    reserved_dollars: float
    dollars: float
    is_usage_known: bool
    error: str
    advice: str


class TierTest(msgspec.Struct, frozen=True):
    """What the small tasks came to with a model: its tier from now on. With an `error` they were not all asked; then
    there are no scores, and `tier` is what it was before."""

    model: str
    tier: int
    scores: list[TierScore]
    seconds: float
    prompt_tokens: int
    completion_tokens: int
    dollars: float
    error: str
    advice: str


class ModelsProbed(Answer, frozen=True):
    """`answers`: of all questions that were ever asked with a form, this test's among them. `tiers`: where they were
    asked for, of each model once."""

    probes: list[ModelProbe]
    answers: list[AnswerCount]
    tiers: list[TierTest] | msgspec.UnsetType = msgspec.UNSET


class UsedModel(msgspec.Struct, frozen=True):
    """What one role used of one model. `worst_case_*`: the part whose usage nobody told, which counts in full.

    `unsettled_tokens` are worst cases of calls that run or were never settled; they count beside the others.
    """

    role: str
    model: str
    calls: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    unsettled_tokens: int
    dollars: float
    running_calls: int
    worst_case_calls: int
    worst_case_dollars: float


class UsageLimit(msgspec.Struct, frozen=True):
    """A limit: `limit` and `used` are tokens, or dollars where `is_money`. `role` is empty for the limit of all."""

    key: str
    role: str
    span: str
    is_money: bool
    limit: float
    used: float
    renews_at: float


class UsedDay(msgspec.Struct, frozen=True):
    """A local day of all language models; `day` is "2026-11-21"."""

    day: str
    calls: int
    tokens: int
    dollars: float


class UsageReport(Answer, frozen=True):
    """What models used today and this month, against the limits; `days` end with today (R-49, G1)."""

    now: float
    price_version: str
    today: list[UsedModel]
    month: list[UsedModel]
    limits: list[UsageLimit]
    days: list[UsedDay]


@request(answer=ModelsOverview)
class AskModels(Request, frozen=True):
    """Which model each role uses and why, and what else there is. Answered by `ModelsOverview`."""


@request(answer=ModelsProbed)
class ProbeModels(Request, frozen=True):
    """One question to the model of each role, or of `role` alone, as any call is made: reserved first, settled after.
    With `tiers` the small tasks too, by which a model's tier is found and kept. `Progress`, then `ModelsProbed`."""

    role: Annotated[str, msgspec.Meta(max_length=20)] = ""
    tiers: bool | msgspec.UnsetType = msgspec.UNSET


@request(answer=UsageReport, safe=True)
class AskUsage(Request, frozen=True):
    """Answered by `UsageReport`."""

    days: Annotated[int, msgspec.Meta(ge=1, le=366)] = 30
