"""Chats with a time before each message, as phones of many countries write them."""

import datetime as dt
from pathlib import Path
from typing import NamedTuple

import pytest

from reveries.client.past.parsed import DayOrder, ReadChoices
from reveries.errors import InputDataError
from tests.client.past.kit import CHOICES, NOW, lines_of, read_text


class Chat(NamedTuple):
    """A file, and its messages: time, sender, text."""

    place: str
    text: str
    messages: list[tuple[str, str, str]]


CHATS = [
    Chat(
        "Britain, Android",
        "28/02/2026, 21:59 - Messages and calls are end-to-end encrypted. Tap to learn more.\n"
        "28/02/2026, 22:01 - Priya: Tonight's list:\nbutter: two packs\nhttps://example.org/a: try this\n\n"
        "PS: bring Tom\n"
        "01/03/2026, 07:15 - Tom Ryder: <Media omitted>\n01/03/2026, 07:16 - Tom Ryder: ok\n",
        [
            (
                "2026-02-28 22:01",
                "Priya",
                "Tonight's list:\nbutter: two packs\nhttps://example.org/a: try this\n\nPS: bring Tom",
            ),
            ("2026-03-01 07:16", "Tom Ryder", "ok"),
        ],
    ),
    Chat(
        "United States, iPhone, narrow spaces",
        "[2/9/26, 9:05:11\u202fPM] Dana: \u200eMessages and calls are end-to-end encrypted.\n"
        "[2/9/26, 9:05:12\u202fPM] Dana: Landed\n\u200e[2/9/26, 9:06:00\u202fPM] Lou: \u200eimage omitted\n"
        "[2/28/26, 12:06:01\u202fAM] Lou: Great: see you\n",
        [("2026-02-09 21:05", "Dana", "Landed"), ("2026-02-28 00:06", "Lou", "Great: see you")],
    ),
    Chat(
        "Germany, Android",
        "03.08.25, 12:30 - Nachrichten und Anrufe sind Ende-zu-Ende-verschlüsselt.\n"
        "03.08.25, 12:31 - Jörg: Termin am 5.9.: Zahnarzt <Diese Nachricht wurde bearbeitet.>\n"
        "04.08.25, 08:00 - Uwe Maß: \u200eIMG-20250804-WA0001.jpg (Datei angehängt)\nDer neue Zaun\n"
        "04.08.25, 08:01 - Jörg: Diese Nachricht wurde gelöscht.\n04.08.25, 08:02 - Uwe Maß: Hm\n",
        [
            ("2025-08-03 12:31", "Jörg", "Termin am 5.9.: Zahnarzt"),
            ("2025-08-04 08:00", "Uwe Maß", "Der neue Zaun"),
            ("2025-08-04 08:02", "Uwe Maß", "Hm"),
        ],
    ),
    Chat(
        "Germany, iPhone",
        "[19.04.26, 20:43:09] Oma: Komm um 3\n[19.04.26, 20:44:00] Nils: Ja\n",
        [("2026-04-19 20:43", "Oma", "Komm um 3"), ("2026-04-19 20:44", "Nils", "Ja")],
    ),
    Chat(
        "Finland",
        "6.11.2026 klo 7.05 - Aino: Huomenta\n6.11.2026 klo 21.40 - Väinö: Hei: hei\n",
        [("2026-11-06 07:05", "Aino", "Huomenta"), ("2026-11-06 21:40", "Väinö", "Hei: hei")],
    ),
    Chat(
        "Denmark",
        "24.12.2025 kl. 18.30 - Mette: God jul\n25.12.2025 kl. 00.02 - Søren: Tak\n",
        [("2025-12-24 18:30", "Mette", "God jul"), ("2025-12-25 00:02", "Søren", "Tak")],
    ),
    Chat(
        "Indonesia",
        "17/08/26 18.00 - Budi: Merdeka\n18/08/26 06.05 - Siti: Pagi\n",
        [("2026-08-17 18:00", "Budi", "Merdeka"), ("2026-08-18 06:05", "Siti", "Pagi")],
    ),
    Chat(
        "France",
        "14/07/2026 à 22:39 - Les messages envoyés dans cette discussion sont protégés.\n"
        "14/07/2026 à 22:40 - Zoé: Salut :)\n15/07/2026 à 01:02 - Léo: Ça va ?\n",
        [("2026-07-14 22:40", "Zoé", "Salut :)"), ("2026-07-15 01:02", "Léo", "Ça va ?")],
    ),
    Chat(
        "Mexico, p. m. with a space that does not break",
        "20/6/2026, 8:28\xa0p.\xa0m. - Michelle: hola\n20/6/2026, 12:10\xa0a.\xa0m. - Iván: buenas\n",
        [("2026-06-20 20:28", "Michelle", "hola"), ("2026-06-20 00:10", "Iván", "buenas")],
    ),
    Chat(
        "Canada, points in p.m.",
        "2025-12-20, 5:46 p.m. - Farid: hello\n2025-12-21, 12:00 a.m. - Jo: hi\n",
        [("2025-12-20 17:46", "Farid", "hello"), ("2025-12-21 00:00", "Jo", "hi")],
    ),
    Chat(
        "Korea",
        "2026. 3. 9. 오후 2:05, 지민 : 안녕\n".replace(", 지민 :", " - 지민:") + "2026. 3. 9. 오전 12:30 - 하준: 응\n",
        [("2026-03-09 14:05", "지민", "안녕"), ("2026-03-09 00:30", "하준", "응")],
    ),
    Chat(
        "Taiwan, iPhone",
        "[2026/4/1 下午11:05:09] 小美: 晚安: 明天見\n[2026/4/2 上午7:00:00] 阿明: 早\n",
        [("2026-04-01 23:05", "小美", "晚安: 明天見"), ("2026-04-02 07:00", "阿明", "早")],
    ),
    Chat(
        "Japan",
        "2026/05/06 14:05 - 花子: こんにちは\n2026/05/07 09:00 - 太郎: はい\n",
        [("2026-05-06 14:05", "花子", "こんにちは"), ("2026-05-07 09:00", "太郎", "はい")],
    ),
    Chat(
        "Hungary",
        "2026. 01. 31. 14:05 - Réka: szia\n2026. 02. 01. 8:00 - Áron: szia\n",
        [("2026-01-31 14:05", "Réka", "szia"), ("2026-02-01 08:00", "Áron", "szia")],
    ),
    Chat(
        "Egypt, Arabic digits and marks of direction",
        "\u200f٣١\u200f/١٢\u200f/٢٠٢٥، ٢:٠٥ م - ليلى: مرحبا\n\u200f١\u200f/١\u200f/٢٠٢٦، ١٢:٣٠ ص - عمر: أهلا\n",
        [("2025-12-31 14:05", "ليلى", "مرحبا"), ("2026-01-01 00:30", "عمر", "أهلا")],
    ),
    Chat(
        "Thailand, its own era",
        "31/12/2568 14:05 - นก: สวัสดี\n1/1/2569 08:00 - แดง: ดี\n",
        [("2025-12-31 14:05", "นก", "สวัสดี"), ("2026-01-01 08:00", "แดง", "ดี")],
    ),
    Chat(
        "Bulgaria",
        "31.12.25 г., 14:05 - Ива: здрасти\n31.12.25 г., 14:06 - Боян: да\n",
        [("2025-12-31 14:05", "Ива", "здрасти"), ("2025-12-31 14:06", "Боян", "да")],
    ),
    Chat(
        "Netherlands, with hyphens, a telephone number and a notice with a colon",
        "13-05-2026 09:00 - +31 6 1234 5678: Goedemorgen\n13-05-2026 09:01 - Sanne: Hoi\n"
        "13-05-2026 09:02 - Sanne heeft het onderwerp gewijzigd van “Reis” naar “Reis: Rome”\n"
        "14-05-2026 09:03 - Sanne: Leuk!\n",
        [
            ("2026-05-13 09:00", "+31 6 1234 5678", "Goedemorgen"),
            ("2026-05-13 09:01", "Sanne", "Hoi"),
            ("2026-05-14 09:03", "Sanne", "Leuk!"),
        ],
    ),
    Chat(
        "Signal",
        "[2026-05-29 15:04:00] Me: How is everyone?\n[2026-05-29 15:10:00] Aya: We're great!\n- 1: yes\n- 2: no\n",
        [("2026-05-29 15:04", "Me", "How is everyone?"),
         ("2026-05-29 15:10", "Aya", "We're great!\n- 1: yes\n- 2: no")],
    ),
    Chat(
        "United States, a notice that names two people, and a contact with a sign",
        "3/1/26, 2:05 PM - Bo added Cy: hello\n3/1/26, 2:07 PM - Al (work) ❤️: hi\n3/15/26, 2:08 PM - Bo: x\n",
        [("2026-03-01 14:07", "Al (work) ❤️", "hi"), ("2026-03-15 14:08", "Bo", "x")],
    ),
    Chat(
        "copied from a window of WhatsApp, the time first",
        "[14:05, 13/3/2026] Lan: chào\n[14:06, 13/3/2026] Minh: chào bạn\n",
        [("2026-03-13 14:05", "Lan", "chào"), ("2026-03-13 14:06", "Minh", "chào bạn")],
    ),
    Chat(
        "a transcript with hours of one digit",
        "# The call\n2026-02-03 8:05 Ola: morning\nNote: Ben is allergic\n2026-02-03 9:10 Ben: yes\n",
        [("2026-02-03 08:05", "Ola", "morning\nNote: Ben is allergic"), ("2026-02-03 09:10", "Ben", "yes")],
    ),
    Chat(
        "Greece",
        "7/3/2026, 9:15 μ.μ. - Ελένη: γεια\n7/3/2026, 9:16 π.μ. - Νίκος: ναι\n8/3/2026, 9:16 π.μ. - Νίκος: ναι\n",
        [("2026-03-07 21:15", "Ελένη", "γεια"), ("2026-03-07 09:16", "Νίκος", "ναι"),
         ("2026-03-08 09:16", "Νίκος", "ναι")],
    ),
]  # fmt: skip


