"""`reveries models`, `models test` and `models pull`: asked of the waking mind, or of a process that works for it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click
from msgspec import UNSET

from reveries.client.render import Line, Page, Part, field, line, paragraph
from reveries.client.wording import count, dollars, moment, plural, size
from reveries.protocol import (
    AnswerCount,
    HostedOffer,
    ModelPrice,
    ModelProbe,
    ModelsOverview,
    ModelsProbed,
    OllamaOffer,
    RoleUse,
    TierTest,
    WeightsOffer,
)
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from reveries import protocol
    from reveries.client.connection import Connection
    from reveries.client.progress import Moved


@click.group("models", short_help="The models: in use and why, available, test, pull.", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object: ModelsOverview of the protocol.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """The model that each role uses and why, what it costs, whether it leaves this machine, and what else there is."""
    if ctx.invoked_subcommand is not None:
        return
    from reveries.client.render import show, show_json

    overview = _ask_overview()
    if as_json:
        show_json(overview)
    else:
        show(overview_page(overview))


@command.command("test")
@click.option(
    "--role",
    type=click.Choice(["conversation", "monologue", "consolidation", "embedding"]),
    default=None,
    help="This one alone.",
)
@click.option("--quick", is_flag=True, help="One question each, without the small tasks that find a tier.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object: ModelsProbed of the protocol.")
def test(role: str | None, quick: bool, as_json: bool) -> int:
    """Ask the model of each role one question: how soon it answers, how fast, whether it keeps to a JSON schema, and
    what that cost. Then put 60 small tasks to each language model, which find its tier: what is asked of it from then
    on. Each is a call like every other: reserved in the ledger first. Ctrl+C ends it, and changes no tier."""
    from reveries.client.progress import progress_bar
    from reveries.client.render import show, show_json

    with progress_bar("asking", as_json=as_json) as moved:
        tested = _test_models(role or "", moved, with_tiers=not quick)
    if as_json:
        show_json(tested)
    else:
        show(probes_page(tested))
    failed = any(probe.error for probe in tested.probes) or any(test.error for test in tested.tiers or ())
    return 69 if failed else 0


@command.command("choose")
@click.argument("name", required=False, default="")
@click.option("--json", "as_json", is_flag=True, help="One JSON object, and how far it is as lines on stderr.")
def choose(name: str, as_json: bool) -> None:
    """Choose the chat model that runs on this machine, and fetch it: one that is here already, else what suits the
    memory and the cores, of what can be reached. A large one is fetched only if you say so. NAME takes that one (of
    `reveries models`, or a GGUF file), and `auto` leaves the choice to the machine again."""
    from reveries.client.model_setup import choose_model

    choose_model(name, as_json=as_json, overview=_ask_overview)


@command.command("pull")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object, and how far it is as lines on stderr.")
def pull(names: tuple[str, ...], as_json: bool) -> None:
    """Fetch the weights of NAME: resumed where it broke off, and checked against their known hash. `ollama/NAME`
    lets your Ollama fetch one of its own."""
    from reveries.client.json_answers import Pulled
    from reveries.client.model_setup import fetch_model
    from reveries.client.render import say, write_struct
    from reveries.client.weights import pulled_line

    done = []
    for name in names:
        done.append(fetch_model(name, as_json=as_json))
        if not as_json:
            say(pulled_line(done[-1]))
    if as_json:
        write_struct(Pulled(done))


def _ask_overview() -> "protocol.ModelsOverview":
    from reveries import protocol
    from reveries.client.offline_worker import overview_asleep
    from reveries.client.sync_call import ask
    from reveries.errors import AsleepError

    try:
        return ask(protocol.AskModels, protocol.ModelsOverview)
    except AsleepError:
        return overview_asleep()


def _test_models(role: str, moved: "Moved", *, with_tiers: bool) -> "protocol.ModelsProbed":
    from reveries.client.offline_worker import frames_of
    from reveries.client.sync_call import call
    from reveries.errors import AsleepError

    take = _taker(moved)
    try:
        return call(lambda mind: _test_awake(mind, role, take, with_tiers=with_tiers))
    except AsleepError:
        words = [*(("--role", role) if role else ()), *(("--with-tiers",) if with_tiers else ())]
        for frame in frames_of("test", *words):
            if (tested := take(frame)) is not None:
                return tested
    raise _nothing_came()


async def _test_awake(
    mind: "Connection",
    role: str,
    take: "Callable[[protocol.Frame], protocol.ModelsProbed | None]",
    *,
    with_tiers: bool,
) -> "protocol.ModelsProbed":
    import msgspec

    from reveries import protocol
    from reveries.client.sync_call import ctrl_c
    from reveries.errors import ReveriesError

    request_id = mind.new_id()
    request = protocol.ProbeModels(request_id, role, tiers=True if with_tiers else msgspec.UNSET)
    was_stopped = False

    def stop() -> None:
        nonlocal was_stopped
        was_stopped = True
        mind.cancel_soon(request_id)

    try:
        with ctrl_c(stop):
            async for frame in mind.request(request):
                if (tested := take(frame)) is not None:
                    return tested
    except ReveriesError:
        if was_stopped:
            raise click.Abort from None
        raise
    raise _nothing_came()


def _taker(moved: "Moved") -> "Callable[[protocol.Frame], protocol.ModelsProbed | None]":
    """What is done with each frame of a test: the last is returned, those before it are shown."""
    from reveries import protocol

    def take(frame: protocol.Frame) -> protocol.ModelsProbed | None:
        if isinstance(frame, protocol.Progress):
            moved(frame.what, frame.done, frame.total)
        return frame if isinstance(frame, protocol.ModelsProbed) else None

    return take


def _nothing_came() -> Exception:
    from reveries.errors import ProtocolError

    return ProtocolError("The test did not say what it came to.", advice="See: reveries status")


_EMPTY = line()
_GROUPS = {
    "form": "keeps a form",
    "persons": "who is who",
    "notes": "uses notes",
    "ending": "stops when done",
    "steps": "chooses a step",
    "evidence": "knows an answer",
    "untrusted": "obeys no text",
}
_WHAT_FOLLOWS = {
    0: "It chats, and little more is asked of it: memory helps it less than a larger model.",
    1: "It is asked one plain thing at a time, with a few notes and much help.",
    2: "It is asked in short, natural words, with more notes and without help that it does not need.",
}
_SHARED_WITH_NOBODY = ("", "here", "loaded", "not loaded", "ready", "on this machine")


def overview_page(overview: ModelsOverview) -> Page:
    """What each role uses and why, then everything else that there is."""
    counts = {answer.model: answer for answer in overview.answers}
    return [
        *_roles(overview.roles, counts),
        _EMPTY,
        line(Part("On this machine", "strong"), Part("  llm.embedded.model", "dim")),
        *_weights_rows(overview.weights),
        _EMPTY,
        *_ollama_rows(overview),
        _EMPTY,
        line(Part("Hosted", "strong"), Part("  only if you choose it: llm.provider, or reveries init", "dim")),
        *(row for offer in overview.hosted for row in _hosted_rows(offer)),
        *_hosted_end(overview),
    ]


def probes_page(tested: ModelsProbed) -> Page:
    """What each probe came to, each model's tier, and how well the models kept to the form up to now."""
    page = [row for probe in tested.probes for row in _probe(probe)]
    tiers = tested.tiers or []
    for test in tiers:
        page += [_EMPTY, *_tier_test(test)]
    if tested.probes:
        spent = sum(probe.dollars for probe in tested.probes) + sum(test.dollars for test in tiers)
        page += [_EMPTY, field("this test", f"{dollars(spent)}", Part("  in the ledger like every call", "dim"))]
    if tested.answers:
        page += [_EMPTY, line(Part("Structured answers up to now", "strong"))]
        page += [
            line(f"  {one_line(answer.model)}", Part(f"  {_counts_text(answer)}", "dim")) for answer in tested.answers
        ]
    return page


