"""The daemon's log: JSON lines in the home, written by a thread of its own, private text at debug only (H2).

An error that we raise says nothing private in its `for_log`; any other may quote what somebody said, so its own words
stand in the log only where the owner asked for debug. What a library says is quoted at no level: one that is handed
prompts (openai, litellm, pydantic, httpcore) may say them, and what is said off the record is to stand in no log. No
secret stands there at any level (F6).
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

from reveries.error_location import trace_of
from reveries.own_files import open_own
from reveries.redaction import redacted, spellings
from reveries.safe_text import plain

_CHATTY = ("httpx", "httpcore", "asyncio", "LiteLLM", "aiosqlite", "openai", "numba")
"""Asked for nothing below a warning, at any level: what they would say is not even put together."""
_WARNINGS = "py.warnings"
_WARNING = re.compile(r"(?P<where>.+?:\d+): (?P<kind>\w+): ")
"""How Python writes one of its warnings; what it warns of comes after."""
_MAX_BYTES = 10 * 1024 * 1024
_KEPT_FILES = 4
_QUEUE_LINES = 10_000


class _OwnFileHandler(logging.handlers.RotatingFileHandler):
    """Opens its file 0600, and through no link."""

    def _open(self) -> io.TextIOWrapper:
        return os.fdopen(open_own(Path(self.baseFilename), os.O_APPEND), "a", encoding=self.encoding)


@contextlib.contextmanager
def log_to(folder: Path, level: str, secrets: Sequence[str] = ()) -> Iterator[None]:
    """Send every log line of the process to `folder`/daemon.log until left. Lines over the bound are dropped; so is
    what is known of `secrets`, however it is written."""
    handler = _OwnFileHandler(folder / "daemon.log", maxBytes=_MAX_BYTES, backupCount=_KEPT_FILES, encoding="utf-8")
    handler.setFormatter(_RedactingFormatter(spellings(secrets)))
    says_all = level.upper() == "DEBUG"
    lines: queue.SimpleQueue[logging.LogRecord] = queue.SimpleQueue()
    sender = _BoundedQueueHandler(lines)
    sender.addFilter(_is_ours_or_warns)
    sender.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(ensure_ascii=False),
            ],
            foreign_pre_chain=[_where_alone, *_shared_processors(says_all=False)],
        )
    )
    listener = logging.handlers.QueueListener(lines, handler)
    root = logging.getLogger()
    root.handlers[:] = [sender]
    root.setLevel(level.upper())
    for chatty in _CHATTY:
        logging.getLogger(chatty).setLevel(logging.WARNING)
    structlog.configure(
        processors=[*_shared_processors(says_all=says_all), structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    listener.start()
    logging.captureWarnings(True)  # They quote what they warn of, and would go to standard error.
    try:
        with _told_of_what_nobody_caught():
            yield
    finally:
        logging.captureWarnings(False)
        root.removeHandler(sender)
        listener.stop()
        handler.close()


@contextlib.contextmanager
def _told_of_what_nobody_caught() -> Iterator[None]:
    """What fails in a thread, or while something is taken down, Python would write to standard error, words and all."""
    log = structlog.get_logger("daemon")

    def in_a_thread(failed: threading.ExceptHookArgs) -> None:
        if failed.exc_type is not SystemExit:
            log.error("thread.failed", exc_info=failed.exc_value)

    def taken_down(failed: "sys.UnraisableHookArgs") -> None:
        log.error("taking-down.failed", exc_info=failed.exc_value)

    before = threading.excepthook, sys.unraisablehook
    threading.excepthook, sys.unraisablehook = in_a_thread, taken_down
    try:
        yield
    finally:
        threading.excepthook, sys.unraisablehook = before


def _render_error(exc_info: structlog.typing.ExcInfo, *, says_all: bool) -> str:
    return trace_of(exc_info[1], says_all=says_all)


def _shared_processors(*, says_all: bool) -> list[structlog.typing.Processor]:
    # The traceback is formatted here, on the thread that raised: the listener's thread would find none.
    return [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.ExceptionRenderer(partial(_render_error, says_all=says_all)),
        _plain_values,
    ]


def _is_ours_or_warns(record: logging.LogRecord) -> bool:
    """What a library says below a warning is of no use here: its place is all that would stay of it."""
    # structlog's mark, which its formatter goes by too.
    return hasattr(record, "_logger") or record.levelno >= logging.WARNING


def _where_alone(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """A library's line may quote what it was given: that it spoke, and where, is what stays of it."""
    record: logging.LogRecord = event["_record"]
    told = {**event, "event": "library.spoke", "where": f"{record.pathname}:{record.lineno}"}
    if record.name == _WARNINGS and (warning := _WARNING.match(str(event["event"]))):
        told |= warning.groupdict()
    return told


def _plain_values(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Before JSON escapes them: a reader that unescapes must not get a terminal's commands either."""
    return {key: plain(value) if isinstance(value, str) else value for key, value in event.items()}


class _BoundedQueueHandler(logging.handlers.QueueHandler):
    """Formats on the caller's thread and drops when the writer cannot keep up: logging never blocks the mind.

    What is taken down in the middle of `put` may log itself, on the same thread: of Python's queues only this one lets
    it. Its bound is kept here, and several threads at once may pass it by a line each.
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
    """The last step before the file: whatever a traceback quoted, no key and no control character gets through."""

    def __init__(self, known: Sequence[str]) -> None:
        super().__init__("%(message)s")
        self._known = known

    def format(self, record: logging.LogRecord) -> str:
        return redacted(plain(super().format(record)).replace("\n", "\\n"), self._known)
