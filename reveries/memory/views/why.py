"""Explains why an episode surfaced for a cue, or why not. Pure."""

import itertools
from collections.abc import Sequence

import msgspec

from reveries.index.terms import terms_of, words_of
from reveries.llm.base import Vector
from reveries.memory.graph.activation import Seed, energy_factors, explain_episodes, seed_energy
from reveries.memory.live import SHARE_OF_SPREAD, LiveMemory
from reveries.memory.model import Episode, Factors, RankingReason, Recall, RecallContext, RecalledEpisode
from reveries.memory.recall.cues import cue_terms
from reveries.memory.recall.ranking import best_turns_of_episodes
from reveries.memory.views.search import CueReach, reach_episodes, recall_from_reach, with_reasons
from reveries.protocol import TurnReason, Why, WhyEntry, WhyFactors, WhyLink, WhyStep, WhyTurn
from reveries.safe_text import one_line, plain

_TURNS = 5
_BEST_RANKED = 1000


def explain(live: LiveMemory, cue: str, vector: Vector, context: RecallContext, episode: Episode) -> Why:
    """Explain why `episode` (of the live memory) surfaces for `cue` under `context`, or why not."""
    reach = reach_episodes(live, cue, vector, context)
    index = live.graph.index_of(episode.id)
    seed = next((seed for seed in reach.ranking.seeds if seed.index == index), None)
    recalled = _recalled_episode(live, reach, index, context)
    above = [place for place, _ in reach.above(live.settings.activation_threshold)]
    recall = recall_from_reach(live, reach, cue, vector, context)
    rank = _rank(recall, episode, above.index(index) + 1 if index in above else 0)
    factors = energy_factors(episode, context)
    scale = factors.recency * factors.resonance * factors.temporal * factors.accessibility
    direct = (seed_energy(seed, episode, context.now) if seed else 0.0) * scale
    spread = max(0.0, (reach.whole.get(index, 0.0) if index is not None else 0.0) - direct)
    shared, unmet = _shared_and_unmet_words(live, cue, episode)
    steps = _steps(live, recalled)
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
        share_of_spread=SHARE_OF_SPREAD,
        energy_whole=direct + spread,
        energy=recalled.energy if recalled else 0.0,
        turns=_turns(live, cue, reach, recall, episode),
        missing=[],
        asked_at=0.0,
        rank_then=0,
    )
    return why if why.surfaced else msgspec.structs.replace(why, missing=_missing_sentences(live, why, reach))


def factors_frame(factors: Factors) -> WhyFactors:
    """Return the factors (R-122) as a frame."""
    return WhyFactors(factors.recency, factors.resonance, factors.temporal, factors.accessibility)


def reasons_frames(reasons: Sequence[RankingReason]) -> list[TurnReason]:
    """Return ranking reasons as frames."""
    return [TurnReason(reason.name, reason.value, reason.amount, reason.usual) for reason in reasons]


def _recalled_episode(
    live: LiveMemory, reach: CueReach, index: int | None, context: RecallContext
) -> RecalledEpisode | None:
    """The episode with its explanation; None if no energy reached it."""
    chosen = [entry for entry in reach.ranking.order if entry[0] == index]
    return next(iter(explain_episodes(live.graph, reach.ranking, chosen, context, live.settings)), None)


def _entry(live: LiveMemory, vector: Vector, seed: Seed, energy: float) -> WhyEntry:
    cosines = live.graph.vectors @ vector if vector.shape == (live.dimensions,) else None
    nearer = int((cosines > seed.cosine + 1e-6).sum()) if cosines is not None else live.settings.seeds
    by_meaning = seed.cosine > 0.0 and nearer < live.settings.seeds
    by_turn = seed.words > 0.0 or seed.match > seed.cosine or not by_meaning
    return WhyEntry(by_meaning, by_turn, seed.cosine, seed.words, seed.match, energy)


def _steps(live: LiveMemory, recalled: RecalledEpisode | None) -> list[WhyStep]:
    steps: list[WhyStep] = []
    path = recalled.path if recalled else ()
    for source, target in itertools.pairwise(path):
        links = [
            WhyLink(link.type.value, link.strength) for link in live.graph.links_of(source) if link.target_id == target
        ]
        episode = live.graph.get(target)
        steps.append(WhyStep(source, target, plain(episode.summary) if episode else "", links))
    return steps


