"""Every error that Reveries raises on purpose, and its exit code.

    ReveriesError                 1   something failed; the message says what
      UsageError                  2   the command line is invalid
      AsleepError                 3   the mind is asleep: `reveries wake`
      InputDataError             65   an input file has an error (file, line)
      InputFileError             66   an input file cannot be read
        DocumentError                   a document cannot be read; `fault` says why
      ModelError                 69   a model cannot be used
        ModelMissingError               its weights are not on this machine
        ModelUnavailableError           it does not answer, or not in time
        ModelAnswerError                its answer cannot be used
        BudgetExceededError             the call could exceed the budget
      HomeError                  73   the home folder cannot be created, read or written
      StorageError               74   a database operation failed; what was not acknowledged is not stored
        DatabaseTooNewError             the database was written by a newer Reveries (exit 78)
        DiskFullError                   the disk is full; nothing is lost, and writing continues when there is space
        StorageLostError                a write or sync failed: the daemon ends
          StorageDamagedError           the database file is damaged and could not be repaired automatically
      AlreadyAwakeError          75   another daemon is running for this home
      ProtocolError              76   the other side violates the protocol
        ConnectionLostError             the connection was closed
        OtherVersionError               the other side speaks another version of the protocol
      ConfigError                78   a setting is wrong (file, key)
      SafeModeError               1   not available in safe mode
      NotFoundError               1   nothing has that name
      UndoError                   1   a pass of sleep cannot be undone as requested
      ToolError                   1   a tool failed

`message` is one plain sentence that says what happened; `advice` says what the person can do.
`code` is sent over the wire, so that the client can exit with the same exit code.
"""

from enum import StrEnum
from typing import ClassVar


class ReveriesError(Exception):
    """Base of all errors; the command line ends with `exit_code`."""

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
        """The text for a log, without anything that was said (H2)."""
        return self.message


class UsageError(ReveriesError):
    """The command line is invalid."""

    exit_code = 2
    code = "usage"


class AsleepError(ReveriesError):
    """No daemon answers on the socket."""

    exit_code = 3
    code = "asleep"


class InputDataError(ReveriesError):
    """An input file has an error; the message names file and line."""

    exit_code = 65
    code = "input_data"


class InputFileError(ReveriesError):
    """An input file cannot be read."""

    exit_code = 66
    code = "input_file"


class DocumentFault(StrEnum):
    """Why a document cannot be read."""

    MISSING = "missing"
    """There is no such file, or it may not be read."""
    ENCRYPTED = "encrypted"
    """It needs a password, or the password is wrong."""
    EMPTY = "empty"
    """0 bytes, or no page."""
    TRUNCATED = "truncated"
    """Its end is missing."""
    DAMAGED = "damaged"
    WRONG_SUFFIX = "wrong_suffix"
    """Its contents are of another format than its name says."""
    UNKNOWN_FORMAT = "unknown_format"
    TOO_LARGE = "too_large"
    """More bytes, or more when unpacked, than are read."""
    TOO_MANY_PAGES = "too_many_pages"
    NO_PAGE = "no_page"
    """It has no page of this number."""
    TOO_SLOW = "too_slow"
    CRASHED = "crashed"
    """The program that reads it ended: too much memory, or a fault in its library."""
    CANNOT_RECOGNISE = "cannot_recognise"
    """The program that reads pictures of text is not installed, or does not work here."""


class DocumentError(InputFileError):
    """A document cannot be read. Nothing of it is kept by the reader."""

    code = "document"

    def __init__(self, message: str, *, advice: str = "", fault: DocumentFault = DocumentFault.DAMAGED) -> None:
        super().__init__(message, advice=advice)
        self.fault = fault


class ModelError(ReveriesError):
    """A model cannot be used."""

    exit_code = 69
    code = "model"

    @property
    def for_log(self) -> str:
        """Only the code: a provider's message may quote the prompt."""
        return self.code


class ModelMissingError(ModelError):
    """The weights of a model are not on this machine."""

    code = "model_missing"


