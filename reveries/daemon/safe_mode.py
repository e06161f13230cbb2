"""Safe mode (B6): the mind answers on its socket, what it knows can be read, searched, exported and backed up, and
nothing else is done. No model is made, nothing is thought or slept on, nothing leaves the machine.

It is for a home whose settings are broken and for a mind that crashes while it wakes.
"""

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import cast

import msgspec

from reveries import protocol
from reveries.config import Home, Settings, load_settings, read_toml
from reveries.crash_history import CRASHES_UNTIL_SAFE, crashes_lately
from reveries.daemon.embedders import Embedding
from reveries.daemon.models import Models
from reveries.db.backups import traces_of
from reveries.db.database import Database
from reveries.db.integrity.damage import is_there
from reveries.errors import ConfigError, ModelUnavailableError, SafeModeError, StorageError
from reveries.llm.base import CHAT_ROLES, ChatMessage, Delta, Finished, Prompt, Role, Vectors
from reveries.llm.choose import Choice
from reveries.llm.circuits import Circuits
from reveries.llm.tokens import estimate_tokens
from reveries.memory.store import space_to_serve

IN_FULL_AGAIN = "In full again: reveries sleep, then reveries wake."
_CONTEXT_TOKENS = 8192


def require_allowed(request: protocol.Request, safe_because: str) -> None:
    """Raise SafeModeError for what safe mode does not do; `safe_because` is empty out of it."""
    if safe_because and not protocol.REQUESTS[type(request)].is_safe:
        raise SafeModeError("It is in safe mode: that is not done now.", advice=IN_FULL_AGAIN)


def why_after_crashes(home: Home, now: float) -> str:
    """Why this wake is to be a safe one; empty when it need not be."""
    crashes = crashes_lately(home, now)
    return f"It crashed {crashes} times in ten minutes while it woke." if crashes >= CRASHES_UNTIL_SAFE else ""


def safe_mode_sentence(why: str) -> str:
    """For `status` and every client."""
    does = "It shows, searches, exports and backs up what it knows; it does not answer, think or sleep on anything."
    return f"Safe mode. {why} {does} {IN_FULL_AGAIN}"


def settings_in_safe_mode(file: Path) -> tuple[Settings, str]:
    """The settings that safe mode goes by, and what is wrong with `file`; empty when nothing is.

    Of a file that is wrong, it takes the names and the place of the memory. Raises ConfigError where that place cannot
    be known: another memory must not be shown in its stead.
    """
    try:
        return calmed(load_settings(file)), ""
    except ConfigError as error:
        return calmed(_with_what_can_be_read(file)), str(error)


def calmed(settings: Settings) -> Settings:
    """`settings` with nothing in them that begins by itself."""
    replace = msgspec.structs.replace
    return replace(
        settings,
        monologue=replace(settings.monologue, enabled=False),
        calendar=replace(settings.calendar, path=""),
    )


def require_memory(database: Path, backups: Path) -> None:
    """Raise StorageError where there never was one: safe mode begins none."""
    if not is_there(database) and not any(backups.glob("*.db")) and not traces_of(database):
        raise StorageError(
            f"There is no memory {database}, and safe mode makes none.", advice="To begin one: reveries wake"
        )


async def safe_models(database: Database, circuits: Circuits) -> Models:
    """Models that are none: nothing is loaded, started or asked."""
    choice, model = Choice("no", "model", "safe mode"), NoModel()
    return Models(
        chat=dict.fromkeys(CHAT_ROLES, model),
        embedding=Embedding(await _embedder_of_file(database), "not asked in safe mode", (), lambda model_id: None),
        choices=dict.fromkeys(CHAT_ROLES, choice),
        fallbacks=dict.fromkeys(CHAT_ROLES, ()),
        circuits=circuits,
        adapters={choice.name: model},
        weights=(),
    )


class NoModel:
    """The ChatModel port where no model is to be asked."""

    name = "no model"
    context_tokens = _CONTEXT_TOKENS

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta | Finished, None]:
        if prompt.messages:
            raise ModelUnavailableError("It is in safe mode: no model is asked.", advice=IN_FULL_AGAIN)
        yield Delta("")

    async def count_tokens(self, text: str) -> int:
        return estimate_tokens(text)

    async def read_ahead(self, messages: Sequence[ChatMessage], role: Role) -> None:
        return

    async def aclose(self) -> None:
        return


class NoEmbedder:
    """The Embedder port in its place: memory goes by words."""

    def __init__(self, model_id: str) -> None:
        self.model_id = model_id
        self.dimensions = 0

    async def embed(self, texts: Sequence[str]) -> Vectors:
        raise ModelUnavailableError("It is in safe mode: no embedder is asked.", advice=IN_FULL_AGAIN)

    async def aclose(self) -> None:
        return


async def _embedder_of_file(database: Database) -> NoEmbedder:
    """One of the name that the vectors in the file have, so that nothing is taken for a change of the embedder."""
    serving = await database.rows("vectors.serving")
    recorded = str(serving[0]["model_id"]) if serving else ""
    counts = {str(row["model_id"]): int(row["vectors"]) for row in await database.rows("vectors.models")}
    return NoEmbedder(space_to_serve(recorded, counts, recorded) or "none")


def _with_what_can_be_read(file: Path) -> Settings:
    settings, tables = load_settings(None), _read_tables(file)
    replace = msgspec.structs.replace
    path = _text(tables, "storage", "db_path", settings.storage.db_path, file)
    return replace(
        settings,
        storage=replace(settings.storage, db_path=path),
        mind=replace(settings.mind, name=_text(tables, "mind", "name", settings.mind.name)),
        owner=replace(settings.owner, name=_text(tables, "owner", "name", settings.owner.name)),
    )


def _text(tables: dict[str, object], table: str, key: str, default: str, needed_of: Path | None = None) -> str:
    found = tables.get(table)
    value = cast("dict[str, object]", found).get(key, default) if isinstance(found, dict) else default
    if isinstance(value, str):
        return value
    if needed_of is not None:
        raise _place_unknown(needed_of)
    return default


def _read_tables(file: Path) -> dict[str, object]:
    try:
        return read_toml(file)
    except ConfigError:
        pass
    try:
        text = file.read_bytes().decode("utf-8", "replace")
    except IsADirectoryError:
        return {}
    except OSError as error:
        raise _place_unknown(file) from error
    if any("db_path" in line and not line.lstrip().startswith("#") for line in text.splitlines()):
        raise _place_unknown(file)
    return {}


def _place_unknown(file: Path) -> ConfigError:
    return ConfigError(
        f"Where the memory is cannot be read in {file}.", advice="Mend storage.db_path there, or move the file away."
    )
