"""`reveries memory pin`, `unpin`, `salience` and `correct`: the owner's hand on one episode."""

from functools import partial
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reveries import protocol


@click.command("pin")
@click.argument("episode_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def pin(episode_id: str, as_json: bool) -> None:
    """Let time leave an episode alone: it keeps its salience, stays within reach and never goes dormant."""
    _pin_or_unpin(episode_id, as_json, is_pinned=True)


@click.command("unpin")
@click.argument("episode_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def unpin(episode_id: str, as_json: bool) -> None:
    """Let a pinned episode fade like any other, from now on."""
    _pin_or_unpin(episode_id, as_json, is_pinned=False)


@click.command("salience")
@click.argument("episode_id", metavar="ID")
@click.argument("value", type=click.FloatRange(0.0, 1.0))
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def salience(episode_id: str, value: float, as_json: bool) -> None:
    """Say how much an episode matters: VALUE from 0 to 1. Recall raises it, time lowers it, as ever."""
    from reveries import protocol
    from reveries.client.calling import ask

    known_id(episode_id)
    wanted = partial(protocol.WeighEpisode, episode_id=episode_id, salience=value)
    _show_held(ask(wanted, protocol.EpisodeHeld, seconds=None), as_json)


@click.command("correct")
@click.argument("episode_id", metavar="ID")
@click.argument("text", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def correct(episode_id: str, text: tuple[str, ...], as_json: bool) -> None:
    """Put TEXT (or what comes on stdin), as your words, in the place of what an episode says.

    Nothing is overwritten: both are kept, your words rank first, and what they correct is marked as replaced. To take
    it back: reveries consolidate undo, with the pass that this prints."""
    from reveries import protocol
    from reveries.client.calling import call
    from reveries.client.commands.say import words_given
    from reveries.client.hand_page import corrected_page
    from reveries.client.render import show, show_json

    known_id(episode_id)
    example = 'For example: reveries memory correct 4f2a "Marta likes tea, not coffee"'
    words = words_given(text, "What holds instead?", example)
    done = call(
        lambda mind: mind.ask(
            lambda new_id: protocol.CorrectEpisode(new_id, episode_id, words), protocol.EpisodeCorrected, seconds=None
        )
    )
    if as_json:
        show_json(done)
    else:
        show(corrected_page(done))


def known_id(episode_id: str) -> None:
    """Raises UsageError for what can be no episode's id."""
    from reveries.errors import UsageError

    if not 0 < len(episode_id) <= 100:
        raise UsageError("That is no episode's ID.", advice="They stand in: reveries memory search QUERY")


def _pin_or_unpin(episode_id: str, as_json: bool, *, is_pinned: bool) -> None:
    from reveries import protocol
    from reveries.client.calling import ask

    known_id(episode_id)
    wanted = partial(protocol.PinEpisode, episode_id=episode_id, is_pinned=is_pinned)
    _show_held(ask(wanted, protocol.EpisodeHeld, seconds=None), as_json)


def _show_held(held: "protocol.EpisodeHeld", as_json: bool) -> None:
    from reveries.client.hand_page import held_page
    from reveries.client.render import show, show_json

    if as_json:
        show_json(held)
    else:
        show(held_page(held))
