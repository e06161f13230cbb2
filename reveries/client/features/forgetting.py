"""`reveries forget`: archived, or erased for good, on the owner's word."""

from typing import TYPE_CHECKING

import click
import msgspec

from reveries.client.byte_search import TraceSearch
from reveries.client.render import Page, Part, line, paragraph
from reveries.client.wording import moment, plural, size
from reveries.protocol import Forgotten
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from reveries import protocol
    from reveries.client.connection import Connection


@click.command("forget", short_help="Forget something: archive it, or erase it for good.")
@click.argument("id", default="")
@click.option("--matching", default="", help="What holds these words, as they stand, in any case.")
@click.option("--all-about", "about", default="", help="What names this person, place or thing.")
@click.option("--since", default="", help='What happened from then on: 2025-03-04, "last spring", 3h.')
@click.option("--until", default="", help="What happened until then, that day included.")
@click.option("--dry-run", is_flag=True, help="Show what would go, and change nothing.")
@click.option("--erase", is_flag=True, help="For good, with all that was made of it. There is no way back.")
@click.option("--bring-back", is_flag=True, help="Bring back what was archived so.")
@click.option(
    "--verify",
    is_flag=True,
    help="Search the files of the home, byte by byte, for the words of --matching or --all-about.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object: the plan, the receipt, or what was found.")
