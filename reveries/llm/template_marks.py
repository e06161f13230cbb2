"""Chat template marks in text that is only text: made harmless before any model sees it.

A model's template writes special tokens such as `<|im_start|>` between messages. The same characters inside a
remembered text would be read as the end of its message and the beginning of another, in somebody else's name (F3).
Every adapter passes every message through `sealed`; nothing else in Reveries builds a prompt's wire form.
"""

import re
from collections.abc import Sequence

from reveries.llm.base import Message

JOINER = "\u2060"
"""WORD JOINER: invisible, of no width, and part of no special token."""

# ChatML and its kin (`<|...|>`, also with DeepSeek's full-width bars), Llama 2 and Mistral brackets, Gemma turns,
# sentence marks, and the added tokens of tool and thought templates.
_MARKS = re.compile(
    r"<(?=[|｜])"
    r"|(?<=[|｜])>"
    r"|<(?=/?(?:s|bos|eos|unk|pad|mask|start_of_turn|end_of_turn|tool_call|tool_response|tool_calls|think)>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT)\])"
    r"|<(?=</?SYS>>)",
    re.IGNORECASE,
)


def sealed(text: str) -> str:
    """`text` with an invisible joiner inside every chat template mark, so that no tokenizer finds one in it.

    A person reads the same; sealing twice changes nothing more. Lone surrogates, which no wire can carry, become "?".
    """
    text = text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text
    return _MARKS.sub(lambda mark: JOINER + mark[0] if mark[0] == ">" else mark[0] + JOINER, text)


def wire_messages(messages: Sequence[Message]) -> list[dict[str, str]]:
    """`messages` as every provider's JSON has them, each text sealed."""
    return [{"role": message.role, "content": sealed(message.text)} for message in messages]
