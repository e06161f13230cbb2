"""The choices of `reveries init`: their cost, what leaves the machine, and the settings that they change. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from reveries.client.model_choice import is_auto_model
from reveries.client.render import Page, Part, field, line, paragraph
from reveries.client.wording import dollars, plural, size
from reveries.config import LlmSettings, Settings, get_setting
from reveries.errors import UsageError
from reveries.own_addresses import is_this_machine
from reveries.protocol import HostedOffer, ModelsOverview, OllamaOffer, SuggestedModel
from reveries.redaction import redact
from reveries.safe_text import one_line

LOCAL_PROVIDERS = ("auto", "embedded", "ollama")
PROVIDERS = (*LOCAL_PROVIDERS, "openai", "anthropic", "cerebras", "openrouter")
_MAKERS = {"openai": "OpenAI", "anthropic": "Anthropic", "cerebras": "Cerebras", "openrouter": "OpenRouter"}


@dataclass(frozen=True, slots=True)
class Option:
    """A provider. `dollars_for_an_hour`: of talk; `dollars_behind`: at most, for a day of thinking and sleep."""

    provider: str
    what: str
    leaves: str
    """A sentence on what leaves the machine."""
    cost: str
    dollars_for_an_hour: float = 0.0
    dollars_behind: float = 0.0
    key_found_in: str = ""
    leaves_machine: bool = False
    costs_money: bool = False

    @property
    def is_hosted(self) -> bool:
        return self.provider not in LOCAL_PROVIDERS


@dataclass(frozen=True, slots=True)
class Answers:
    """The owner's answers; None leaves a setting unchanged."""

    owner: str | None = None
    provider: str | None = None
    dollars_per_day: float | None = None
    dollars_per_month: float | None = None
    api_key_file: str | None = None
    embedded_model: str | None = None


def list_options(overview: ModelsOverview, settings: Settings, suggested: SuggestedModel | None = None) -> list[Option]:
    """List all providers, local ones first. `suggested`: the model that suits this machine, if known."""
    embedded = _embedded_sentence(overview, settings.llm, suggested)
    ollama_model = next((model for model in overview.ollama if model.is_chosen), None)
    ollama_name = one_line(ollama_model.name) if ollama_model is not None else ""
    now = f"Ollama's {ollama_name}" if ollama_name else embedded
    is_auto_far = ollama_model is not None and ollama_model.leaves_machine
    is_ollama_far = bool(overview.ollama) and (ollama_model is None or ollama_model.leaves_machine)
    auto = f"your Ollama if it has a model, else the embedded model (now: {now})"
    return [
        _local_option("auto", auto, overview, settings, is_ollama_far=is_auto_far),
        _local_option("embedded", embedded, overview, settings, is_ollama_far=False),
        _local_option(
            "ollama", _ollama_sentence(overview, ollama_name), overview, settings, is_ollama_far=is_ollama_far
        ),
        *(_hosted_option(offer, overview, settings) for offer in overview.hosted),
    ]


def find_recipients(llm: LlmSettings, provider: str, offers: Iterable[OllamaOffer]) -> dict[str, list[str]]:
    """Return who else than `provider` receives text, with the settings that cause it: fallbacks, models of roles, the
    embedder. `offers`: the models of the Ollama.

    Keys are providers' names; "" is an Ollama on another computer, or one that forwards to one.
    """
    handed_on = {offer.name for offer in offers if offer.leaves_machine}
    keys_of: dict[str, list[str]] = {}
    for key, name in _named_models(llm):
        maker, slash, model = name.partition("/")
        is_role = key.endswith("_model") and key != "llm.embedding_model"
        if is_role and (provider == "openrouter" or not slash or maker not in PROVIDERS):
            # Like the daemon: a role's model without a provider prefix belongs to `provider`.
            maker, model = provider, name
        if maker in _MAKERS and maker != provider:
            keys_of.setdefault(_MAKERS[maker], []).append(key)
        elif maker in ("ollama", "auto") and (
            model.endswith("cloud") or {model, f"{model}:latest"} & handed_on or not is_this_machine(llm.ollama_url)
        ):
            keys_of.setdefault("", []).append(key)
    return {maker: list(dict.fromkeys(keys)) for maker, keys in keys_of.items()}


def _named_models(llm: LlmSettings) -> Iterator[tuple[str, str]]:
    """Yield every setting that names a model, with the name."""
    for role in ("conversation", "monologue", "consolidation"):
        if named := getattr(llm, f"{role}_model"):
            yield f"llm.{role}_model", named
        for fallback in getattr(llm, f"{role}_fallbacks"):
            yield f"llm.{role}_fallbacks", fallback
    yield "llm.embedding_model", llm.embedding_model


def find_option(
    overview: ModelsOverview, settings: Settings, provider: str, suggested: SuggestedModel | None = None
) -> Option:
    """Return the option of `provider`. Raises UsageError."""
    for candidate in list_options(overview, settings, suggested):
        if candidate.provider == provider:
            return candidate
    raise UsageError(f"There is no provider {provider}.", advice=f"There are: {', '.join(PROVIDERS)}")