@pytest.mark.parametrize("chat", CHATS, ids=lambda chat: chat.place)
def test_speakers_and_times_of_a_chat_are_those_of_its_country(tmp_path: Path, chat: Chat) -> None:
    parsed = read_text(tmp_path, chat.text)
    assert lines_of(parsed) == chat.messages
    assert parsed.unread == []


@pytest.mark.parametrize("ends", ["\r\n", "\r"])
def test_the_ends_of_lines_do_not_matter(tmp_path: Path, ends: str) -> None:
    chat = CHATS[0]
    assert lines_of(read_text(tmp_path, chat.text.replace("\n", ends))) == chat.messages


def test_a_late_date_decides_for_the_whole_file(tmp_path: Path) -> None:
    american = "3/4/26, 9:00 AM - Ann: a\n3/5/26, 9:00 AM - Bob: b\n3/13/26, 9:00 AM - Ann: c\n"
    parsed = read_text(tmp_path, american)
    assert [line[0][:10] for line in lines_of(parsed)] == ["2026-03-04", "2026-03-05", "2026-03-13"]
    assert parsed.doubts == []


def test_dates_that_could_be_read_in_two_ways_are_said_and_can_be_chosen(tmp_path: Path) -> None:
    text = "3/4/26, 9:00 - Ann: a\n3/4/26, 9:01 - Bob: b\n"
    assert "--dates mdy" in read_text(tmp_path, text).doubts[0]
    choices = ReadChoices(NOW, CHOICES.day, DayOrder.MONTH_FIRST)
    parsed = read_text(tmp_path, text, choices=choices)
    assert lines_of(parsed)[0][0] == "2026-03-04 09:00"
    assert parsed.doubts == []


