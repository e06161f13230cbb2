"""The cut: words at places become paragraphs, tables, notes and details that can be shown."""

from reveries.knowledge.reading.content import PageContent, Rectangle, Word
from reveries.knowledge.reading.cut import cut_pages
from reveries.knowledge.reading.layout import CutPage, PageKind, PointerKind
from reveries.knowledge.reading.quotes import locate_quote

LETTER_WIDTH = 0.5
"""Of the height of the type, as in most fonts."""


def line(x: float, y: float, text: str, size: float = 10, *, bold: bool = False) -> list[Word]:
    """Words from x on, with y the top of the line."""
    words = []
    for word in text.split(" "):
        width = len(word) * size * LETTER_WIDTH
        words.append(Word(x, y, x + width, y + size, word, size, bold))
        x += width + 0.3 * size
    return words


def lines(x: float, y: float, *texts: str, size: float = 10, step: float = 12) -> list[Word]:
    return [word for at, text in enumerate(texts) for word in line(x, y + at * step, text, size)]


def turned(x: float, y: float, text: str, size: float = 10) -> list[Word]:
    """Words that are read from the bottom to the top, beginning at y."""
    words = []
    for word in text.split(" "):
        length = len(word) * size * LETTER_WIDTH
        words.append(Word(x, y - length, x + size, y, word, size, angle=270))
        y -= length + 0.3 * size
    return words


def page(*parts: list[Word], number: int = 1, width: float = 612, height: float = 792) -> PageContent:
    return PageContent(number, width, height, words=[word for part in parts for word in part])


def cut(*contents: PageContent) -> list[CutPage]:
    return list(cut_pages(contents))


PROSE = (
    "The lock was built in the year 1843 by a mason",
    "of the town who never wrote down how he set",
    "the stones and what he paid for each of them",
    "so that the later owners had to measure it all",
    "again when the first gate broke in the winter",
    "and the water stood in the lower street a week",
)
OTHER = (
    "A second column stands beside it with words of",
    "its own and nothing of the left column may be",
    "read into it because a sentence would then say",
    "what nobody wrote and a quote would not be one",
    "that the page holds which is the worst that a",
    "reader of documents could do to its owner here",
)


def test_two_columns_are_read_one_after_the_other() -> None:
    (read,) = cut(
        page(line(60, 60, "Two columns under one title", 16), lines(60, 100, *PROSE), lines(330, 100, *OTHER))
    )
    assert "\n".join(PROSE) in read.text
    assert "\n".join(OTHER) in read.text
    assert read.text.index(PROSE[5]) < read.text.index(OTHER[0])
    assert all(pointer.boxes[0].box.width < 0.5 for pointer in read.pointers[1:])


def test_running_text_beside_a_chart_is_not_read_into_its_rows() -> None:
    numbers = [
        word
        for at in range(5)
        for x, text in ((400, "65-69"), (480, "74"), (530, "65"))
        for word in line(x, 103 + 17 * at, text)
    ]
    (read,) = cut(
        page(lines(60, 100, *PROSE, *OTHER), numbers, lines(60, 400, *(f"{text} and so on" for text in PROSE)))
    )
    assert "\n".join(PROSE) in read.text
    assert "65-69 | 74 | 65" in read.text


def test_a_heading_names_what_follows_and_the_section_of_later_pages() -> None:
    first = page(line(60, 80, "2 Ground water", 16, bold=True), lines(60, 110, *PROSE))
    second = page(lines(60, 80, *OTHER), number=2)
    pages = cut(first, second)
    assert pages[0].pointers[0].title == "2 Ground water"
    assert [read.section for read in pages] == ["2 Ground water", "2 Ground water"]


def test_cells_below_each_other_are_a_table_with_its_title_and_units() -> None:
    rows = [
        ("Net revenue", "86,392", "79,474"),
        ("Cost of sales", "40,576", "37,075"),
        ("Gross profit", "45,816", "42,399"),
    ]
    words = [*line(60, 80, "Statement of Income", bold=True), *line(60, 94, "(in millions)")]
    words += [*line(300, 110, "2022"), *line(400, 110, "2021")]
    for at, (name, new, old) in enumerate(rows):
        words += [*line(60, 124 + 14 * at, name), *line(300, 124 + 14 * at, new), *line(400, 124 + 14 * at, old)]
    (read,) = cut(page(words, lines(60, 400, *PROSE)))
    table = next(pointer for pointer in read.pointers if pointer.kind is PointerKind.TABLE)
    assert table.title == "Statement of Income"
    assert "Net revenue | 86,392 | 79,474" in table.text
    assert "(in millions)" in table.text
    box = table.boxes[0].box
    assert box.x * 612 < 61
    assert (box.x + box.width) * 612 > 424


def door_schedule(number: int, top: float, first: int, count: int) -> PageContent:
    content = page(number=number)
    for at in range(count):
        y = top + 16 * at
        content.words += [*line(62, y, f"D{first + at}"), *line(160, y, "oak door"), *line(300, y, f"{900 + at}")]
    bottom = top + 16 * count
    content.drawings = [Rectangle(x, top - 3, x, bottom - 3) for x in (60.0, 150.0, 290.0, 400.0)]
    content.drawings += [Rectangle(60, top - 3 + 16 * at, 400, top - 3 + 16 * at) for at in range(count + 1)]
    return content


def test_a_table_that_goes_on_overleaf_is_one_pointer_with_a_box_on_each_page() -> None:
    first, second = cut(door_schedule(1, 300, 101, 26), door_schedule(2, 60, 127, 10))
    (table,) = first.pointers
    assert [placed.page for placed in table.boxes] == [1, 2]
    assert "D101 | oak door | 900" in table.text
    assert "D136 | oak door | 909" in table.text
    assert not second.pointers
    assert "D130" in second.text
    assert "D101" not in second.text


