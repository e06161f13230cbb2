"""`reveries import --list`, `--correct` and `--take-back`: what was imported, and the owner's corrections of it."""

from pathlib import Path

import click
import msgspec

from reveries import protocol
from reveries.client.answers import page_of, print_answer
from reveries.client.render import Page, Part, line, paragraph, show
from reveries.client.wording import moment, plural
from reveries.errors import UsageError
from reveries.safe_text import one_line

_NAME_CHARS = 40
_SHOWN = 12


def show_imports(*, as_json: bool) -> None:
    """Print what was imported."""
    from reveries.client.sync_call import ask_mind

    print_answer(ask_mind(protocol.AskImports, protocol.Imports), as_json)


def correct_import(file: Path, me: str | None, *, take_back: bool, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Show what a correction would change, ask, and make it. Raises UsageError, NotFoundError."""
    if me is None and not take_back:
        raise UsageError("Say who in it is you.", advice="--correct --me NAME; nobody: --correct --me ''")
    if as_json and not (yes or dry_run):
        raise UsageError("--json cannot ask for confirmation.", advice="Add --dry-run or --yes.")
    request = protocol.CorrectImport(1, file.name, [me] if me else [], take_back, dry_run=True)
    if dry_run or not yes:
        plan = _request_correction(request, as_json=as_json)
        if dry_run or not plan.turns:
            print_answer(plan, as_json)
            return
        show(corrected_page(plan), err=True)
        click.confirm("Take it back?" if take_back else "Change this?", abort=True, err=True)
    print_answer(_request_correction(msgspec.structs.replace(request, dry_run=False), as_json=as_json), as_json)


def _request_correction(draft: protocol.CorrectImport, *, as_json: bool) -> protocol.ImportCorrected:
    from reveries.client.connection import Connection
    from reveries.client.progress import progress_bar
    from reveries.client.sync_call import call_mind

    async def stream(mind: Connection) -> protocol.ImportCorrected:
        running = mind.start(lambda new_id: msgspec.structs.replace(draft, request_id=new_id), protocol.ImportCorrected)
        with progress_bar("correcting", as_json=as_json) as on_progress:
            return await running.result(on_progress)

    return call_mind(stream)


@page_of(protocol.Imports, "imports")
def imports_page(imports: protocol.Imports) -> Page:
    """Render the imports, with their people and who is the owner."""
    if not imports.imports:
        return paragraph("Nothing was imported.")
    page: Page = []
    for entry in imports.imports:
        turns = plural(sum(speaker.turns for speaker in entry.speakers), "turn")
        when = f"  {turns}, {moment(entry.first_at)} to {moment(entry.last_at)}"
        page.append(line(Part(one_line(entry.source, 100), "accent"), Part(when, "dim")))
        names = [_speaker_text(speaker) for speaker in entry.speakers[:_SHOWN]]
        more = [f"{len(entry.speakers) - _SHOWN:,} more"] if len(entry.speakers) > _SHOWN else []
        page += paragraph(", ".join([*names, *more]), indent=4)
        if not any(speaker.author == "owner" for speaker in entry.speakers):
            page += paragraph("Nobody in it is you. To change that: --correct NAME --me WHO", indent=4, style="warn")
    return page


def _speaker_text(speaker: protocol.ImportSpeaker) -> str:
    who = {"owner": " (you)", "mind": " (this mind)"}.get(speaker.author, "")
    return f"{one_line(speaker.name, _NAME_CHARS)}{who} {speaker.turns:,}"


@page_of(protocol.ImportCorrected, "corrected")
def corrected_page(corrected: protocol.ImportCorrected) -> Page:
    """Render what a correction changes, or changed."""
    source = one_line(corrected.source, 100)
    if not corrected.turns:
        return paragraph(f"Nothing to change: in {source} it is so already.")
    page = [line(Part(_headline(corrected, source), "strong"))]
    if not corrected.is_taken_back:
        page.append(line(Part(f"  now your words:             {corrected.now_yours:>8,}")))
        page.append(line(Part(f"  no longer your words:       {corrected.no_longer_yours:>8,}")))
    if corrected.made_anew:
        again = ", too:" if corrected.is_taken_back else ", and sleep makes it again:"
        page.append(line(Part(f"  what was made of these turns goes{again}", "dim")))
    page += [line(Part(f"    {entry.store:<28}{entry.count:>6,}", "dim")) for entry in corrected.made_anew]
    if corrected.run_id:
        page.append(line(Part(f"Recorded as {corrected.run_id} (reveries consolidate log).", "dim")))
    if corrected.episodes:
        page.append(line(Part(f"Light sleep created {plural(corrected.episodes, 'episode')}.", "dim")))
    return page


def _headline(corrected: protocol.ImportCorrected, source: str) -> str:
    names = ", ".join(one_line(name, _NAME_CHARS) for name in corrected.owners) or "nobody"
    turns = plural(corrected.turns, "turn")
    if corrected.is_taken_back:
        return f"{source}: {turns} {'would be' if corrected.is_dry_run else 'were'} taken back."
    return f"{source}: you {'would be' if corrected.is_dry_run else 'are'} {names} ({turns} stored anew)."