def test_a_time_of_day_in_an_unknown_language_is_named_and_not_guessed(tmp_path: Path) -> None:
    text = "[31/12/2025, 2:05:00 qux] Ann: a\n[31/12/2025, 3:05:00 PM] Bob: b\n"
    parsed = read_text(tmp_path, text)
    assert lines_of(parsed) == [("2025-12-31 15:05", "Bob", "b")]
    assert parsed.unread == ["line 1: the time of day 'qux' is not known"]


def test_a_line_before_the_first_time_is_named(tmp_path: Path) -> None:
    parsed = read_text(tmp_path, "Ann: hello\n31/12/25, 14:05 - Bob: one\n31/12/25, 14:06 - Ann: two\n")
    assert [line[1] for line in lines_of(parsed)] == ["Bob", "Ann"]
    assert parsed.unread == ["line 1: no time before it ('Ann: hello')"]


def test_times_without_a_date_go_on_after_midnight_and_their_day_is_said(tmp_path: Path) -> None:
    text = "[23:58:00] Ann: late\n[00:03:00] Bob: later\n"
    parsed = read_text(tmp_path, text)
    assert [line[0] for line in lines_of(parsed)] == ["2026-11-20 23:58", "2026-11-21 00:03"]
    assert "--on" in parsed.doubts[0]
    assert not lines_of(parsed)[0][0] > dt.datetime.fromtimestamp(NOW).strftime("%Y-%m-%d %H:%M")


