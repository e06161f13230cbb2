"""`reveries status`."""

import click

from reveries import protocol
from reveries.client.answers import json_option, page_of, print_answer
from reveries.client.render import Line, Page, Part, Style, field, line, paragraph
from reveries.client.wording import ago, count, dollars, moment, plural, short_count, size, span
from reveries.protocol import MemoryStats, MindState, ModelUse, Status, UsageToday
from reveries.safe_text import one_line


@click.command("status", short_help="What the mind is doing, and what it has used.")
@click.option(
    "--short", "is_short", is_flag=True, help="One line with the current state, for a prompt or a status bar."
)
@json_option(protocol.Status, {"--short": protocol.MindState})
def command(is_short: bool, as_json: bool) -> None:
    """Show how long the mind has been awake, what it is doing, what it remembers and what it has used."""
    from reveries.client.sync_call import ask_mind

    if is_short:
        state = ask_mind(protocol.AskState, protocol.MindState)
        print_answer(state, as_json, lambda: [state_line(state)])
        return
    status = ask_mind(protocol.AskStatus, protocol.Status)
    print_answer(status, as_json)


STATE_STYLES: dict[str, Style] = {
    "thinking": "accent",
    "talking": "good",
    "working": "accent",
    "consolidating": "accent",
    "tripped": "bad",
    "asleep": "dim",
}
_EMPTY = line()


def state_line(state: MindState) -> Line:
    """Render the state on one line: "thinking  association", marked if something is degraded."""
    return line(
        Part("" if state.is_well else "! ", "bad"),
        Part(one_line(state.state), STATE_STYLES.get(state.state, "")),
        Part(f"  {one_line(state.detail)}" if state.detail else "", "dim"),
    )


@page_of(protocol.Status, "status")
def status_page(status: Status, now: float) -> Page:
    """Render the status, problems first."""
    return [
        *_problem_rows(status),
        *_state_rows(status, now),
        _EMPTY,
        *_memory_summary_rows(status.memory, status.last_consolidation),
        _EMPTY,
        *_model_rows(status.models),
        *_vector_rows(status),
        _EMPTY,
        *_usage_rows(status.usage, status.dollars_month),
        _EMPTY,
        field("home", one_line(status.home)),
        field(
            "versions", Part(f"Reveries {status.reveries}, SQLite {status.sqlite_version}, {_lag_text(status)}", "dim")
        ),
        *(row for notice in status.notices for row in _notice_rows(notice, "dim")),
    ]


@page_of(protocol.MemoryStats)
def memory_page(stats: MemoryStats, now: float) -> Page:
    """Render the statistics of the memory (R-171)."""
    links = sum(stats.links.values())
    by_type = ", ".join(f"{count(number)} {one_line(name)}" for name, number in sorted(stats.links.items()))
    share = f"{stats.faded / stats.episodes:.0%}" if stats.episodes else "0%"
    return [
        field("turns", count(stats.turns)),
        field(
            "experiences", count(stats.experiences), Part(f"  {count(stats.unprocessed)} waiting for deep sleep", "dim")
        ),
        field("episodes", count(stats.episodes), Part(f"  {count(stats.faded)} faded ({share})", "dim")),
        *_dormant_rows(stats),
        field("links", count(links), Part(f"  {by_type}" if by_type else "", "dim")),
        field("salience", f"{stats.mean_salience:.2f} on average", Part(f"  {stats.min_salience:.2f} minimum", "dim")),
        field("file", size(stats.database_bytes)),
        field("last sleep", one_line(stats.last_consolidation) or "not yet"),
    ]


def _dormant_rows(stats: MemoryStats) -> Page:
    if not stats.dormant and not stats.put_away_turns:
        return []
    slow = "; slow search, because sqlite-vec cannot be loaded" if stats.deep_search == "numpy" else ""
    turns = f"  {plural(stats.put_away_turns, 'turn')} only on disk: reveries memory search --deep WORDS{slow}"
    return [field("dormant", count(stats.dormant), Part(turns, "dim"))]


def _problem_rows(status: Status) -> Page:
    if status.health == "ok" and not status.problems:
        return []
    head = line(Part(f"! {one_line(status.health)}" if status.health != "ok" else "! needs your attention", "bad"))
    return [head, *(row for problem in status.problems for row in _notice_rows(problem, "warn")), _EMPTY]


def _notice_rows(text: str, style: Style) -> Page:
    return paragraph(text, indent=2, style=style)


