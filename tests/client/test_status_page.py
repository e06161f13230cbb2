"""How far a re-embedding is, as a person reads it."""

from reveries.client.features.status import status_page
from reveries.client.render import Page
from reveries.config import Home
from tests.fakes.daemon import NOW, status


def words(page: Page) -> str:
    return "\n".join("".join(part.text for part in row) for row in page)


def test_nothing_is_said_of_vectors_when_all_are_there(home: Home) -> None:
    assert "vectors" not in words(status_page(status(home), NOW))
    whole = status(home, embedding_model="m", embedding_serving="m", embedding_done=9, embedding_total=9)
    assert "vectors" not in words(status_page(whole, NOW))


def test_a_re_embedding_shows_how_far_it_is_what_serves_and_why_it_waits(home: Home) -> None:
    under_way = status(
        home,
        embedding_model="ollama/new\x1b[31m",
        embedding_serving="old",
        embedding_done=1204,
        embedding_total=5000,
        embedding_waits="No Ollama answers.",
    )
    told = words(status_page(under_way, NOW))
    assert "1,204 of 5,000 (24%)" in told
    assert "searched with the vectors of old" in told
    assert "Waiting: No Ollama answers." in told
    assert "\x1b" not in told
