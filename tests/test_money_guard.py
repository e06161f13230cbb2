"""No path to a model goes past the ledger: who may speak to the network, who may build an adapter, and what is seen
on the sockets themselves (G1)."""

import ast
import dataclasses
import socket
import sys
from importlib import resources
from pathlib import Path
from random import Random
from typing import Final

import msgspec
import pytest

from reveries.config import Home, load_settings
from reveries.daemon.models.role_models import build_models
from reveries.db.database import Database
from reveries.errors import BudgetExceededError
from reveries.llm.base import CHAT_ROLES
from reveries.llm.budget import Ledger, Reservation
from reveries.llm.caps import PlannedCall
from reveries.llm.circuits import open_circuits
from tests.fakes.clock import HandClock
from tests.llm.contract import a_prompt, play
from tests.llm.servers import model_server

PACKAGE: Final = Path(str(resources.files("reveries")))
NETWORK: Final = {"httpx", "ollama", "litellm", "openai", "requests", "urllib.request", "http.client", "aiohttp"}
ADAPTERS: Final = {"HostedModel", "OllamaModel", "EmbeddedModel"}
EMBEDDERS: Final = {"HostedEmbedder", "OllamaEmbedder", "OnnxEmbedder"}


def _imported(file: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def _sources() -> list[tuple[str, Path]]:
    return [(str(file.relative_to(PACKAGE)), file) for file in sorted(PACKAGE.rglob("*.py"))]


@pytest.mark.requirement("G1")
def test_only_the_adapters_and_the_fetching_of_weights_can_reach_a_network() -> None:
    reaching = {name for name, file in _sources() if _imported(file) & NETWORK}
    # Weights are fetched; the child process that runs a model is asked over its own socket; the rest are adapters, the
    # limit on what they read, the kinds of their errors, and whom they trust. litellm is loaded by its name, late.
    fetching = {"llm/asset_sources.py", "llm/ollama_pull.py"}
    adapters = {"llm/hosted.py", "llm/ollama_chat.py", "llm/embedded.py", "llm/hosted_embedding.py"}
    wire = {"llm/limits.py", "llm/tls.py", "llm/hosted_import.py", "llm/ollama_client.py", "llm/wire_faults.py"}
    # `reveries web` listens on loopback and asks nobody; pages are fetched by grant, and cost no money.
    others = {"llm/model_process.py", "client/web/server.py", "tools/web.py"}
    assert reaching == fetching | adapters | wire | others
    by_name = {name for name, file in _sources() if '"litellm"' in file.read_text(encoding="utf-8")}
    asks_whether_it_is_there = {"client/checkup/installed.py", "llm/prices.py"}
    loading = {"llm/hosted_import.py", "daemon/models/models_overview.py"}
    assert by_name == loading | asks_whether_it_is_there


@pytest.mark.requirement("G1")
@pytest.mark.parametrize(
    ("adapters", "builder"),
    [(ADAPTERS, "daemon/models/role_models.py"), (EMBEDDERS, "daemon/models/embedders.py")],
    ids=["chat", "embed"],
)
def test_adapters_are_built_in_one_place_that_puts_each_behind_the_ledger(adapters: set[str], builder: str) -> None:
    builders = {
        name
        for name, file in _sources()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in adapters
    }
    assert builders == {builder}


class _WatchedLedger(Ledger):
    """Knows how many reservations are open in this moment."""

    reserved = 0

    async def reserve(self, ask: PlannedCall) -> Reservation:
        reservation = await super().reserve(ask)
        self.reserved += 1
        return reservation


class _Connects:
    """An audit hook: every connection that this process makes to `port`, and the reservations made before it."""

    def __init__(self) -> None:
        self.ledger: _WatchedLedger | None = None
        self.port = 0
        self.seen: list[int] = []

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if event != "socket.connect" or self.ledger is None:
            return
        where = arguments[1]
        if isinstance(where, tuple) and where[1] == self.port and isinstance(arguments[0], socket.socket):
            self.seen.append(self.ledger.reserved)


@pytest.mark.requirement("G1", "G4")
async def test_no_connection_is_made_without_a_reservation(home: Home, database: Database, clock: HandClock) -> None:
    connects = _Connects()
    sys.addaudithook(connects)
    defaults = load_settings(None)
    nothing = msgspec.structs.replace(defaults.budget.monologue, tokens_per_day=0)
    async with model_server() as server:
        llm = msgspec.structs.replace(defaults.llm, provider="ollama", ollama_url=server.url)
        settings = msgspec.structs.replace(
            defaults, llm=llm, budget=msgspec.structs.replace(defaults.budget, monologue=nothing)
        )
        ledger = _WatchedLedger(database, clock, lambda: settings.budget)
        models = await build_models(settings, home, ledger, await open_circuits(database, clock, Random(1)), clock)
        connects.port, connects.ledger = int(server.url.rpartition(":")[2]), ledger
        prompt = a_prompt()
        for role in CHAT_ROLES:
            await models.chat[role].read_ahead(prompt.messages, role)
            await models.chat[role].count_tokens("words")
        assert connects.seen == []
        for role in CHAT_ROLES:
            asked = dataclasses.replace(prompt, role=role)
            if role.value == "monologue":
                with pytest.raises(BudgetExceededError):
                    await play(models.chat[role], asked)
            else:
                await play(models.chat[role], asked)
        connects.ledger = None
        await models.aclose()
    assert len(connects.seen) >= 1
    assert all(reserved >= place + 1 for place, reserved in enumerate(connects.seen))
    assert ledger.reserved == len(CHAT_ROLES) - 1
