"""Twenty planted secrets of different kinds, and a provider that tells all of them: none is written or shown anywhere
(F6). And a day in whose every private text a word is planted: no log line of INFO or above has it (H2)."""

import asyncio
import contextlib
import json
import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest

from reveries import protocol
from reveries.client import cli
from reveries.config import Home
from reveries.daemon.lifecycle.recovery import live_with_recovery
from reveries.daemon.process.logs import log_to
from reveries.db.driver import dbapi
from reveries.db.integrity.suspected_damage import damage_note_path
from reveries.db.storage_errors import storage_errors
from reveries.errors import ModelFault, ModelUnavailableError, StorageError
from reveries.llm.base import Prompt
from reveries.llm.faults import fault_sentence
from reveries.memory.model import Origin
from reveries.redaction import list_spellings, redact
from tests.daemon.asking import ask
from tests.daemon.mind_kit import NOON, living
from tests.daemon.poison import settings
from tests.daemon.test_calendar import a_database, calendar, woken
from tests.e2e.living import Living
from tests.fakes.clock import HandClock
from tests.fakes.patient_clock import PatientClock
from tests.fakes.scripted import Piece, ScriptedModel
from tests.memory.kit import deep_answer

BODY: Final = "Zx9" + "q7Lm2Vb8Nc4Rt6Yp1Ws3"


def _own(number: int) -> str:
    return f"{BODY}{number:02}"


SECRETS: Final = {
    "openai": f"sk-proj-{_own(1)}",
    "anthropic": f"sk-ant-api03-{_own(2)}",
    "cerebras": f"csk-{_own(3)}",
    "xai": f"xai-{_own(4)}",
    "groq": f"gsk_{_own(5)}",
    "google": f"AIzaSy{_own(6)}XYZ12",
    "hugging face": f"hf_{_own(7)}",
    "github": f"ghp_{_own(8)}",
    "gitlab": f"glpat-{_own(9)}",
    "slack": f"xoxb-12345-{_own(10)}",
    "aws": "AKIAZX9Q7LM2VB8NC4RT",
    "telegram": f"123456789:AA{_own(12)}abcdefghij",
    "json web token": f"eyJhbGciOiJI.{_own(13)}.c2lnbmF0dXJl",
    "private key": f"-----BEGIN RSA PRIVATE KEY-----\n{_own(14)}\n-----END RSA PRIVATE KEY-----",
    "bearer header": f"Authorization: Bearer {_own(15)}",
    "address": f"http://ana:{_own(16)}@127.0.0.1",
    "query": f"https://host.invalid/v1?api_key={_own(17)}&x=1",
    "named in JSON": f'{{"client_secret": "{_own(18)}"}}',
    "environment": f"{_own(19)}-no-form-at-all",
    "key in the environment": f"{_own(20)}~none~either",
}
"""The last two have no form: they are known from the environment alone."""
_HEART: Final = {name: BODY + f"{number:02}" for number, name in enumerate(SECRETS, 1)} | {"aws": SECRETS["aws"]}
"""What of each must not be found."""
_ENVIRONMENT: Final = {
    "REVERIES_API_KEY": SECRETS["key in the environment"],
    "SOME_SERVICE_TOKEN": SECRETS["environment"],
    "OPENAI_API_KEY": SECRETS["openai"],
    "DATABASE_PASSWORD": _own(18),
}


@pytest.mark.requirement("F6")
@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_of_this_kind_is_found_in_any_text(kind: str) -> None:
    known = list_spellings(_ENVIRONMENT.values())
    for text in ("It failed: {}", '{{"error": "{}"}}', "a\\n{}\\nb", "[{}]", "({}), and more", "x={}"):
        assert _HEART[kind] not in redact(text.format(SECRETS[kind]), known)
        assert _HEART[kind] not in redact(text.format(SECRETS[kind]).replace("\n", "\\n"), known)


@pytest.mark.requirement("F6")
def test_what_is_known_is_found_however_it_is_written() -> None:
    import base64
    from urllib.parse import quote

    secret = "correct horse/battery+staple"
    known = list_spellings([secret, "short"])
    raw = secret.encode()
    for written in (secret, quote(secret, safe=""), base64.b64encode(raw).decode(), raw.hex()):
        assert written.rstrip("=") not in redact(f"before {written} after", known)
    assert redact("a short word", known) == "a short word"


