"""`reveries models`, `models test`, `choose` and `pull`: through the daemon, or an offline process while it sleeps."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import click
import msgspec
from msgspec import UNSET

from reveries import protocol
from reveries.client.answers import json_option, page_of, print_answer
from reveries.client.render import Line, Page, Part, field, line, paragraph
from reveries.client.weights import ModelChosen, PulledModel
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
    from reveries.client.connection import Connection
    from reveries.client.progress import ProgressCallback


class PullResult(msgspec.Struct, frozen=True):
    """The models that are on this machine now, in the order given, each with the source of its last file (empty: it was
    already here, or Ollama pulled it)."""

    models: list[PulledModel]


@click.group("models", short_help="The models: list, test, choose, download.", invoke_without_command=True)
@json_option(protocol.ModelsOverview, help="Print one JSON object: ModelsOverview of the protocol.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Show the model of each role and why it is used, its price, whether text leaves this machine, and other models."""
    if ctx.invoked_subcommand is not None:
        return

    overview = _ask_overview()
    print_answer(overview, as_json)


@command.command("test")
@click.option(
    "--role",
    type=click.Choice(["conversation", "monologue", "consolidation", "embedding"]),
    default=None,
    help="Test only this role.",
)
@click.option("--quick", is_flag=True, help="One question each, without the tasks that determine the tier.")
@json_option(protocol.ModelsProbed, help="Print one JSON object: ModelsProbed of the protocol.", takes_long=True)
def test_models_command(role: str | None, quick: bool, as_json: bool) -> int:
    """Ask the model of each role one question, and measure its latency, speed, cost, and whether it follows a JSON
    schema. Then give each language model 60 small tasks that determine its tier, that is, how demanding the tasks are
    that it gets from then on. Every call is reserved in the ledger first. Ctrl+C stops the test and changes no tier."""
    from reveries.client.progress import progress_bar

    with progress_bar("testing", as_json=as_json) as on_progress:
        tested = _run_model_tests(role or "", on_progress, with_tiers=not quick)
    print_answer(tested, as_json)
    failed = any(probe.error for probe in tested.probes) or any(test.error for test in tested.tiers or ())
    return 69 if failed else 0


@command.command("choose")
@click.argument("name", required=False, default="")
@json_option(ModelChosen, help="Print one JSON object; progress as JSON lines on stderr.", takes_long=True)
def choose_model_command(name: str, as_json: bool) -> None:
    """Choose the chat model that runs on this machine, and download it. Without NAME: one that is here already, else
    the best available for this machine's memory and cores; you are asked before a large one is downloaded. NAME is one
    of `reveries models`, or a GGUF file; `auto` returns to the automatic choice."""
    from reveries.client.model_setup import choose_model

    choose_model(name, as_json=as_json, overview=_ask_overview)


@command.command("pull")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@json_option(PullResult, help="Print one JSON object; progress as JSON lines on stderr.", takes_long=True)
def pull_models_command(names: tuple[str, ...], as_json: bool) -> None:
    """Download the weights of NAME. An interrupted download is resumed, and the files are checked against their known
    hashes. `ollama/NAME` lets your Ollama pull a model."""
    from reveries.client.model_setup import download_model
    from reveries.client.render import say, show_json
    from reveries.client.weights import pulled_sentence

    done = []
    for name in names:
        done.append(download_model(name, as_json=as_json))
        if not as_json:
            say(pulled_sentence(done[-1]))
    if as_json:
        show_json(PullResult(done))


def _ask_overview() -> "protocol.ModelsOverview":
    from reveries.client.offline_worker import overview_offline
    from reveries.client.sync_call import ask_mind
    from reveries.errors import AsleepError

    try:
        return ask_mind(protocol.AskModels, protocol.ModelsOverview)
    except AsleepError:
        return overview_offline()


def _run_model_tests(role: str, on_progress: "ProgressCallback", *, with_tiers: bool) -> "protocol.ModelsProbed":
    from reveries.client.offline_worker import run_for_frame
    from reveries.client.sync_call import call_mind
    from reveries.errors import AsleepError

    try:
        return call_mind(lambda mind: _test_through_daemon(mind, role, on_progress, with_tiers=with_tiers))
    except AsleepError:
        words = [*(("--role", role) if role else ()), *(("--with-tiers",) if with_tiers else ())]
        return run_for_frame(protocol.ModelsProbed, "test", *words, on_progress=on_progress)


