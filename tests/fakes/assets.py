"""The weights process, pretended: `python -m tests.fakes.assets pull NAME --json`. The name says what happens."""

import json
import sys


def main(words: list[str]) -> int:
    """One JSON object a line."""
    match words[1]:
        case "broken":
            _tell({"error": "No source has it.", "advice": "Try again later."})
            return 69
        case "silent":
            sys.stderr.write("reveries: There is no room for it.\n")
            return 74
        case "short":
            _tell({"file": "w.gguf", "done_bytes": 1, "total_bytes": 10, "source": "publisher"})
            return 0
        case _:
            _tell({"file": "w.gguf", "source": "mirror", "given_up": "it cannot be reached"})
            _tell({"file": "w.gguf", "done_bytes": 5, "total_bytes": 10, "source": "publisher"}, {"done": True})
            return 0


def _tell(*lines: dict[str, object]) -> None:
    sys.stdout.write("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
