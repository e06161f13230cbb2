"""The daemon's log: JSON lines in the home, written by its own thread, with private text at debug level only (H2).

Our errors have no private text in `for_log`. Other errors may quote the owner's words, so their text is only logged at
debug level. Messages of libraries are never logged: libraries that get prompts (openai, litellm, pydantic, httpcore)
may quote them, and words off the record must be in no log. Secrets are masked at every level (F6).
"""

import contextlib
import io
import logging
import logging.handlers
import os
import queue
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import structlog

from reveries.error_location import format_trace
from reveries.own_files import open_own_file
from reveries.redaction import list_spellings, redact
from reveries.safe_text import plain

_CHATTY = ("httpx", "httpcore", "asyncio", "LiteLLM", "aiosqlite", "openai", "numba")
"""Their level is never below warning, so that their messages are not even formatted."""
_WARNINGS = "py.warnings"
_WARNING = re.compile(r"(?P<where>.+?:\d+): (?P<kind>\w+): ")
"""The beginning of a Python warning; its text follows."""
_MAX_BYTES = 10 * 1024 * 1024
_KEPT_FILES = 4
_QUEUE_LINES = 10_000


class _OwnFileHandler(logging.handlers.RotatingFileHandler):
    """Opens its file with mode 0600 and follows no link."""

    def _open(self) -> io.TextIOWrapper:
        return os.fdopen(open_own_file(Path(self.baseFilename), os.O_APPEND), "a", encoding=self.encoding)


@contextlib.contextmanager
def log_to(folder: Path, level: str, secrets: Sequence[str] = ()) -> Iterator[None]:
    """Send every log line of the process to `folder`/daemon.log until left. Lines over the queue limit are dropped, and
    `secrets` are masked in every spelling."""
    handler = _OwnFileHandler(folder / "daemon.log", maxBytes=_MAX_BYTES, backupCount=_KEPT_FILES, encoding="utf-8")
    handler.setFormatter(_RedactingFormatter(list_spellings(secrets)))
    with_messages = level.upper() == "DEBUG"
    lines: queue.SimpleQueue[logging.LogRecord] = queue.SimpleQueue()
    sender = _BoundedQueueHandler(lines)
    sender.addFilter(_is_ours_or_warns)
    sender.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(ensure_ascii=False),
            ],
            foreign_pre_chain=[_strip_library_text, *_shared_processors(with_messages=False)],
        )
    )
    listener = logging.handlers.QueueListener(lines, handler)
    root = logging.getLogger()
    root.handlers[:] = [sender]
    root.setLevel(level.upper())
    for chatty in _CHATTY:
        logging.getLogger(chatty).setLevel(logging.WARNING)
    structlog.configure(
        processors=[
            *_shared_processors(with_messages=with_messages),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    listener.start()
    logging.captureWarnings(True)  # Otherwise they go to standard error with their text.
    try:
        with _log_uncaught_errors():
            yield
    finally:
        logging.captureWarnings(False)
        root.removeHandler(sender)
        listener.stop()
        handler.close()


@contextlib.contextmanager
def _log_uncaught_errors() -> Iterator[None]:
    """Log uncaught errors of threads and finalizers, which Python would write to standard error with their text."""
    log = structlog.get_logger("daemon")

    def log_thread_error(failed: threading.ExceptHookArgs) -> None:
        if failed.exc_type is not SystemExit:
            log.error("thread.failed", exc_info=failed.exc_value)

    def log_unraisable_error(failed: "sys.UnraisableHookArgs") -> None:
        log.error("finalizer.failed", exc_info=failed.exc_value)

    before = threading.excepthook, sys.unraisablehook
    threading.excepthook, sys.unraisablehook = log_thread_error, log_unraisable_error
    try:
        yield
    finally:
        threading.excepthook, sys.unraisablehook = before


def _render_error(exc_info: structlog.typing.ExcInfo, *, with_messages: bool) -> str:
    return format_trace(exc_info[1], with_messages=with_messages)


def _shared_processors(*, with_messages: bool) -> list[structlog.typing.Processor]:
    # The traceback is formatted on the thread that raised, because the listener's thread has none.
    return [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.ExceptionRenderer(partial(_render_error, with_messages=with_messages)),
        _plain_values,
    ]


def _is_ours_or_warns(record: logging.LogRecord) -> bool:
    """Whether the record is ours or at least a warning. Other library records are useless without their text."""
    # structlog sets this attribute, and its formatter checks it too.
    return hasattr(record, "_logger") or record.levelno >= logging.WARNING


def _strip_library_text(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Replace a library's message, which may quote private text, by its place in the code."""
    record: logging.LogRecord = event["_record"]
    stripped = {**event, "event": "library.logged", "where": f"{record.pathname}:{record.lineno}"}
    if record.name == _WARNINGS and (warning := _WARNING.match(str(event["event"]))):
        stripped |= warning.groupdict()
    return stripped


def _plain_values(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Sanitise values before JSON escapes them, so that a reader that unescapes gets no terminal commands."""
    return {key: plain(value) if isinstance(value, str) else value for key, value in event.items()}


class _BoundedQueueHandler(logging.handlers.QueueHandler):
    """Formats on the caller's thread and drops lines when the writer cannot keep up: logging never blocks the mind.

    A finalizer that runs within `put` may log on the same thread; of Python's queues only SimpleQueue allows that. The
    limit is checked here, so several threads at once may exceed it by a line each.
    """

    def __init__(self, lines: "queue.SimpleQueue[logging.LogRecord]") -> None:
        super().__init__(lines)
        self._lines = lines

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        record.msg = self.format(record)
        record.args = None
        record.exc_info = None
        record.exc_text = None
        return record

    def enqueue(self, record: logging.LogRecord) -> None:
        if self._lines.qsize() < _QUEUE_LINES:
            self._lines.put(record)


class _RedactingFormatter(logging.Formatter):
    """The last step before the file: removes keys and control characters, even from tracebacks."""

    def __init__(self, secrets: Sequence[str]) -> None:
        super().__init__("%(message)s")
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        return redact(plain(super().format(record)).replace("\n", "\\n"), self._secrets)
