"""What a provider's error means: its kind, and how long to wait. Pure."""

import math
import re
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from reveries.errors import ModelFault, ModelUnavailableError
from reveries.llm.base import Usage
from reveries.redaction import redact
from reveries.safe_text import one_line

LONGEST_ASKED_SECONDS = 24 * 3600.0
"""A longer requested pause counts as a day; an owner's message is tried all the same."""

NOT_BILLED = frozenset(
    {
        ModelFault.UNREACHABLE,
        ModelFault.KEY_REFUSED,
        ModelFault.FORBIDDEN,
        ModelFault.BAD_REQUEST,
        ModelFault.RATE_LIMITED,
    }
)
"""Refused before a token was generated. After any other fault, 5xx too, the usage is unknown."""

MOST_CREDIBLE_TOKENS = 10_000_000
"""More than any model uses in one call: a higher count would use up the budget for a month."""

_MAX_READ_CHARS = 2000
_MAX_QUOTED_CHARS = 160
_CLASS_NAMES = re.compile(r"\b(litellm\.)?\w*(Error|Exception|Timeout)\b\s*[:-]?\s*|\(status code: -?\d+\)")
_NOT_FOR_PEOPLE = re.compile(
    r"<[a-zA-Z!/]|[{}\[\]]|validation|\(char \d+\)|\bNoneType\b|has no attribute|object is not|codec|litellm|Traceback"
)

_NOT_AGAIN = frozenset({ModelFault.KEY_REFUSED, ModelFault.FORBIDDEN, ModelFault.BAD_REQUEST, ModelFault.TIMED_OUT})


def fault_of_status(status: int) -> ModelFault:
    """Return the kind of an HTTP `status` that is no success."""
    match status:
        case HTTPStatus.UNAUTHORIZED | HTTPStatus.PAYMENT_REQUIRED:
            return ModelFault.KEY_REFUSED
        case HTTPStatus.FORBIDDEN:
            return ModelFault.FORBIDDEN
        case HTTPStatus.TOO_MANY_REQUESTS:
            return ModelFault.RATE_LIMITED
        case HTTPStatus.REQUEST_TIMEOUT:
            return ModelFault.TIMED_OUT
        case HTTPStatus.CONFLICT:
            return ModelFault.OVERLOADED
        case _ if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return ModelFault.OVERLOADED
        case _ if status >= HTTPStatus.BAD_REQUEST:
            return ModelFault.BAD_REQUEST
        case _:
            return ModelFault.BROKEN


def retry_after_seconds(header: str | None, now: float) -> float | None:
    """Return the seconds to wait by a Retry-After `header`, in either form (RFC 9110); `now` in unix seconds.

    None when there is none or it cannot be read; 0 for a time in the past.
    """
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - now
        except (ValueError, OverflowError, OSError):
            return None
    if math.isnan(seconds):
        return None
    return min(LONGEST_ASKED_SECONDS, max(0.0, seconds))


def is_worth_another_try(error: ModelUnavailableError) -> bool:
    """Whether the same request may succeed at once. Not after a timeout: the person has waited already."""
    return error.fault not in _NOT_AGAIN


def fault_sentence(name: str, fault: ModelFault, status: int | None, message: str = "") -> str:
    """Return what happened to a call of `name` in one sentence for a person; `message` is the provider's message.

    Technical parts of it (class names, parser positions, markup) are left out.
    """
    number = f" ({status})" if status is not None else ""
    match fault:
        case ModelFault.UNREACHABLE:
            return f"{name} cannot be reached."
        case ModelFault.TIMED_OUT:
            return f"{name} did not answer in time{number}."
        case ModelFault.OVERLOADED:
            return f"{name} cannot answer now{number}{_quote_provider(message)}."
        case ModelFault.RATE_LIMITED:
            return f"{name} refused the call: too many calls in a short time{number}."
        case ModelFault.KEY_REFUSED:
            return f"{name} refused the key or the account{number}."
        case ModelFault.BAD_REQUEST | ModelFault.FORBIDDEN:
            return f"{name} rejected the request{number}{_quote_provider(message)}."
        case ModelFault.BROKEN if status is not None:
            return f"{name} sent an invalid answer{number}."
        case ModelFault.BROKEN:
            return f"The answer of {name} broke off or cannot be read{_quote_provider(message)}."


def _quote_provider(message: str) -> str:
    words = one_line(_CLASS_NAMES.sub("", redact(one_line(message, _MAX_READ_CHARS))), _MAX_QUOTED_CHARS).rstrip(".")
    return f": {words}" if words and not _NOT_FOR_PEOPLE.search(words) else ""


def parse_usage(
    prompt_tokens: object,
    completion_tokens: object,
    cached_tokens: object = 0,
    reasoning_tokens: object = 0,
    total_tokens: object = 0,
) -> Usage | None:
    """Return the usage that a provider reports; None if it is implausible: then it is unknown, not free.

    Some providers count reasoning into the completion, others only into the total.
    """
    prompt, completion = _parse_token_count(prompt_tokens), _parse_token_count(completion_tokens)
    if prompt is None or completion is None:
        return None
    uncounted = max(0, (_parse_token_count(total_tokens) or 0) - prompt - completion)
    reasoning = max(uncounted, _parse_token_count(reasoning_tokens) or 0)
    completion += uncounted
    return Usage(prompt, completion, min(_parse_token_count(cached_tokens) or 0, prompt), min(reasoning, completion))


def _parse_token_count(tokens: object) -> int | None:
    return tokens if isinstance(tokens, int) and 0 <= tokens <= MOST_CREDIBLE_TOKENS else None
