"""Notes in the encodings that programs of the last thirty years wrote: read as they were meant, or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.tools.sandboxed.text_decoding import decode_text
from tests.rows import check_rows

_WESTERN = {
    "French": "# Été\r\n\r\nLa clé de réserve est sous le pot bleu, à côté de l’œuvre créée par Zoé : 12 €.",
    "German": "Der Schlüssel liegt unter dem größeren Topf. „Übermäßig schön“, sagt Jürgen. § 5, 20 °C",
    "Spanish": "¿Dónde está la llave? ¡En el jardín, señor Núñez! 3ª planta, nº 4",
    "Portuguese": "A reunião é às 9h; não há água na estação, irmã João.",
    "Finnish": "Äiti söi pöydän äärellä. Yötyö väsyttää häntä.",
    "Icelandic": "Það er kalt í húsinu, en Þórður á hlýja peysu.",
    "prices": "Tea: £3.50, cake: ½ lb at 10 % – “cheap”…",
}
_OTHERS = {
    "cp1251": "Ключ лежит под синим горшком.",
    "koi8-r": "Ключ лежит под синим горшком.",
    "iso-8859-2": "Klucz leży pod niebieską doniczką. Żółw śpi.",
    "cp1250": "Klíč je pod modrým květináčem, řekl Jiří.",
    "iso-8859-9": "Anahtar mavi saksının altında, dedi Ayşe Hanım. Işığı kapat, çünkü güneş doğdu.",
    "cp1253": "Το κλειδί είναι κάτω από τη γλάστρα.",
    "cp1255": "המפתח מתחת לעציץ הכחול.",
    "cp1256": "المفتاح تحت الوعاء الأزرق.",
    "gbk": "备用钥匙在蓝色的花盆下面。",
    "big5": "備用鑰匙在藍色的花盆下面。",
    "shift-jis": "予備の鍵は青い植木鉢の下にあります。",
    "euc-jp": "予備の鍵は青い植木鉢の下にあります。",
    "euc-kr": "여분의 열쇠는 파란 화분 아래에 있다.",
}


@check_rows("text", _WESTERN.values())
@check_rows("encoding", ["cp1252", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_note_is_read_as_it_was_written(text: str, encoding: str) -> None:
    assert decode_text(text.encode(encoding)) == text


@check_rows("encoding", _OTHERS.keys())
def test_a_note_that_could_only_be_guessed_is_not_read(encoding: str) -> None:
    with pytest.raises(ValueError, match="neither"):
        decode_text(_OTHERS[encoding].encode(encoding))
    for known in ("utf-8", "utf-16", "utf-16-be"):
        assert decode_text((_OTHERS[encoding] + "\n").encode(known)) == _OTHERS[encoding] + "\n"


@given(st.binary(min_size=200, max_size=400))
def test_bytes_that_are_no_text_are_hardly_ever_taken_for_western_text(noise: bytes) -> None:
    with pytest.raises(ValueError, match="neither"):
        decode_text(b"\xff\xd8\xff\xe0\x00\x10" + noise + b"\x81")


@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60).filter(lambda text: not text.startswith("\ufeff"))
)
def test_utf_8_without_nul_is_always_read_as_it_is(text: str) -> None:
    assert decode_text(text.replace("\0", "").encode()) == text.replace("\0", "")