def price_text(price: ModelPrice) -> str:
    """ "free", "$2 / $8 per million tokens"."""
    if not price.input_dollars and not price.output_dollars:
        return "free"
    unknown = "" if price.is_known else "  (price not known: counted as the dearest)"
    return f"${price.input_dollars:g} / ${price.output_dollars:g} per million tokens{unknown}"


def _roles(roles: Sequence[RoleUse], counts: Mapping[str, AnswerCount]) -> Page:
    rows: Page = []
    shown = set[str]()
    for role in roles:
        # What is wrong with a model, and how well it answers, is said once, however many roles share it.
        rows += _role_rows(
            role, counts.get(role.model) if role.model not in shown else None, is_first=role.model not in shown
        )
        shown.add(role.model)
    return rows


def _role_rows(role: RoleUse, counted: AnswerCount | None, *, is_first: bool) -> Page:
    where = Part("leaves this machine", "warn") if role.leaves_machine else Part("stays here", "good")
    rows = [
        field(role.role, Part(one_line(role.model), "strong"), "  ", where, Part(f"  {price_text(role.price)}", "dim")),
        field("", Part(f"why: {one_line(role.reason)}", "dim")),
    ]
    if role.state in _SHARED_WITH_NOBODY:
        context = f"{count(role.context_tokens)} tokens of context" if role.context_tokens else ""
        told = ", ".join(part for part in (role.state, context, _tier(role)) if part)
        rows += [field("", Part(told, "dim"))] if told else []
    elif is_first:
        rows += [line(" " * 17, *row) for row in paragraph(role.state, indent=0, style="warn", width=79)]
    if role.fallbacks:
        names = ", ".join(one_line(name) for name in role.fallbacks)
        rows.append(field("", Part(f"if it fails: {names}", "dim")))
    if counted is not None:
        rows.append(field("", Part(f"structured answers: {_counts_text(counted)}", "dim")))
    return rows


