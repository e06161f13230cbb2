"""`reveries`, with a publisher on loopback for the real ones: `python -m tests.fakes.cli_with_publisher WORDS`."""

from reveries.client import cli, weights

if __name__ == "__main__":
    weights._ASSETS_MODULE = weights._SUGGESTION_MODULE = "tests.fakes.assets_of_publisher"
    cli.main()
