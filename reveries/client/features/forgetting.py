"""`reveries forget`: archive or erase memories at the owner's request."""

from typing import TYPE_CHECKING

import click
import msgspec

from reveries import protocol
from reveries.client.answers import json_option, page_of, print_answer
from reveries.client.byte_search import TraceSearch
from reveries.client.render import Page, Part, line, paragraph
from reveries.client.wording import moment, plural, size
from reveries.protocol import Forgotten
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from reveries.client.connection import Connection


@click.command("forget", short_help="Forget something: archive it, or erase it for good.")
@click.argument("id", default="")
@click.option("--matching", default="", help="Everything that contains exactly these words, in any case.")
@click.option("--all-about", "about", default="", help="Everything that names this person, place or thing.")
@click.option("--since", default="", help='What happened since then: 2025-03-04, "last spring", 3h.')
@click.option("--until", default="", help="What happened until then, including that day.")
@click.option("--document", "document", default="", help="A document of --project, with --erase.")
@click.option("--project", "project", default="", help="Whose document it is.")
@click.option("--dry-run", is_flag=True, help="Show what would be forgotten, and change nothing.")
@click.option(
    "--erase", is_flag=True, help="Erase it for good, with everything derived from it. This cannot be undone."
)
@click.option("--bring-back", is_flag=True, help="Restore what was archived this way.")
@click.option(
    "--verify",
    is_flag=True,
    help="Search all files of the home for traces of the words of --matching or --all-about.",
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@json_option(
    protocol.Forgotten,
    {"--verify": TraceSearch},
    help="Print one JSON object: the plan, the receipt, or the search result.",
    takes_long=True,
)
def command(
    id: str,
    matching: str,
    about: str,
    since: str,
    until: str,
    document: str,
    project: str,
    dry_run: bool,
    erase: bool,
    bring_back: bool,
    verify: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Forget an episode, turn, thought or note by its ID; everything that contains certain words or names somebody; or
    a period of time.

    Without --erase it is archived: nothing is deleted, but it is no longer recalled. With --erase it is deleted for
    good, with everything derived from it, also from logs, drafts and backups.
    """
    if verify:
        _verify_erasure(matching or about, as_json=as_json)
        return
    import msgspec

    from reveries.client.render import show, show_json
    from reveries.errors import UsageError

    if as_json and not (yes or dry_run or bring_back):
        raise UsageError("--json cannot ask for confirmation.", advice="Add --dry-run or --yes.")
    request = protocol.Forget(
        1, id, matching, about, since, until, dry_run=True, erase=erase, bring_back=bring_back,
        document=document or msgspec.UNSET, project=project or msgspec.UNSET,
    )  # fmt: skip
    if bring_back or dry_run or not yes:
        plan = _request_forgetting(request, as_json=as_json)
        if not as_json:
            show(forgotten_page(plan))
        elif dry_run or bring_back:
            show_json(plan)
        if dry_run or bring_back or not (plan.item_count or plan.stores):
            return
        click.confirm("Erase all this for good?" if erase else "Archive this?", abort=True, err=True)
    result = _request_forgetting(msgspec.structs.replace(request, dry_run=False), as_json=as_json)
    print_answer(result, as_json)


def _request_forgetting(request: "protocol.Forget", *, as_json: bool) -> "protocol.Forgotten":
    from reveries.client.sync_call import call_mind

    return call_mind(lambda mind: _stream_forgetting(mind, request, as_json=as_json))


async def _stream_forgetting(mind: "Connection", draft: "protocol.Forget", *, as_json: bool) -> "protocol.Forgotten":
    import msgspec

    from reveries.client.progress import progress_bar

    running = mind.start(lambda new_id: msgspec.structs.replace(draft, request_id=new_id), protocol.Forgotten)
    with progress_bar("searching" if draft.dry_run else "forgetting", as_json=as_json) as on_progress:
        return await running.result(on_progress)


def _verify_erasure(words: str, *, as_json: bool) -> None:
    from reveries.client.byte_search import search_files
    from reveries.client.features.paths import list_paths
    from reveries.client.progress import progress_bar
    from reveries.client.render import show, show_json
    from reveries.config import find_home
    from reveries.errors import UsageError

    if len(words.strip()) < 2:
        raise UsageError(
            "Say which words to search for.", advice='For example: reveries forget --verify --matching "zebra"'
        )
    paths = list_paths(find_home())
    with progress_bar("searching the home", as_json=as_json) as on_progress:
        traces = search_files(
            paths["home"],
            words.strip(),
            lambda done, total: on_progress("searching the home", done, total),
            paths["memory"],
        )
    if as_json:
        show_json(traces)
    else:
        show(trace_search_page(traces))
    if traces.found:
        raise SystemExit(1)


_SHOWN_ITEMS = 40
_TEXT_CHARS = 90
LONGER_WORDS_SHOWN = 8


@page_of(protocol.Forgotten)
def forgotten_page(forgotten: Forgotten) -> Page:
    """Render what would be forgotten, item by item, or what was, store by store."""
    if not forgotten.stores and not forgotten.item_count:
        return paragraph("Nothing matches: there is nothing to forget.")
    page: Page = []
    for item in forgotten.items[:_SHOWN_ITEMS]:
        kind = f"{item.kind}, rebuilt" if item.is_remade else item.kind
        at = f"  {moment(item.at)}" if item.at else ""
        page.append(line(Part(f"{kind:<20}", "accent"), Part(f"{item.id}{at}", "dim")))
        page.append(line(Part(f"  {one_line(item.text, _TEXT_CHARS)}")))
    if forgotten.items and forgotten.item_count > _SHOWN_ITEMS:
        page.append(line(Part(f"and {forgotten.item_count - _SHOWN_ITEMS:,} more (all of them: --json)", "dim")))
    if page:
        page.append(line())
    page.append(line(Part(_headline(forgotten), "strong")))
    for store in forgotten.stores:
        remade = f", {store.remade:,} rebuilt" if store.remade else ""
        page.append(line(Part(f"  {store.store:<32}", "dim"), Part(f"{store.gone:>9,}{remade}")))
    page += _kept_item_rows(forgotten)
    for note in forgotten.notes:
        page += [line(), *paragraph(note)]
    if forgotten.receipt_id:
        page += [line(), *paragraph(f"Receipt {forgotten.receipt_id}: {_tombstone_text(forgotten)}", style="dim")]
    return page


def _kept_item_rows(forgotten: Forgotten) -> Page:
    """Render the items that may be about the same thing and would be kept."""
    if isinstance(forgotten.left, msgspec.UnsetType):
        return []
    page = [line(), line(Part("These would be kept, and may say the same in other words:", "strong"))]
    for item in forgotten.left:
        page.append(line(Part(f"{item.kind:<20}", "accent"), Part(f"{item.id}  {moment(item.at)}", "dim")))
        page.append(line(Part(f"  {one_line(item.text, _TEXT_CHARS)}")))
    return [*page, *paragraph("To forget one of these too, give its ID, or its period: --since, --until.")]


def trace_search_page(traces: TraceSearch) -> Page:
    """Render the files in which the words were found."""
    searched = f"{plural(traces.files, 'file')}, {size(traces.bytes)}"
    page: Page = []
    for name, forms in traces.found.items():
        counts = ", ".join(f"{count:,} as {form}" for form, count in forms.items())
        page.append(line(Part(one_line(name, 200), "bad"), Part(f"  {counts}")))
    if page:
        page += [line(), *paragraph(f"Found in {plural(len(traces.found), 'file')} of {searched} searched.")]
        page += _longer_word_rows(traces)
    else:
        page = paragraph(f"Not found: {searched} searched, in any case and encoding.", style="good")
    if traces.passed_over:
        page += paragraph(
            f"Not searched: {', '.join(one_line(name, 100) for name in traces.passed_over)}.", style="dim"
        )
    return page


def _longer_word_rows(traces: TraceSearch) -> Page:
    """Render the longer words that contain the searched one ("Tor" in "history"), for the owner to judge."""
    if not traces.longer_words:
        return []
    often = sorted(traces.longer_words.items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(one_line(word, 40) for word, _ in often[:LONGER_WORDS_SHOWN])
    rest = f", and {len(often) - LONGER_WORDS_SHOWN:,} more" if len(often) > LONGER_WORDS_SHOWN else ""
    inside, as_text = sum(traces.longer_words.values()), sum(forms.get("text", 0) for forms in traces.found.values())
    how_often = "Every time" if inside >= as_text else f"{inside:,} of {as_text:,} times that it was found as text,"
    return paragraph(
        f"{how_often} it is part of a longer word: {shown}{rest}. In the database file, two texts may be stored "
        "next to each other without a space."
    )


def _headline(forgotten: Forgotten) -> str:
    if forgotten.is_dry_run:
        return "This would be erased for good:" if forgotten.is_erased else "This would be archived:"
    return f"Erased for good ({forgotten.seconds:.1f} s):" if forgotten.is_erased else "Done:"


def _tombstone_text(forgotten: Forgotten) -> str:
    return f"{forgotten.tombstones:,} keyed hashes prevent it from returning with an old backup or an import."
