"""`reveries import`: a past conversation from a file, or a whole mind."""

import asyncio
import datetime as dt
import re
import sys
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from reveries import protocol
from reveries.client.answers import json_option, page_of, print_answer
from reveries.client.connection import Connection
from reveries.client.features.import_corrections import correct_import, show_imports
from reveries.client.features.import_preview import ImportPreview, describe_import, preview_page
from reveries.client.owner_files import resolve_path
from reveries.client.progress import ProgressCallback
from reveries.client.render import Page, Part, line, paragraph, show
from reveries.client.wording import plural
from reveries.config import find_home, load_settings
from reveries.errors import ConnectionLostError, UsageError
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from reveries.client.past.parsed import ReadChoices


_OPTION = re.compile(
    r"--(?:(?P<flag>yes)|(?P<name>me|dates|on|speakers)[= ](?:\"(?P<quoted>[^\"]*)\"|(?P<value>\S*)))\s+"
)


class ImportResult(msgspec.Struct, frozen=True):
    """The number of turns that were new and already known, of episodes created by light sleep, and of turns refused
    because the owner had erased them or words in them."""

    stored: int
    known_already: int
    episodes: int
    erased: int


@dataclass(frozen=True, slots=True)
class ImportChoices:
    """What the owner says about a file. `me`: the name in it that is the owner; empty: nobody; None: not said."""

    me: str | None = None
    dates: str = ""
    day: str = ""
    speakers: str = ""


@dataclass(frozen=True, slots=True)
class PastFile:
    """A file that was read: what is in it, for the owner, and its turns, for the mind."""

    preview: ImportPreview
    turns: list[protocol.ImportedTurn]


@click.command("import", short_help="Import past conversations, or a whole mind, from a file.")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--me", default=None, help="The name in the file that is you; '' if nobody in it is.")
@click.option("--dates", type=click.Choice(["dmy", "mdy", "ymd"]), default=None, help="The order of the dates in it.")
@click.option("--on", "day", default="", help="The day of a file without dates: 2025-03-04.")
@click.option("--speakers", default="", help='The only speakers of a transcript: "Ada, Tom".')
@click.option("--dry-run", is_flag=True, help="Show what is in the file, and store nothing.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--list", "lists", is_flag=True, help="Show what was imported, and who in it is you.")
@click.option(
    "--correct", is_flag=True, help="FILE is the name of an earlier import: change who in it is you, to --me."
)
@click.option(
    "--take-back", is_flag=True, help="FILE is the name of an earlier import: remove it, with all made of it."
)
@click.option(
    "--mind", "is_mind", is_flag=True, help="FILE is a whole mind from reveries export. The home must not have one."
)
@click.option("--visioneer", "is_visioneer", is_flag=True, help="FILE is a database of Visioneer: import its projects.")
@json_option(
    ImportResult,
    {
        "--mind": protocol.MindMoved,
        "--visioneer": protocol.ProjectsImported,
        "--dry-run": ImportPreview,
        "--list": protocol.Imports,
        "--correct": protocol.ImportCorrected,
        "--take-back": protocol.ImportCorrected,
    },
    takes_long=True,
)
def command(
    file: Path | None,
    me: str | None,
    dates: str | None,
    day: str,
    speakers: str,
    dry_run: bool,
    yes: bool,
    lists: bool,
    correct: bool,
    take_back: bool,
    is_mind: bool,
    is_visioneer: bool,
    as_json: bool,
) -> None:
    """Import past conversations: an export of ChatGPT, Claude, Open WebUI, Telegram (result.json), Instagram or
    Messenger (message_1.json), also in its .zip; a chat of WhatsApp or Signal; a transcript of lines "Name: words"; or
    one JSON object per line: {"time": "2025-03-04T14:02:00", "speaker": "Ada", "text": "Good morning"}.

    It shows what is in the file, and which of the people in it is you, and asks before anything is stored. What
    cannot be read is named and left out. Importing a file again stores nothing twice.
    """
    if lists:
        show_imports(as_json=as_json)
        return
    if file is None:
        raise UsageError("Name a file.", advice="What can be imported: reveries import --help")
    if correct or take_back:
        correct_import(file, me, take_back=take_back, dry_run=dry_run, yes=yes, as_json=as_json)
        return
    if is_mind:
        from reveries.client.features.mind_export import import_whole_mind

        import_whole_mind(file, as_json=as_json)
        return
    if is_visioneer:
        _import_visioneer(file, as_json=as_json)
        return
    choices, now = ImportChoices(me, dates or "", day, speakers), time.time()
    past = read_past_conversations(file, choices, now)
    if dry_run:
        print_answer(past.preview, as_json)
        return
    if not as_json:
        show(preview_page(past.preview), err=True)
    if not yes:
        past = _confirm(file, choices, past, as_json=as_json)
    _store(file, past, as_json=as_json)