def _rank(recall: Recall, episode: Episode, rank_by_energy: int) -> int:
    """Rank in the recall, where superseded episodes come after what replaced them; otherwise the rank by energy."""
    names = [recalled.episode.id for recalled in recall.episodes]
    return names.index(episode.id) + 1 if episode.id in names else rank_by_energy


def _turns(live: LiveMemory, cue: str, reach: CueReach, recall: Recall, episode: Episode) -> list[WhyTurn]:
    best = reach.scores.best_rows(_BEST_RANKED)
    places = {live.turns.turn(row).id: place for place, row in enumerate(best, 1)}
    recalled = {ranked.turn.id: ranked for ranked in recall.turns}
    places.update({name: place for place, name in enumerate(recalled, 1)})
    turns: list[WhyTurn] = []
    for ranked in best_turns_of_episodes(live.turns, reach.scores, [episode.id], _TURNS)[0]:
        shown, turn = recalled.get(ranked.turn.id) or with_reasons(live, ranked, reach.scores), ranked.turn
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
    """Return the words of `cue`, as written, that occur in `text` in some form."""
    text_terms, asked_terms = set(terms_of(text)), set(cue_terms(cue))
    return list(dict.fromkeys(word for word in words_of(cue) if text_terms & asked_terms & set(terms_of(word))))


def _shared_and_unmet_words(live: LiveMemory, cue: str, episode: Episode) -> tuple[list[str], list[str]]:
    """Return the cue's words that occur in the episode's turns, and those that do not, without stop words."""
    text = "\n".join([*(turn.text for turn in live.turns.turns_of(episode.id)), episode.summary])
    shared, asked_terms = shared_words(cue, text), set(cue_terms(cue))
    content_words = [word for word in words_of(cue) if asked_terms & set(terms_of(word))]
    return shared, list(dict.fromkeys(word for word in content_words if word not in shared))


def _missing_sentences(live: LiveMemory, why: Why, reach: CueReach) -> list[str]:
    """Say, for the owner, why the episode did not surface."""
    if why.rank:
        last = _last_energy(live, why, reach)
        place = f"It ranked {_ordinal_word(why.rank)}, but only the first {why.limit} surface"
        return [f"{place}. Its energy is {why.energy:.3f}; that of the last one to surface is {last:.3f}."]
    missing = [_no_entry_sentence(live, why, reach)] if why.entry is None else []
    if why.energy_whole > 0.0:
        missing.append(f"Its energy is {why.energy_whole:.3f}; to surface it needs more than {why.threshold:g}.")
    elif why.entry is not None:
        missing.append("It was a candidate for an entry point, but nothing in it matches the cue.")
    else:
        missing.append(f"No link led to it within {live.settings.max_hops} steps of an entry point.")
    if why.factors.accessibility < 1.0:
        missing.append(f"It has faded: it receives {why.factors.accessibility:.0%} of the energy sent to it.")
    if why.salience < 0.2:
        missing.append(f"Its salience is low ({why.salience:.2f}), so it would start with little energy.")
    return missing


def _no_entry_sentence(live: LiveMemory, why: Why, reach: CueReach) -> str:
    nearest = sorted((seed.cosine for seed in reach.ranking.seeds), reverse=True)[: live.settings.seeds]
    needed = f"; the {len(nearest)} nearest have {nearest[-1]:.2f} or more" if nearest else ""
    words = ", ".join(why.shared_words) if why.shared_words else "none of them"
    best = next((turn.place for turn in why.turns if turn.place), 0)
    turn = f" Its best turn ranks {_ordinal_word(best)}" if best else " None of its turns is among the best"
    return (
        f"It was not an entry point: its cosine with the cue is {why.cosine:.2f}{needed}. "
        f"Of the cue's words it contains {words}.{turn}; only the first {live.settings.seeds} turns count."
    )


def _last_energy(live: LiveMemory, why: Why, reach: CueReach) -> float:
    """Energy of the last episode that surfaces."""
    above = reach.above(live.settings.activation_threshold)
    return above[min(why.limit, len(above)) - 1][1] if above else 0.0


def _ordinal_word(number: int) -> str:
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