def _tier(role: RoleUse) -> str:
    """ "tier 1 (assumed: reveries models test)", "tier 2 (tested 23 Nov 2026)"; nothing for an embedder."""
    if role.tier is UNSET:
        return ""
    if role.tier_tested_at is UNSET:
        return f"tier {role.tier} (assumed: reveries models test)"
    return f"tier {role.tier} (tested {moment(role.tier_tested_at)})"


def _weights_rows(offers: Sequence[WeightsOffer]) -> Page:
    widest = max((len(offer.name) for offer in offers), default=0)
    rows: Page = []
    for offer in offers:
        mark = Part("  ● ", "good") if offer.is_here else Part("  ○ ", "dim")
        licence = one_line(offer.licence) or "your own file"
        told = f"  {one_line(offer.kind):<10} {size(offer.size_bytes):>8}  {licence}"
        name = Part(f"{one_line(offer.name):<{widest}}", "strong" if offer.is_here else "")
        rows += [line(mark, name, Part(told, "dim")), line(Part(f"    {one_line(offer.about)}", "dim"))]
    return [*rows, line(Part("  ● here   ○ not here: reveries models pull NAME", "dim"))]


def _ollama_rows(overview: ModelsOverview) -> Page:
    head = line(Part("Ollama", "strong"), Part(f"  {one_line(overview.ollama_url)}", "dim"))
    if not overview.ollama_answers:
        return [head, line(Part("  nobody answers there", "dim"))]
    if not overview.ollama:
        return [head, line(Part("  it has no model yet: reveries models pull ollama/llama3.2", "dim"))]
    return [head, *(_ollama_line(offer) for offer in overview.ollama)]