def _import_visioneer(file: Path, *, as_json: bool) -> None:
    """Import the projects of a database of Visioneer. Raises what the mind answers."""
    from reveries.client.sync_call import ask_mind

    path = str(resolve_path(str(file)))
    done = ask_mind(lambda new_id: protocol.ImportVisioneer(new_id, path), protocol.ProjectsImported, seconds=None)
    print_answer(done, as_json)


@page_of(protocol.ProjectsImported, "projects imported")
def projects_imported_page(done: protocol.ProjectsImported) -> Page:
    """Render what was imported of each project, what was left out, and how one of them goes on."""
    page: Page = []
    for project in done.projects:
        counts = (
            plural(project.tasks, "task"), plural(project.questions, "question"), plural(project.chunks, "text"),
            plural(project.relations, "relation"), plural(project.log_lines, "log line"),
        )  # fmt: skip
        page.append(line(Part(one_line(project.name), "strong"), f": {', '.join(counts)}."))
        page += [line(f"  left out: {number:,} {one_line(what)}") for what, number in project.left_out.items()]
    if not done.projects:
        return [line("There is no project in it.")]
    page += paragraph(
        "They are paused and have no goal, and their texts count as another program's. To go on with one, give it a "
        "goal, and then:"
    )
    return [*page, line("  reveries project resume NAME")]


def _confirm(file: Path, choices: ImportChoices, past: PastFile, *, as_json: bool) -> PastFile:
    """Ask whether this is right and, if nobody is the owner, who is. Raises UsageError where nobody can be asked."""
    if as_json or not sys.stdin.isatty():
        raise UsageError(
            "Nothing was stored: without a terminal it cannot ask whether this is right.",
            advice="Look at it with --dry-run, and store it with --yes.",
        )
    if choices.me is None and not past.preview.has_owner:
        chosen = click.prompt("Which of these names is you? (Enter: none)", default="", show_default=False, err=True)
        if chosen.strip():
            past = read_past_conversations(file, replace(choices, me=chosen.strip()), time.time())
            show(preview_page(past.preview), err=True)
    click.confirm("Store this?", abort=True, err=True)
    return past


def _store(file: Path, past: PastFile, *, as_json: bool) -> None:
    from reveries.client.progress import progress_bar
    from reveries.client.sync_call import call_mind

    with progress_bar("importing", as_json=as_json) as on_progress:
        done = call_mind(lambda mind: send_turns(mind, file.name, past.turns, on_progress))
    print_answer(done, as_json)


def read_past_conversations(file: Path, choices: ImportChoices, now: float) -> PastFile:
    """Read a file in any known format. Raises InputFileError, InputDataError, UsageError."""
    from reveries.client.past.people import Names, list_people
    from reveries.client.past.readers import read_past_file
    from reveries.client.past.turns import drop_too_long, make_turns

    settings = load_settings(find_home().config)
    names = Names(settings.owner.name, settings.mind.name, choices.me)
    parsed = read_past_file(file, _read_choices(file, choices, now))
    drop_too_long(parsed)
    people = list_people(parsed, names)
    return PastFile(describe_import(parsed, people), make_turns(parsed, names))


