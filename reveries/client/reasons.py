"""Readable texts for the reasons why a turn was found. An unknown reason is shown by its name."""

from typing import Final

from reveries.client.wording import plural
from reveries.protocol import TurnReason
from reveries.safe_text import one_line

_TEXTS: Final = {
    "about_named": "it is about a name in the query",
    "after_question": "it follows a question",
    "after_then": "it was said soon after the time in the query",
    "answered_meaning": "the turn that it answers is similar in meaning",
    "asks": "it is a question",
    "before_then": "it was said soon before the time in the query",
    "begins": "it begins a conversation",
    "bridge": "it shares a rare name with a better match",
    "bridge_rest": "it adds words that a better match with the same name lacks",
    "brings": "it has words of the query that the owner had not used",
    "conversation": "its conversation matches the query",
    "cosine": "it is similar in meaning",
    "coverage": "it contains the words of the query",
    "ends_asking": "it ends with a question",
    "first_person": "the speaker talks about themselves",
    "greets": "it is a greeting",
    "held_back": "it was found through another turn, which ranks first",
    "hop_second": "it is reached over two links",
    "hop_trust": "a good match leads to it",
    "in_time": "it was said at the time in the query",
    "length": "it is long",
    "meaning": "it is similar in meaning to the query",
    "meaning_after": "the next turn is similar in meaning",
    "meaning_before": "the previous turn is similar in meaning",
    "names": "it names somebody or something",
    "names_for_who": "the query asks who or where, and it contains names",
    "news": "it states what is true now",
    "number": "it contains a number",
    "number_for_many": "the query asks how many, and it contains a number",
    "other_speaker": "the query names another speaker",
    "own": "the mind said it itself",
    "phrases": "it contains phrases of the query",
    "replaced": "a newer turn replaces it",
    "replaces": "it replaces an older turn",
    "reply_brings": "the mind's reply to it contains more words of the query",
    "short": "it is short",
    "speaker": "the speaker named in the query said it",
    "time_for_when": "the query asks when, and it contains a time",
    "time_word": "it contains a time",
    "window_coverage": "it and the turns around it contain the words of the query",
    "window_meaning": "the turns around it are similar in meaning",
    "window_words": "the turns around it contain the words",
    "words": "it contains rare words of the query",
    "words_after": "the next turn contains the words",
    "words_before": "the previous turn contains the words",
    "words_of_best": "few turns contain more of the words",
}


_ABSENT: Final = {
    "asks": "it is no question",
    "greets": "it is no greeting",
    "names": "it names nobody and nothing",
    "names_for_who": "the query asks who or where, and it contains no names",
    "news": "it states nothing that is true now",
    "number": "it contains no number",
    "number_for_many": "the query asks how many, and it contains no number",
    "own": "it is not the mind's own words",
    "phrases": "it contains no phrase of the query",
    "short": "it is not short",
    "time_for_when": "the query asks when, and it contains no time",
    "time_word": "it contains no time",
    "words": "it contains no rare words of the query",
}
"""Of what a turn has or has not: "less than usual: the mind said it itself" would say nothing of the owner's words."""


def reason_text(reason: TurnReason) -> str:
    """Return "it contains a number"; for a turn without one "it contains no number", and for one that has less than
    usual of what can be more or less, "less than usual: it contains rare words of the query"."""
    text = _TEXTS.get(reason.name, one_line(reason.name, 60).replace("_", " "))
    if reason.value >= reason.usual:
        return text
    absent = _ABSENT.get(reason.name) if reason.value == 0 else None
    return absent or f"less than usual: {text}"


def list_words(words: list[str], most: int = 12) -> str:
    """Join the first `most` words; the rest is a number."""
    shown = ", ".join(one_line(word, 40) for word in words[:most])
    return shown if len(words) <= most else f"{shown} and {plural(len(words) - most, 'more', 'more')}"
