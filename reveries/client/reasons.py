"""What speaks for a turn, in the words of people. A name that is not known here is shown as it is."""

from typing import Final

from reveries.client.wording import plural
from reveries.protocol import TurnReason
from reveries.safe_text import one_line

_WORDS: Final = {
    "about_named": "it is about a name in the cue",
    "after_question": "it follows a question",
    "after_then": "it was said soon after the time in the cue",
    "answered_meaning": "the words that it answers mean something near",
    "asks": "it asks something itself",
    "before_then": "it was said soon before the time in the cue",
    "begins": "it begins a conversation",
    "bridge": "it shares a telling name with a better turn",
    "bridge_rest": "it has what a better turn with the same name lacks",
    "brings": "it has words of the cue that the owner had not used",
    "conversation": "its conversation is about this",
    "cosine": "it means what the cue means",
    "coverage": "the cue's words stand in it",
    "ends_asking": "it ends with a question",
    "first_person": "somebody tells of themselves",
    "greets": "it is a greeting",
    "held_back": "another turn leads to it, and that one goes first",
    "hop_second": "it is reached in two steps",
    "hop_trust": "a good turn leads to it",
    "length": "it is long",
    "meaning": "its meaning is near",
    "meaning_after": "the next turn's meaning is near",
    "meaning_before": "the turn before means something near",
    "names": "it names somebody or something",
    "names_for_who": "the cue asks who or where, and it holds names",
    "news": "it says what holds now",
    "number": "it holds a number",
    "number_for_many": "the cue asks how many, and it holds a number",
    "other_speaker": "somebody else said it than the cue names",
    "own": "the mind said it itself",
    "phrases": "words that stand together in the cue do so in it",
    "replaced": "another turn says what holds now",
    "replaces": "it says what holds now in the place of another turn",
    "reply_brings": "the mind's reply to it has more of the cue's words",
    "short": "it is short",
    "speaker": "the one whom the cue names said it",
    "time_for_when": "the cue asks when, and it holds a time",
    "time_word": "it holds a time",
    "window_coverage": "the cue's words stand in it and around it",
    "window_meaning": "what was said around it is near in meaning",
    "window_words": "what was said around it holds the words",
    "words": "it holds the cue's words",
    "words_after": "the next turn holds the words",
    "words_before": "the turn before holds the words",
    "words_of_best": "few hold more of the words",
}


def reason_words(reason: TurnReason) -> str:
    """ "it holds a number"; "less than usual: it holds a number" for a turn that does not."""
    told = _WORDS.get(reason.name, one_line(reason.name, 60).replace("_", " "))
    return told if reason.value >= reason.usual else f"less than usual: {told}"


def list_words(words: list[str], most: int = 12) -> str:
    """Words one after another; the rest as a number."""
    shown = ", ".join(one_line(word, 40) for word in words[:most])
    return shown if len(words) <= most else f"{shown} and {plural(len(words) - most, 'more', 'more')}"
