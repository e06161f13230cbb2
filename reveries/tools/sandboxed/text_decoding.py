"""Text from the bytes of a file: a byte order mark, UTF-8, UTF-16, or the Western Windows-1252 if it reads like words.

Nothing else is guessed: Cyrillic or Chinese bytes read as Western letters would be stored as nonsense.
"""

import re
import unicodedata
from typing import Final

_MARKS: Final = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_LETTER: Final = "[A-Za-zªµºÀ-ÖØ-öø-ÿŒœŠšŽžŸ]"
_WORD = re.compile(f"{_LETTER}+")
_ASCII: Final = frozenset("abcdefghijklmnopqrstuvwxyzµ")
# What each language adds to the Latin letters; a word with letters that none of them has together is not Western.
_ALPHABETS: Final = tuple(
    _ASCII | frozenset(letters)
    for letters in (
        "àâæçèéêëîïñôœùûüÿ",  # French, Breton, Dutch
        "äöüßàâçéèêëïô",  # German and its loan words
        "áàéèíïóòúüñçªº",  # Spanish, Catalan, Galician
        "áâãàçéêíóôõúüªº",  # Portuguese
        "àèéìíîïòóùúªº",  # Italian
        "äöåéüæøàèáôóêšžõ",  # Swedish, Danish, Norwegian, Finnish, Estonian
        "áðéíóúýþæöø",  # Icelandic, Faroese
        "áéíóúâêîôûïëà",  # Irish, Welsh, Afrikaans
    )
)
_MOST_ACCENTED_SHARE: Final = 0.4
"""Of the letters: Finnish has most, 15 %, and in a short line three times that; other alphabets have nearly all."""
_LONGEST_ACCENTED_RUN = re.compile(r"[À-ÖØ-öø-ÿŒœŠšŽžŸ]{3}")
# Signs that stand between words, or before or after one, but never within or so near: there they are letters of another
# encoding.
_SIGN_IN_WORD = re.compile(
    f"(?<={_LETTER})[¡-©«-´¶¸-¹»-¿×÷†‡‰ƒˆ˜€‚„…](?={_LETTER})|[¤¦¨¬¯±´¶¸]{_LETTER}|{_LETTER}[¤¦¨¬¯±¶¸¿¡]"
)


def decode_text(raw: bytes) -> str:
    """Return the text, without a byte order mark. Raises ValueError if it is in no encoding that is certain."""
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return raw[len(mark) :].decode(encoding)
    if b"\0" in raw:
        for encoding in ("utf-16-le", "utf-16-be"):
            if (text := _try_decoding(raw, encoding)) is not None and _is_utf16_text(text):
                return text
    if (text := _try_decoding(raw, "utf-8")) is not None:
        return text
    if (text := _try_decoding(raw, "cp1252")) is not None and _reads_like_western_words(text):
        return text
    raise ValueError("neither UTF-8, UTF-16 nor Western text")


def _try_decoding(raw: bytes, encoding: str) -> str | None:
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError:
        return None


def _is_utf16_text(text: str) -> bool:
    """Whether all characters are assigned ones that text has, with blanks among them."""
    return any(char in " \n\u3000" for char in text) and not any(
        unicodedata.category(char) in ("Cn", "Co", "Cs") or (unicodedata.category(char) == "Cc" and not char.isspace())
        for char in text
    )


def _reads_like_western_words(text: str) -> bool:
    words = [word.lower() for word in _WORD.findall(text)]
    letters = "".join(words)
    accented = sum(not letter.isascii() for letter in letters)
    return (
        not _CONTROLS.search(text)
        and not _SIGN_IN_WORD.search(text)
        and not _LONGEST_ACCENTED_RUN.search(text)
        and accented <= len(letters) * _MOST_ACCENTED_SHARE
        and all(any(alphabet.issuperset(word) for alphabet in _ALPHABETS) for word in words if not word.isascii())
    )
