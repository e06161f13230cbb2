"""A folder can be given back as it was, whatever a task did to it."""

from pathlib import Path

import pytest

from reveries.errors import ToolError
from reveries.tools import folder_copies
from reveries.tools.folder_copies import KEPT_SECONDS, FolderCopies, mark_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    at = tmp_path / "folder"
    (at / "sub" / "deep").mkdir(parents=True)
    (at / "a.txt").write_text("a")
    (at / "sub" / "run.sh").write_text("#!/bin/sh")
    (at / "sub" / "run.sh").chmod(0o755)
    (at / "sub" / "deep" / "bytes").write_bytes(bytes(range(256)) * 100)
    (at / "link").symlink_to("a.txt")
    (at / "lost").symlink_to("/nowhere")
    (at / "empty").mkdir(mode=0o700)
    (at / ".hidden").write_text("h")
    return at


@pytest.fixture
def copies(tmp_path: Path) -> FolderCopies:
    return FolderCopies(tmp_path / "undo")


def wreck(at: Path) -> None:
    """Everything that can happen to a folder."""
    (at / "a.txt").write_text("changed")
    (at / "sub" / "run.sh").chmod(0o644)
    (at / "sub" / "deep" / "bytes").unlink()
    (at / "sub" / "deep").rmdir()
    (at / "sub" / "deep").write_text("a file now")
    (at / "link").unlink()
    (at / "link").mkdir()
    (at / "link" / "inner").write_text("x")
    (at / "lost").unlink()
    (at / "lost").symlink_to("a.txt")
    (at / "empty").rmdir()
    (at / "new").mkdir()
    (at / "new" / "file").write_text("new")


@pytest.mark.requirement("F9")
def test_whatever_was_done_is_undone_byte_for_byte(folder: Path, copies: FolderCopies) -> None:
    before = mark_folder(folder)
    copies.take("t", folder)
    wreck(folder)
    copies.note_end("t", folder)
    copies.give_back("t", folder)
    assert mark_folder(folder) == before
    assert copies.give_back("t", folder).restored == ()


def test_undoing_that_was_broken_off_can_be_done_again(
    folder: Path, copies: FolderCopies, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = mark_folder(folder)
    copies.take("t", folder)
    wreck(folder)
    real, count = folder_copies._restore, 0

    def stop_at_third(*given: object) -> None:
        nonlocal count
        count += 1
        if count == 3:
            (folder / ".reveries-undo-half").write_text("half")
            raise KeyboardInterrupt
        real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(folder_copies, "_restore", stop_at_third)
    with pytest.raises(KeyboardInterrupt):
        copies.give_back("t", folder)
    monkeypatch.setattr(folder_copies, "_restore", real)
    copies.give_back("t", folder)
    assert mark_folder(folder) == before


def test_what_somebody_else_changed_after_the_task_is_left(folder: Path, copies: FolderCopies) -> None:
    copies.take("t", folder)
    (folder / "a.txt").write_text("by the task")
    (folder / "made.txt").write_text("by the task")
    copies.note_end("t", folder)
    (folder / "a.txt").write_text("by the owner")
    (folder / "mine.txt").write_text("by the owner")
    undone = copies.give_back("t", folder)
    assert (undone.restored, undone.left) == (("made.txt",), ("a.txt", "mine.txt"))
    assert (folder / "a.txt").read_text() == "by the owner"
    assert (folder / "mine.txt").exists()


def test_only_the_first_change_of_a_task_takes_a_copy(folder: Path, copies: FolderCopies) -> None:
    copies.take("t", folder)
    (folder / "a.txt").write_text("changed")
    copies.take("t", folder)
    copies.give_back("t", folder)
    assert (folder / "a.txt").read_text() == "a"


def test_a_folder_that_is_too_large_is_refused_before_anything_is_changed(
    folder: Path, copies: FolderCopies, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_copies, "MOST_BYTES", 1000)
    with pytest.raises(ToolError, match="nothing in it is changed"):
        copies.take("t", folder)
    assert not copies.has("t")


def test_copies_go_after_seven_days_when_something_is_forgotten_and_when_one_was_half_made(
    folder: Path, copies: FolderCopies, tmp_path: Path
) -> None:
    copies.take("old", folder)
    (tmp_path / "undo" / ".half").mkdir()
    made = (tmp_path / "undo" / "old").stat().st_mtime
    copies.drop_old(made + KEPT_SECONDS - 1)
    assert copies.has("old")
    assert not (tmp_path / "undo" / ".half").exists()
    copies.drop_old(made + KEPT_SECONDS + 1)
    assert not copies.has("old")
    copies.take("one", folder)
    assert copies.drop_all() == 1
    with pytest.raises(ToolError, match="no copy of the folder"):
        copies.give_back("one", folder)
