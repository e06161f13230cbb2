"""`reveries forget`: archived, or erased for good, on the owner's word."""

from typing import TYPE_CHECKING

import click

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
    from reveries.client.forget_page import forgotten_page
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
    from reveries.client.calling import call

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
    from reveries.client.forget_page import searched_page
    from reveries.client.json_answers import Searched
    from reveries.client.places import places
    from reveries.client.progress import progress_bar
    from reveries.client.render import show, write_struct
    from reveries.client.traces import search
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
