"""Which sources are asked for a model, what counts as an answer, and what the machine's owner is shown."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from reveries.llm import asset_sources, assets
from reveries.llm.asset_sources import UrlSource, has_file
from reveries.llm.assets import Asset, AssetFile
from reveries.llm.fitting import free_memory_bytes, read_machine_memory
from reveries.llm.model_ladder import LADDER
from reveries.llm.model_suggestion import find_suggestion
from tests.fakes.publisher import Publisher, publisher
from tests.fakes.weights import put_weights

LARGE, SMALL, CODER = (rung.model for rung in LADDER)
STRONG = (8, 16_000_000_000)
WEAK = (2, 4_000_000_000)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Publisher]:
    """A server that publishes the two better models of its own manifest."""
    with publisher() as told:
        told.files |= {f"/{LARGE}": b"large" * 100, f"/{SMALL}": b"small" * 10}
        sizes = {LARGE: 500, SMALL: 50, CODER: 50}
        known = tuple(
            Asset(
                name, "chat", "MIT", "", [AssetFile("w.gguf", "0" * 64, size_bytes, [UrlSource(told.url(f"/{name}"))])]
            )
            for name, size_bytes in sizes.items()
        )
        monkeypatch.setattr(assets, "manifest", lambda: known)
        yield told


def test_a_strong_machine_hears_of_the_large_model_and_a_weak_one_does_not(server: Publisher, tmp_path: Path) -> None:
    found = find_suggestion(*STRONG, tmp_path)
    assert (found.model, found.size_bytes, found.larger, found.larger_bytes) == (SMALL, 50, LARGE, 500)
    assert (found.cores, found.free_bytes, found.silent, found.is_here) == (*STRONG, [], False)
    assert server.ranges == ["bytes=0-0", "bytes=0-0"]
    found = find_suggestion(*WEAK, tmp_path)
    assert (found.model, found.larger) == (SMALL, "")
    assert len(server.ranges) == 3, "what does not suit the machine was asked for"


def test_a_model_that_the_disk_has_no_room_for_is_not_offered(
    server: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=499))
    found = find_suggestion(*STRONG, tmp_path / "not" / "there" / "yet")
    assert (found.model, found.larger, found.silent) == (SMALL, "", [])
    assert len(server.ranges) == 1


def test_nobody_is_asked_where_a_model_is_here(server: Publisher, tmp_path: Path) -> None:
    put_weights(tmp_path, CODER)
    found = find_suggestion(*STRONG, tmp_path)
    assert (found.model, found.is_here, found.larger) == (CODER, True, "")
    assert not server.ranges


def test_who_has_a_smaller_one_is_not_said_to_be_silent(server: Publisher, tmp_path: Path) -> None:
    del server.files[f"/{LARGE}"]
    found = find_suggestion(*STRONG, tmp_path)
    assert (found.model, found.larger, found.silent) == (SMALL, "", [])


@pytest.mark.parametrize("wrong", ["gone", "a page", "silent"])
def test_without_its_publisher_the_model_of_the_package_index_is_left(
    server: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    monkeypatch.setattr(asset_sources, "REACH_SECONDS", 0.5)
    match wrong:
        case "gone":
            server.files.clear()
        case "a page":  # As a hotel's network answers, whatever is asked.
            server.files = dict.fromkeys(server.files, b"<html>please log in</html>")
        case _:
            server.is_silent = True
    began = time.monotonic()
    found = find_suggestion(*STRONG, tmp_path)
    assert (found.model, found.larger, found.silent) == (CODER, "", ["127.0.0.1"])
    assert time.monotonic() - began < 20, "it waited for ever"


@pytest.mark.parametrize("knows_ranges", [True, False])
def test_a_file_is_known_by_its_size_before_it_is_fetched(server: Publisher, knows_ranges: bool) -> None:
    server.knows_ranges = knows_ranges
    source = UrlSource(server.url(f"/{LARGE}"))
    assert has_file(source, 500)
    assert not has_file(source, 501)
    assert not has_file(source, 50)
    assert not has_file(UrlSource(server.url("/nowhere")), 500)
    assert not has_file(UrlSource("http://127.0.0.1:9/nobody"), 500)


def test_free_memory_is_some_of_what_the_machine_has() -> None:
    assert 0 < free_memory_bytes() <= read_machine_memory().ram_bytes
