"""The daemon's log: JSON lines in the home, written by a thread of its own, private text at debug only (H2)."""

import contextlib
import logging
import logging.handlers
import queue
import re
from collections.abc import Iterator
from pathlib import Path

import structlog

from reveries.plaintext import plain

_MAX_BYTES = 10 * 1024 * 1024
_KEPT_FILES = 4
_QUEUE_LINES = 10_000

# Keys as the providers write them, and anything that calls itself a bearer token.
_SECRETS = re.compile(r"(?i)\b(sk-[\w-]{8,}|csk-[\w-]{8,}|xai-[\w-]{8,}|bearer\s+[\w.~+/=-]{8,}|\d{8,}:[\w-]{30,})")


@contextlib.contextmanager
def log_to(folder: Path, level: str) -> Iterator[None]:
    """Send every log line of the process to `folder`/daemon.log until left. Lines over the bound are dropped."""
    handler = logging.handlers.RotatingFileHandler(
        folder / "daemon.log", maxBytes=_MAX_BYTES, backupCount=_KEPT_FILES, encoding="utf-8"
    )
    handler.setFormatter(_RedactingFormatter("%(message)s"))
    lines: queue.Queue[logging.LogRecord] = queue.Queue(_QUEUE_LINES)
    sender = _BoundedQueueHandler(lines)
    sender.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(ensure_ascii=False),
            ],
            foreign_pre_chain=_shared_processors(),
        )
    )
    listener = logging.handlers.QueueListener(lines, handler)
    root = logging.getLogger()
    root.handlers[:] = [sender]
    root.setLevel(level.upper())
    for chatty in ("httpx", "httpcore", "asyncio", "LiteLLM", "aiosqlite"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    structlog.configure(
        processors=[*_shared_processors(), structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    listener.start()
    try:
        yield
    finally:
        root.removeHandler(sender)
        listener.stop()
        handler.close()


def _shared_processors() -> list[structlog.typing.Processor]:
    # The traceback is formatted here, on the thread that raised: the listener's thread would find none.
    return [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _plain_values,
    ]


def _plain_values(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Before JSON escapes them: a reader that unescapes must not get a terminal's commands either."""
    return {key: plain(value) if isinstance(value, str) else value for key, value in event.items()}


class _BoundedQueueHandler(logging.handlers.QueueHandler):
    """Formats on the caller's thread and drops when the writer cannot keep up: logging never blocks the mind."""

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        record.msg = self.format(record)
        record.args = None
        record.exc_info = None
        record.exc_text = None
        return record

    def enqueue(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(queue.Full):
            self.queue.put_nowait(record)


class _RedactingFormatter(logging.Formatter):
    """The last step before the file: whatever a traceback quoted, no key and no control character gets through."""

    def format(self, record: logging.LogRecord) -> str:
        return _SECRETS.sub("[secret]", plain(super().format(record)).replace("\n", "\\n"))
