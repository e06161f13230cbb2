"""Removes the reasoning that a model writes in front of its answer, between <think> and </think>. Pure."""

import re
from typing import Final

_OPENING: Final = re.compile(r"\s*<(think|thinking|thought|reasoning)>", re.IGNORECASE)
_MOST_WAITING_CHARS: Final = 40
"""White space and the longest mark."""
_MARKS: Final = ("<think>", "<thinking>", "<thought>", "<reasoning>")


class ThinkingFilter:
    """Reads an answer piece by piece. Only a mark at its very beginning opens reasoning: later it is talk about one."""

    def __init__(self) -> None:
        self._waiting = ""
        self._closing = ""
        self._is_past = False
        self.has_removed = False
        """Whether there was reasoning."""

    def feed(self, piece: str) -> str:
        """Return what of the answer is certain after `piece`."""
        if self._is_past:
            return piece
        self._waiting += piece
        if not self._closing and (opened := _OPENING.match(self._waiting)):
            self._closing = f"</{opened[1].lower()}>"
            self._waiting = self._waiting[opened.end() :]
            self.has_removed = True
        if self._closing:
            return self._skip()
        return "" if _may_open(self._waiting) else self.flush()

    def flush(self) -> str:
        """Return what was held back, at the end of the answer."""
        waiting, self._waiting = self._waiting, ""
        is_reasoning = bool(self._closing) and not self._is_past
        self._is_past = True
        return "" if is_reasoning else waiting

    def _skip(self) -> str:
        place = self._waiting.lower().find(self._closing)
        if place < 0:
            self._waiting = self._waiting[-len(self._closing) :]
            return ""
        rest = self._waiting[place + len(self._closing) :].lstrip()
        if not rest:
            # The white space between reasoning and answer may come in pieces.
            self._waiting = self._closing
            return ""
        self._is_past, self._waiting = True, ""
        return rest


def _may_open(text: str) -> bool:
    """Whether `text` may be the beginning of an opening mark."""
    begun = text.lstrip().lower()
    return len(text) <= _MOST_WAITING_CHARS and any(mark.startswith(begun) for mark in _MARKS)


def without_thinking(text: str) -> str:
    """Return the whole answer `text` without reasoning: everything behind the last closing mark.

    Some models write only that one, because the prompt's template opened it. A text that begins as JSON is the answer
    itself: a mark in it is part of what it quotes.
    """
    if text.lstrip().startswith(("{", "[")):
        return text
    kept = re.split(r"</(?:think|thinking|thought|reasoning)>", text, flags=re.IGNORECASE)[-1]
    reader = ThinkingFilter()
    return reader.feed(kept) + reader.flush()
