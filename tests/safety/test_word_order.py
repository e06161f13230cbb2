"""Words in no order: found in English, and only there."""

import random
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.safety.breaker import Breaker, Knowledge
from reveries.safety.detectors import find_incoherence
from reveries.safety.verdict import CONTINUE, Action, TripReason
from reveries.safety.word_order import load_word_order
from tests.rows import check_rows
from tests.safety.prose import ALL, DIALOGUE, THOUGHT
from tests.safety.settings import SHIPPED, first_trip, reply_breaker, thought_breaker

ORDER = load_word_order()

OTHER_LANGUAGES = {
    "german": "Die Frau war in dem Haus, und sie hat also die Tür an der Wand so oft gesehen, dass man es "
    "glauben mag. Was war das für ein Tag! Am Abend kam der Mann, und er hatte so viel zu tun, dass er erst spät ging.",
    "french": "Il me dit que tu as pour on son pain, et comment on me voit par la fenêtre quand il pleut. Elle a pris "
    "le train de nuit, puis elle a dormi chez une amie, où il fait bon vivre, et on en parle encore.",
    "dutch": "De man is in het huis en hij was daar al toen we kwamen. Over de weg is er nog een pad, maar dat is van "
    "hem. We had den het zo goed als we konden, en hij is me er nog altijd dankbaar voor.",
    "spanish": "No me gusta que haya tan poca gente en la plaza a esta hora. He visto a tu hermano y me ha dicho que "
    "no va a ir, porque tiene que trabajar hasta las diez y despues quiere dormir.",
}


def shuffled(text: str, seed: int) -> str:
    words = re.sub(r"^\w+: ", "", text, flags=re.MULTILINE).split()
    random.Random(seed).shuffle(words)
    return " ".join(words)


@pytest.mark.requirement("R-130")
@check_rows("seed", range(4))
@check_rows("kind", [thought_breaker, reply_breaker])
def test_shuffled_words_are_incoherent(kind: Callable[..., Breaker], seed: int) -> None:
    verdict = first_trip(shuffled(THOUGHT, seed), kind(SHIPPED, Knowledge(order=ORDER)))
    assert (verdict.action, verdict.reason) == (Action.SNAPSHOT_AND_RESET, TripReason.INCOHERENCE)


@pytest.mark.parametrize("name", ALL)
def test_the_same_words_in_order_are_not(name: str) -> None:
    assert first_trip(ALL[name], thought_breaker(SHIPPED, Knowledge(order=ORDER))) == CONTINUE


@pytest.mark.parametrize("language", OTHER_LANGUAGES)
def test_another_language_is_not_incoherent(language: str) -> None:
    text = OTHER_LANGUAGES[language]
    assert find_incoherence(text, ORDER) is None
    assert find_incoherence(" ".join([text, text.upper()]), ORDER) is None


def test_prose_stands_far_from_a_jumble() -> None:
    assert ORDER.disorder(THOUGHT) < -0.5 < 0.3 < ORDER.disorder(shuffled(DIALOGUE + THOUGHT, 5))


def test_of_a_few_words_nothing_is_said() -> None:
    assert find_incoherence("table the on cat the sat", ORDER) is None
    assert ORDER.disorder("") == ORDER.disorder("!?") == 0.0


@given(st.text())
def test_any_text_has_a_disorder(text: str) -> None:
    assert -10 < ORDER.disorder(text) < 10
