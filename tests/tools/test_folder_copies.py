"""A folder can be given back as it was, whatever a task did to it."""

import hashlib
import os
from pathlib import Path

import pytest

from reveries.errors import ToolError
from reveries.tools import folder_copies
from reveries.tools.folder_copies import KEPT_SECONDS, FolderCopies
from reveries.tools.folder_marks import mark_folder


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
    copies.ensure_copy("t", folder)
    wreck(folder)
    copies.record_end("t", folder)
    copies.restore("t", folder)
    assert mark_folder(folder) == before
    assert copies.restore("t", folder).restored == ()


def test_undoing_that_was_broken_off_can_be_done_again(
    folder: Path, copies: FolderCopies, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = mark_folder(folder)
    copies.ensure_copy("t", folder)
    wreck(folder)
    copies.record_end("t", folder)
    real, count = folder_copies._restore_entry, 0

    def stop_at_third(*given: object) -> None:
        nonlocal count
        count += 1
        if count == 3:
            (folder / ".reveries-undo-half").write_text("half")
            raise KeyboardInterrupt
        real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(folder_copies, "_restore_entry", stop_at_third)
    with pytest.raises(KeyboardInterrupt):
        copies.restore("t", folder)
    monkeypatch.setattr(folder_copies, "_restore_entry", real)
    copies.restore("t", folder)
    assert mark_folder(folder) == before


def test_what_somebody_else_changed_after_the_task_is_left(folder: Path, copies: FolderCopies) -> None:
    copies.ensure_copy("t", folder)
    (folder / "a.txt").write_text("by the task")
    (folder / "made.txt").write_text("by the task")
    copies.record_end("t", folder)
    (folder / "a.txt").write_text("by the owner")
    (folder / "mine.txt").write_text("by the owner")
    undone = copies.restore("t", folder)
    assert (undone.restored, undone.left) == (("made.txt",), ("a.txt", "mine.txt"))
    assert (folder / "a.txt").read_text() == "by the owner"
    assert (folder / "mine.txt").exists()


def test_only_the_first_change_of_a_task_takes_a_copy(folder: Path, copies: FolderCopies) -> None:
    copies.ensure_copy("t", folder)
    (folder / "a.txt").write_text("changed")
    copies.ensure_copy("t", folder)
    copies.record_end("t", folder)
    copies.restore("t", folder)
    assert (folder / "a.txt").read_text() == "a"


def test_a_folder_that_is_too_large_is_refused_before_anything_is_changed(
    folder: Path, copies: FolderCopies, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_copies, "MOST_BYTES", 1000)
    with pytest.raises(ToolError, match="nothing in it is changed"):
        copies.ensure_copy("t", folder)
    assert not copies.has("t", folder)


def test_copies_go_after_seven_days_when_something_is_forgotten_and_when_one_was_half_made(
    folder: Path, copies: FolderCopies, tmp_path: Path
) -> None:
    copies.ensure_copy("old", folder)
    (tmp_path / "undo" / ".half").mkdir()
    [made] = [one.stat().st_mtime for one in (tmp_path / "undo").glob("old*")]
    copies.drop_old(made + KEPT_SECONDS - 1)
    assert copies.has("old", folder)
    assert not (tmp_path / "undo" / ".half").exists()
    copies.drop_old(made + KEPT_SECONDS + 1)
    assert not copies.has("old", folder)
    copies.ensure_copy("one", folder)
    assert copies.drop_all() == 1
    with pytest.raises(ToolError, match="no copy of the folder"):
        copies.restore("one", folder)


@pytest.mark.requirement("F9")
def test_nothing_is_given_back_through_a_link_that_took_the_place_of_a_folder(
    folder: Path, copies: FolderCopies, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o755)
    copies.ensure_copy("t", folder)
    (folder / "sub" / "run.sh").unlink()
    (folder / "sub" / "deep" / "made").write_text("by the task")
    copies.record_end("t", folder)
    (folder / "sub").rename(tmp_path / "moved")
    (folder / "sub").symlink_to(outside)
    (outside / "deep").mkdir()
    (outside / "deep" / "made").write_text("mine")
    undone = copies.restore("t", folder)
    assert not (outside / "run.sh").exists()
    assert (outside / "deep" / "made").read_text() == "mine"
    assert undone.restored == ()
    assert "sub/run.sh" in undone.left


def test_a_link_that_the_task_itself_put_in_the_place_of_a_folder_goes_and_the_folder_comes_back(
    folder: Path, copies: FolderCopies, tmp_path: Path
) -> None:
    before, outside = mark_folder(folder), tmp_path / "outside"
    outside.mkdir()
    copies.ensure_copy("t", folder)
    (folder / "sub").rename(folder / "old")
    (folder / "sub").symlink_to(outside)
    copies.record_end("t", folder)
    copies.restore("t", folder)
    assert mark_folder(folder) == before
    assert list(outside.iterdir()) == []


def test_what_the_owner_changed_while_the_task_waited_is_left(folder: Path, copies: FolderCopies) -> None:
    copies.ensure_copy("t", folder)
    (folder / "a.txt").write_text("by the task")
    copies.record_end("t", folder)
    (folder / "mine.txt").write_text("by the owner")
    (folder / ".hidden").write_text("by the owner")
    copies.ensure_copy("t", folder)
    (folder / "late.txt").write_text("by the task")
    copies.record_end("t", folder)
    (folder / "sub" / "run.sh").unlink()
    copies.record_end("t", folder)  # It was opened again, and changed nothing.
    undone = copies.restore("t", folder)
    assert (undone.restored, undone.left) == (("a.txt", "late.txt"), (".hidden", "mine.txt", "sub/run.sh"))
    assert (folder / "mine.txt").read_text() == "by the owner"
    assert (folder / ".hidden").read_text() == "by the owner"


def test_a_copy_of_one_folder_is_never_given_back_into_another(
    folder: Path, copies: FolderCopies, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine").write_text("mine")
    copies.ensure_copy("t", folder)
    copies.record_end("t", other)
    with pytest.raises(ToolError, match=r"is of .*/folder, not of .*/other"):
        copies.restore("t", other)
    copies.ensure_copy("t", other)
    (other / "mine").write_text("by the task")
    copies.record_end("t", other)
    copies.restore("t", other)
    assert (other / "mine").read_text() == "mine"
    assert copies.has("t", folder)


def test_of_a_task_that_was_killed_only_what_its_rows_name_is_given_back(folder: Path, copies: FolderCopies) -> None:
    copies.ensure_copy("t", folder)
    for name in ("a.txt", ".hidden"):
        (folder / name).write_text("by the task")
    (folder / "new").mkdir()
    (folder / "new" / "made.txt").write_text("by the task")
    (folder / "mine.txt").write_text("by the owner")
    (folder / ".hidden").write_text("by the owner")
    digest = hashlib.sha256(b"by the task").hexdigest()
    written = [("a.txt", "an earlier one"), ("./a.txt", digest), (".hidden", digest)]
    written += [("/project/new//made.txt", digest)]
    undone = copies.restore("t", folder, written)
    assert (undone.restored, undone.left) == (("a.txt", "new", "new/made.txt"), (".hidden", "mine.txt"))
    assert (folder / "a.txt").read_text() == "a"
    assert not (folder / "new").exists()


def test_a_file_that_vanishes_while_a_folder_is_listed_hides_no_other(
    folder: Path, copies: FolderCopies, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, real = mark_folder(folder), os.listdir
    monkeypatch.setattr(os, "listdir", lambda at: ["a gone one", *real(at)])
    assert mark_folder(folder) == before
    copies.ensure_copy("t", folder)
    copies.record_end("t", folder)
    assert copies.restore("t", folder).restored == ()


def test_what_lies_in_a_folder_that_could_not_be_read_is_left(
    folder: Path, copies: FolderCopies, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever runs this may be root, who reads everything."""
    real, closed = os.listdir, (folder / "sub").stat().st_ino

    def refuse(at: int) -> list[str]:
        if os.fstat(at).st_ino == closed:
            raise PermissionError
        return real(at)

    monkeypatch.setattr(os, "listdir", refuse)
    copies.ensure_copy("t", folder)
    monkeypatch.setattr(os, "listdir", real)
    (folder / "a.txt").write_text("by the task")
    copies.record_end("t", folder)
    undone = copies.restore("t", folder)
    assert undone.restored == ("a.txt", "sub"), "the folder gets its mode back"
    assert (folder / "sub" / "run.sh").exists()


def test_names_that_are_no_utf_8_and_one_like_our_own_are_copied_and_given_back(
    folder: Path, copies: FolderCopies
) -> None:
    latin = Path(os.fsdecode(bytes(folder / "caf") + b"\xe9"))
    latin.mkdir()
    (latin / "a").write_text("a")
    (latin / "to").symlink_to(latin.name)
    (folder / ".reveries-undo-mine").mkdir()
    (folder / ".reveries-undo-file").write_text("mine")
    before = mark_folder(folder)
    copies.ensure_copy("t", folder)
    (latin / "a").write_text("by the task")
    (latin / "to").unlink()
    copies.record_end("t", folder)
    copies.restore("t", folder)
    assert mark_folder(folder) == before


def test_a_folder_that_somebody_filled_stays_where_a_file_was(folder: Path, copies: FolderCopies) -> None:
    copies.ensure_copy("t", folder)
    (folder / "a.txt").unlink()
    (folder / "a.txt").mkdir()
    copies.record_end("t", folder)
    (folder / "a.txt" / "mine").write_text("by the owner")
    undone = copies.restore("t", folder)
    assert (undone.restored, undone.left) == ((), ("a.txt", "a.txt/mine"))
    assert sorted(one.name for one in folder.iterdir() if one.name.startswith(".r")) == []
