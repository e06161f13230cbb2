"""The pages of `memory search`, `memory inspect`, `monologue history` and `consolidate`: pure, message to lines."""

import msgspec

from reveries.client.reasons import reason_words
from reveries.client.render import Page, Part, bar, field, line, paragraph
from reveries.client.wording import ago, clock_time, count, moment, plural, span
from reveries.plaintext import one_line
from reveries.protocol import Consolidated, EpisodeDetail, Found, FoundEpisode, FoundTurn

SHORT_ID_CHARS = 8
_EMPTY = line()


def found_page(found: Found, now: float, most: int = 25) -> Page:
    """What a search found: the episodes with their energy and quote, then the `most` turns that answer best."""
    turns = found.turns[:most]
    if not found.episodes and not found.turns and not found.on_disk:
        return [line("Nothing comes to mind.")]
    page: Page = []
    for episode in found.episodes:
        page += [*_found_episode(episode, now), _EMPTY]
    if found.turns:
        page += [line(Part("  said", "strong"), Part(", best first", "dim")), _EMPTY]
        for turn in turns:
            page += _found_turn(turn, now)
        page.append(_EMPTY)
    if found.on_disk:
        page += _disk_rows(found, now)
    told = f"  {plural(len(found.episodes), 'episode')}, {plural(len(turns), 'turn')}, {found.seconds * 1000:.0f} ms"
    return [*page, line(Part(f"{told}. More of one: reveries memory inspect ID", "dim"))]


def episode_page(episode: EpisodeDetail, now: float) -> Page:
    """Everything about an episode (R-23): what it is, its quotes, what it hangs together with, what was said."""
    return [
        line(Part(f"  {one_line(episode.episode_id)}", "accent"), Part(f"  {ago(episode.happened_at, now)}", "dim")),
        _EMPTY,
        *paragraph(episode.summary, style="strong"),
        _EMPTY,
        *_facts(episode, now),
        *_exemplar_rows(episode),
        *_link_rows(episode),
        *_provenance_rows(episode),
        *_source_rows(episode),
    ]


def consolidated_page(done: Consolidated) -> Page:
    """What a pass did, in one sentence and what is left."""
    if not done.processed and not done.left and not done.was_interrupted and not done.question:
        return [line("There was nothing to sleep on.")]
    made = f"{plural(done.created, 'new episode')}, {done.merged} merged"
    doubt = f", {plural(done.fallbacks, 'fallback')} without the model" if done.fallbacks else ""
    head = "Interrupted after" if done.was_interrupted else "Slept on"
    rest = f"{plural(done.left, 'experience')} left." if done.left else "Nothing is left."
    page = [
        line(f"{head} {plural(done.processed, 'experience')} in {span(done.seconds)}: {made}{doubt}."),
        line(Part(rest, "dim")),
    ]
    if done.question:
        run = one_line(done.run_id)
        page += paragraph(done.question, indent=0, style="warn")
        page += [line(f"  reveries consolidate confirm {run}"), line(f"  reveries consolidate drop {run}")]
    return page


def _found_episode(episode: FoundEpisode, now: float) -> Page:
    hops = f"  by way of {plural(len(episode.path) - 1, 'link')}" if len(episode.path) > 1 else ""
    page = [
        line(
            Part(f"  {bar(min(1.0, episode.energy), 6)}", "accent"),
            Part(f"  {episode.energy:.2f}  ", "dim"),
            Part(one_line(episode.episode_id)[:SHORT_ID_CHARS], "accent"),
            Part(f"  {ago(episode.happened_at, now)}, {one_line(episode.depth)}{hops}", "dim"),
        ),
        *paragraph(one_line(episode.summary, 400), indent=4),
    ]
    if episode.quote:
        page += paragraph(f"“{one_line(episode.quote, 300)}” {one_line(episode.quote_speaker)}", indent=4, style="dim")
    return [*page, *_why_found(episode)]


def _why_found(episode: FoundEpisode) -> Page:
    """One line, when it was asked for: how it was entered, and what its energy was multiplied with."""
    factors = episode.factors
    if isinstance(factors, msgspec.UnsetType):
        return []
    way = (
        f"cosine {episode.cosine:.2f}, {episode.words:.0%} of the words"
        if episode.cosine
        else "reached over links only"
    )
    told = (
        f"{way}; salience {episode.salience:.2f}, recency x {factors.recency:.2f}, feeling x {factors.resonance:.2f}, "
        f"time x {factors.temporal:.2f}, reach x {factors.accessibility:.2f}"
    )
    return paragraph(told, indent=4, style="dim")


def _found_turn(turn: FoundTurn, now: float) -> Page:
    head = line(
        Part(f"  {turn.score:.2f}  ", "dim"),
        Part(one_line(turn.speaker, 40), "strong"),
        Part(f"  {ago(turn.said_at, now)}, in {one_line(turn.episode_id)[:SHORT_ID_CHARS]}", "dim"),
    )
    reasons = [] if isinstance(turn.reasons, msgspec.UnsetType) else turn.reasons
    told = ", ".join(f"{'+' if one.amount > 0 else '−'} {reason_words(one)}" for one in reasons)
    return [
        head,
        *paragraph(one_line(turn.text, 300), indent=8),
        *(paragraph(told, indent=8, style="dim") if told else []),
    ]


