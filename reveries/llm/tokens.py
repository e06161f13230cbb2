"""How many tokens a text may have, where no tokenizer is at hand: a careful over-estimate.

Byte-pair tokenizers give English about 4.2 characters a token, source code and digits about 2.5, most other scripts
between 1 and 2 tokens a character. An estimate that is too low lets a call pass the budget; one that is too high only
holds back more for a moment, until the call is settled.
"""

import string
from collections.abc import Sequence

from reveries.llm.base import Message

ASCII_LETTERS_PER_TOKEN = 3.0
TOKENS_PER_OTHER_ASCII = 0.8
TOKENS_PER_OTHER_CHARACTER = 1.6
TOKENS_PER_MESSAGE = 8
"""The template's own tokens round a message: role, marks, line breaks."""

_LETTERS = (string.ascii_letters + " ").encode()


def estimate_tokens(text: str) -> int:
    """At least as many tokens as a model is likely to find in `text`; 0 for the empty text."""
    ascii_text = text.encode("ascii", "ignore")
    other_ascii = len(ascii_text.translate(None, _LETTERS))
    letters = len(ascii_text) - other_ascii
    beyond = len(text) - len(ascii_text)
    count = (
        letters / ASCII_LETTERS_PER_TOKEN + other_ascii * TOKENS_PER_OTHER_ASCII + beyond * TOKENS_PER_OTHER_CHARACTER
    )
    return -int(-count // 1)


def template_tokens(messages: Sequence[Message]) -> int:
    """What the chat template may add to the texts of `messages`, the opening of the answer included."""
    return TOKENS_PER_MESSAGE * (len(messages) + 1)
