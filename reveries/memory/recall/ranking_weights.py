"""What each reason weighs for a turn's rank, in units of `features`: added up, more is better. "a_x_b" is the reason a
where b holds (`features.features_of`).

Where the numbers come from. They were learned on talk that bench/make_talks.py makes, but held near to weights set by
hand, and those were not made without evaluation data: they followed two earlier tables that had been fitted on its
questions (correlation 0.95) and were chosen with its figures in sight. "coverage" was raised by hand to what it and
the words of like meaning, which are gone, had weighed together. So what recall reaches on those sets is not a figure of
unseen data. Tables without such ancestors can be learned (bench/fit_ranking.py); they find less in talk of real people
and do not ship. The figures of both, and of data that nobody had seen: docs/benchmarks/recall.md.
"""

MATCH_WEIGHTS: dict[str, float] = {
    "about_named": 6.431,
    "after_question": 0.594,
    "after_then": 2.949,
    "after_then_x_mind": -3.0,
    "answered_meaning_x_to_mind": 2.66,
    "asks": -0.25,
    "asks_x_mind": -0.157,
    "before_then": 1.458,
    "begins": 0.464,
    "brings": -3.32,
    "brings_x_to_mind": 9.05,
    "conversation": 0.449,
    "cosine_x_mind": 3.952,
    "coverage": 1.957,
    "coverage_x_alone": -1.115,
    "ends_asking": -0.546,
    "first_person": 0.483,
    "first_person_x_mind": 0.752,
    "greets": -0.395,
    "length": 0.484,
    "length_x_mind": -0.728,
    "meaning": 0.537,
    "meaning_after": 0.14,
    "meaning_before": 0.141,
    "meaning_x_alone": 0.354,
    "meaning_x_coverage": -0.12,
    "meaning_x_statement": 1.221,
    "names": 0.416,
    "names_for_who": 1.523,
    "names_for_who_x_mind": -0.253,
    "number": 0.154,
    "number_for_many": 2.473,
    "other_speaker": -0.646,
    "own": -2.87,
    "own_x_to_mind": 2.78,
    "phrases": 1.384,
    "reply_brings": 7.6,
    "short": -0.416,
    "speaker": 0.828,
    "time_for_when": 1.304,
    "time_for_when_x_mind": -0.747,
    "time_word": 0.305,
    "window_coverage": 2.488,
    "window_coverage_x_mind": -3.152,
    "window_meaning": 0.493,
    "window_meaning_x_coverage": -0.195,
    "window_meaning_x_statement": -0.493,
    "window_words_x_coverage": 0.014,
    "window_words_x_mind": -0.176,
    "window_words_x_statement": -0.182,
    "words": 0.083,
    "words_before": 0.018,
    "words_of_best_x_mind": 1.386,
    "words_x_alone": -0.113,
    "words_x_coverage": 0.2,
    "words_x_statement": -0.204,
}