async def _test_through_daemon(
    mind: "Connection", role: str, on_progress: "ProgressCallback", *, with_tiers: bool
) -> "protocol.ModelsProbed":
    import msgspec

    from reveries.client.sync_call import handle_ctrl_c
    from reveries.errors import ReveriesError

    tiers = True if with_tiers else msgspec.UNSET
    running = mind.start(lambda new_id: protocol.ProbeModels(new_id, role, tiers=tiers), protocol.ModelsProbed)
    was_stopped = False

    def stop() -> None:
        nonlocal was_stopped
        was_stopped = True
        running.stop()

    try:
        with handle_ctrl_c(stop):
            return await running.result(on_progress)
    except ReveriesError:
        if was_stopped:
            raise click.Abort from None
        raise


_EMPTY = line()
_GROUPS = {
    "form": "JSON schema",
    "persons": "who is who",
    "notes": "uses notes",
    "ending": "stops in time",
    "steps": "next step",
    "evidence": "answerable",
    "untrusted": "ignores orders",
    "sight": "sees pictures",
}
_TIER_TEXTS = {
    0: "It chats, and gets few other tasks. It benefits less from memory than a larger model.",
    1: "It gets one simple task at a time, with a few notes and much guidance.",
    2: "It gets short instructions in natural language, more notes, and no extra guidance.",
}
_NORMAL_STATES = ("", "here", "loaded", "not loaded", "ready", "on this machine")


@page_of(protocol.ModelsOverview, "models")
def overview_page(overview: ModelsOverview) -> Page:
    """Render which model each role uses and why, then all available models."""
    counts = {answer.model: answer for answer in overview.answers}
    return [
        *_all_role_rows(overview.roles, counts),
        _EMPTY,
        line(Part("On this machine", "strong"), Part("  llm.embedded.model", "dim")),
        *_weights_rows(overview.weights),
        _EMPTY,
        *_ollama_rows(overview),
        _EMPTY,
        line(Part("Hosted", "strong"), Part("  used only if you choose it: llm.provider, or reveries init", "dim")),
        *(row for offer in overview.hosted for row in _hosted_rows(offer)),
        *_hosted_note_rows(overview),
    ]


@page_of(protocol.ModelsProbed)
def probes_page(tested: ModelsProbed) -> Page:
    """Render the result of each probe, each model's tier, and how many structured answers were valid so far."""
    page = [row for probe in tested.probes for row in _probe_rows(probe)]
    tiers = tested.tiers or []
    for test in tiers:
        page += [_EMPTY, *_tier_test_rows(test)]
    if tested.probes:
        spent = sum(probe.dollars for probe in tested.probes) + sum(test.dollars for test in tiers)
        page += [_EMPTY, field("this test", f"{dollars(spent)}", Part("  recorded in the ledger", "dim"))]
    if tested.answers:
        page += [_EMPTY, line(Part("Structured answers so far", "strong"))]
        page += [
            line(f"  {one_line(answer.model)}", Part(f"  {_counts_text(answer)}", "dim")) for answer in tested.answers
        ]
    return page


UNKNOWN_PRICE: Final = (
    "price unknown, so the dearest is assumed: say it with llm.unlisted_input_dollars and llm.unlisted_output_dollars"
)


def price_text(price: ModelPrice) -> str:
    """ "free", "$2 / $8 per million tokens"."""
    if not price.input_dollars and not price.output_dollars:
        return "free"
    unknown = "" if price.is_known else f"  ({UNKNOWN_PRICE})"
    return f"${price.input_dollars:g} / ${price.output_dollars:g} per million tokens{unknown}"


def _all_role_rows(roles: Sequence[RoleUse], counts: Mapping[str, AnswerCount]) -> Page:
    rows: Page = []
    shown = set[str]()
    for role in roles:
        # Faults and answer counts of a model are shown once, even if several roles share it.
        rows += _role_rows(
            role, counts.get(role.model) if role.model not in shown else None, is_first=role.model not in shown
        )
        shown.add(role.model)
    return rows


def _role_rows(role: RoleUse, counted: AnswerCount | None, *, is_first: bool) -> Page:
    where = Part("leaves this machine", "warn") if role.leaves_machine else Part("stays on this machine", "good")
    rows = [
        field(role.role, Part(one_line(role.model), "strong"), "  ", where, Part(f"  {price_text(role.price)}", "dim")),
        field("", Part(f"why: {one_line(role.reason)}", "dim")),
    ]
    if role.state in _NORMAL_STATES:
        context = f"{count(role.context_tokens)} tokens of context" if role.context_tokens else ""
        details = ", ".join(part for part in (role.state, context, _tier_text(role)) if part)
        rows += [field("", Part(details, "dim"))] if details else []
    elif is_first:
        rows += [line(" " * 17, *row) for row in paragraph(role.state, indent=0, style="warn", width=79)]
    if role.fallbacks:
        names = ", ".join(one_line(name) for name in role.fallbacks)
        rows.append(field("", Part(f"if it fails: {names}", "dim")))
    if counted is not None:
        rows.append(field("", Part(f"structured answers: {_counts_text(counted)}", "dim")))
    return rows


