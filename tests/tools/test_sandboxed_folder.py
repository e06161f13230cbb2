"""What the worker does with files, called directly: it is the same code within the sandbox."""

import errno
import hashlib
import os
import socket
import subprocess
from pathlib import Path

import psutil
import pytest

from reveries.errors import ToolError
from reveries.tools.sandbox import Sandbox, find_sandbox
from reveries.tools.sandboxed import commands, folder
from reveries.tools.sandboxed.folder import MOST_DEPTH, MOST_FILE_BYTES, TEMPORARY_PREFIX, Folder, FolderError
from reveries.tools.worker import FolderAccess, Worker, open_folder_worker


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
    worker = open_folder_worker(find_sandbox(), FolderAccess(at, may_write=True))
    command = "printf x > made.sh; chmod 755 made.sh; cp sub/run.sh copy.sh"
    await worker.call("run", {"command": command, "seconds": 60.0, "is_tainted": True})
    modes = [(at / name).stat().st_mode & 0o111 for name in ("made.sh", "copy.sh", "sub/run.sh")]
    await worker.call("run", {"command": "chmod 755 made.sh", "seconds": 60.0, "is_tainted": False})
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
    worker = open_folder_worker(find_sandbox(), FolderAccess(at, may_write=True))
    command = (
        "echo x > sub/.envrc; echo x > sub/inner/.git/hooks/post-checkout; touch sub/inner/.git/new; rm -rf sub/inner"
    )
    ended = await worker.call("run", {"command": command, "seconds": 60.0, "is_tainted": True})
    await worker.close()
    assert ended["exit_code"] != 0
    assert [one.read_text() for one in (hooks / "post-checkout", at / "sub" / ".envrc")] == ["mine", "mine"]
    assert not (at / "sub" / "inner" / ".git" / "new").exists()


def test_notes_are_listed_by_suffix_behind_thousands_of_other_files(at: Path) -> None:
    (at / "many").mkdir()
    for number in range(2_100):
        (at / "many" / f"{number}.png").touch()
    (at / "sub" / "LOUD.TXT").write_text("x")
    (at / "sub" / ".hidden.txt").write_text("x")
    (at / "sub" / "link.txt").symlink_to("b.txt")
    listing = Folder(str(at), may_write=False).list_files([".txt"])
    assert [one.path for one in listing.files] == ["sub/LOUD.TXT", "sub/b.txt"]
    assert listing.files[1].changed_at == (at / "sub" / "b.txt").stat().st_mtime
    assert listing.unseen == []


