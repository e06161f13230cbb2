"""Signs of the ranking features, for (1) or against (-1) a turn, set by reasoning: the start of `fit_ranking.py`.

Of 41 features these are the 29 that help on generated conversations: one after the other was removed, worst first, as
long as the loss on held-out subjects did not rise. (`time_for_when` could have been removed too, but without it "When
is my interview?" of own_words.jsonl finds the interview and not its day.) All 29 are fitted with `--all`, otherwise
only `OWN_WORDS`; the shipped table has further features (`ranking_weights.py`).
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
