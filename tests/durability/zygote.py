"""A process that has imported the daemon once and forks a daemon whenever it is told to: a life in 0.2 s, not in 1.5 s.

Started as `python zygote.py`. Lines on its standard input, answers on its standard output:
`start HOME OUTPUT [FAILPOINT]` -> the process's number; `hold HOME OUTPUT` -> that of one which stops before it begins,
until SIGCONT; `wait NUMBER` -> its exit code, or -SIGNAL.
What is forked runs the daemon's own `main`, with a home and an output of its own; nothing else of it is different.
"""

import os
import signal
import sys
from pathlib import Path


def main() -> None:
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    # Loaded late by the daemon, and slow to load: 1.3 s of the processor that no life has to take.
    import numba  # noqa: F401

    import reveries.daemon.app  # noqa: F401

    threads = len(list(Path("/proc/self/task").iterdir()))
    if threads != 1:
        raise SystemExit(f"{threads} threads run: a fork would lose them.")
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        match line.split():
            case ["start", home, output, *failpoint]:
                number = os.fork()
                if not number:
                    _arm("".join(failpoint))
                    _live(home, output)
                answer = number
            case ["hold", home, output]:
                number = os.fork()
                if not number:
                    os.kill(os.getpid(), signal.SIGSTOP)
                    _live(home, output)
                # SIGCONT counts only for one that has stopped: else it would stop afterwards, for good.
                os.waitpid(number, os.WUNTRACED)
                answer = number
            case ["wait", process]:
                answer = os.waitstatus_to_exitcode(os.waitpid(int(process), 0)[1])
            case _:
                raise SystemExit(f"What is {line!r}?")
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()


def _arm(failpoint: str) -> None:
    if failpoint:
        from tests.fakes.failpoints import arm_from_environment

        os.environ["REVERIES_FAILPOINT"] = failpoint
        arm_from_environment()


def _live(home: str, output: str) -> None:
    from reveries.daemon.__main__ import main as live

    os.setsid()
    os.environ["REVERIES_HOME"] = home
    nothing = os.open(os.devnull, os.O_RDONLY)
    written = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(nothing, 0)
    os.dup2(written, 1)
    os.dup2(written, 2)
    os.closerange(3, 256)
    sys.argv = ["reveries.daemon"]
    code = 1
    try:
        live()
    except SystemExit as ending:
        code = int(ending.code or 0)
    finally:
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