def machine_page(overview: ModelsOverview) -> Page:
    """Render the machine, the Ollama, and the names of the keys found."""
    keys = [offer.key_found_in for offer in overview.hosted if offer.key_found_in]
    named = ", ".join(dict.fromkeys(one_line(key) for key in keys))
    memory = f", {size(overview.ram_bytes)} of memory" if overview.ram_bytes else ""
    if overview.ollama_answers:
        names = ", ".join(one_line(model.name) for model in overview.ollama[:4]) or "no model yet"
        ollama = f"answers: {names}{' ...' if len(overview.ollama) > 4 else ''}"
    else:
        ollama = f"no answer at {one_line(overview.ollama_url)}"
    return [
        field("this machine", f"{plural(overview.cores, 'core')}{memory}"),
        field("Ollama", ollama),
        field("keys", f"{named} (used only if you choose so)" if named else "none found"),
    ]


def options_page(offered: list[Option], chosen: str, caps: str) -> Page:
    """Render the options with their numbers; the current one is marked. `caps` applies to all of them."""
    rows: Page = []
    for number, option in enumerate(offered, 1):
        mark = "›" if option.provider == chosen else " "
        first, *more = paragraph(option.what, indent=17)
        rows.append(line(Part(f"{mark} {number}  {option.provider:<12}", "strong"), first[0].text.lstrip()))
        free = "" if option.is_hosted else f" {option.cost}"
        rows += [*more, *paragraph(option.leaves + free, indent=17, style="warn" if option.leaves_machine else "good")]
        if option.is_hosted:
            rows += paragraph(option.cost, indent=17, style="dim")
    return [*rows, *paragraph(f"For every choice: {caps}.", indent=5, style="dim")]


def changed_settings(settings: Settings, answers: Answers) -> dict[str, object]:
    """Return the settings that `answers` change, by dotted key.

    Raising a cap also raises the cap of the conversation, which would still apply otherwise.
    """
    values: dict[str, object] = {
        "owner.name": answers.owner,
        "llm.provider": answers.provider,
        "llm.api_key_file": answers.api_key_file,
        "llm.embedded.model": answers.embedded_model,
        "budget.dollars_per_day": answers.dollars_per_day,
        "budget.dollars_per_month": answers.dollars_per_month,
    }
    day, month = answers.dollars_per_day, answers.dollars_per_month
    if day is not None and month is None and day > settings.budget.dollars_per_month:
        values["budget.dollars_per_month"] = month = day
    if day is not None and day > settings.budget.conversation.dollars_per_day:
        values["budget.conversation.dollars_per_day"] = day
    if month is not None and month > settings.budget.conversation.dollars_per_month:
        values["budget.conversation.dollars_per_month"] = month
    return {key: value for key, value in values.items() if value is not None and value != get_setting(settings, key)}


def choose_key_file(home: Path, settings: Settings, provider: str, *, was_pasted: bool) -> str | None:
    """Return llm.api_key_file for `provider`; None: unchanged. A key is never used for another provider."""
    own = home / f"{provider}.key"
    if was_pasted or own.is_file():
        return str(own)
    others = {str(file) for file in list_key_files(home)} - {str(own)}
    return "" if settings.llm.api_key_file in others else None


def list_key_files(home: Path) -> list[Path]:
    """Return the files in which `init` stores the key of each provider."""
    return [home / f"{provider}.key" for provider in _MAKERS]


def parse_key(pasted: str) -> str:
    """Strip a pasted key. Raises UsageError if it cannot be a key."""
    key = pasted.strip()
    if len(key) > 500 or not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError("That is not a valid key: it contains spaces, or is too long.", advice="Nothing was written.")
    return key


def uses_embedded(overview: ModelsOverview, provider: str) -> bool:
    """Whether an embedded model is used if `provider` is chosen."""
    return provider == "embedded" or (provider == "auto" and not any(model.is_chosen for model in overview.ollama))


def next_steps(
    overview: ModelsOverview,
    settings: Settings,
    needs_restart: list[str] | None = None,
    suggested: SuggestedModel | None = None,
) -> Page:
    """Render the next commands. `needs_restart`: settings that the daemon could not apply; None if it is asleep."""
    steps = []
    hosted = next((offer for offer in overview.hosted if offer.provider == settings.llm.provider), None)
    if hosted is not None and not overview.is_hosted_installed:
        steps.append("make hosted                   # hosted models need this extra")
    if hosted is not None and not settings.llm.api_key_file and not hosted.key_found_in:
        steps.append("reveries init                 # to add an API key, or set REVERIES_API_KEY")
    here = {offer.name for offer in overview.weights if offer.is_here}
    wanted = [settings.llm.embedding_model]
    if uses_embedded(overview, settings.llm.provider):
        wanted.append(suggested.model if suggested and is_auto_model(settings.llm) else settings.llm.embedded.model)
    listed = {offer.name for offer in overview.weights}
    steps += [f"reveries models pull {name}" for name in wanted if name not in here and name in listed]
    if settings.llm.provider == "ollama" and not overview.ollama:
        steps.append("reveries models pull ollama/llama3.2")
    if needs_restart is None:
        steps.append("reveries wake")
    elif needs_restart:
        steps.append("reveries sleep; reveries wake   # the running mind needs a restart")
    return [line(), line(Part("Next:", "strong")), *(line(f"  {step}") for step in steps)] if steps else []