def _ollama_line(offer: OllamaOffer) -> Line:
    where = (
        Part("  leaves this machine", "warn") if offer.leaves_machine else Part(f"  {size(offer.size_bytes)}", "dim")
    )
    return line(Part("  ● ", "good"), f"ollama/{one_line(offer.name)}", where)


def _hosted_rows(offer: HostedOffer) -> Page:
    key = (
        Part(f"  key found: {one_line(offer.key_found_in)}", "good") if offer.key_found_in else Part("  no key", "dim")
    )
    return [
        line(
            f"  {one_line(offer.provider):<12}",
            Part(f"about {dollars(offer.hour_of_talk_dollars)} an hour of talk"),
            key,
        ),
        line(Part(f"    talk     {one_line(offer.conversation_model)}  {price_text(offer.conversation_price)}", "dim")),
        line(Part(f"    thought  {one_line(offer.background_model)}  {price_text(offer.background_price)}", "dim")),
    ]


def _hosted_end(overview: ModelsOverview) -> Page:
    day, month = dollars(overview.dollars_per_day), dollars(overview.dollars_per_month)
    rows = paragraph(f"Never more than {day} a day and {month} a month, whatever is chosen (budget).", style="dim")
    if not overview.is_hosted_installed:
        rows += paragraph("They need the extra `hosted`, which is not installed: make hosted", style="dim")
    return rows


def _probe(probe: ModelProbe) -> Page:
    name = field(probe.role, Part(one_line(probe.model), "strong"))
    if probe.error:
        return [
            name,
            *(line(" " * 17, *row) for row in paragraph(f"{probe.error} {probe.advice}", indent=0, style="bad")),
        ]
    if probe.answer == "vectors":
        return [name, field("", f"a text in {_seconds(probe.seconds)}")]
    told = [
        f"first token {_seconds(probe.first_token_seconds)}",
        f"{probe.tokens_per_second:.1f} tokens/s",
        _probe_cost(probe),
    ]
    if probe.load_seconds >= 0.1:
        told.append(f"loaded in {_seconds(probe.load_seconds)}")
    return [name, field("", _form(probe.answer)), field("", Part(", ".join(told), "dim"))]


def _tier_test(test: TierTest) -> Page:
    name = line(Part(one_line(test.model), "strong"))
    if test.error:
        told = f"Its tasks were not all asked, so its tier stays {test.tier}. {test.error} {test.advice}"
        return [name, *paragraph(told, style="bad")]
    rows = [
        field(_GROUPS.get(score.group, one_line(score.group)), f"{score.right} of {score.asked}")
        for score in test.scores
    ]
    used = f"{plural(test.prompt_tokens + test.completion_tokens, 'token')}, {dollars(test.dollars)}"
    return [
        name,
        *rows,
        field("tier", Part(str(test.tier), "strong"), Part(f"  {_seconds(test.seconds)}, {used}", "dim")),
        *paragraph(_WHAT_FOLLOWS.get(test.tier, "")),
    ]


def _form(answer: str) -> Part:
    match answer:
        case "valid":
            return Part("keeps to a JSON schema", "good")
        case "repaired":
            return Part("keeps to a JSON schema when shown its mistake", "warn")
        case _:
            return Part("does not keep to a JSON schema: sleep falls back to extracts", "bad")


def _probe_cost(probe: ModelProbe) -> str:
    tokens = plural(probe.prompt_tokens + probe.completion_tokens, "token")
    if not probe.reserved_dollars:
        return f"{tokens}, $0"
    if not probe.is_usage_known:
        return f"usage not told: {dollars(probe.dollars)} stay reserved"
    return f"{tokens}, {dollars(probe.dollars)} of {dollars(probe.reserved_dollars)} reserved"


def _counts_text(answer: AnswerCount) -> str:
    return f"{count(answer.valid)} valid, {count(answer.repaired)} after a repair, {count(answer.failed)} failed"


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