@dataclass(frozen=True, slots=True)
class AskedImport:
    """An import that was asked for in the conversation; it is shown first, and stored when it is confirmed."""

    file: Path
    past: PastFile
    is_confirmed: bool


def read_import_words(words: str, now: float) -> AskedImport:
    """Read `[--yes] [--me NAME] [--dates dmy] FILE`, and the file. Raises ReveriesError."""
    rest, options = words.strip(), dict[str, str]()
    while match := _OPTION.match(rest):
        options[match["name"] or match["flag"]] = (match["quoted"] or match["value"] or "").strip()
        rest = rest[match.end() :]
    choices = ImportChoices(
        options.get("me"), options.get("dates", ""), options.get("on", ""), options.get("speakers", "")
    )
    file = resolve_path(rest)
    return AskedImport(file, read_past_conversations(file, choices, now), "yes" in options)


def _read_choices(file: Path, choices: ImportChoices, now: float) -> "ReadChoices":
    from reveries.client.past.parsed import DayOrder, ReadChoices
    from reveries.client.past.source_file import day_of

    try:
        day = dt.date.fromisoformat(choices.day) if choices.day else day_of(file)
        order = DayOrder(choices.dates) if choices.dates else None
    except ValueError as error:
        raise UsageError(
            f"{choices.day or choices.dates!r} is not valid.", advice="--on 2025-03-04, --dates dmy"
        ) from error
    speakers = tuple(name.strip() for name in choices.speakers.split(",") if name.strip())
    return ReadChoices(now, day, order, speakers)


async def send_turns(
    mind: Connection, source: str, turns: list[protocol.ImportedTurn], on_progress: ProgressCallback
) -> ImportResult:
    """Send `turns` in order; `on_progress` receives the progress. Raises ConnectionLostError."""
    from reveries.client.past.turns import split_batches

    stored = known_count = episodes = erased = sent = 0
    parts = split_batches(turns)
    for place, part in enumerate(parts):
        is_last = place == len(parts) - 1
        make = partial(protocol.Import, source=source[:500], turns=part, is_last=is_last)
        running = mind.start(make, protocol.Imported)
        so_far = partial(_report_whole, on_progress, sent, len(turns))
        try:
            done = await running.result(on_progress if is_last else so_far)
        except asyncio.CancelledError:
            # Closing the stream alone would not stop the daemon.
            running.stop()
            raise
        except ConnectionLostError as error:
            raise ConnectionLostError(
                f"The connection was lost after {stored + known_count:,} of {len(turns):,} turns were stored.",
                advice="Wake the mind and import the file again. Nothing is stored twice.",
            ) from error
        stored, known_count = stored + done.stored, known_count + done.known_already
        episodes += done.episodes
        erased += 0 if done.erased is msgspec.UNSET else done.erased
        sent += len(part)
        on_progress("importing", sent, len(turns))
    return ImportResult(stored, known_count, episodes, erased)


def _report_whole(on_progress: ProgressCallback, sent: int, turns: int, what: str, _: int, __: int) -> None:
    """Report how much of the whole file is sent, instead of the progress of a part."""
    on_progress(what, sent, turns)


@page_of(ImportResult, "imported")
def imported_page(done: ImportResult) -> Page:
    """Render how many turns were new, known, or refused because they had been erased."""
    known_note = f"{done.known_already:,} {'was' if done.known_already == 1 else 'were'} already known."
    page = [line(f"Stored {plural(done.stored, 'turn')}, {known_note}")]
    if done.erased:
        them, were = ("it", "was") if done.erased == 1 else ("them", "were")
        page.append(
            line(f"{plural(done.erased, 'turn')} {were} not imported: you had erased {them}, or words in {them}.")
        )
    if done.episodes:
        episodes = f"Light sleep created {plural(done.episodes, 'episode')}: they can be recalled now."
        page.append(line(Part(episodes, "dim")))
    return page
