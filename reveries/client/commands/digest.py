"""`reveries digest`: what it thought and learned since yesterday."""

import time
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reveries.client.connection import Connection
    from reveries.client.digest_page import Digest

_MOST = 1000


@click.command("digest", short_help="What it thought and learned since yesterday.")
@click.option("--since", "since_text", default="1d", show_default=True, help="How long ago (12h, 3d), or an ISO time.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(since_text: str, as_json: bool) -> None:
    """What happened in the mind meanwhile: its thoughts, its notes to you, its sleep, what changed in how it takes you
    and itself, and what waits for your word. Reading it changes nothing."""
    from reveries.client.calling import call
    from reveries.client.digest_page import digest_page
    from reveries.client.render import show, write_struct
    from reveries.client.wording import since

    now = time.time()
    began = since(since_text, now)
    digest = call(lambda mind: _gathered(mind, began))
    if as_json:
        write_struct(digest)
    else:
        show(digest_page(digest, now))


async def _gathered(mind: "Connection", since: float) -> "Digest":
    from reveries import protocol
    from reveries.client.digest_page import Digest

    thoughts = await mind.ask(lambda new_id: protocol.AskThoughts(new_id, since, _MOST), protocol.Thoughts)
    notes = await mind.ask(lambda new_id: protocol.AskNotes(new_id, 100), protocol.Notes)
    passes = await mind.ask(lambda new_id: protocol.AskSleepLog(new_id, _MOST), protocol.SleepLog)
    changes = await mind.ask(lambda new_id: protocol.AskSelfHistory(new_id, 200), protocol.SelfHistory)
    doubts = await mind.ask(protocol.AskContradictions, protocol.Contradictions)
    return Digest(
        since=since,
        thoughts=[thought for thought in thoughts.thoughts if thought.text.strip()],
        notes=[note for note in notes.notes if note.written_at >= since],
        sleep=[run for run in passes.runs if run.began_at >= since],
        learned=[change for change in changes.entries if change.at >= since],
        contradictions=doubts.contradictions,
    )
