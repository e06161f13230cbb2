"""Every error that Reveries raises on purpose, and the exit code of each.

    ReveriesError                 1   something failed; the message says what
      UsageError                  2   the command's words are off
      AsleepError                 3   the mind sleeps: `reveries wake`
      InputDataError             65   a file that was given in has a fault (file, line)
      InputFileError             66   a file that was given in cannot be read
      ModelError                 69   a model cannot be used
        ModelMissingError               its weights are not on this machine
        ModelUnavailableError           it does not answer, or not in time
        ModelAnswerError                it answered something that cannot be used
        BudgetExceededError             asking it would cost more than is allowed
      HomeError                  73   the home folder cannot be made, read or written
      StorageError               74   the database refused; what was not acknowledged is not stored
        DatabaseTooNewError             it was written by a newer Reveries (exit 78)
        DiskFullError                   no room; nothing is lost, and it goes on when there is room again
        StorageLostError                a write failed: the daemon ends rather than pretend
          StorageDamagedError           the file is not whole, and could not be put right by itself
      AlreadyAwakeError          75   another daemon holds this home
      ProtocolError              76   the other side speaks something else
        ConnectionLostError             the other side went away
        OtherVersionError               the other side speaks another version of it
      ConfigError                78   a setting is wrong (file, key)
      SafeModeError               1   safe mode does not do that
      NotFoundError               1   nothing has that name
      UndoError                   1   a pass of sleep cannot be taken back so
      ToolError                   1   a tool could not do what was asked

A message is one plain sentence: what happened. `advice` is the next: what the person can do.
`code` is the name that crosses the wire, so that the client can answer with the same exit code.
"""

from enum import StrEnum
from typing import ClassVar


class ReveriesError(Exception):
    """The base of the tree; `exit_code` is what the command line ends with."""

    exit_code: ClassVar[int] = 1
    code: ClassVar[str] = "failed"

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.message} {self.advice}".strip()

    @property
    def for_log(self) -> str:
        """What a log may say of it: never what somebody said (H2)."""
        return self.message


class UsageError(ReveriesError):
    """The words of a command do not make one."""

    exit_code = 2
    code = "usage"


class AsleepError(ReveriesError):
    """Nobody answers on the socket."""

    exit_code = 3
    code = "asleep"


class InputDataError(ReveriesError):
    """A file that was given in has a fault; the message names file and line."""

    exit_code = 65
    code = "input_data"


class InputFileError(ReveriesError):
    """A file that was given in cannot be read."""

    exit_code = 66
    code = "input_file"


class ModelError(ReveriesError):
    """A model cannot be used."""

    exit_code = 69
    code = "model"

    @property
    def for_log(self) -> str:
        """A provider's own words may quote what it was asked: the kind alone."""
        return self.code


class ModelMissingError(ModelError):
    """The weights of a model are not on this machine."""

    code = "model_missing"


class ModelFault(StrEnum):
    """What kept a model from answering: it decides whether, and when, asking again is worth anything."""

    UNREACHABLE = "unreachable"
    """No connection: refused, no such host, a certificate that is not right."""
    TIMED_OUT = "timed_out"
    OVERLOADED = "overloaded"
    """It says that it cannot now: 5xx."""
    RATE_LIMITED = "rate_limited"
    """It asks for a pause: 429."""
    KEY_REFUSED = "key_refused"
    """401 or 402, or 403 again: asking again changes nothing."""
    FORBIDDEN = "forbidden"
    """403: of this question, or, when it comes twice in a row, of the key."""
    BAD_REQUEST = "bad_request"
    """It does not take the question: 400, 413, 422. Asking again changes nothing."""
    BROKEN = "broken"
    """It answered what is no answer: cut off, too long, not of its own format."""


class ModelUnavailableError(ModelError):
    """A model does not answer, or not within its limits.

    `retry_after_seconds` is what the provider asked us to wait; None when it asked nothing.
    """

    code = "model_unavailable"

    def __init__(
        self,
        message: str,
        *,
        advice: str = "",
        fault: ModelFault = ModelFault.BROKEN,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(message, advice=advice)
        self.fault = fault
        self.retry_after_seconds = retry_after_seconds

    @property
    def for_log(self) -> str:
        return f"{self.code}: {self.fault.value}"


class ModelAnswerError(ModelError):
    """A model's answer is not of the form that was asked for, even after one repair (R-113)."""

    code = "model_answer"


class BudgetExceededError(ModelError):
    """The call could cost more than what is left of the budget.

    `goes_on_after_seconds`: how long until there is room again; None when only another limit makes room.
    """

    code = "budget"

    def __init__(self, message: str, *, advice: str = "", goes_on_after_seconds: float | None = None) -> None:
        super().__init__(message, advice=advice)
        self.goes_on_after_seconds = goes_on_after_seconds


class HomeError(ReveriesError):
    """The home folder cannot be made, read or written."""

    exit_code = 73
    code = "home"


class StorageError(ReveriesError):
    """The database refused. What was not acknowledged is not stored."""

    exit_code = 74
    code = "storage"


class DatabaseTooNewError(StorageError):
    """The database was written by a newer Reveries; it is left untouched."""

    exit_code = 78
    code = "database_too_new"


class DiskFullError(StorageError):
    """There is no room left. What was stored stays; nothing new is acknowledged until there is room."""

    code = "disk_full"


class StorageLostError(StorageError):
    """A write or sync failed. A later one may seem to succeed without the data, so the daemon must end (A4)."""

    code = "storage_lost"


class StorageDamagedError(StorageLostError):
    """The file is no whole memory. The daemon ends; the next wake puts back the newest backup that is whole (A8)."""

    code = "storage_damaged"


class AlreadyAwakeError(ReveriesError):
    """Another daemon holds the lock of this home."""

    exit_code = 75
    code = "already_awake"


class ProtocolError(ReveriesError):
    """The other side sent what the protocol does not know."""

    exit_code = 76
    code = "protocol"


class ConnectionLostError(ProtocolError):
    """The other side went away before it answered."""

    code = "connection_lost"


class OtherVersionError(ProtocolError):
    """Client and daemon are of versions that do not understand each other."""

    code = "other_version"


class ConfigError(ReveriesError):
    """A setting is wrong; the message names file and key."""

    exit_code = 78
    code = "config"


class SafeModeError(ReveriesError):
    """The mind is in safe mode, and that is not among what it does there."""

    code = "safe_mode"


class NotFoundError(ReveriesError):
    """Nothing has that name."""

    code = "not_found"


class UndoError(ReveriesError):
    """A pass of sleep cannot be taken back as it is asked."""

    code = "undo"


class ToolError(ReveriesError):
    """A tool could not do what was asked. The message goes to whoever called it."""

    code = "tool"


def error_from_code(code: str, message: str, advice: str) -> ReveriesError:
    """The error that crossed the wire as `code`; the base of the tree for one that this version does not know."""
    return _CLASSES.get(code, ReveriesError)(message, advice=advice)


def _all_classes(cls: type[ReveriesError]) -> dict[str, type[ReveriesError]]:
    classes = {cls.code: cls}
    for child in cls.__subclasses__():
        classes |= _all_classes(child)
    return classes


_CLASSES = _all_classes(ReveriesError)
