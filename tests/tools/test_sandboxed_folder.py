"""What the worker does with files, called directly: it is the same code within the sandbox."""

import errno
import os
import socket
from pathlib import Path

import pytest

from reveries.tools.sandbox import Sandbox, find_sandbox
from reveries.tools.sandboxed.folder import BESIDE, MOST_FILE_BYTES, Folder, FolderError
from reveries.tools.worker import FolderAccess, Worker


@pytest.fixture
def at(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.md").write_text("Alpha\nbeta ALPHA\n")
    (tmp_path / "sub" / "b.txt").write_text("gamma\n")
    (tmp_path / "sub" / "run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "sub" / "run.sh").chmod(0o755)
    return tmp_path


@pytest.mark.requirement("F9")
def test_what_foreign_text_led_to_is_not_executable_and_the_owners_scripts_stay_so(at: Path) -> None:
    folder = Folder(str(at), may_write=True)
    folder.write("sub/run.sh", "#!/bin/sh\necho 1\n", is_tainted=False)
    assert (at / "sub" / "run.sh").stat().st_mode & 0o111 == 0o111
    folder.write("sub/run.sh", "#!/bin/sh\necho 2\n", is_tainted=True)
    folder.write("new.sh", "#!/bin/sh\n", is_tainted=True)
    assert [(at / name).stat().st_mode & 0o777 for name in ("sub/run.sh", "new.sh")] == [0o644, 0o644]


@pytest.mark.system
async def test_what_a_tainted_command_makes_executable_is_not(at: Path) -> None:
    worker = Worker(find_sandbox(), FolderAccess(at, may_write=True))
    command = "printf x > made.sh; chmod 755 made.sh; cp sub/run.sh copy.sh"
    await worker.call("run", {"command": command, "seconds": 5.0, "is_tainted": True})
    modes = [(at / name).stat().st_mode & 0o111 for name in ("made.sh", "copy.sh", "sub/run.sh")]
    await worker.call("run", {"command": "chmod 755 made.sh", "seconds": 5.0, "is_tainted": False})
    await worker.close()
    assert modes == [0, 0, 0o111]
    assert (at / "made.sh").stat().st_mode & 0o111 == 0o111


@pytest.mark.system
@pytest.mark.requirement("F9")
async def test_no_command_changes_a_dot_file_that_is_there_however_deep(at: Path) -> None:
    hooks = at / "sub" / "inner" / ".git" / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "post-checkout").write_text("mine")
    (at / "sub" / ".envrc").write_text("mine")
    worker = Worker(find_sandbox(), FolderAccess(at, may_write=True))
    command = (
        "echo x > sub/.envrc; echo x > sub/inner/.git/hooks/post-checkout; touch sub/inner/.git/new; rm -rf sub/inner"
    )
    ended = await worker.call("run", {"command": command, "seconds": 5.0, "is_tainted": True})
    await worker.close()
    assert ended["exit_code"] != 0
    assert [one.read_text() for one in (hooks / "post-checkout", at / "sub" / ".envrc")] == ["mine", "mine"]
    assert not (at / "sub" / "inner" / ".git" / "new").exists()


def test_pipes_sockets_and_devices_are_no_files_and_nobody_waits_for_them(at: Path) -> None:
    os.mkfifo(at / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(at / "socket"))
    (at / "null").symlink_to("/dev/null")
    folder = Folder(str(at), may_write=True)
    for name in ("pipe", "socket", "null"):
        with pytest.raises(FolderError, match=r"is no file|links are not followed"):
            folder.read(name)
        with pytest.raises(FolderError, match="is no file"):
            folder.write(name, "x", is_tainted=False)
    assert [one.path for one in folder.list_entries()] == ["a.md", "sub"]


def test_a_file_that_is_too_large_or_no_text_is_refused_in_a_sentence(at: Path) -> None:
    (at / "large").write_bytes(b"x" * (MOST_FILE_BYTES + 1))
    (at / "bytes").write_bytes(b"\xff\xfe\x00")
    folder = Folder(str(at), may_write=True)
    with pytest.raises(FolderError, match="more than 5,000,000"):
        folder.read("large")
    with pytest.raises(FolderError, match="bytes is no text"):
        folder.read("bytes")
    with pytest.raises(FolderError, match="more than 5,000,000"):
        folder.write("x", "x" * (MOST_FILE_BYTES + 1), is_tainted=False)


def test_files_are_found_by_pattern_and_lines_by_their_text(at: Path) -> None:
    (at / ".git").mkdir()
    (at / ".git" / "c.md").write_text("alpha")
    folder = Folder(str(at), may_write=False)
    assert [one.path for one in folder.find("*.md")] == ["a.md"]
    assert [one.path for one in folder.find("sub/*")] == ["sub/b.txt", "sub/run.sh"]
    assert [one.path for one in folder.find("**/*.txt")] == ["sub/b.txt"]
    assert folder.search("alpha") == [("a.md", 1, "Alpha"), ("a.md", 2, "beta ALPHA")]
    assert folder.search("gamma", "sub") == [("sub/b.txt", 1, "gamma")]


def test_words_are_replaced_only_where_they_stand_once(at: Path) -> None:
    folder = Folder(str(at), may_write=True)
    with pytest.raises(FolderError, match="stand 2 times"):
        folder.edit("a.md", "a", "x", is_tainted=False)
    folder.edit("a.md", "beta", "delta", is_tainted=False)
    assert (at / "a.md").read_text() == "Alpha\ndelta ALPHA\n"


def test_a_byte_order_mark_outlives_an_edit(at: Path) -> None:
    (at / "a.md").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    Folder(str(at), may_write=True).edit("a.md", "two", "three", is_tainted=False)
    assert (at / "a.md").read_bytes() == b"\xef\xbb\xbfone\r\nthree\r\n"


def test_a_folder_whose_name_is_no_utf_8_hides_nothing(at: Path) -> None:
    latin = Path(os.fsdecode(bytes(at / "caf") + b"\xe9"))
    latin.mkdir()
    (latin / "menu.md").write_text("alpha")
    folder = Folder(str(at), may_write=False)
    assert [one.path for one in folder.find("*.md")] == ["a.md", f"{latin.name}/menu.md"]
    assert [path for path, _, _ in folder.search("alpha")] == ["a.md", "a.md", f"{latin.name}/menu.md"]


async def test_a_name_that_is_no_utf_8_is_shown_with_a_mark_in_its_place(at: Path) -> None:
    (at / os.fsdecode(b"caf\xe9.md")).write_text("alpha")
    worker = Worker(Sandbox(), FolderAccess(at, may_write=False))
    found = [
        *[one["path"] for one in await worker.call("list", {"path": "."})],
        *[one["path"] for one in await worker.call("find", {"pattern": "caf*"})],
        *[path for path, _, _ in await worker.call("search", {"text": "alpha", "path": "."})],
    ]
    await worker.close()
    assert found == ["a.md", "caf\ufffd.md", "sub", "caf\ufffd.md", "a.md", "a.md", "caf\ufffd.md"]


def test_a_folder_that_may_not_be_opened_hides_nothing_else(at: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs this may be root, who opens everything."""
    (at / "closed").mkdir()
    real = os.open

    def refuse(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == "closed":
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path, flags, mode, dir_fd=dir_fd)

    folder = Folder(str(at), may_write=False)
    monkeypatch.setattr(os, "open", refuse)
    assert [one.path for one in folder.find("sub/*")] == ["sub/b.txt", "sub/run.sh"]
    with pytest.raises(FolderError, match="closed may not be opened"):
        list(folder.walk("closed"))


def test_what_a_killed_worker_left_half_written_is_swept_away_by_the_next(at: Path) -> None:
    (at / f"{BESIDE}123").write_text("half")
    Folder(str(at), may_write=False)
    assert (at / f"{BESIDE}123").exists()
    Folder(str(at), may_write=True)
    assert not (at / f"{BESIDE}123").exists()
