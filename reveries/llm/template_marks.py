"""Chat template marks inside text: made harmless before any model reads it.

A model's template writes special tokens such as `<|im_start|>` between messages. The same characters inside a
remembered text would end its message and begin another, in someone else's name (F3). Every adapter passes every message
through `escape_marks`; nothing else in Reveries builds a prompt's wire form.
"""

import base64
import re
from collections.abc import Sequence
from typing import Any

from reveries import gates
from reveries.llm.base import ChatMessage, ImagePart

JOINER = "\u2060"
"""WORD JOINER: invisible, without width, and part of no special token."""

# ChatML and its kin (`<|...|>`, also with DeepSeek's full-width bars), Llama 2 and Mistral brackets, Gemma turns,
# sentence marks, and the added tokens of tool and thought templates.
_MARKS = re.compile(
    r"<(?=[|｜])"
    r"|(?<=[|｜])>"
    r"|<(?=/?(?:s|bos|eos|unk|pad|sep|cls|mask|sop|eop|start_of_turn|end_of_turn|start_of_image|end_of_image|think|tools?"
    r"|tool_\w+|arg_key|arg_value|function_calls?|start_function_\w+|end_function_\w+|escape|observation|reponame|filename"
    r"|repo_name|file_sep|gh_stars|fim[_-]\w+|issue_\w+|jupyter_\w+|empty_output|commit_\w+|unused\d+|extra_id_\d+"
    r"|special_\d+|seed:[\w:]+|sentinel:\d+|role_\w+|image_soft_token|br_\w+)>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|ARGS|CALL_ID|THINK|IMG|IMG_BREAK"
    r"|IMG_END|AUDIO|BEGIN_AUDIO|PREFIX|MIDDLE|SUFFIX|gMASK|sMASK|CLS|SEP|MASK|PAD|UNK|BOS|EOS)\])"
    r"|\[(?=\||~)|(?<=\|)\]|\](?=~[!b])|\](?=<\]|!p)"
    r"|<(?=</?SYS>>)",
    re.IGNORECASE,
)


def escape_marks(text: str) -> str:
    """Return `text` with an invisible joiner inside every chat template mark, so that no tokenizer finds one in it.

    It reads the same for a person; escaping twice changes nothing more. Lone surrogates become "?".
    """
    text = text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text
    if not gates.is_enforced(gates.Gate.MARKS):
        return text
    return _MARKS.sub(lambda mark: JOINER + mark[0] if _closes(mark) else mark[0] + JOINER, text)


def _closes(mark: "re.Match[str]") -> bool:
    """Whether the match is the end of a mark, by the character before it."""
    return mark.start() > 0 and mark.string[mark.start() - 1] in "|｜" and mark[0] in ">]"


def wire_messages(messages: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    """Return `messages` in the JSON form of OpenAI, which all providers but an Ollama take, each text escaped."""
    return [{"role": message.role, "content": _content(message)} for message in messages]


def ollama_messages(messages: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    """Return `messages` in the JSON form of an Ollama, each text escaped."""
    return [
        {"role": message.role, "content": escape_marks(message.text)}
        | ({"images": [_base64(image) for image in message.images]} if message.images else {})
        for message in messages
    ]


def _content(message: ChatMessage) -> object:
    text = escape_marks(message.text)
    if not message.images:
        return text
    urls = [f"data:{image.media_type};base64,{_base64(image)}" for image in message.images]
    return [*({"type": "image_url", "image_url": {"url": url}} for url in urls), {"type": "text", "text": text}]


def _base64(image: ImagePart) -> str:
    return base64.b64encode(image.data).decode("ascii")
