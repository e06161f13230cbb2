"""`reveries notes`: what its thinking wanted you to know, and `notes dismiss`."""

import time

import click


@click.group("notes", short_help="What its thinking wanted you to know.", invoke_without_command=True)
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="At most so many, the newest."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_context
def command(ctx: click.Context, limit: int, as_json: bool) -> None:
    """The notes that thoughts ended with, and why each was written. How many a day: monologue.notes_per_day."""
    if ctx.invoked_subcommand is not None:
        return
    from reveries import protocol
    from reveries.client.calling import ask
    from reveries.client.render import show, show_json
    from reveries.client.thought_page import notes_page

    notes = ask(lambda new_id: protocol.AskNotes(new_id, limit), protocol.Notes)
    show_json(notes) if as_json else show(notes_page(notes, time.time()))


@command.command("dismiss")
@click.argument("note_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def dismiss(note_id: str, as_json: bool) -> None:
    """Say that a note was not wanted: each one that you dismiss makes the next rarer."""
    from reveries import protocol
    from reveries.client.calling import ask
    from reveries.client.render import say, show_json
    from reveries.errors import UsageError

    if not 0 < len(note_id) <= 100:
        raise UsageError("That is no note's ID.", advice="They stand in: reveries notes")
    dismissed = ask(lambda new_id: protocol.DismissNote(new_id, note_id), protocol.Notes, seconds=None)
    show_json(dismissed) if as_json else say("Dismissed. The next one comes later.")