def test_a_year_of_another_calendar_is_refused_and_not_misread(tmp_path: Path) -> None:
    with pytest.raises(InputDataError, match="no valid date"):
        read_text(tmp_path, "1404/10/10, 14:05 - Sara: salam\n1404/10/10, 14:06 - Reza: salam\n")


def test_what_others_said_or_felt_is_not_stored_as_your_words(tmp_path: Path) -> None:
    """Signal's exporters write the message that is answered, and reactions, into the message itself."""
    parsed = read_text(
        tmp_path,
        "[2024-06-14 18:05:40] Me: The water has 19 degrees\n(- Lena: 😂, Ben: ❤ -)\n\n"
        "[2024-06-14 18:06:02] Lena: I bring cherries\n\n"
        "[2024-06-14 18:06:30] Me: \n> I bring cherries\n\nYou angel\n(truly)\n",
    )
    assert [text for _, _, text in lines_of(parsed)] == [
        "The water has 19 degrees",
        "I bring cherries",
        "You angel\n(truly)",
    ]


def test_a_clock_that_is_set_back_a_little_is_no_new_day(tmp_path: Path) -> None:
    parsed = read_text(tmp_path, "[10:05] Ana: one\n[10:02] Ben: two\n[10:06] Ana: three\n[00:10] Ben: four\n")
    days = [moment[:10] for moment, _, _ in lines_of(parsed)]
    assert days[0] == days[1] == days[2] < days[3]


def test_a_contact_may_have_a_colon_in_the_name_and_a_message_may_end_with_markup(tmp_path: Path) -> None:
    chat = "13/03/2024, 10:01 - Mom :): Put it in <div class=box>\n13/03/2024, 10:02 - Bo: https://x.org: ok\n"
    parsed = read_text(tmp_path, chat)
    messages = [message for conversation in parsed.conversations for message in conversation.messages]
    assert [(message.sender, message.text) for message in messages] == [
        ("Mom :)", "Put it in <div class=box>"),
        ("Bo", "https://x.org: ok"),
    ]
    assert not +parsed.left_out


def test_noon_in_a_chinese_chat_is_from_eleven_to_two(tmp_path: Path) -> None:
    hours = [moment[11:] for moment, _, _ in lines_of(read_text(tmp_path, "".join(
        f"2026/3/4 中午{hour}:30 - Ana: {hour}\n" for hour in (11, 12, 1)
    )))]  # fmt: skip
    assert hours == ["11:30", "12:30", "13:30"]
