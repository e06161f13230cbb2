"""What a provider's refusal means: its kind, and how long it asks us to wait. Pure."""

import math
import re
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from reveries.errors import ModelFault, ModelUnavailableError
from reveries.llm.base import Usage
from reveries.redaction import redact
from reveries.safe_text import one_line

LONGEST_ASKED_SECONDS = 24 * 3600.0
"""A provider that asks for more is answered with a day: the owner's word is tried all the same."""

NOT_BILLED = frozenset(
    {
        ModelFault.UNREACHABLE,
        ModelFault.KEY_REFUSED,
        ModelFault.FORBIDDEN,
        ModelFault.BAD_REQUEST,
        ModelFault.RATE_LIMITED,
    }
)
"""Refused before a token was made. After any other fault, 5xx too, nobody knows what was used."""

MOST_CREDIBLE_TOKENS = 10_000_000
"""More than any model reads or says in one call: a count beyond it would silence the mind for a month."""

_MAX_READ_CHARS = 2000
_MAX_QUOTED_CHARS = 160
_CLASS_NAMES = re.compile(r"\b(litellm\.)?\w*(Error|Exception|Timeout)\b\s*[:-]?\s*|\(status code: -?\d+\)")
_NOT_FOR_PEOPLE = re.compile(
    r"<[a-zA-Z!/]|[{}\[\]]|validation|\(char \d+\)|\bNoneType\b|has no attribute|object is not|codec|litellm|Traceback"
)

_NOT_AGAIN = frozenset({ModelFault.KEY_REFUSED, ModelFault.FORBIDDEN, ModelFault.BAD_REQUEST, ModelFault.TIMED_OUT})


def fault_of_status(status: int) -> ModelFault:
    """The kind of an HTTP `status` that is not a success."""
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
    """Seconds to wait by a Retry-After `header`, in either of its forms (RFC 9110); `now` in unix seconds.

    None when there is none or it cannot be read. What lies in the past is 0.
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
    """Whether the same question may be answered if it is asked again at once.

    Not after a silence: the person has waited for it once already.
    """
    return error.fault not in _NOT_AGAIN


def fault_sentence(name: str, fault: ModelFault, status: int | None, said: str = "") -> str:
    """What happened to a call of `name`, in a sentence for a person; `said` are the provider's own words.

    A library's language (class names, parsers' positions, markup) is left out: it helps nobody who reads a chat.
    """
    number = f" ({status})" if status is not None else ""
    match fault:
        case ModelFault.UNREACHABLE:
            return f"{name} cannot be reached."
        case ModelFault.TIMED_OUT:
            return f"{name} did not answer in time{number}."
        case ModelFault.OVERLOADED:
            return f"{name} cannot answer now{number}{_quote_provider(said)}."
        case ModelFault.RATE_LIMITED:
            return f"{name} asks for a pause{number}."
        case ModelFault.KEY_REFUSED:
            return f"{name} refused the key or the account{number}."
        case ModelFault.BAD_REQUEST | ModelFault.FORBIDDEN:
            return f"{name} did not take the question{number}{_quote_provider(said)}."
        case ModelFault.BROKEN if status is not None:
            return f"{name} answered with something that is no answer{number}."
        case ModelFault.BROKEN:
            return f"The answer of {name} broke off, or was none that can be read{_quote_provider(said)}."


def _quote_provider(said: str) -> str:
    words = one_line(_CLASS_NAMES.sub("", redact(one_line(said, _MAX_READ_CHARS))), _MAX_QUOTED_CHARS).rstrip(".")
    return f": {words}" if words and not _NOT_FOR_PEOPLE.search(words) else ""


def parse_usage(prompt_tokens: object, completion_tokens: object, cached_tokens: object = 0) -> Usage | None:
    """What a provider says that a call used; None where nobody can mean that: it is unknown then, and not free."""
    prompt, completion = _parse_token_count(prompt_tokens), _parse_token_count(completion_tokens)
    if prompt is None or completion is None:
        return None
    return Usage(prompt, completion, min(_parse_token_count(cached_tokens) or 0, prompt))


def _parse_token_count(tokens: object) -> int | None:
    return tokens if isinstance(tokens, int) and 0 <= tokens <= MOST_CREDIBLE_TOKENS else None
