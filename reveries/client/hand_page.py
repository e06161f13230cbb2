"""What the owner's hand on an episode came to, as lines. Pure."""

from reveries import protocol
from reveries.client.render import Page, Part, field, line, paragraph
from reveries.errors import UsageError
from reveries.plaintext import one_line

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
