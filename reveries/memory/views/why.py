"""Explains why an episode surfaced for a cue, or why it did not: a whole recall, seen from one episode. Pure."""

import itertools
from collections.abc import Sequence

import msgspec

from reveries.index.terms import terms_of, words_of
from reveries.llm.base import Vector
from reveries.memory.graph.activation import Seed, energy_factors, explain_episodes, seed_energy
from reveries.memory.live import LiveMemory
from reveries.memory.model import Episode, Factors, RankingReason, Recall, RecallContext, RecalledEpisode
from reveries.memory.recall.cues import cue_terms
from reveries.memory.recall.ranking import best_turns_of_episodes
from reveries.memory.views.search import CueReach, reach_episodes, recall_from_reach, with_reasons
from reveries.protocol import TurnReason, Why, WhyEntry, WhyFactors, WhyLink, WhyStep, WhyTurn
from reveries.safe_text import one_line, plain

_TURNS = 5
_BEST_RANKED = 1000


def explain(live: LiveMemory, cue: str, vector: Vector, context: RecallContext, episode: Episode) -> Why:
    """Why `episode` (of the live memory) surfaces for `cue` under `context`, or does not."""
    found = reach_episodes(live, cue, vector, context)
    index = live.graph.index_of(episode.id)
    seed = next((seed for seed in found.ranking.seeds if seed.index == index), None)
    mine = _mine(live, found, index, context)
    above = [one for one, _ in found.above(live.settings.activation_threshold)]
    taken = recall_from_reach(live, found, cue, vector, context)
    rank = _rank(taken, episode, above.index(index) + 1 if index in above else 0)
    factors = energy_factors(episode, context)
    scale = factors.recency * factors.resonance * factors.temporal * factors.accessibility
    direct = (seed_energy(seed, episode, context.now) if seed else 0.0) * scale
    spread = max(0.0, (found.whole.get(index, 0.0) if index is not None else 0.0) - direct)
    shared, unmet = _met_and_unmet_words(live, cue, episode)
    steps = _steps(live, mine)
    entry = live.graph.get(steps[0].from_id) if steps else None
    why = Why(
        request_id=0,
        cue=plain(cue),
        episode_id=episode.id,
        summary=plain(episode.summary),
        happened_at=episode.created_at,
        surfaced=0 < rank <= context.limit,
        rank=rank,
        surfaced_count=len(above),
        limit=context.limit,
        threshold=live.settings.activation_threshold,
        cosine=float(live.graph.vector_of(episode.id) @ vector) if vector.shape == (live.dimensions,) else 0.0,
        shared_words=shared,
        unmet_words=unmet,
        entry=_entry(live, vector, seed, seed_energy(seed, episode, context.now)) if seed else None,
        entry_id=entry.id if entry else "",
        entry_summary=plain(entry.summary) if entry else "",
        steps=steps,
        salience=episode.salience,
        factors=factors_frame(factors),
        energy_direct=direct,
        energy_spread=spread,
        share_of_spread=live.share_of_spread,
        energy_whole=direct + spread,
        energy=mine.energy if mine else 0.0,
        turns=_turns(live, cue, found, taken, episode),
        missing=[],
        asked_at=0.0,
        rank_then=0,
    )
    return why if why.surfaced else msgspec.structs.replace(why, missing=_missing_sentences(live, why, found))


def factors_frame(factors: Factors) -> WhyFactors:
    """R-122."""
    return WhyFactors(factors.recency, factors.resonance, factors.temporal, factors.accessibility)


def reasons_frames(reasons: Sequence[RankingReason]) -> list[TurnReason]:
    """What moved a turn."""
    return [TurnReason(reason.name, reason.value, reason.amount, reason.usual) for reason in reasons]


def _mine(live: LiveMemory, found: CueReach, index: int | None, context: RecallContext) -> RecalledEpisode | None:
    """The episode as the recall has it, if its energy reached it at all."""
    chosen = [one for one in found.ranking.order if one[0] == index]
    return next(iter(explain_episodes(live.graph, found.ranking, chosen, context, live.settings)), None)


def _entry(live: LiveMemory, vector: Vector, seed: Seed, energy: float) -> WhyEntry:
    cosines = live.graph.vectors @ vector if vector.shape == (live.dimensions,) else None
    nearer = int((cosines > seed.cosine + 1e-6).sum()) if cosines is not None else live.settings.seeds
    by_meaning = seed.cosine > 0.0 and nearer < live.settings.seeds
    by_turn = seed.words > 0.0 or seed.match > seed.cosine or not by_meaning
    return WhyEntry(by_meaning, by_turn, seed.cosine, seed.words, seed.match, energy)