def caps_text(day: float, month: float) -> str:
    """Return "at most $1.00 a day and $20.00 a month (caps)"."""
    return f"at most {dollars(day)} a day and {dollars(month)} a month (caps)"


def caps_note(settings: Settings, changed: Mapping[str, object]) -> Page:
    """Warn if the monthly cap is lower than the daily one."""
    day, month = settings.budget.dollars_per_day, settings.budget.dollars_per_month
    if month >= day or not any(key.startswith("budget.") for key in changed):
        return []
    warning = f"The monthly cap ({dollars(month)}) is lower than the daily one ({dollars(day)}), so it applies."
    return paragraph(warning, style="warn")


def choice_page(option: Option, caps: str) -> Page:
    """Render a choice before it is written."""
    bounded = f" In total {caps}." if option.costs_money else ""
    return paragraph(f"{option.leaves} {option.cost}{bounded}", style="warn" if option.leaves_machine else "")


def options_as_json(offered: list[Option]) -> list[Mapping[str, object]]:
    """Return the options for `--json`."""
    return [
        {
            "provider": option.provider,
            "what": option.what,
            "leaves_machine": option.leaves_machine,
            "dollars_a_day_with_an_hour_of_talk": option.dollars_for_an_hour,
            "dollars_a_day_of_thinking_at_most": option.dollars_behind,
            "key_found_in": option.key_found_in,
        }
        for option in offered
    ]


def _embedded_sentence(overview: ModelsOverview, llm: LlmSettings, suggested: SuggestedModel | None) -> str:
    if is_auto_model(llm) and suggested is None:
        return "the best model on this machine"
    name = suggested.model if suggested and is_auto_model(llm) else llm.embedded.model
    offer = next((offer for offer in overview.weights if offer.name == name), None)
    if offer is None or not offer.size_bytes:
        return one_line(name)
    return f"{one_line(name)}, {size(offer.size_bytes)}, {'on this machine' if offer.is_here else 'to download'}"


def _ollama_sentence(overview: ModelsOverview, first: str) -> str:
    if not overview.ollama_answers:
        return "not running"
    return first or "has no local model yet"


def _local_option(
    provider: str, what: str, overview: ModelsOverview, settings: Settings, *, is_ollama_far: bool
) -> Option:
    recipients = find_recipients(settings.llm, provider, overview.ollama)
    if is_ollama_far:
        recipients.setdefault("", [])
    if not recipients:
        return Option(provider, what, "Nothing leaves this machine.", "Free.")
    makers = [maker for maker in recipients if maker]
    cost = f"Requests to {' and '.join(makers)} cost money." if makers else "Free."
    leaves = _recipients_sentence("What you say, and what it remembers of it,", recipients, settings)
    return Option(provider, what, leaves, cost, leaves_machine=True, costs_money=bool(makers))


def _recipients_sentence(what: str, recipients: Mapping[str, list[str]], settings: Settings) -> str:
    ollama = f"another computer, through the Ollama at {redact(one_line(settings.llm.ollama_url))}"
    named = {maker: f" ({', '.join(keys)})" if keys else "" for maker, keys in recipients.items()}
    places = [f"{maker or ollama}{named[maker]}" for maker in recipients]
    return f"{what} goes to {' and to '.join(places)}."


def _hosted_option(offer: HostedOffer, overview: ModelsOverview, settings: Settings) -> Option:
    maker = _MAKERS.get(offer.provider, offer.provider)
    talk = dollars(min(offer.hour_of_talk_dollars, overview.dollars_per_day))
    behind = dollars(min(offer.background_day_dollars, overview.dollars_per_day))
    cost = f"About {talk} a day if you talk for an hour, and at most {behind} for thinking and sleep."
    leaves = f"What you say, and what it remembers of it, goes to {maker}."
    if recipients := find_recipients(settings.llm, offer.provider, overview.ollama):
        leaves += " " + _recipients_sentence("Some of it", recipients, settings)
    return Option(
        provider=offer.provider,
        what=f"{one_line(offer.conversation_model)}; thinks and sleeps with {one_line(offer.background_model)}",
        leaves=leaves,
        cost=cost,
        dollars_for_an_hour=offer.hour_of_talk_dollars,
        dollars_behind=offer.background_day_dollars,
        key_found_in=offer.key_found_in,
        leaves_machine=True,
        costs_money=True,
    )
