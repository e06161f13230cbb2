"""Messages about models: which there are, whether they answer, what they used."""

from typing import Annotated

import msgspec

from reveries.protocol.message import Answer, Progress, Request
from reveries.protocol.registry import request


class ModelUse(msgspec.Struct, frozen=True):
    role: str
    model: str
    state: str


class UsageToday(msgspec.Struct, frozen=True):
    """A role's usage today. `prompt_tokens` includes the worst case of calls that are not settled."""

    role: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    dollars: float
    token_limit: int


class ModelPrice(msgspec.Struct, frozen=True):
    """US dollars per million tokens. `is_known` false: not in the price list, so the highest known price counts."""

    input_dollars: float
    output_dollars: float
    is_known: bool


class TierScore(msgspec.Struct, frozen=True):
    """How many tasks of a group (form, persons, notes, ending) a model solved."""

    group: str
    right: int
    asked: int


class RoleUse(msgspec.Struct, frozen=True):
    """A role's model ("provider/name") and why it was chosen. `context_tokens` 0: not known, or none.

    `tier`: what a language model can do, 0 to 2; assumed if there is no `tier_tested_at`. `sees`: it is shown pictures.
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
    sees: bool | msgspec.UnsetType = msgspec.UNSET


class WeightsOffer(msgspec.Struct, frozen=True):
    """Weights that can run here: from the manifest, or (without a licence) a GGUF file named in the settings. `sees`:
    it was made to see pictures, which nothing here shows it yet."""

    name: str
    kind: str
    about: str
    licence: str
    size_bytes: int
    is_here: bool
    sees: bool = False


class SuggestedModel(msgspec.Struct, frozen=True):
    """The chat model that suits this machine, for the setup. `larger`: a better one, downloaded only if the owner
    agrees; empty: none. `silent`: the publishers that were asked for a better one and offer none now."""

    model: str
    size_bytes: int
    is_here: bool
    larger: str = ""
    larger_bytes: int = 0
    cores: int = 1
    free_bytes: int = 0
    silent: list[str] = []


class OllamaOffer(msgspec.Struct, frozen=True):
    """A model of the owner's Ollama. `leaves_machine`: Ollama runs it on a remote computer. `is_chosen`: it is the
    default if no model is named."""

    name: str
    size_bytes: int
    leaves_machine: bool
    is_chosen: bool = False


class HostedOffer(msgspec.Struct, frozen=True):
    """A hosted provider with the models it would use. It is used only by the owner's explicit choice.

    `key_found_in` names the setting or environment variable that has a key; empty: none has. The dollars are
    estimates: for an hour of talk (40 turns), and the most that thinking and sleep could use in a day.
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
    """How often a model's answers had the requested form: at once, after one repair, or not at all."""

    model: str
    valid: int
    repaired: int
    failed: int


class ModelsOverview(Answer, frozen=True):
    """`ollama_answers` false: `ollama_url` did not answer within a second. `cores` and `ram_bytes` describe the machine
    that the daemon runs on."""

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
    """The result of one test question to a role's model. `answer`: valid, repaired or failed, as for `AnswerCount`;
    vectors for the embedding; empty if there was none, and then `error` and `advice` say why.

    `load_seconds`: until a local model was in memory. `dollars`: the cost, or, without `is_usage_known`, what stays
    reserved for the call.
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
    """The result of the tier test of a model: its tier from now on. With an `error` the test was not completed; then
    there are no scores, and `tier` is unchanged."""

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
    """`answers`: counts over all structured questions so far, this test included. `tiers`: if requested, one for each
    model."""

    probes: list[ModelProbe]
    answers: list[AnswerCount]
    tiers: list[TierTest] | msgspec.UnsetType = msgspec.UNSET


class UsedModel(msgspec.Struct, frozen=True):
    """What one role used of one model. `worst_case_*`: calls whose usage was not reported; their reservation counts.

    `unsettled_tokens`: reservations of calls that are running or were never settled; they count in addition.
    `reasoning_tokens`: the part of `completion_tokens` that was hidden reasoning, as far as it was reported.
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
    reasoning_tokens: int = 0


class UsageLimit(msgspec.Struct, frozen=True):
    """A budget limit. `limit` and `used` are tokens, or dollars if `is_money`. `role` is empty for the overall
    limit."""

    key: str
    role: str
    span: str
    is_money: bool
    limit: float
    used: float
    renews_at: float


class UsedDay(msgspec.Struct, frozen=True):
    """The use of all language models on one local day; `day` is "2026-11-21"."""

    day: str
    calls: int
    tokens: int
    dollars: float


class UsageReport(Answer, frozen=True):
    """What models used today and this month, with the limits; `days` ends with today (R-49, G1)."""

    now: float
    price_version: str
    today: list[UsedModel]
    month: list[UsedModel]
    limits: list[UsageLimit]
    days: list[UsedDay]


@request(answer=ModelsOverview)
class AskModels(Request, frozen=True):
    """Which model each role uses and why, and which others are available. Answered by `ModelsOverview`."""


@request(answer=ModelsProbed, before=(Progress,))
class ProbeModels(Request, frozen=True):
    """Send a test question to the model of each role, or of `role` only; it counts against the budget like any call.
    With `tiers`, also run and store the tier test. Answered by `Progress`, then `ModelsProbed`."""

    role: Annotated[str, msgspec.Meta(max_length=20)] = ""
    tiers: bool | msgspec.UnsetType = msgspec.UNSET


@request(answer=UsageReport, safe=True)
class AskUsage(Request, frozen=True):
    """Answered by `UsageReport`."""

    days: Annotated[int, msgspec.Meta(ge=1, le=366)] = 30
