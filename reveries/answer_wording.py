"""How a model's answer reads in events and pages of the work: a sentence instead of JSON. Pure."""

from typing import Any

import msgspec

from reveries.safe_text import one_line


def describe_answer(result: str) -> str:
    """Return a model's answer in words if it is one of the known JSON answers, uncut; else as it is."""
    try:
        answer = msgspec.json.decode(result)
        return _describe_object(answer) if isinstance(answer, dict) else result
    except (ValueError, RecursionError):  # No JSON, no text, or nested too deeply.
        return result


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
