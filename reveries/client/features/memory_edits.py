"""`reveries memory pin`, `unpin`, `salience` and `correct`: the owner's edits of one episode; `reveries remember`."""

from functools import partial

import click

from reveries import protocol
from reveries.client.answers import json_option, page_of, print_answer
from reveries.client.render import Page, Part, field, line, paragraph
from reveries.errors import UsageError
from reveries.safe_text import one_line


@click.command("pin")
@click.argument("episode_id", metavar="ID")
@json_option(protocol.EpisodeHeld)
def pin_episode_command(episode_id: str, as_json: bool) -> None:
    """Pin an episode: it keeps its salience, stays accessible and never becomes dormant."""
    _pin_or_unpin(episode_id, as_json, is_pinned=True)


@click.command("unpin")
@click.argument("episode_id", metavar="ID")
@json_option(protocol.EpisodeHeld)
def unpin_episode_command(episode_id: str, as_json: bool) -> None:
    """Unpin an episode: from now on it fades like any other."""
    _pin_or_unpin(episode_id, as_json, is_pinned=False)


@click.command("salience")
@click.argument("episode_id", metavar="ID")
@click.argument("value", type=click.FloatRange(0.0, 1.0))
@json_option(protocol.EpisodeHeld)
def set_salience_command(episode_id: str, value: float, as_json: bool) -> None:
    """Set how much an episode matters: VALUE from 0 to 1. As always, recall raises it and time lowers it."""
    from reveries.client.sync_call import ask_mind

    check_episode_id(episode_id)
    make_request = partial(protocol.WeighEpisode, episode_id=episode_id, salience=value)
    print_answer(ask_mind(make_request, protocol.EpisodeHeld, seconds=None), as_json)


@click.command("correct")
@click.argument("episode_id", metavar="ID")
@click.argument("text", nargs=-1)
@json_option(protocol.EpisodeCorrected)
def correct_episode_command(episode_id: str, text: tuple[str, ...], as_json: bool) -> None:
    """Correct what an episode says with your own words: TEXT, or standard input.

    Nothing is overwritten: both are kept, your words rank first, and what they correct is marked as replaced. To undo
    this: reveries consolidate undo, with the ID of the pass that this prints."""
    from reveries.client.sync_call import call_mind, read_words

    check_episode_id(episode_id)
    example = 'For example: reveries memory correct 4f2a "Marta likes tea, not coffee"'
    words = read_words(text, "Say what is correct instead.", example)
    done = call_mind(
        lambda mind: mind.ask(
            lambda new_id: protocol.CorrectEpisode(new_id, episode_id, words), protocol.EpisodeCorrected, seconds=None
        )
    )
    print_answer(done, as_json)


def check_episode_id(episode_id: str) -> None:
    """Raises UsageError if `episode_id` cannot be the id of an episode."""
    from reveries.errors import UsageError

    if not 0 < len(episode_id) <= 100:
        raise UsageError("That is not the ID of an episode.", advice="To find IDs: reveries memory search QUERY")


def _pin_or_unpin(episode_id: str, as_json: bool, *, is_pinned: bool) -> None:
    from reveries.client.sync_call import ask_mind

    check_episode_id(episode_id)
    make_request = partial(protocol.PinEpisode, episode_id=episode_id, is_pinned=is_pinned)
    print_answer(ask_mind(make_request, protocol.EpisodeHeld, seconds=None), as_json)


_ID_CHARS = 8


@page_of(protocol.EpisodeHeld, "episode")
def episode_state_page(episode: protocol.EpisodeHeld) -> Page:
    """Render an episode after it was pinned, unpinned or given a salience."""
    pinned = "pinned: it does not fade" if episode.is_pinned else "not pinned: it fades as usual"
    return [
        *paragraph(one_line(episode.summary, 400), style="strong"),
        line(),
        field("episode", Part(one_line(episode.episode_id)[:_ID_CHARS], "accent"), Part(f"  {pinned}", "dim")),
        field("salience", f"{episode.salience:.2f}", Part(f"  accessibility {episode.accessibility:.2f}", "dim")),
    ]


@page_of(protocol.EpisodeCorrected, "corrected")
def corrected_page(done: protocol.EpisodeCorrected) -> Page:
    """Render what the owner's correction replaces, and how to undo it."""
    page: Page = [line("  Corrected. Both are kept, and your words now rank first."), line()]
    for quote in done.replaced:
        page += paragraph(f"\u201c{one_line(quote, 300)}\u201d now ranks lower.", indent=4, style="dim")
    return [
        *page,
        line(),
        field("remembered as", Part(one_line(done.new_episode_id)[:_ID_CHARS], "accent")),
        field("to undo", f"reveries consolidate undo {one_line(done.run_id)}"),
    ]


@page_of(protocol.Remembered, "remembered")
def remembered_page(done: protocol.Remembered) -> Page:
    """Render whether the words were new."""
    return [line("  It will remember that." if done.stored else "  It already remembers exactly these words.")]


def parse_salience(words: str) -> float:
    """Parse a number from 0 to 1. Raises UsageError."""
    try:
        share = float(words.replace(",", "."))
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= 1.0:
        raise UsageError("Salience is a number from 0 to 1.", advice="For example: 0.8")
    return share


@click.command("remember", short_help="Tell it something to remember.")
@click.argument("text", nargs=-1)
@json_option(protocol.Remembered)
def remember_command(text: tuple[str, ...], as_json: bool) -> None:
    """Store TEXT (or standard input) as your words, without a reply. It can be recalled at once."""
    from reveries.client.render import say, show_json
    from reveries.client.sync_call import call_mind, read_words
    from reveries.client.wording import plural

    words = read_words(text, "Say what to remember.", 'For example: reveries remember "Marta likes tea"')
    done = call_mind(
        lambda mind: mind.ask(lambda new_id: protocol.Remember(new_id, words), protocol.Remembered, seconds=None)
    )
    if as_json:
        show_json(done)
    elif done.stored:
        say(f"It will remember that ({plural(done.episodes, 'episode')} created).")
    else:
        say("It already remembers exactly these words from this second.")
