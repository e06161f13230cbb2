"""Entry point of `python -m reveries`, the same as the console script."""

from reveries.client.cli import main

if __name__ == "__main__":
    main()