class ModelFault(StrEnum):
    """Why a model call failed; decides whether and when a retry makes sense."""

    UNREACHABLE = "unreachable"
    """No connection: refused, unknown host, invalid certificate."""
    TIMED_OUT = "timed_out"
    OVERLOADED = "overloaded"
    """Temporary server error (HTTP 5xx)."""
    RATE_LIMITED = "rate_limited"
    """Rate limited (HTTP 429)."""
    KEY_REFUSED = "key_refused"
    """Key or account refused (HTTP 401, 402, or 403 twice in a row). Not retried."""
    FORBIDDEN = "forbidden"
    """HTTP 403: this request is refused; twice in a row means that the key is."""
    BAD_REQUEST = "bad_request"
    """Request not accepted (HTTP 400, 413, 422). Not retried."""
    BROKEN = "broken"
    """The answer is unusable: cut off, too long, or malformed."""


class ModelUnavailableError(ModelError):
    """A model does not answer, or not within its limits.

    `retry_after_seconds` is the wait that the provider requested; None if it requested none.
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
    """A model's answer does not have the requested form, even after one repair (R-113)."""

    code = "model_answer"


class BudgetExceededError(ModelError):
    """The call could cost more than what is left of the budget.

    `goes_on_after_seconds`: time until the budget renews; None if only a higher limit helps.
    """

    code = "budget"

    def __init__(self, message: str, *, advice: str = "", goes_on_after_seconds: float | None = None) -> None:
        super().__init__(message, advice=advice)
        self.goes_on_after_seconds = goes_on_after_seconds


class HomeError(ReveriesError):
    """The home folder cannot be created, read or written."""

    exit_code = 73
    code = "home"


class StorageError(ReveriesError):
    """A database operation failed. What was not acknowledged is not stored."""

    exit_code = 74
    code = "storage"


class DatabaseTooNewError(StorageError):
    """The database was written by a newer Reveries; it is not changed."""

    exit_code = 78
    code = "database_too_new"


class DiskFullError(StorageError):
    """The disk is full. What was stored remains; nothing new is acknowledged until there is space."""

    code = "disk_full"


class StorageLostError(StorageError):
    """A write or sync failed. A later one may seem to succeed without the data, so the daemon must end (A4)."""

    code = "storage_lost"


class StorageDamagedError(StorageLostError):
    """The database file is damaged. The daemon ends; the next wake restores the newest intact backup (A8)."""

    code = "storage_damaged"


class AlreadyAwakeError(ReveriesError):
    """Another daemon holds the lock of this home."""

    exit_code = 75
    code = "already_awake"


class ProtocolError(ReveriesError):
    """The other side sent something that is not part of the protocol."""

    exit_code = 76
    code = "protocol"


class ConnectionLostError(ProtocolError):
    """The connection was closed before the answer."""

    code = "connection_lost"


class OtherVersionError(ProtocolError):
    """Client and daemon speak different versions of the protocol."""

    code = "other_version"


class ConfigError(ReveriesError):
    """A setting is wrong; the message names file and key."""

    exit_code = 78
    code = "config"


class SafeModeError(ReveriesError):
    """The request is not available in safe mode."""

    code = "safe_mode"


class NotFoundError(ReveriesError):
    """Nothing has that name."""

    code = "not_found"


class UndoError(ReveriesError):
    """A pass of sleep cannot be undone as requested."""

    code = "undo"


class ToolError(ReveriesError):
    """A tool failed. The message is returned to its caller."""

    code = "tool"


def error_from_code(code: str, message: str, advice: str) -> ReveriesError:
    """Rebuild the error that was sent as `code`; a ReveriesError for a code that this version does not know."""
    return _CLASSES.get(code, ReveriesError)(message, advice=advice)


def _all_classes(cls: type[ReveriesError]) -> dict[str, type[ReveriesError]]:
    classes = {cls.code: cls}
    for child in cls.__subclasses__():
        classes |= _all_classes(child)
    return classes


_CLASSES = _all_classes(ReveriesError)