def _tier_text(role: RoleUse) -> str:
    """ "tier 1 (assumed: reveries models test)", "tier 2, sees (tested 23 Nov 2026)"; nothing for an embedder."""
    if role.tier is UNSET:
        return ""
    sees = ", sees" if role.sees is True else ""
    if role.tier_tested_at is UNSET:
        return f"tier {role.tier}{sees} (assumed: reveries models test)"
    return f"tier {role.tier}{sees} (tested {moment(role.tier_tested_at)})"


def _weights_rows(offers: Sequence[WeightsOffer]) -> Page:
    widest = max((len(offer.name) for offer in offers), default=0)
    rows: Page = []
    for offer in offers:
        mark = Part("  ● ", "good") if offer.is_here else Part("  ○ ", "dim")
        licence = one_line(offer.licence) or "your own file"
        sees = "  sees" if offer.sees else ""
        details = f"  {one_line(offer.kind):<10} {size(offer.size_bytes):>8}  {licence}{sees}"
        name = Part(f"{one_line(offer.name):<{widest}}", "strong" if offer.is_here else "")
        rows += [line(mark, name, Part(details, "dim")), line(Part(f"    {one_line(offer.about)}", "dim"))]
    rows.append(line(Part("  ● here   ○ not here: reveries models pull NAME", "dim")))
    if any(offer.sees for offer in offers):
        rows.append(line(Part("  sees: made to see pictures too, which Reveries does not show it yet", "dim")))
    return rows


def _ollama_rows(overview: ModelsOverview) -> Page:
    head = line(Part("Ollama", "strong"), Part(f"  {one_line(overview.ollama_url)}", "dim"))
    if not overview.ollama_answers:
        return [head, line(Part("  does not answer", "dim"))]
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


def _hosted_note_rows(overview: ModelsOverview) -> Page:
    day, month = dollars(overview.dollars_per_day), dollars(overview.dollars_per_month)
    rows = paragraph(f"Whatever you choose, at most {day} a day and {month} a month are spent (budget).", style="dim")
    if not overview.is_hosted_installed:
        rows += paragraph("Hosted models need the extra `hosted`, which is not installed: make hosted", style="dim")
    return rows


def _probe_rows(probe: ModelProbe) -> Page:
    name = field(probe.role, Part(one_line(probe.model), "strong"))
    if probe.error:
        return [
            name,
            *(line(" " * 17, *row) for row in paragraph(f"{probe.error} {probe.advice}", indent=0, style="bad")),
        ]
    if probe.answer == "vectors":
        return [name, field("", f"one text in {_seconds_text(probe.seconds)}")]
    measures = [
        f"first token {_seconds_text(probe.first_token_seconds)}",
        f"{probe.tokens_per_second:.1f} tokens/s",
        _probe_cost(probe),
    ]
    if probe.load_seconds >= 0.1:
        measures.append(f"loaded in {_seconds_text(probe.load_seconds)}")
    return [name, field("", _schema_part(probe.answer)), field("", Part(", ".join(measures), "dim"))]


def _tier_test_rows(test: TierTest) -> Page:
    name = line(Part(one_line(test.model), "strong"))
    if test.error:
        sentence = f"The test was not completed, so the tier stays {test.tier}. {test.error} {test.advice}"
        return [name, *paragraph(sentence, style="bad")]
    rows = [
        field(_GROUPS.get(score.group, one_line(score.group)), f"{score.right} of {score.asked}")
        for score in test.scores
    ]
    used = f"{plural(test.prompt_tokens + test.completion_tokens, 'token')}, {dollars(test.dollars)}"
    return [
        name,
        *rows,
        field("tier", Part(str(test.tier), "strong"), Part(f"  {_seconds_text(test.seconds)}, {used}", "dim")),
        *paragraph(_TIER_TEXTS.get(test.tier, "")),
    ]


def _schema_part(answer: str) -> Part:
    match answer:
        case "valid":
            return Part("follows a JSON schema", "good")
        case "repaired":
            return Part("follows a JSON schema after a correction", "warn")
        case _:
            return Part("does not follow a JSON schema: sleep uses extracts instead", "bad")


def _probe_cost(probe: ModelProbe) -> str:
    tokens = plural(probe.prompt_tokens + probe.completion_tokens, "token")
    if not probe.reserved_dollars:
        return f"{tokens}, $0"
    if not probe.is_usage_known:
        return f"usage unknown: {dollars(probe.dollars)} stay reserved"
    return f"{tokens}, {dollars(probe.dollars)} of {dollars(probe.reserved_dollars)} reserved"


def _counts_text(answer: AnswerCount) -> str:
    return f"{count(answer.valid)} valid, {count(answer.repaired)} after a repair, {count(answer.failed)} failed"


def _seconds_text(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
