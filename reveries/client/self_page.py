"""The pages of `reveries self` and `self history`: pure, message to lines."""

from typing import Final

from reveries.client.render import Page, Part, line, paragraph
from reveries.client.wording import ago, plural
from reveries.plaintext import one_line
from reveries.protocol import SelfChange, SelfEvidence, SelfHistory, SelfModelShown

_SHORT = 8
_EMPTY = line()
TITLES: Final = {
    "narrative": "what it takes itself to be",
    "values": "what it values",
    "tendencies": "what it tends to",
    "owner_facts": "what it knows about you",
    "communication_style": "how you talk with each other",
    "patterns": "what recurs",
    "strengths": "what it does well",
    "limitations": "what it does badly",
    "current_focus": "what it is busy with",
    "unresolved_threads": "what is unresolved",
    "anticipations": "what it expects",
}


def self_page(shown: SelfModelShown, now: float) -> Page:
    """Every field that says something; the empty ones in one line."""
    page: Page = []
    for one in shown.fields:
        if not one.statements:
            continue
        page.append(line(Part(f"  {TITLES.get(one.name, one_line(one.name))}", "strong"), Part(f"  {one.name}", "dim")))
        for statement in one.statements:
            rows = paragraph(statement.text, indent=6 if one.is_list else 4)
            if one.is_list:
                rows[0] = line(Part("    - "), Part(rows[0][0].text.strip()))
            if statement.is_pinned:
                rows[-1] = (*rows[-1], Part("  yours", "accent"))
            page += rows
        page.append(_EMPTY)
    empty = [one.name for one in shown.fields if not one.statements]
    if not page:
        page = [line("It has not made itself a picture of itself or of you yet. Deep sleep does."), _EMPTY]
    elif empty:
        page += paragraph(f"nothing yet in: {', '.join(empty)}", style="dim")
    if shown.refused:
        page.append(
            line(Part(f"  {plural(len(shown.refused), 'statement')} that you took out will not come back", "dim"))
        )
    changed = f"changed {ago(shown.updated_at, now)}, " if shown.updated_at else ""
    return [*page, line(Part(f"  {changed}{plural(shown.changes, 'change')}: reveries self history", "dim"))]


def self_history_page(history: SelfHistory, now: float) -> Page:
    """Each change with what went, what came, and what it was made from. Newest last."""
    if not history.entries:
        return [line("The self-model has not changed yet.")]
    page: Page = []
    if history.total > len(history.entries):
        page += [line(Part(f"  {history.total - len(history.entries)} earlier: --limit", "dim")), _EMPTY]
    for entry in history.entries:
        page += [*_history_rows(entry, now), _EMPTY]
    return [*page, line(Part("  Back to before one, and all after it: reveries self revert N", "dim"))]


def _history_rows(entry: SelfChange, now: float) -> Page:
    who = "you" if entry.by_owner else "sleep"
    page: Page = [
        line(Part(f"  {entry.number}", "accent"), Part(f"  {ago(entry.at, now)}", "dim"), Part(f"  {who}", "strong")),
        *paragraph(one_line(entry.reason, 300), indent=4, style="dim"),
    ]
    for change in entry.changes:
        page.append(line(Part(f"    {one_line(change.field)}", "strong")))
        for text in change.removed:
            page += _signed_rows("−", text, "bad")
        for text in change.added:
            page += _signed_rows("+", text, "good")
    if not entry.changes:
        page.append(line(Part("    nothing that shows", "dim")))
    for one in entry.evidence:
        page += _evidence_rows(one)
    return page


def _signed_rows(sign: str, text: str, style: str) -> Page:
    rows = paragraph(text, indent=8)
    mark = Part(f"      {sign} ", "good" if style == "good" else "bad")
    return [line(mark, rows[0][0].text.strip()), *rows[1:]]


def _evidence_rows(one: SelfEvidence) -> Page:
    merged = f", now in {one_line(one.merged_into)[:_SHORT]}" if one.merged_into else ""
    page: Page = [
        line(
            Part("    from "),
            Part(one_line(one.episode_id)[:_SHORT], "accent"),
            Part(f"{merged}  {one_line(one.summary, 80)}", "dim"),
        )
    ]
    if one.quote:
        page += paragraph(f"“{one_line(one.quote, 240)}”", indent=9, style="dim")
    return page