def _disk_rows(found: Found, now: float) -> Page:
    page: Page = [line(Part("  only on disk", "strong"), Part(", best first", "dim")), _EMPTY]
    for text in found.on_disk:
        what = "summary" if text.kind == "episode" else one_line(text.speaker, 40) or "a thought"
        state = "dormant" if text.is_dormant else "put away"
        place = f"  {ago(text.said_at, now)}, in {one_line(text.episode_id)[:SHORT_ID_CHARS]}, "
        page.append(
            line(Part(f"  {text.score:.2f}  ", "dim"), Part(what, "strong"), Part(place, "dim"), Part(state, "warn"))
        )
        page += paragraph(one_line(text.text, 300), indent=8)
    if not found.is_whole:
        page.append(line(Part("  The search ran out of time: not everything was compared.", "warn")))
    return [*page, _EMPTY]


def _facts(episode: EpisodeDetail, now: float) -> Page:
    lasted = span(episode.ended_at - episode.happened_at)
    page = [
        field("when", moment(episode.happened_at), Part(f"  lasted {lasted}", "dim")),
        field("salience", f"{episode.salience:.2f}", Part(f"  confidence {episode.confidence:.2f}", "dim")),
        *([field("pinned", "time leaves it alone")] if episode.is_pinned is True else []),
        field("within reach", f"{episode.accessibility:.2f}", Part(_last_recall_text(episode, now), "dim")),
        field("feeling", f"{episode.valence:+.2f}"),
        field(
            "origin", one_line(episode.origin), Part("  from outside: not trusted" if episode.tainted else "", "warn")
        ),
        field("depth", one_line(episode.depth)),
        *(
            [field("where", "dormant: only on disk", Part("  a strong cue wakes it", "dim"))]
            if episode.is_dormant
            else []
        ),
    ]
    if episode.topics:
        page.append(field("topics", ", ".join(one_line(topic) for topic in episode.topics)))
    if episode.entities:
        page.append(field("names", ", ".join(one_line(name) for name in episode.entities)))
    for label, ids in (("before it", episode.before), ("after it", episode.after)):
        if ids:
            page.append(field(label, Part(", ".join(one_line(one)[:SHORT_ID_CHARS] for one in ids), "accent")))
    if episode.gap_seconds is not None:
        page.append(
            field("silence before", span(episode.gap_seconds), Part(f"  {one_line(episode.gap_significance)}", "dim"))
        )
    return page


def _last_recall_text(episode: EpisodeDetail, now: float) -> str:
    times = f"  recalled {plural(episode.access_count, 'time')}"
    return f"{times}, last {ago(episode.last_accessed_at, now)}" if episode.access_count else times


def _exemplar_rows(episode: EpisodeDetail) -> Page:
    if not episode.exemplars:
        return []
    page: Page = [_EMPTY, line(Part("  word for word", "strong"))]
    for exemplar in episode.exemplars:
        page += paragraph(f"“{exemplar.quote}”", indent=4)
        said = f"{one_line(exemplar.speaker)}, {moment(exemplar.said_at)}"
        page.append(
            line(Part(f"    {said}{'  turn ' + one_line(exemplar.turn_id) if exemplar.turn_id else ''}", "dim"))
        )
        if exemplar.significance:
            page += paragraph(exemplar.significance, indent=4, style="dim")
    return page


def _link_rows(episode: EpisodeDetail) -> Page:
    if not episode.links:
        return []
    page: Page = [_EMPTY, line(Part("  hangs together with", "strong"))]
    for link in sorted(episode.links, key=lambda link: -link.strength):
        page.append(
            line(
                Part(f"    {bar(link.strength, 4)} ", "accent"),
                Part(f"{one_line(link.type):<9} ", "dim"),
                Part(one_line(link.episode_id)[:SHORT_ID_CHARS], "accent"),
                f"  {one_line(link.summary, 70)}",
            )
        )
    return page


def _provenance_rows(episode: EpisodeDetail) -> Page:
    """From where it came and by which way others had a hand in it; nothing where nobody had."""
    if not episode.tainted:
        return []
    page: Page = [_EMPTY, line(Part("  where it came from", "strong"))]
    for source in episode.provenance:
        trust = Part("  others had a hand in it" if source.tainted else "", "warn")
        told = f"    {moment(source.happened_at)}  {one_line(source.kind)}, origin {one_line(source.origin)}"
        page.append(line(Part(told, "dim"), trust))
        for way in source.by:
            page += paragraph(one_line(way), indent=6)
    return page


def _source_rows(episode: EpisodeDetail) -> Page:
    if not episode.sources:
        return []
    page: Page = [_EMPTY, line(Part("  what was said", "strong"), Part(f"  {count(len(episode.sources))}", "dim"))]
    for turn in episode.sources:
        cut = "  (cut off)" if turn.is_partial else ""
        page.append(line(Part(f"    {clock_time(turn.said_at)}  {one_line(turn.speaker)}{cut}", "dim")))
        page += paragraph(turn.text, indent=6)
    return page
