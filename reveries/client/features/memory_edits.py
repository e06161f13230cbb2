"""`reveries memory pin`, `unpin`, `salience` and `correct`: the owner's hand on one episode."""

from functools import partial

import click

from reveries import protocol
from reveries.client.render import Page, Part, field, line, paragraph
from reveries.errors import UsageError
from reveries.safe_text import one_line


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
    from reveries.client.sync_call import ask

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
    from reveries.client.features.say import words_given
    from reveries.client.render import show, show_json
    from reveries.client.sync_call import call

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
    from reveries.client.sync_call import ask

    known_id(episode_id)
    wanted = partial(protocol.PinEpisode, episode_id=episode_id, is_pinned=is_pinned)
    _show_held(ask(wanted, protocol.EpisodeHeld, seconds=None), as_json)


def _show_held(held: "protocol.EpisodeHeld", as_json: bool) -> None:
    from reveries.client.render import show, show_json

    if as_json:
        show_json(held)
    else:
        show(held_page(held))


_ID_CHARS = 8


def held_page(held: protocol.EpisodeHeld) -> Page:
    """How an episode stands after it was pinned, unpinned or weighed."""
    pinned = "pinned: time leaves it alone" if held.is_pinned else "not pinned: it fades as others do"
    return [
        *paragraph(one_line(held.summary, 400), style="strong"),
        line(),
        field("episode", Part(one_line(held.episode_id)[:_ID_CHARS], "accent"), Part(f"  {pinned}", "dim")),
        field("salience", f"{held.salience:.2f}", Part(f"  within reach {held.accessibility:.2f}", "dim")),
    ]


def corrected_page(done: protocol.EpisodeCorrected) -> Page:
    """What ranks under the owner's new words, and how to take that back."""
    page: Page = [line("  Corrected. Both are kept; your words now rank first."), line()]
    for quote in done.replaced:
        page += paragraph(f"\u201c{one_line(quote, 300)}\u201d ranks under it.", indent=4, style="dim")
    return [
        *page,
        line(),
        field("remembered as", Part(one_line(done.new_episode_id)[:_ID_CHARS], "accent")),
        field("take it back", f"reveries consolidate undo {one_line(done.run_id)}"),
    ]


def remembered_page(done: protocol.Remembered) -> Page:
    """Whether it was new."""
    return [line("  It will remember that." if done.stored else "  It knew that already, in these words.")]


def share_of(words: str) -> float:
    """A number from 0 to 1 that somebody wrote. Raises UsageError."""
    try:
        share = float(words.replace(",", "."))
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= 1.0:
        raise UsageError("How much it matters is a number from 0 to 1.", advice="For example: 0.8")
    return share


@click.command("remember", short_help="Tell it something to remember.")
@click.argument("text", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def remember_command(text: tuple[str, ...], as_json: bool) -> None:
    """Let it remember TEXT (or what comes on stdin) as your words, without a reply. It can be recalled at once."""
    from reveries import protocol
    from reveries.client.features.say import words_given
    from reveries.client.render import say, show_json
    from reveries.client.sync_call import call
    from reveries.client.wording import plural

    words = words_given(text, "There is nothing to remember.", 'For example: reveries remember "Marta likes tea"')
    done = call(
        lambda mind: mind.ask(lambda new_id: protocol.Remember(new_id, words), protocol.Remembered, seconds=None)
    )
    if as_json:
        show_json(done)
    elif done.stored:
        say(f"It will remember that ({plural(done.episodes, 'episode')} made of it).")
    else:
        say("It knew that already, in these words and of this second.")
