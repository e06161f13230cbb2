"""The estimate against a real byte-level tokenizer (cl100k, whose table comes with litellm)."""

import base64
import importlib.util
import os
import random
import string
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.llm.base import ChatMessage
from reveries.llm.tokens import TOKENS_PER_MESSAGE, estimate_tokens, template_tokens

CHANCE = random.Random(1)
LOWER = string.ascii_lowercase


def _words(letters: str, shortest: int, longest: int) -> str:
    lengths = [CHANCE.randint(shortest, longest) for _ in range(300)]
    return " ".join("".join(CHANCE.choices(letters, k=length)) for length in lengths)


def _syllables() -> str:
    return "".join(CHANCE.choice("bcdfghjklmnpqrstvwxz") + CHANCE.choice("aeiou") for _ in range(3))


ENGLISH = {
    "a story": "I remember the evening when we walked down to the harbour and watched the boats come in. She said that "
    "nothing would change, and for a while nothing did. Then the letters stopped, and we began to wonder. ",
    "a talk": "Hello! How are you today? I was thinking about what you told me yesterday, and I'd like to know more "
    "about it. Did you call your sister, or is that still to come?",
    "a document": "Never more than the caps: a dollar a day unless you change them. The worst case of every call is "
    "set aside before it is made, so the cap holds even if a provider does not say what it used.",
    "a thought": "The garden comes back to me. Ana spoke of it in May, and I wonder whether the roses have come up by "
    "now. I would like to ask her, but not today: she is tired, and it can wait.",
}
OTHERS = {
    "German": "Der Hund lief schnell durch den dunklen Wald und suchte nach seinem Herrchen, das ihn verloren hatte.",
    "Finnish": "Kaikki ihmiset syntyvat vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan. Heille on annettu jarki.",
    "Swahili": "Watu wote wamezaliwa huru, hadhi na haki zao ni sawa. Wote wamejaliwa akili na dhamiri.",
    "Zulu": "Bonke abantu bazalwa bekhululekile belingana ngesithunzi nangamalungelo. Bahlanganiswe wumcabango.",
    "Polish": "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw.",
    "Russian": "Все люди рождаются свободными и равными в своем достоинстве и правах.",
    "Chinese": "我昨天去了市场，买了很多新鲜的蔬菜和水果。",
    "Amharic": "የሰው ልጅ ሁሉ ሲወለድ ነጻና በክብርና በመብትም እኩልነት ያለው ነው።",
    "Burmese": "လူတိုင်းသည် တူညီ လွတ်လပ်သော ဂုဏ်သိက္ခာဖြင့် လည်းကောင်း",
    "CJK extension B": "".join(chr(CHANCE.randint(0x20000, 0x2A6D0)) for _ in range(200)),
    "emoji": "😀🎉👩\u200d👩\u200d👧\u200d👦🏳\ufe0f\u200d🌈🦊🍕" * 10,
    "shouting": "THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG AND RUNS INTO THE FOREST BEFORE ANYBODY NOTICES",
    "one long run": "".join(CHANCE.choices(LOWER, k=2000)),
    "random words": _words(LOWER, 3, 9),
    "short random words": _words(LOWER, 3, 3),
    "mixed case": _words(string.ascii_letters, 3, 9),
    "single letters": _words(LOWER, 1, 1),
    "one letter a line": _words(LOWER, 1, 1).replace(" ", "\n"),
    "one word a line": "the\ngarden\nis\nnot\nhere\n" * 20,
    "syllables": " ".join(_syllables() for _ in range(300)),
    "one run of syllables": "".join(_syllables() for _ in range(100)),
    "base64": base64.b64encode(CHANCE.randbytes(1500)).decode(),
    "base64 in lines": base64.encodebytes(CHANCE.randbytes(1500)).decode(),
    "hex": CHANCE.randbytes(700).hex(),
    "numbers": "3.14159 2653589793 23846 2643 38327950288419716939937510 " * 10,
    "marks": "!@#$%^&*()_+-=[]{}|;:,.<>?/~`" * 20,
    "an address": "https://example.org/a/b?c=d&e=f%20g#xyz " * 20,
    "JSON": '{"a":1,"b":[2,3,{"c":null}],"text":"yes","items":[]}' * 20,
    "code": Path(__file__).read_text(encoding="utf-8")[:4000],
    "white space": "a" + " " * 500 + "b" + "\n" * 200 + "\t" * 50,
    "strewn white space": "".join(CHANCE.choices(" \n\t\r", k=400)),
    "control characters": "".join(chr(CHANCE.randint(1, 31)) for _ in range(200)),
}


@cache
def _cl100k() -> Any:
    found = importlib.util.find_spec("litellm")
    assert found is not None
    assert found.origin is not None
    tables = Path(found.origin).parent / "litellm_core_utils" / "tokenizers"
    os.environ["TIKTOKEN_CACHE_DIR"] = str(tables)
    import tiktoken

    return tiktoken.get_encoding("cl100k_base")


def _tokens(text: str) -> int:
    return len(_cl100k().encode(text, disallowed_special=()))


if importlib.util.find_spec("litellm") is not None:

    @pytest.mark.requirement("G1")
    @pytest.mark.parametrize("name", [*ENGLISH, *OTHERS])
    def test_no_text_has_more_tokens_than_are_reserved(name: str) -> None:
        text = (ENGLISH | OTHERS)[name]
        assert _tokens(text) <= estimate_tokens(text)

    @pytest.mark.parametrize("name", ENGLISH)
    def test_ordinary_english_is_over_estimated_by_a_third_at_most(name: str) -> None:
        assert estimate_tokens(ENGLISH[name]) <= 1.35 * _tokens(ENGLISH[name]) + 1


@given(st.text())
def test_no_estimate_is_over_what_a_byte_level_tokenizer_could_make(text: str) -> None:
    assert 0 <= estimate_tokens(text) <= len(text.encode("utf-8", "replace"))
    assert (estimate_tokens(text) == 0) == (text == "")


@given(st.text(st.characters(min_codepoint=128, exclude_categories=["Cs"])))
def test_what_is_beyond_ascii_counts_by_its_bytes(text: str) -> None:
    assert estimate_tokens(text) == len(text.encode("utf-8"))


@pytest.mark.parametrize("messages", [0, 1, 4, 40])
def test_the_template_takes_its_tokens_for_each_message_and_for_the_opening_of_the_answer(messages: int) -> None:
    told = [ChatMessage("user", "Hello.")] * messages
    assert template_tokens(told) == TOKENS_PER_MESSAGE * (messages + 1)


def test_a_run_of_blanks_is_few_tokens_and_mixed_white_space_is_a_token_a_character() -> None:
    assert estimate_tokens(" " * 40) == 11
    assert estimate_tokens("a\n \n \n \n b") >= 8