def command(
    id: str,
    matching: str,
    about: str,
    since: str,
    until: str,
    dry_run: bool,
    erase: bool,
    bring_back: bool,
    verify: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Forget an episode, turn, thought or note by its ID, what holds some words, what names somebody, or a time.

    Without --erase it is archived: nothing is deleted, and nothing of it comes to mind. With --erase it goes for good,
    from everything that was made of it, from logs, drafts and backups.
    """
    if verify:
        _verify(matching or about, as_json=as_json)
        return
    import msgspec

    from reveries import protocol
    from reveries.client.render import show, show_json
    from reveries.errors import UsageError

    if as_json and not (yes or dry_run or bring_back):
        raise UsageError("With --json nobody can be asked.", advice="Add --dry-run or --yes.")
    wanted = protocol.Forget(1, id, matching, about, since, until, dry_run=True, erase=erase, bring_back=bring_back)
    if bring_back or dry_run or not yes:
        told = _ask_to_forget(wanted, as_json=as_json)
        if not as_json:
            show(forgotten_page(told))
        elif dry_run or bring_back:
            show_json(told)
        if dry_run or bring_back or not (told.item_count or told.stores):
            return
        click.confirm("Erase all this for good?" if erase else "Archive this?", abort=True, err=True)
    done = _ask_to_forget(msgspec.structs.replace(wanted, dry_run=False), as_json=as_json)
    if as_json:
        show_json(done)
    else:
        show(forgotten_page(done))


def _ask_to_forget(wanted: "protocol.Forget", *, as_json: bool) -> "protocol.Forgotten":
    from reveries.client.sync_call import call

    return call(lambda mind: _ask_forgetting(mind, wanted, as_json=as_json))


async def _ask_forgetting(mind: "Connection", wanted: "protocol.Forget", *, as_json: bool) -> "protocol.Forgotten":
    import contextlib

    import msgspec

    from reveries import protocol
    from reveries.client.progress import progress_bar
    from reveries.errors import ProtocolError

    request = msgspec.structs.replace(wanted, request_id=mind.new_id())
    with progress_bar("looking for it" if wanted.dry_run else "forgetting", as_json=as_json) as moved:
        async with contextlib.aclosing(mind.request(request)) as frames:
            async for frame in frames:
                if isinstance(frame, protocol.Progress):
                    moved(frame.what, frame.done, frame.total)
                elif isinstance(frame, protocol.Forgotten):
                    return frame
    raise ProtocolError("The mind did not say what it forgot.", advice="See: reveries status")


def _verify(words: str, *, as_json: bool) -> None:
    from reveries.client.byte_search import search
    from reveries.client.features.paths import places
    from reveries.client.json_answers import Searched
    from reveries.client.progress import progress_bar
    from reveries.client.render import show, write_struct
    from reveries.config import find_home
    from reveries.errors import UsageError

    if len(words.strip()) < 2:
        raise UsageError(
            "There are no words to search for.", advice='For example: reveries forget --verify --matching "zebra"'
        )
    where = places(find_home())
    with progress_bar("searching the home", as_json=as_json) as moved:
        found = search(
            where["home"],
            words.strip(),
            lambda done, total: moved("searching the home", done, total),
            where["memory"],
        )
    if as_json:
        write_struct(Searched(found.found, found.files, found.bytes, found.passed_over, found.longer_words))
    else:
        show(searched_page(found))
    if found.found:
        raise SystemExit(1)


_SHOWN_ITEMS = 40
_TEXT_CHARS = 90
LONGER_WORDS_SHOWN = 8


def forgotten_page(told: Forgotten) -> Page:
    """What would go, item by item, or what went, store by store."""
    if not told.stores and not told.item_count:
        return paragraph("Nothing is like that: there is nothing to forget.")
    page: Page = []
    for item in told.items[:_SHOWN_ITEMS]:
        kind = f"{item.kind}, made anew" if item.is_remade else item.kind
        at = f"  {moment(item.at)}" if item.at else ""
        page.append(line(Part(f"{kind:<20}", "accent"), Part(f"{item.id}{at}", "dim")))
        page.append(line(Part(f"  {one_line(item.text, _TEXT_CHARS)}")))
    if told.items and told.item_count > _SHOWN_ITEMS:
        page.append(line(Part(f"and {told.item_count - _SHOWN_ITEMS:,} more (all of them: --json)", "dim")))
    if page:
        page.append(line())
    page.append(line(Part(_headline(told), "strong")))
    for store in told.stores:
        remade = f", {store.remade:,} made anew" if store.remade else ""
        page.append(line(Part(f"  {store.store:<32}", "dim"), Part(f"{store.gone:>9,}{remade}")))
    page += _left_rows(told)
    for note in told.notes:
        page += [line(), *paragraph(note)]
    if told.receipt_id:
        page += [line(), *paragraph(f"Receipt {told.receipt_id}: {_kept(told)}", style="dim")]
    return page


def _left_rows(told: Forgotten) -> Page:
    """What tells of the same thing and would stay."""
    if isinstance(told.left, msgspec.UnsetType):
        return []
    page = [line(), line(Part("This would stay, and may tell of the same in other words:", "strong"))]
    for item in told.left:
        page.append(line(Part(f"{item.kind:<20}", "accent"), Part(f"{item.id}  {moment(item.at)}", "dim")))
        page.append(line(Part(f"  {one_line(item.text, _TEXT_CHARS)}")))
    return [*page, *paragraph("To have that forgotten too, name it by its ID, or all of that time: --since, --until.")]


def searched_page(found: TraceSearch) -> Page:
    """Where the words stand."""
    looked = f"{plural(found.files, 'file')}, {size(found.bytes)}"
    page: Page = []
    for name, forms in found.found.items():
        told = ", ".join(f"{count:,} as {form}" for form, count in forms.items())
        page.append(line(Part(one_line(name, 200), "bad"), Part(f"  {told}")))
    if page:
        page += [line(), *paragraph(f"It stands in {plural(len(found.found), 'file')} of {looked} that were searched.")]
        page += _inside(found)
    else:
        page = paragraph(
            f"It stands nowhere in the home: {looked} were searched, in any case and coding.", style="good"
        )
    if found.passed_over:
        page += paragraph(f"Passed over: {', '.join(one_line(name, 100) for name in found.passed_over)}.", style="dim")
    return page


def _inside(found: TraceSearch) -> Page:
    """A short name stands inside other words too ("Tor" in "history"): which ones, for the owner to judge."""
    if not found.longer_words:
        return []
    often = sorted(found.longer_words.items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(one_line(word, 40) for word, _ in often[:LONGER_WORDS_SHOWN])
    rest = f", and {len(often) - LONGER_WORDS_SHOWN:,} more" if len(often) > LONGER_WORDS_SHOWN else ""
    inside, as_text = sum(found.longer_words.values()), sum(forms.get("text", 0) for forms in found.found.values())
    how_often = "Each time" if inside >= as_text else f"{inside:,} of {as_text:,} times as text"
    return paragraph(
        f"{how_often} with letters or digits beside it: {shown}{rest}. In the memory's file two texts may stand side "
        "by side without a blank."
    )


def _headline(told: Forgotten) -> str:
    if told.is_dry_run:
        return "This would be erased for good:" if told.is_erased else "This would be archived:"
    return f"Erased for good ({told.seconds:.1f} s):" if told.is_erased else "Done:"


def _kept(told: Forgotten) -> str:
    return f"{told.tombstones:,} keyed hashes keep it from coming back with an old backup or an import."