def test_a_listing_says_what_it_did_not_look_into(at: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = "/".join("d" * (MOST_DEPTH + 1))
    (at / deep).mkdir(parents=True)
    (at / "wide").mkdir()
    for name in ("a.txt", "b.txt", "c.txt", "d.txt"):
        (at / "wide" / name).touch()
    assert Folder(str(at), may_write=False).list_files([".txt"]).unseen == [deep]
    with monkeypatch.context() as less_room:
        less_room.setattr(folder, "MOST_PATH_BYTES", 20)
        assert Folder(str(at), may_write=False).list_files([".txt"]).unseen == [""]
    with monkeypatch.context() as fewer_files:
        fewer_files.setattr(folder, "MOST_WALKED", 6)
        listing = Folder(str(at), may_write=False).list_files([".txt"])
        assert ([one.path for one in listing.files], listing.unseen) == (
            ["sub/b.txt", "wide/a.txt", "wide/b.txt", "wide/c.txt"],
            [""],
        )


def test_a_file_of_which_the_system_tells_nothing_is_not_said_to_be_missing(
    at: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.stat

    def fail(path: str, **options: object) -> os.stat_result:
        if path == "b.txt":
            raise OSError(errno.EIO, "a broken disk")
        return real(path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "stat", fail)
    listing = Folder(str(at), may_write=False).list_files([".txt", ".md"])
    assert ([one.path for one in listing.files], listing.unseen) == (["a.md"], ["sub"])


def test_of_a_folder_with_too_many_names_the_first_are_listed_and_the_rest_is_not_said_to_be_missing(
    at: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        (at / name).touch()
    monkeypatch.setattr(folder, "MOST_WALKED", 4)
    (at / "sub" / "b.txt").unlink()
    (at / "sub" / "run.sh").unlink()
    listing = Folder(str(at), may_write=False).list_files([".txt"])
    assert [one.path for one in listing.files] == ["a.txt", "b.txt", "c.txt"]
    assert listing.unseen == [""]


def tree(at: Path) -> dict[str, str]:
    """Every file and link by its path, with what stands in it."""
    return {
        str(one.relative_to(at)): str(one.readlink()) if one.is_symlink() else one.read_text()
        for one in sorted(at.rglob("*"))
        if one.is_symlink() or one.is_file()
    }


async def run(worker: Worker, command: str, *, is_tainted: bool = True) -> list[str]:
    """What the command is told to have changed that it may not."""
    arguments = {"command": command, "seconds": 60.0, "is_tainted": is_tainted}
    return [str(one) for one in (await worker.call("run", arguments))["taken_back"]]


@pytest.mark.system
@pytest.mark.requirement("F9")
async def test_nothing_takes_the_place_of_a_dot_folder_whose_folder_was_moved_away(at: Path) -> None:
    (at / "sub" / ".git").mkdir()
    (at / "sub" / ".git" / "config").write_text("mine")
    worker = open_folder_worker(find_sandbox(), FolderAccess(at, may_write=True))
    told = await run(worker, "mv sub old && mkdir -p sub/.git && echo evil > sub/.git/config")
    await worker.close()
    assert told == ["sub/.git"]
    assert not (at / "sub" / ".git").exists()
    assert (at / "old" / ".git" / "config").read_text() == "mine"
    assert (at / "sub" / "dot-git" / "config").read_text() == "evil\n", "nothing is deleted"


@pytest.mark.system
@pytest.mark.requirement("F9")
async def test_a_tainted_command_leaves_no_new_dot_file_but_caches_and_loses_none_that_it_moved_there(at: Path) -> None:
    worker = open_folder_worker(find_sandbox(), FolderAccess(at, may_write=True))
    own = await run(worker, "echo 1 > .envrc", is_tainted=False)
    command = "mkdir -p .x/.git .pytest_cache; echo 1 | tee .x/.git/config .pytest_cache/a sub/.npmrc; mv a.md .x/"
    told = await run(worker, command)
    again = await run(worker, "echo 2 > sub/.npmrc")
    await worker.close()
    assert (own, told, again) == ([], [".x", "sub/.npmrc"], ["sub/.npmrc"])
    assert tree(at) == {
        ".envrc": "1\n", ".pytest_cache/a": "1\n", "dot-x-git/config": "1\n", "dot-x/a.md": "Alpha\nbeta ALPHA\n",
        "sub/b.txt": "gamma\n", "sub/dot-npmrc": "1\n", "sub/dot-npmrc-1": "2\n", "sub/run.sh": "#!/bin/sh\n",
    }  # fmt: skip


@pytest.mark.system
@pytest.mark.requirement("F9")
async def test_what_no_mount_keeps_under_a_dot_name_is_put_back(at: Path) -> None:
    worker = open_folder_worker(find_sandbox(), FolderAccess(at, may_write=True))
    await worker.call("find", {"pattern": "*"})
    (at / ".tool" / "deep").mkdir(parents=True)
    for name in (".env", ".gone", ".tool/conf", ".tool/deep/conf", "sub/.moved"):
        (at / name).write_text("mine")
    (at / ".env").chmod(0o600)
    (at / ".link").symlink_to("a.md")
    before = tree(at)
    command = (
        "rm .link .gone; echo evil > .link; echo evil >> .env; echo evil > .tool/new; rm -r .tool/deep; mv sub old"
    )
    told = await run(worker, command)
    await worker.close()
    after = tree(at)
    assert told == [".env", ".gone", ".link", ".tool/deep/conf", ".tool/new"]
    assert {path: text for path, text in after.items() if path.startswith(".")} == {
        path: text for path, text in before.items() if path.startswith(".")
    }
    assert (at / ".env").stat().st_mode & 0o777 == 0o600
    assert after["old/.moved"] == "mine", "it went with its folder"
    assert after["dot-tool-new"] == "evil\n"


@pytest.mark.system
async def test_folders_within_folders_without_end_hide_nothing_that_a_command_did(at: Path) -> None:
    worker = open_folder_worker(find_sandbox(), FolderAccess(at, may_write=True))
    deep = "import os\nfor _ in range(1500): os.mkdir('d'); os.chdir('d')"
    try:
        told = await run(worker, f'echo 1 > .envrc; cp sub/run.sh made.sh; python3 -c "{deep}"')
        await run(worker, "rm -r d")
    finally:
        await worker.close()
        subprocess.run(["rm", "-rf", str(at / "d")], check=True, timeout=300)  # noqa: ASYNC221  pytest cannot remove it
    assert told == [".envrc"]
    assert (at / "made.sh").stat().st_mode & 0o111 == 0
    assert sorted(tree(at)) == ["a.md", "dot-envrc", "made.sh", "sub/b.txt", "sub/run.sh"]


@pytest.mark.system
async def test_what_a_command_closes_hides_nothing_that_it_did(at: Path) -> None:
    (at / "mine").mkdir(mode=0o500)
    worker = open_folder_worker(find_sandbox(), FolderAccess(at, may_write=True))
    command = (
        "mkdir -p in/.git .vscode; echo 1 | tee in/.git/config .vscode/x; cp sub/run.sh in/; cp sub/run.sh closed.sh;"
        " chmod 111 closed.sh; chmod 300 in .vscode; chmod 100 ."
    )
    told = await run(worker, command)
    await worker.close()
    assert told == [".vscode", "in/.git"]
    assert [(at / name).stat().st_mode & 0o111 for name in ("closed.sh", "in/run.sh")] == [0, 0]
    assert (at / "mine").stat().st_mode & 0o777 == 0o500


@pytest.mark.system
async def test_what_a_tainted_command_puts_into_an_executable_file_is_not_executable(at: Path) -> None:
    """In its place with its old times, or as a new file that has the place of the old one on the disk."""
    for name in ("kept.sh", "gone.sh", "timed.sh"):
        (at / name).write_text("#!/bin/sh\necho 1\n")
        (at / name).chmod(0o755)
    worker = open_folder_worker(find_sandbox(), FolderAccess(at, may_write=True))
    command = (
        "chmod +x kept.sh; echo evil > sub/run.sh; cp -p timed.sh /tmp/t; printf '#!/bin/sh\\necho 2\\n' > timed.sh;"
        " touch -r /tmp/t timed.sh; for i in $(seq 50); do rm gone.sh; printf x > gone.sh; chmod 755 gone.sh; done"
    )
    await run(worker, command)
    await worker.close()
    names = ("kept.sh", "sub/run.sh", "timed.sh", "gone.sh")
    assert [(at / name).stat().st_mode & 0o111 for name in names] == [0o111, 0, 0, 0]


def test_what_a_command_says_at_its_very_end_is_kept() -> None:
    """Between the last look at its output and the look whether it has ended."""
    child = subprocess.Popen(["/bin/sh", "-c", "printf late"], stdout=subprocess.PIPE)
    child.wait()
    output = commands._CommandOutput()
    assert child.stdout is not None
    os.set_blocking(child.stdout.fileno(), False)
    commands._read_rest(child, output)
    child.stdout.close()
    assert (output.text, output.digest) == ("late", hashlib.sha256(b"late").hexdigest())


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
    assert [one.path for one in folder.walk()] == ["a.md", "sub/b.txt", "sub/run.sh"]


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


def test_no_folder_on_the_way_to_a_file_stays_open(at: Path) -> None:
    folder = Folder(str(at), may_write=True)
    folder.write("sub/deep/deeper/c.txt", "delta\n", is_tainted=False)
    before = psutil.Process().num_fds()
    for _ in range(5):
        assert folder.read("sub/deep/deeper/c.txt") == "delta\n"
        list(folder.walk("sub/deep"))
        with pytest.raises(FolderError):
            folder.read("sub/deep/nowhere/c.txt")
    assert psutil.Process().num_fds() == before


async def test_a_request_beyond_all_measure_is_refused_and_the_next_one_is_answered(at: Path) -> None:
    worker = open_folder_worker(Sandbox(), FolderAccess(at, may_write=True))
    with pytest.raises(ToolError, match="too much at once"):
        await worker.call("write", {"path": "big.txt", "text": "x" * 20_000_000, "is_tainted": False})
    entries = await worker.call("find", {"pattern": "sub/*"})
    await worker.close()
    assert [one["path"] for one in entries] == ["sub/b.txt", "sub/run.sh"]
    assert not (at / "big.txt").exists()


def test_a_script_that_a_command_only_touched_stays_executable_and_one_that_it_changed_does_not(at: Path) -> None:
    script = at / "sub" / "run.sh"
    before = dict(commands._read_executables(str(at)))
    os.utime(script)
    commands._revert_executables(str(at), before)
    assert script.stat().st_mode & 0o111
    script.write_text("#!/bin/hs\n")
    commands._revert_executables(str(at), before)
    assert not script.stat().st_mode & 0o111


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
    worker = open_folder_worker(Sandbox(), FolderAccess(at, may_write=False))
    found = [
        *[one["path"] for one in await worker.call("find", {"pattern": "*"})],
        *[one["path"] for one in await worker.call("find", {"pattern": "caf*"})],
        *[path for path, _, _ in await worker.call("search", {"text": "alpha", "path": "."})],
    ]
    await worker.close()
    assert found == ["a.md", "caf\ufffd.md", "sub/b.txt", "sub/run.sh", "caf\ufffd.md", "a.md", "a.md", "caf\ufffd.md"]


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
    (at / f"{TEMPORARY_PREFIX}123").write_text("half")
    Folder(str(at), may_write=False)
    assert (at / f"{TEMPORARY_PREFIX}123").exists()
    Folder(str(at), may_write=True)
    assert not (at / f"{TEMPORARY_PREFIX}123").exists()
