"""What `reveries init` offers, and what a choice means: what leaves the machine, its cost, what is written. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from reveries.client.model_choice import is_auto
from reveries.client.render import Page, Part, field, line, paragraph
from reveries.client.wording import dollars, plural, size
from reveries.config import LlmSettings, Settings, is_this_machine, setting
from reveries.errors import UsageError
from reveries.protocol import HostedOffer, ModelsOverview, OllamaOffer, SuggestedModel
from reveries.redaction import redacted
from reveries.safe_text import one_line

LOCAL_PROVIDERS = ("auto", "embedded", "ollama")
PROVIDERS = (*LOCAL_PROVIDERS, "openai", "anthropic", "cerebras", "openrouter")
_MAKERS = {"openai": "OpenAI", "anthropic": "Anthropic", "cerebras": "Cerebras", "openrouter": "OpenRouter"}


@dataclass(frozen=True, slots=True)
class Option:
    """A provider in words. `dollars_for_an_hour` is of talk, `dollars_behind` at most of a day of thought and sleep."""

    provider: str
    what: str
    leaves: str
    """What leaves the machine."""
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
    """What the owner said; None: nothing, so it stays as it is."""

    owner: str | None = None
    provider: str | None = None
    dollars_per_day: float | None = None
    dollars_per_month: float | None = None
    api_key_file: str | None = None
    embedded_model: str | None = None


def options(overview: ModelsOverview, settings: Settings, suggested: SuggestedModel | None = None) -> list[Option]:
    """Every provider, those that keep everything here first. `suggested`: what suits this machine, if that is known."""
    embedded = _embedded_sentence(overview, settings.llm, suggested)
    own = next((model for model in overview.ollama if model.is_chosen), None)
    ollamas = one_line(own.name) if own is not None else ""
    now = f"Ollama's {ollamas}" if ollamas else embedded
    is_auto_far = own is not None and own.leaves_machine
    is_ollama_far = bool(overview.ollama) and (own is None or own.leaves_machine)
    auto = f"your Ollama if it has a model, else the embedded one (now: {now})"
    return [
        _local_option("auto", auto, overview, settings, is_ollama_far=is_auto_far),
        _local_option("embedded", embedded, overview, settings, is_ollama_far=False),
        _local_option("ollama", _ollama_sentence(overview, ollamas), overview, settings, is_ollama_far=is_ollama_far),
        *(_hosted_option(offer, overview, settings) for offer in overview.hosted),
    ]


def receivers(llm: LlmSettings, provider: str, offers: Iterable[OllamaOffer]) -> dict[str, list[str]]:
    """Who is told something beside `provider`, and by which settings: fallbacks, models that are named, the embedder.
    `offers`: what the Ollama has.

    By the maker's name; "" is an Ollama that is another computer, or hands on to one.
    """
    handed_on = {offer.name for offer in offers if offer.leaves_machine}
    found: dict[str, list[str]] = {}
    for key, name in _named_models(llm):
        maker, slash, model = name.partition("/")
        is_role = key.endswith("_model") and key != "llm.embedding_model"
        if is_role and (provider == "openrouter" or not slash or maker not in PROVIDERS):
            # As the mind itself reads it: without a provider's name before it, a role's model is `provider`'s.
            maker, model = provider, name
        if maker in _MAKERS and maker != provider:
            found.setdefault(_MAKERS[maker], []).append(key)
        elif maker in ("ollama", "auto") and (
            model.endswith("cloud") or {model, f"{model}:latest"} & handed_on or not is_this_machine(llm.ollama_url)
        ):
            found.setdefault("", []).append(key)
    return {maker: list(dict.fromkeys(keys)) for maker, keys in found.items()}


def _named_models(llm: LlmSettings) -> Iterator[tuple[str, str]]:
    """Every setting that names a model, and the name."""
    for role in ("conversation", "monologue", "consolidation"):
        if named := getattr(llm, f"{role}_model"):
            yield f"llm.{role}_model", named
        for fallback in getattr(llm, f"{role}_fallbacks"):
            yield f"llm.{role}_fallbacks", fallback
    yield "llm.embedding_model", llm.embedding_model


def option(
    overview: ModelsOverview, settings: Settings, provider: str, suggested: SuggestedModel | None = None
) -> Option:
    """The one called `provider`. Raises UsageError."""
    for one in options(overview, settings, suggested):
        if one.provider == provider:
            return one
    raise UsageError(f"There is no provider {provider}.", advice=f"There are: {', '.join(PROVIDERS)}")


def found_page(overview: ModelsOverview) -> Page:
    """What was found: the machine, an Ollama, keys by their names."""
    keys = [offer.key_found_in for offer in overview.hosted if offer.key_found_in]
    named = ", ".join(dict.fromkeys(one_line(key) for key in keys))
    memory = f", {size(overview.ram_bytes)} of memory" if overview.ram_bytes else ""
    if overview.ollama_answers:
        names = ", ".join(one_line(model.name) for model in overview.ollama[:4]) or "no model yet"
        ollama = f"answers: {names}{' ...' if len(overview.ollama) > 4 else ''}"
    else:
        ollama = f"nobody answers at {one_line(overview.ollama_url)}"
    return [
        field("this machine", f"{plural(overview.cores, 'core')}{memory}"),
        field("Ollama", ollama),
        field("keys", f"{named} (found; not used unless you choose so)" if named else "none found"),
    ]


def options_page(offered: list[Option], chosen: str, caps: str) -> Page:
    """The options with their numbers; the one in force is marked. `caps` holds for all of them."""
    rows: Page = []
    for number, one in enumerate(offered, 1):
        mark = "›" if one.provider == chosen else " "
        first, *more = paragraph(one.what, indent=17)
        rows.append(line(Part(f"{mark} {number}  {one.provider:<12}", "strong"), first[0].text.lstrip()))
        free = "" if one.is_hosted else f" {one.cost}"
        rows += [*more, *paragraph(one.leaves + free, indent=17, style="warn" if one.leaves_machine else "good")]
        if one.is_hosted:
            rows += paragraph(one.cost, indent=17, style="dim")
    return [*rows, *paragraph(f"Whatever you choose: {caps}.", indent=5, style="dim")]


def changes(settings: Settings, answers: Answers) -> dict[str, object]:
    """The settings that `answers` change, by dotted key.

    A cap that is raised raises the conversation's own with it, else the lower one would still hold.
    """
    wanted: dict[str, object] = {
        "owner.name": answers.owner,
        "llm.provider": answers.provider,
        "llm.api_key_file": answers.api_key_file,
        "llm.embedded.model": answers.embedded_model,
        "budget.dollars_per_day": answers.dollars_per_day,
        "budget.dollars_per_month": answers.dollars_per_month,
    }
    day, month = answers.dollars_per_day, answers.dollars_per_month
    if day is not None and month is None and day > settings.budget.dollars_per_month:
        wanted["budget.dollars_per_month"] = month = day
    if day is not None and day > settings.budget.conversation.dollars_per_day:
        wanted["budget.conversation.dollars_per_day"] = day
    if month is not None and month > settings.budget.conversation.dollars_per_month:
        wanted["budget.conversation.dollars_per_month"] = month
    return {key: value for key, value in wanted.items() if value is not None and value != setting(settings, key)}


def key_file(home: Path, settings: Settings, provider: str, *, was_pasted: bool) -> str | None:
    """What llm.api_key_file should be for `provider`; None: as it is. A key never serves another provider."""
    own = home / f"{provider}.key"
    if was_pasted or own.is_file():
        return str(own)
    others = {str(file) for file in key_files(home)} - {str(own)}
    return "" if settings.llm.api_key_file in others else None


def key_files(home: Path) -> list[Path]:
    """Where `init` puts the key of each provider that takes one."""
    return [home / f"{provider}.key" for provider in _MAKERS]


def key_from(pasted: str) -> str:
    """A key as it was pasted, without what came along. Raises UsageError for what cannot be one."""
    key = pasted.strip()
    if len(key) > 500 or not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError("That is no key: it has blanks in it, or is too long.", advice="Nothing was written.")
    return key


def uses_embedded(overview: ModelsOverview, provider: str) -> bool:
    """Whether a model that runs in here answers, where `provider` is chosen."""
    return provider == "embedded" or (provider == "auto" and not any(model.is_chosen for model in overview.ollama))


def next_steps(
    overview: ModelsOverview,
    settings: Settings,
    needs_restart: list[str] | None = None,
    suggested: SuggestedModel | None = None,
) -> Page:
    """What is still to be done, as commands. `needs_restart`: what a waking mind did not take over; None: it sleeps."""
    steps = []
    hosted = next((offer for offer in overview.hosted if offer.provider == settings.llm.provider), None)
    if hosted is not None and not overview.is_hosted_installed:
        steps.append("make hosted                   # what hosted models need is not installed yet")
    if hosted is not None and not settings.llm.api_key_file and not hosted.key_found_in:
        steps.append("reveries init                 # to give it a key, or set REVERIES_API_KEY")
    here = {offer.name for offer in overview.weights if offer.is_here}
    wanted = [settings.llm.embedding_model]
    if uses_embedded(overview, settings.llm.provider):
        wanted.append(suggested.model if suggested and is_auto(settings.llm) else settings.llm.embedded.model)
    listed = {offer.name for offer in overview.weights}
    steps += [f"reveries models pull {name}" for name in wanted if name not in here and name in listed]
    if settings.llm.provider == "ollama" and not overview.ollama:
        steps.append("reveries models pull ollama/llama3.2")
    if needs_restart is None:
        steps.append("reveries wake")
    elif needs_restart:
        steps.append("reveries sleep; reveries wake   # it is awake, and this counts from the next wake on")
    return [line(), line(Part("Next:", "strong")), *(line(f"  {step}") for step in steps)] if steps else []


def caps_text(day: float, month: float) -> str:
    """Like: never more than $1.00 a day and $20.00 a month, the caps."""
    return f"never more than {dollars(day)} a day and {dollars(month)} a month, the caps"


def caps_note(settings: Settings, found: Mapping[str, object]) -> Page:
    """What to know of the caps that are about to be written; nothing where they say it themselves."""
    day, month = settings.budget.dollars_per_day, settings.budget.dollars_per_month
    if month >= day or not any(key.startswith("budget.") for key in found):
        return []
    told = f"The month's cap ({dollars(month)}) is lower than the day's ({dollars(day)}): it is the one that holds."
    return paragraph(told, style="warn")


def choice_page(one: Option, caps: str) -> Page:
    """A choice once more, before it is written."""
    bounded = f" In all {caps}." if one.costs_money else ""
    return paragraph(f"{one.leaves} {one.cost}{bounded}", style="warn" if one.leaves_machine else "")


def as_tables(offered: list[Option]) -> list[Mapping[str, object]]:
    """The options for `--json`."""
    return [
        {
            "provider": one.provider,
            "what": one.what,
            "leaves_machine": one.leaves_machine,
            "dollars_a_day_with_an_hour_of_talk": one.dollars_for_an_hour,
            "dollars_a_day_of_thinking_at_most": one.dollars_behind,
            "key_found_in": one.key_found_in,
        }
        for one in offered
    ]


def _embedded_sentence(overview: ModelsOverview, llm: LlmSettings, suggested: SuggestedModel | None) -> str:
    if is_auto(llm) and suggested is None:
        return "the best model that is on this machine"
    name = suggested.model if suggested and is_auto(llm) else llm.embedded.model
    found = next((offer for offer in overview.weights if offer.name == name), None)
    if found is None or not found.size_bytes:
        return one_line(name)
    return f"{one_line(name)}, {size(found.size_bytes)}, {'here' if found.is_here else 'to be fetched'}"


def _ollama_sentence(overview: ModelsOverview, first: str) -> str:
    if not overview.ollama_answers:
        return "does not answer now"
    return first or "has no model of its own yet"


def _local_option(
    provider: str, what: str, overview: ModelsOverview, settings: Settings, *, is_ollama_far: bool
) -> Option:
    told = receivers(settings.llm, provider, overview.ollama)
    if is_ollama_far:
        told.setdefault("", [])
    if not told:
        return Option(provider, what, "Nothing leaves this machine.", "Free.")
    makers = [maker for maker in told if maker]
    cost = f"What {' and '.join(makers)} is asked costs money." if makers else "Free."
    leaves = _goes_to("What you say, and what it remembers of it,", told, settings)
    return Option(provider, what, leaves, cost, leaves_machine=True, costs_money=bool(makers))


def _goes_to(what: str, told: Mapping[str, list[str]], settings: Settings) -> str:
    ollama = f"another computer, through the Ollama at {redacted(one_line(settings.llm.ollama_url))}"
    named = {maker: f" ({', '.join(keys)})" if keys else "" for maker, keys in told.items()}
    places = [f"{maker or ollama}{named[maker]}" for maker in told]
    return f"{what} goes to {' and to '.join(places)}."


def _hosted_option(offer: HostedOffer, overview: ModelsOverview, settings: Settings) -> Option:
    maker = _MAKERS.get(offer.provider, offer.provider)
    talk = dollars(min(offer.hour_of_talk_dollars, overview.dollars_per_day))
    behind = dollars(min(offer.background_day_dollars, overview.dollars_per_day))
    cost = f"About {talk} a day if you talk for an hour, and at most {behind} for thinking and sleep."
    leaves = f"What you say, and what it remembers of it, goes to {maker}."
    if told := receivers(settings.llm, offer.provider, overview.ollama):
        leaves += " " + _goes_to("Some of it", told, settings)
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
