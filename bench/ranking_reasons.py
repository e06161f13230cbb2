"""Which reasons speak for a turn (1) and which against it (-1), by argument alone: where `fit_ranking.py` starts from.

Of 41 reasons these are the 29 that help on made talk: one after the other was left out, worst first, as long as the
loss on subjects that were never fitted did not rise. (`time_for_when` cost nothing there either, but without it "When
is my interview?" of own_words.jsonl finds the interview and not its day.) All 29 are learned with `--all`, only
`OWN_WORDS` without; the table that ships weighs further reasons (`ranking_weights.py`).
"""

SIGNS: dict[str, int] = {
    # It is about what the cue is about: by its words, by its meaning, by what is said around it.
    "words": 1,
    "meaning": 1,
    "cosine": 1,
    "window_coverage": 1,
    "window_meaning": 1,
    "meaning_before": 1,
    "meaning_after": 1,
    "conversation": 1,
    "about_named": 1,
    # It can answer at all: it tells something, of the kind that is asked for.
    "length": 1,
    "short": -1,
    "asks": -1,
    "after_question": 1,
    "greets": -1,
    "first_person": 1,
    "names": 1,
    "names_for_who": 1,
    "number_for_many": 1,
    "time_for_when": 1,
    # It was said by whom, and at the time, of which the cue speaks.
    "speaker": 1,
    "other_speaker": -1,
    "after_then": 1,
    "before_then": 1,
    # Memory is asked for what the owner said, unless the cue asks for the mind's own words.
    "own": -1,
    "own_x_to_mind": 1,
    "brings": -1,
    "brings_x_to_mind": 1,
    "answered_meaning_x_to_mind": 1,
    "reply_brings": 1,
}

OWN_WORDS = tuple(
    name for name in SIGNS if name.partition("_x_")[0] in ("own", "brings", "answered_meaning", "reply_brings")
)
"""The reasons that tell the mind's words from the owner's: what `fit_ranking.py` learns without --all."""
