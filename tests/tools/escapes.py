"""Ways out of a project's folder, for the tests of its walls: paths for the file tools, commands for the shell."""

import os
import socket
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SECRET: Final = "zq-outside-7741"
"""Stands in every file beside the folder: no answer may hold it."""


@dataclass(frozen=True)
class Attempt:
    """One call of the worker."""

    name: str
    operation: str
    arguments: dict[str, object]
    seconds: float = 3.0


@dataclass(frozen=True)
class Ground:
    """A folder, and what lies beside it."""

    folder: Path
    outside: Path
    port: int
    unix_socket: Path


def lay_out(at: Path, port: int) -> Ground:
    """The folder with traps in it, and the outside that must stay as it is."""
    folder, outside = at / "project", at / "outside"
    (folder / "inner").mkdir(parents=True)
    (folder / ".git" / "hooks").mkdir(parents=True)
    (outside / "deep").mkdir(parents=True)
    (outside / "secret.txt").write_text(f"{SECRET}\n")
    (outside / "deep" / "secret.txt").write_text(f"{SECRET} deep\n")
    (outside / "script.sh").write_text(f"#!/bin/sh\necho {SECRET}\n")
    (folder / "own.txt").write_text("mine\n")
    (folder / ".git" / "config").write_text("[core]\n")
    (folder / "link").symlink_to(outside / "secret.txt")
    (folder / "relative").symlink_to("../outside/secret.txt")
    (folder / "linked").symlink_to(outside)
    (folder / "inner" / "up").symlink_to("../..")
    (folder / "chain").symlink_to("linked/secret.txt")
    (folder / "loop").symlink_to("loop")
    (folder / "environment").symlink_to("/proc/self/environ")
    (folder / "root").symlink_to("/proc/self/root")
    (folder / "here").symlink_to("/proc/self/cwd")
    (folder / "null").symlink_to("/dev/null")
    (folder / "absent").symlink_to(outside / "made.txt")
    os.mkfifo(folder / "pipe")
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(folder / "socket"))
    server.close()
    if os.geteuid() == 0:
        os.mknod(folder / "device", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
    return Ground(folder, outside, port, outside / "daemon.sock")


def file_attempts(ground: Ground) -> Iterator[Attempt]:
    """Every path that leads out, with every tool."""
    secret = ground.outside / "secret.txt"
    paths = [
        "..", "../outside/secret.txt", "inner/../../outside/secret.txt", "./../outside/secret.txt", str(secret),
        f"/project/../{secret}", "/project/../outside/secret.txt", f"//{secret}", "link", "relative", "chain", "loop",
        "linked/secret.txt", "linked/made.txt", "inner/up/outside/secret.txt", "root/etc/passwd", "here/own.txt",
        "environment", "null", "absent", "pipe", "socket", "device", "/proc/self/environ", "/proc/1/root", "/etc/passwd",
        "/dev/zero", "\0", "own.txt\0.md", "a" * 5000, "..\\outside\\secret.txt",
    ]  # fmt: skip
    for path in paths:
        shown = path[:40]
        yield Attempt(f"read {shown}", "read", {"path": path})
        yield Attempt(f"digest {shown}", "digest", {"path": path})
        yield Attempt(f"find below {shown}", "find", {"pattern": f"{path}/**"})
        yield Attempt(f"search {shown}", "search", {"text": SECRET, "path": path})
        yield Attempt(f"write {shown}", "write", {"path": path, "text": "overwritten", "is_tainted": True})
        yield Attempt(f"edit {shown}", "edit", {"path": path, "old": SECRET, "new": "gone", "is_tainted": True})
    for pattern in ("../**", "**", "linked/*", "inner/up/**", str(ground.outside / "*"), "root/**"):
        yield Attempt(f"find {pattern[:40]}", "find", {"pattern": pattern})
    for path in (".git/config", ".git/hooks/pre-commit", ".envrc", "inner/.hidden", ".git"):
        yield Attempt(f"write dot {path}", "write", {"path": path, "text": "echo overwritten", "is_tainted": False})


def command_attempts(ground: Ground) -> Iterator[Attempt]:
    """Commands that try to get out, to stay, or to take everything."""
    secret, port, unix_socket = ground.outside / "secret.txt", ground.port, ground.unix_socket
    connect = "import socket,sys;s=socket.socket();s.settimeout(1);s.connect(({!r},{}));s.send(b'x')"
    unix = "import socket;s=socket.socket(socket.AF_UNIX);s.connect({!r});s.send(b'x')"
    python = 'python3 -c "{}"'.format
    commands = [
        f"cat {secret}", "cat ../outside/secret.txt", "cat link relative chain linked/secret.txt",
        f"ls {ground.outside}", "find / -name secret.txt 2>/dev/null | xargs cat", "cat /proc/1/environ", "env",
        "cat /proc/*/environ", "cat /proc/1/root/etc/passwd", "ls -la /proc/1/cwd/", "cat /proc/self/mountinfo",
        "ls /root /home", "cat /root/.ssh/id_rsa", "cat /etc/shadow", f"echo overwritten > {secret}",
        "echo overwritten > absent", "echo overwritten > linked/made.txt", "rm -rf linked/", "rm -rf / 2>/dev/null",
        f"ln {secret} hard", f"cp {secret} copied", "touch /usr/bin/mine", "echo x > /etc/passwd",
        "echo overwritten > .git/config", "touch .git/hooks/pre-commit", "rm -rf .git", "mv .git other",
        "mount -t tmpfs none /usr", "mount --bind / inner", "umount /project", "umount -l /", "chroot /proc/1/root ls",
        "unshare -Ur id", "unshare -m id", "nsenter -t 1 -a ls /", "bwrap --ro-bind / / ls", "mknod node b 8 0 && cat node",
        "dd if=/dev/sda of=disk bs=1k count=1", "cat /dev/mem", "cat /proc/kcore | head -c 100", "cat /dev/kmsg",
        "echo '|/bin/sh' > /proc/sys/kernel/core_pattern", "echo b > /proc/sysrq-trigger",
        "echo overwritten > /proc/sys/kernel/domainname", "echo overwritten > /proc/sys/vm/drop_caches",
        "find /proc -maxdepth 3 -type f -writable ! -path '/proc/[0-9]*' ! -path '/proc/self*' ! -path '/proc/thread*'",
        "sysctl -w kernel.panic=1",
        "ls /sys/fs/cgroup", "echo 1 > /sys/power/state", "su -c id", "sudo id", "passwd -d root",
        "cp /bin/sh own-shell && chmod 4755 own-shell && ./own-shell -p -c 'id'", "setpriv --reuid 0 id",
        python(connect.format("127.0.0.1", port)), python(connect.format("localhost", port)),
        python(connect.format("192.0.2.1", 80)), python("import socket;socket.getaddrinfo('example.org',80)"),
        python(f"import socket;s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM);s.sendto(b'x',('127.0.0.1',{port}))"),
        python("import socket;s=socket.socket(socket.AF_INET,socket.SOCK_RAW,1);s.sendto(b'x',('127.0.0.1',0))"),
        python("import socket;s=socket.socket(socket.AF_INET6);s.connect(('::1',1))"),
        python(unix.format(str(unix_socket))), python(unix.format("\\\\0reveries-abstract")),
        python("import socket;s=socket.socket(16,3,0);s.bind((0,0))"),
        f"curl -s http://127.0.0.1:{port}/", f"wget -qO- http://127.0.0.1:{port}/", f"exec 3<>/dev/tcp/127.0.0.1/{port}",
        "ping -c1 -W1 127.0.0.1", "ip link set lo up", "cat /proc/2/mem", "echo forged > /proc/2/fd/1",
        "for p in /proc/[0-9]*; do echo '{\\\"answer\\\": \\\"forged\\\"}' > $p/fd/1; done",
        python("import ctypes;l=ctypes.CDLL(None);print(l.ptrace(16,2,0,0))"), "kill -9 2", "kill -9 -1", "kill -STOP 2",
        "gdb -p 2 -batch", "strace -p 2", "sleep 600", "trap '' TERM INT HUP; sleep 600",
        "setsid nohup sleep 601 >/dev/null 2>&1 &", "(setsid sh -c 'trap \\\"\\\" TERM; sleep 602' &) ; exit 0",
        "b() { b | b & }; b; sleep 3", "while :; do sleep 603 & done", "yes", "cat /dev/zero", "head -c 10G /dev/zero > big",
        "yes > big2", "for i in $(seq 100000); do : > many.$i; done", "fallocate -l 10G big3", "cat /dev/zero > /tmp/full",
        "cat /dev/zero > /dev/shm/full", python("b=bytearray(8_000_000_000)"), "tail /dev/zero",
        "printf '\\\\033]52;c;eA==\\\\007'", "exec 1>&- 2>&-; sleep 604", "ulimit -c unlimited; kill -SEGV $$",
        "mkdir -p d/d/d/d/d/d; cd d; i=0; while [ $i -lt 200 ]; do mkdir d; cd d; i=$((i+1)); done",
        "keyctl show", "ipcs -a", "ipcmk -M 1000000", "dbus-send --system /", "docker ps", "crontab -l", "at now",
        "systemctl list-units", "journalctl -n1", "modprobe dummy", "iptables -L", "chattr +i own.txt", "hostname other",
        "date -s 2001-01-01", "renice -20 $$", "chown 0:0 own.txt", "exec python3 -c \\\"import os;os.setuid(0)\\\"",
    ]  # fmt: skip
    for number, command in enumerate(commands):
        text = command.replace("\\\\", "\\").replace('\\"', '"')
        arguments = {"command": text, "seconds": 1.0, "is_tainted": bool(number % 2)}
        yield Attempt(f"run {text[:60]}", "run", arguments)
