"""Views of one episode in full (R-23), and of the memory in numbers (R-171)."""

from collections.abc import Sequence

from reveries.db.database import Database
from reveries.errors import NotFoundError
from reveries.memory.deep_store import DeepStore
from reveries.memory.live import LiveMemory
from reveries.memory.model import TALK, Episode, Exemplar, Experience, Origin, RecalledEpisode, Turn
from reveries.memory.rows import experience_of, turn_of
from reveries.memory.sleep.decay import FADED_BELOW
from reveries.memory.store import load_pinned_ids
from reveries.protocol import EpisodeDetail, ExemplarDetail, LinkDetail, MemoryStats, Provenance, SaidTurn, copy_fields
from reveries.safe_text import one_line, plain

_SHORTEST_PREFIX = 2


def best_quote(recalled: RecalledEpisode) -> tuple[str, str]:
    """Return the quote that answers the cue best and its speaker; an exemplar if no turn was ranked."""
    if recalled.turns:
        turn = recalled.turns[0].turn
        return plain(turn.text), one_line(turn.speaker, 80)
    if recalled.episode.exemplars:
        return plain(recalled.episode.exemplars[0].quote), ""
    return "", ""


def find_episode(live: LiveMemory, id_or_prefix: str) -> Episode:
    """Find a live episode by id or unique id prefix. Raises NotFoundError."""
    if (episode := live.graph.get(id_or_prefix)) is not None:
        return episode
    ids = live.graph.ids_with_prefix(id_or_prefix)
    if len(ids) == 1 and len(id_or_prefix) >= _SHORTEST_PREFIX and (only := live.graph.get(ids[0])) is not None:
        return only
    if ids:
        raise NotFoundError(
            f"{len(ids)} episodes have an id that begins with {id_or_prefix}.", advice="Give more characters of the id."
        )
    raise NotFoundError(
        f"There is no episode {id_or_prefix} in the live memory.", advice="Find one: reveries memory search WORDS"
    )


async def refuse_merged(database: Database, id_or_prefix: str) -> None:
    """Raise NotFoundError naming the target if the episode was merged into another."""
    rows = await database.rows("episodes.merged_like", {"prefix": id_or_prefix})
    if len(rows) == 1 and len(id_or_prefix) >= _SHORTEST_PREFIX:
        gone, home = rows[0]["id"], rows[0]["home"]
        raise NotFoundError(
            f"Episode {gone} was about the same thing as {home}, so sleep merged them.",
            advice=f"See the merged episode: reveries memory inspect {home}",
        )


async def view_episode(database: Database, live: LiveMemory, episode: Episode) -> EpisodeDetail:
    """Build the full view of one episode. Changes nothing."""
    turns: list[Turn] = []
    provenance: list[Provenance] = []
    for experience_id in episode.experience_ids:
        rows = await database.rows("turns.of_experience", {"experience_id": experience_id})
        own = [turn_of(row) for row in rows]
        provenance += [
            _provenance(live, experience_of(row), own)
            for row in await database.rows("experiences.get", {"id": experience_id})
        ]
        turns += own
    if not turns:
        turns = live.turns.turns_of(episode.id)
    speakers = {turn.id: turn.speaker for turn in turns}
    return copy_fields(
        EpisodeDetail,
        episode,
        request_id=0,
        episode_id=episode.id,
        summary=plain(episode.summary),
        happened_at=episode.created_at,
        topics=[one_line(topic) for topic in episode.topics],
        entities=[one_line(entity) for entity in episode.entities],
        exemplars=[_exemplar(quoted, speakers.get(quoted.turn_id or "", "")) for quoted in episode.exemplars],
        links=[
            LinkDetail(link.target_id, link.type.value, link.strength, one_line(_summary(live, link.target_id)))
            for link in live.graph.links_of(episode.id)
        ],
        gap_significance=one_line(episode.gap_significance),
        sources=[said_turn(turn) for turn in sorted(turns, key=lambda turn: (turn.said_at, turn.position))],
        is_dormant=episode.id not in live.graph,
        provenance=provenance,
        is_pinned=episode.id in await load_pinned_ids(database),
    )


def said_turn(turn: Turn) -> SaidTurn:
    """Convert a stored turn to a frame for a client."""
    return SaidTurn(
        turn_id=turn.id,
        speaker=one_line(turn.speaker, 80),
        is_owner=turn.origin is Origin.OWNER,
        text=plain(turn.text),
        said_at=turn.said_at,
        is_partial=turn.is_partial,
    )


def _exemplar(exemplar: Exemplar, speaker: str) -> ExemplarDetail:
    return ExemplarDetail(
        quote=plain(exemplar.quote),
        context=plain(exemplar.context),
        said_at=exemplar.said_at,
        speaker=one_line(speaker, 80),
        turn_id=exemplar.turn_id or "",
        significance=one_line(exemplar.significance),
    )


def _provenance(live: LiveMemory, experience: Experience, turns: Sequence[Turn]) -> Provenance:
    untrusted = [turn for turn in turns if turn.origin.is_tainted]
    by = [f"someone else wrote it ({experience.origin.value})"] if experience.origin.is_tainted else []
    by += [f"{turn.speaker or 'someone else'} said it ({turn.origin.value})" for turn in untrusted]
    for name in experience.tainted_by:
        recalled = live.graph.get(name)
        source = "earlier text in the conversation or thought" if name == TALK else f"the memory {name}"
        by.append(source if recalled is None else f"{source}, which was recalled for it: {recalled.summary}")
    if experience.tainted and not by:
        by.append("a tainted memory was recalled for it; which one was not recorded at the time")
    speakers = tuple(dict.fromkeys(turn.speaker for turn in untrusted if turn.speaker))
    return Provenance(
        experience_id=experience.id,
        kind=experience.kind.value,
        origin=experience.origin.value,
        tainted=experience.tainted,
        happened_at=experience.happened_at,
        speakers=[one_line(speaker, 80) for speaker in speakers],
        by=[one_line(way) for way in dict.fromkeys(by)],
    )


async def statistics(database: Database, live: LiveMemory, deep: DeepStore) -> MemoryStats:
    """Return counts and sizes of the memory. Changes nothing."""
    counts = (await database.rows("statistics.counts"))[0]
    saliences = live.graph.saliences()
    runs = await database.rows("consolidation.last_run")
    last = (
        ""
        if not runs
        else f"{runs[0]['outcome']}: {runs[0]['processed']} processed, {runs[0]['created']} deepened, "
        f"{runs[0]['merged']} merged, {runs[0]['fallbacks']} without a usable answer"
    )
    return MemoryStats(
        request_id=0,
        experiences=counts["experiences"],
        unprocessed=counts["unprocessed"],
        turns=counts["turns"],
        episodes=len(live.graph),
        links=live.graph.links_by_type(),
        mean_salience=float(saliences.mean()) if len(saliences) else 0.0,
        min_salience=float(saliences.min()) if len(saliences) else 0.0,
        faded=len(live.graph.ids_less_accessible(FADED_BELOW)),
        database_bytes=counts["database_bytes"],
        last_consolidation=last,
        dormant=deep.counts.episodes,
        put_away_turns=deep.counts.turns,
        deep_search="sqlite-vec" if deep.is_indexed else "numpy",
    )


def _summary(live: LiveMemory, episode_id: str) -> str:
    episode = live.graph.get(episode_id)
    return episode.summary if episode is not None else ""
