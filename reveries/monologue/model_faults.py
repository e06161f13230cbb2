"""What a failed thought says of the model."""

from reveries.errors import ModelError, ModelUnavailableError

_SHORTEST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS = 1.0, 24 * 3600.0
"""A circuit that opens in a microsecond, by a clock that counts in steps of a quarter of one, is asked in a second."""


def first_error(errors: BaseExceptionGroup[ModelError]) -> ModelError:
    """The first error of a group of groups: each task group on the way up wrapped it once."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, ModelError)
    return error


def retry_after_seconds(error: ModelError, otherwise: float) -> float:
    """When thinking may come again: as the model's circuit says (`llm.circuit`), which is the one that counts; where
    nobody says, `otherwise`."""
    asked = error.retry_after_seconds if isinstance(error, ModelUnavailableError) else None
    return min(_LONGEST_WAIT_SECONDS, max(_SHORTEST_WAIT_SECONDS, asked)) if asked is not None else otherwise