def test_a_table_that_ends_early_does_not_take_the_next_one() -> None:
    first, second = cut(door_schedule(1, 100, 101, 10), door_schedule(2, 60, 127, 10))
    assert len(first.pointers[0].boxes) == 1
    assert len(second.pointers) == 1


def test_headers_footers_and_page_numbers_are_on_the_page_and_in_no_pointer() -> None:
    pages = cut(
        *(
            page(
                line(60, 20, "Annual report of the mill"),
                lines(60, 200, *PROSE),
                line(300, 770, str(at + 11)),
                number=at,
            )
            for at in (1, 2, 3)
        )
    )
    for at, read in enumerate(pages, 12):
        assert read.label == str(at)
        assert "Annual report of the mill" in read.text
        assert all("Annual" not in pointer.text and str(at) not in pointer.text for pointer in read.pointers)


def test_turned_text_is_read_in_its_own_direction() -> None:
    (read,) = cut(page(turned(40, 500, "Depth below datum in metres"), lines(200, 100, *PROSE)))
    assert "Depth below datum in metres" in read.text
    pointer = next(pointer for pointer in read.pointers if "Depth" in pointer.text)
    assert pointer.boxes[0].box.height * 792 > 5 * pointer.boxes[0].box.width * 612


def test_a_picture_takes_its_labels_and_its_caption() -> None:
    content = page(
        lines(60, 60, *PROSE),
        line(200, 300, "Pier"),
        line(60, 420, "Figure 3: The pier from the north."),
        lines(60, 460, *OTHER),
    )
    content.pictures = [Rectangle(60, 250, 400, 410)]
    (read,) = cut(content)
    picture = next(pointer for pointer in read.pointers if pointer.kind is PointerKind.PICTURE)
    assert picture.title == "Figure 3: The pier from the north."
    assert "Pier" in picture.text
    assert picture.boxes[0].box.y * 792 < 251


def test_a_page_without_words_asks_for_recognition_and_an_empty_one_does_not() -> None:
    scan = page()
    scan.pictures = [Rectangle(0, 0, 612, 792)]
    assert cut(scan)[0].needs_recognition
    (blank,) = cut(page())
    assert not blank.needs_recognition
    assert blank.kind is PageKind.EMPTY


def sheet() -> PageContent:
    """A plan with rooms, notes in a frame, a schedule and a title block."""
    content = PageContent(1, 2400, 1600)
    content.words = [
        *line(300, 400, "OFFICE 136"), *line(300, 412, "120 SF"), *line(600, 420, "LAUNDRY 153"),
        *line(640, 440, "P-1"), *line(300, 1200, "FIRST FLOOR FINISH PLAN", 20),
        *line(300, 1226, "SCALE: 1/8\" = 1'-0\""),
        *line(1810, 210, "GENERAL NOTES", 16), *lines(1810, 240, *PROSE),
        *line(2200, 1500, "A2.01", 22), *line(2200, 1470, "Drawing Number"),
    ]  # fmt: skip
    for at, row in enumerate((("NO", "NAME", "FLOOR"), ("136", "OFFICE", "CPT-1"), ("153", "LAUNDRY", "WSF-1"))):
        for column, text in enumerate(row):
            content.words += line(1803 + 100 * column, 603 + 16 * at, text)
    edges = [(1800, 200, 2300, 340), (1800, 600, 2100, 648)]
    for left, top, right, bottom in edges:
        content.drawings += [Rectangle(x, top, x, bottom) for x in (left, right)]
        content.drawings += [Rectangle(left, y, right, y) for y in (top, bottom)]
    content.drawings += [Rectangle(x, 600, x, 648) for x in (1900, 2000)]
    content.drawings += [Rectangle(1800, y, 2100, y) for y in (616, 632)]
    content.drawings += [Rectangle(200 + 8 * at, 300, 206 + 8 * at, 1100) for at in range(100)]
    return content


def test_a_sheet_of_drawings_gets_its_number_discipline_notes_schedule_view_and_labels() -> None:
    (read,) = cut(sheet())
    assert (read.label, read.section, read.kind) == ("A2.01", "Architectural", PageKind.PLAN)
    by_kind = {kind: [pointer for pointer in read.pointers if pointer.kind is kind] for kind in PointerKind}
    (schedule,) = by_kind[PointerKind.SCHEDULE]
    assert "153 | LAUNDRY | WSF-1" in schedule.text
    (notes,) = by_kind[PointerKind.NOTES]
    assert notes.title == "GENERAL NOTES"
    titles = [pointer.title for pointer in by_kind[PointerKind.DETAIL]]
    assert any(title.startswith("FIRST FLOOR FINISH PLAN") for title in titles)
    assert "OFFICE 136 120 SF" in titles
    laundry = next(pointer for pointer in by_kind[PointerKind.DETAIL] if pointer.title == "LAUNDRY 153")
    assert "P-1" in laundry.text  # A code by itself goes to the label beside it.
    assert by_kind[PointerKind.TITLE_BLOCK][0].title == "Title block A2.01"


def test_a_quote_is_found_over_line_ends_and_nothing_else_is() -> None:
    content = page(lines(60, 100, "The rent is 950 euros a", "month, paid in advance."))
    assert len(locate_quote(content, "950 Euros a month")) == 2
    assert locate_quote(content, "the rent is 905 euros") == ()
    assert locate_quote(content, "a") == ()