@pytest.mark.requirement("F6")
@pytest.mark.parametrize(
    "text",
    [
        '{"event": "thought.ended", "tokens": 412, "reason": "settled", "level": "info"}',
        "The model all-minilm-l6-v2 took 12 tokens: 3 prompt_tokens, 4 completion_tokens.",
        "http://127.0.0.1:11434/api/chat answered 404; see llm.api_key_file in config.toml",
        "risk-averse desk-bound task-switching people; the key: a small one",
    ],
)
def test_ordinary_text_is_left_as_it_is(text: str) -> None:
    assert redact(text) == text


@contextlib.asynccontextmanager
async def _telltale() -> AsyncIterator[int]:
    """A provider that answers every call with an error that tells all secrets; its port."""
    body = json.dumps({"error": " ; ".join(SECRETS.values())}).encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            head = f"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


def _command(home: Home, *words: str) -> str:
    environment = {
        **os.environ,
        **_ENVIRONMENT,
        "REVERIES_HOME": str(home.path),
        "REVERIES_MODELS": str(home.path / "m"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "reveries", *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.stdout + done.stderr


def _hits(text: str) -> list[str]:
    return [kind for kind, heart in _HEART.items() if heart in text]


@pytest.mark.requirement("F6")
async def test_no_planted_secret_is_in_logs_frames_or_on_the_screen(living: Living) -> None:
    async with _telltale() as port:
        living.settings = (
            f'[llm]\nprovider = "ollama"\nollama_url = "http://ana:{_own(16)}@127.0.0.1:{port}"\n'
            f'base_url = "https://h.invalid/v1?api_key={_own(17)}"\n'
            'embedding_model = "ollama/x"\nconversation_model = "x"\n'
            '[log]\nlevel = "debug"\n[monologue]\nenabled = {thinks}\n'
        )
        living.environment = _ENVIRONMENT
        await living.wake()
        frames: list[str] = []
        async with living.client() as client:
            with contextlib.suppress(AssertionError):
                await client.say("Hello, how are you?")
            client.send(protocol.AskStatus(client.number()))
            await client.next_of(protocol.Status)
            client.send(protocol.AskConfig(client.number()))
            await client.next_of(protocol.Config)
            frames = [repr(frame) for frame in client.seen]
        shown = {
            " ".join(words): await asyncio.to_thread(_command, living.home, *words)
            for words in (
                ("status",), ("status", "--json"), ("config",), ("config", "--json"),
                ("config", "get", "llm.ollama_url"),
                ("doctor",), ("say", "Hello"), ("consolidate",), ("models",), ("logs",),
            )
        }  # fmt: skip
        await living.end()
    assert any("rejected the request" in frame for frame in frames)
    for name, text in {**shown, "frames": "\n".join(frames)}.items():
        assert _hits(text) == [], name
    for file in living.home.path.rglob("*"):
        if file.is_file() and file != living.home.config:
            assert _hits(file.read_bytes().decode("utf-8", "replace")) == [], file


# --- private text ----------------------------------------------------------------------------------------------------

_PRIVATE: Final = "quokkaberry"


def _quoting(prompt: Prompt) -> list[Piece]:
    """Every third call fails with words that quote what was asked."""
    text = prompt.messages[-1].text
    if len(text) % 3 == 0:
        said = f"cannot process: {text[-400:]} {_PRIVATE}"
        raise ModelUnavailableError(
            fault_sentence("scripted/model", ModelFault.BAD_REQUEST, 400, said), fault=ModelFault.BAD_REQUEST
        )
    if prompt.schema is not None:
        return [json.dumps(deep_answer(0.9, summary=f"It was about {_PRIVATE}."))]
    return [f"I think of {_PRIVATE}. ", "That is enough for now."]


@pytest.mark.requirement("H2")
async def test_no_private_word_of_a_whole_day_is_in_the_log(home: Home, tmp_path: Path) -> None:
    model = ScriptedModel(otherwise=_quoting)
    with log_to(tmp_path, "info"):
        async with living(home, model, PatientClock(NOON), settings()) as life:
            for number in range(9):
                await life.say(f"My {_PRIVATE} diary, page {'x' * number}.")
            await life.mind.memory.conversations.record_external(f"A {_PRIVATE} letter.", Origin.DOCUMENT)
            await life.pass_time(1)
            await ask(life.mind, protocol.NudgeThinking(1, _PRIVATE))
            await life.pass_time(0.5)
            with contextlib.suppress(ModelUnavailableError):
                await life.mind.sleep.consolidate(None, trigger="asked")
            await life.pass_time(1)
    text = (tmp_path / "daemon.log").read_text(encoding="utf-8")
    assert "thought.ended" in text
    assert "reply.failed" in text
    assert _PRIVATE not in text


@pytest.mark.requirement("H2")
def test_a_row_that_is_no_text_is_told_of_without_a_word_of_it() -> None:
    with contextlib.closing(dbapi.connect(":memory:")) as memory:
        torn = f"my {_PRIVATE} diary".encode() + b"\xff"
        with pytest.raises(StorageError) as raised, storage_errors():
            memory.execute("SELECT CAST(? AS TEXT) AS text", [torn]).fetchall()
        assert _PRIVATE not in str(raised.value)
        memory.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
        with pytest.raises(StorageError) as raised, storage_errors():
            memory.execute("SELECT * FROM words WHERE words MATCH ?", [f"{_PRIVATE}:x"]).fetchall()
        assert _PRIVATE not in str(raised.value)


@pytest.mark.requirement("H2")
async def test_what_tripped_a_wake_is_told_without_its_words(home: Home, tmp_path: Path) -> None:
    home.create()
    async with a_database(home) as database:
        memory = database.path

    async def trip(awake: asyncio.Event) -> int:
        raise ValueError(f"no time is {_PRIVATE}")

    memory.write_bytes(b"no memory at all")
    with log_to(tmp_path, "info"), pytest.raises(StorageError) as raised:
        await live_with_recovery(trip, memory, home.backups, HandClock(NOON))
    log = (tmp_path / "daemon.log").read_text(encoding="utf-8")
    assert "memory.damaged" in log
    assert "ValueError" in log
    assert _PRIVATE not in log + str(raised.value) + damage_note_path(memory).read_text(encoding="utf-8")


@pytest.mark.requirement("H2")
async def test_a_calendar_that_cannot_be_read_is_told_of_without_a_line_of_it(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "c.ics"
    file.write_text(f"BEGIN:VCALENDAR\r\n{_PRIVATE} at the doctor's", encoding="utf-8")
    clock = PatientClock(NOON)
    with log_to(tmp_path, "info"):
        async with a_database(home) as database:
            await clock.watch(database)
            one = calendar(file, database, clock)
            assert await woken(one, clock, 0.2) is None
    log = (tmp_path / "daemon.log").read_text(encoding="utf-8")
    assert "calendar.unreadable" in log
    assert "c.ics cannot be read" in one.problems[0]
    assert _PRIVATE not in log + one.problems[0]


@pytest.mark.requirement("H2")
@pytest.mark.parametrize("level", ["info", "debug"])
def test_of_what_a_library_says_the_log_has_only_where(tmp_path: Path, level: str) -> None:
    with log_to(tmp_path, level):
        logging.getLogger("asyncio").error("Task exception was never retrieved: %r", ValueError(_PRIVATE))
        logging.getLogger("openai._base_client").debug("Request options: %s", _PRIVATE)
        try:
            raise ValueError(_PRIVATE)
        except ValueError:
            logging.getLogger("LiteLLM").exception(_PRIVATE)
    log = (tmp_path / "daemon.log").read_text(encoding="utf-8")
    assert log.count("library.logged") == 2
    assert "test_secrets.py" in log
    assert _PRIVATE not in log


@pytest.mark.requirement("H2")
@pytest.mark.parametrize("settings_text", ['[llm]\napi_key_file = "{key}"\n', "not = [toml"])
def test_an_unforeseen_error_of_the_client_is_written_down_without_its_words(home: Home, settings_text: str) -> None:
    home.create()
    key = home.path / "openai.key"
    key.write_text("correct-horse-battery\n", encoding="utf-8")
    home.config.write_text(settings_text.format(key=key), encoding="utf-8")

    def fail() -> None:
        try:
            raise KeyError(_PRIVATE)
        except KeyError as cause:
            raise OSError(5, "correct-horse-battery") from cause

    with pytest.raises(OSError, match="horse") as raised:
        fail()
    assert cli._report_crash(raised.value, home) == 1
    log = (home.logs / "client.log").read_text(encoding="utf-8")
    assert "KeyError" in log
    assert "test_secrets.py" in log
    assert _PRIVATE not in log
    assert "correct-horse" not in log