def _steps(live: LiveMemory, mine: RecalledEpisode | None) -> list[WhyStep]:
    steps: list[WhyStep] = []
    path = mine.path if mine else ()
    for source, target in itertools.pairwise(path):
        links = [
            WhyLink(link.type.value, link.strength) for link in live.graph.links_of(source) if link.target_id == target
        ]
        led_to = live.graph.get(target)
        steps.append(WhyStep(source, target, plain(led_to.summary) if led_to else "", links))
    return steps


def _rank(taken: Recall, episode: Episode, place: int) -> int:
    """Among those that are taken, what was superseded comes after what replaced it, whatever its energy."""
    names = [one.episode.id for one in taken.episodes]
    return names.index(episode.id) + 1 if episode.id in names else place


def _turns(live: LiveMemory, cue: str, found: CueReach, taken: Recall, episode: Episode) -> list[WhyTurn]:
    best = found.scores.best_rows(_BEST_RANKED)
    places = {live.turns.turn(row).id: place for place, row in enumerate(best, 1)}
    seen = {ranked.turn.id: ranked for ranked in taken.turns}
    places.update({name: place for place, name in enumerate(seen, 1)})
    turns: list[WhyTurn] = []
    for ranked in best_turns_of_episodes(live.turns, found.scores, [episode.id], _TURNS)[0]:
        shown, turn = seen.get(ranked.turn.id) or with_reasons(live, ranked, found.scores), ranked.turn
        turns.append(
            WhyTurn(
                turn_id=turn.id,
                speaker=one_line(turn.speaker, 80),
                said_at=turn.said_at,
                text=plain(turn.text),
                score=shown.score,
                place=places.get(turn.id, 0),
                shared_words=shared_words(cue, turn.text),
                reasons=reasons_frames(shown.reasons),
            )
        )
    return turns


def shared_words(cue: str, text: str) -> list[str]:
    """The words of `cue`, as they stand there, that `text` holds in some form."""
    held, asked = set(terms_of(text)), set(cue_terms(cue))
    return list(dict.fromkeys(word for word in words_of(cue) if held & asked & set(terms_of(word))))


def _met_and_unmet_words(live: LiveMemory, cue: str, episode: Episode) -> tuple[list[str], list[str]]:
    """The cue's words that the episode's turns hold, and those that they do not; little words are no matter."""
    text = "\n".join([*(turn.text for turn in live.turns.turns_of(episode.id)), episode.summary])
    shared, asked = shared_words(cue, text), set(cue_terms(cue))
    telling = [word for word in words_of(cue) if asked & set(terms_of(word))]
    return shared, list(dict.fromkeys(word for word in telling if word not in shared))


def _missing_sentences(live: LiveMemory, why: Why, found: CueReach) -> list[str]:
    if why.rank:
        last = _last_taken(live, why, found)
        place = f"It came {_ordinal_word(why.rank)}, and only the first {why.limit} are taken"
        return [f"{place}; its energy is {why.energy:.3f}, that of the last one taken {last:.3f}."]
    missing = [_no_entry(live, why, found)] if why.entry is None else []
    if why.energy_whole > 0.0:
        missing.append(f"Its energy is {why.energy_whole:.3f}, and what surfaces has more than {why.threshold:g}.")
    elif why.entry is not None:
        missing.append("It was looked at as an entry point, but nothing in it matches the cue.")
    else:
        missing.append(f"No link led to it within {live.settings.max_hops} steps of an entry point.")
    if why.factors.accessibility < 1.0:
        missing.append(f"It has faded: it takes up {why.factors.accessibility:.0%} of the energy that is sent to it.")
    if why.salience < 0.2:
        missing.append(f"It matters little: its salience is {why.salience:.2f}, and it would begin with as much less.")
    return missing


def _no_entry(live: LiveMemory, why: Why, found: CueReach) -> str:
    nearest = sorted((seed.cosine for seed in found.ranking.seeds), reverse=True)[: live.settings.seeds]
    needed = f"; the {len(nearest)} nearest have {nearest[-1]:.2f} or more" if nearest else ""
    words = ", ".join(why.shared_words) if why.shared_words else "none of them"
    best = next((turn.place for turn in why.turns if turn.place), 0)
    turn = f" Its best turn is {_ordinal_word(best)} among all" if best else " None of its turns is among the best"
    return (
        f"It was no entry point: its cosine with the cue is {why.cosine:.2f}{needed}. "
        f"Of the cue's words it holds {words}.{turn}, and the first {live.settings.seeds} count."
    )


def _last_taken(live: LiveMemory, why: Why, found: CueReach) -> float:
    above = found.above(live.settings.activation_threshold)
    return above[min(why.limit, len(above)) - 1][1] if above else 0.0


def _ordinal_word(number: int) -> str:
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
