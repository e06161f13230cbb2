"""How a model's answer reads in events and pages of the work: a sentence instead of JSON. Pure."""

import contextlib
import re
from typing import Any

import msgspec

from reveries.safe_text import one_line

_CUT_TEXT_FIELD = re.compile(r'"(\w+)":\s*"((?:[^"\\]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*)')
"""A field of JSON with its text, which may end where the JSON was cut."""


def describe_answer(result: str) -> str:
    """Return a model's answer in words if it is one of the known JSON answers, as far as it goes; else as it is."""
    try:
        answer = msgspec.json.decode(result)
        return _describe_object(answer) if isinstance(answer, dict) else result
    except msgspec.DecodeError as error:
        fields = _fields_of_cut(result) if "truncated" in str(error) else {}
        return f"{_describe_object(fields)}…" if fields else result
    except (ValueError, RecursionError):  # No text, or nested too deeply.
        return result


def _fields_of_cut(cut: str) -> dict[str, Any]:
    """Return the texts of JSON that was cut off, whatever they are nested in; of fields with one name the first."""
    fields: dict[str, Any] = {}
    for name, text in _CUT_TEXT_FIELD.findall(cut):
        with contextlib.suppress(msgspec.DecodeError):  # Half of a surrogate pair.
            fields.setdefault(name, msgspec.json.decode(f'"{text}"'))
    return fields


def _describe_object(answer: dict[str, Any]) -> str:
    step = answer.get("step", answer)
    if not isinstance(step, dict):
        return one_line(str(step))
    if "accepted" in step:
        return f"{'accepted' if step['accepted'] else 'rejected'}: {step.get('why', '')}"
    if step.get("tool") == "finish":
        said = step.get("outcome") or step.get("question") or step.get("topic") or ""
        learnings = step.get("learnings")
        kept = f" ({len(learnings)} learned)" if isinstance(learnings, list) and learnings else ""
        return f"finished, {str(step.get('status', '')).replace('_', ' ')}: {said}{kept}"
    fields = [f"{name} {value}" for name, value in step.items() if name != "tool" and value not in ("", [], {}, None)]
    tool = f"{step['tool']}: " if "tool" in step else ""
    return tool + "; ".join(fields)
