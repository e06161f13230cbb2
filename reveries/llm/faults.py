"""What a provider's refusal means: its kind, and how long it asks us to wait. Pure."""

import math
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from reveries.errors import ModelFault, ModelUnavailableError

LONGEST_ASKED_SECONDS = 24 * 3600.0
"""A provider that asks for more is answered with a day: the owner's word is tried all the same."""

NOT_BILLED = frozenset(
    {
        ModelFault.UNREACHABLE,
        ModelFault.KEY_REFUSED,
        ModelFault.BAD_REQUEST,
        ModelFault.RATE_LIMITED,
    }
)
"""Refused before a token was made. After any other fault, 5xx too, nobody knows what was used."""

_NOT_AGAIN = frozenset({ModelFault.KEY_REFUSED, ModelFault.BAD_REQUEST, ModelFault.TIMED_OUT})


def fault_of_status(status: int) -> ModelFault:
    """The kind of an HTTP `status` that is not a success."""
    match status:
        case HTTPStatus.UNAUTHORIZED | HTTPStatus.PAYMENT_REQUIRED | HTTPStatus.FORBIDDEN:
            return ModelFault.KEY_REFUSED
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