def _state_rows(status: Status, now: float) -> Page:
    style = STATE_STYLES.get(status.state, "")
    detail = one_line(status.state_detail)
    attached = (
        plural(status.attached_clients, "terminal") + " attached" if status.attached_clients else "no client attached"
    )
    thoughts = "" if status.thinking_enabled else "  thinking is disabled (monologue.enabled)"
    return [
        line(
            Part("● ", style or "good"),
            Part(one_line(status.state), "strong"),
            Part(f"  {detail}" if detail else "", "dim"),
        ),
        _EMPTY,
        field(
            "awake",
            f"for {span(now - status.awake_since)}",
            Part(f"  since {moment(status.awake_since)}, pid {status.pid}", "dim"),
        ),
        field("conversation", plural(status.conversation_turns, "turn"), Part(f"  {attached}", "dim")),
        *_question_rows(status.open_questions),
        field("last thought", ago(status.last_thought_at, now), Part(thoughts, "warn")),
        *_wellbeing_rows(status.tripwire),
    ]


def _question_rows(questions: int) -> Page:
    if not questions:
        return []
    return [field("questions", Part(f"{questions} for you", "warn"), Part("  reveries questions", "dim"))]


def _wellbeing_rows(tripwire: dict[str, int]) -> Page:
    seen = {name: number for name, number in tripwire.items() if number}
    if not seen:
        return []
    return [field("wellbeing", Part(", ".join(f"{one_line(k)}: {count(v)}" for k, v in sorted(seen.items())), "warn"))]


def _memory_summary_rows(stats: MemoryStats, last_consolidation: str) -> Page:
    waiting = f"  {plural(stats.unprocessed, 'experience')} to process" if stats.unprocessed else ""
    return [
        field(
            "memory",
            f"{plural(stats.turns, 'turn')}, {plural(stats.episodes, 'episode')}, "
            f"{plural(sum(stats.links.values()), 'link')}",
            Part(f"  {size(stats.database_bytes)}", "dim"),
        ),
        field(
            "last sleep", one_line(last_consolidation or stats.last_consolidation) or "not yet", Part(waiting, "dim")
        ),
    ]


def _model_rows(models: list[ModelUse]) -> Page:
    widest = max((len(model.role) for model in models), default=0)
    rows: Page = []
    for place, model in enumerate(models):
        style: Style = "good" if model.state in ("ready", "loaded", "ok") else "dim"
        role = Part(f"{one_line(model.role):<{widest}}  ", "dim")
        rows.append(
            field("models" if not place else "", role, one_line(model.model), Part(f"  {one_line(model.state)}", style))
        )
    return rows


def _vector_rows(status: Status) -> Page:
    """Render the progress of a re-embedding; empty if there is none."""
    done, total = status.embedding_done, status.embedding_total
    is_change = status.embedding_serving != status.embedding_model
    if done >= total and not is_change:
        return []
    share = f" ({done / total:.0%})" if total else ""
    rows = [
        field(
            "vectors",
            f"{count(done)} of {count(total)}{share}",
            Part(f"  by {one_line(status.embedding_model)}", "dim"),
        )
    ]
    if is_change:
        rows += _notice_rows(
            f"Until all are ready, memory is searched with the vectors of {status.embedding_serving}.", "dim"
        )
    if status.embedding_waits:
        rows += _notice_rows(f"Waiting: {status.embedding_waits}", "warn")
    return rows


def _usage_rows(usage: list[UsageToday], dollars_month: float) -> Page:
    widest = max((len(role_usage.role) for role_usage in usage), default=0)
    rows = [_usage_line("today" if not place else "", role_usage, widest) for place, role_usage in enumerate(usage)]
    return [*rows, field("this month", dollars(dollars_month))]


def _usage_line(label: str, usage: UsageToday, widest: int) -> Line:
    tokens = usage.prompt_tokens + usage.completion_tokens
    limit = f" of {short_count(usage.token_limit)}" if usage.token_limit else ""
    is_near = usage.token_limit > 0 and tokens >= 0.8 * usage.token_limit
    return field(
        label,
        Part(f"{one_line(usage.role):<{widest}}  ", "dim"),
        Part(f"{short_count(tokens)}{limit} tokens", "warn" if is_near else ""),
        Part(f"  {plural(usage.calls, 'call')}, {dollars(usage.dollars)}", "dim"),
    )


def _lag_text(status: Status) -> str:
    return f"loop lag {status.loop_lag_p99_ms:.0f} ms (p99), {status.loop_lag_max_ms:.0f} ms maximum"
