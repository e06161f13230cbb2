"""The pages of `reveries forget`: pure, from a plan or a receipt to lines."""

import msgspec

from reveries.client.render import Page, Part, line, paragraph
from reveries.client.traces import TraceSearch
from reveries.client.wording import moment, plural, size
from reveries.plaintext import one_line
from reveries.protocol import Forgotten

_SHOWN_ITEMS = 40
_TEXT_CHARS = 90
LONGER_WORDS_SHOWN = 8


def forgotten_page(told: Forgotten) -> Page:
    """What would go, item by item, or what went, store by store."""
    if not told.stores and not told.item_count:
        return paragraph("Nothing is like that: there is nothing to forget.")
    page: Page = []
    for item in told.items[:_SHOWN_ITEMS]:
        kind = f"{item.kind}, made anew" if item.is_remade else item.kind
        at = f"  {moment(item.at)}" if item.at else ""
        page.append(line(Part(f"{kind:<20}", "accent"), Part(f"{item.id}{at}", "dim")))
        page.append(line(Part(f"  {one_line(item.text, _TEXT_CHARS)}")))
    if told.items and told.item_count > _SHOWN_ITEMS:
        page.append(line(Part(f"and {told.item_count - _SHOWN_ITEMS:,} more (all of them: --json)", "dim")))
    if page:
        page.append(line())
    page.append(line(Part(_headline(told), "strong")))
    for store in told.stores:
        remade = f", {store.remade:,} made anew" if store.remade else ""
        page.append(line(Part(f"  {store.store:<32}", "dim"), Part(f"{store.gone:>9,}{remade}")))
    page += _left_rows(told)
    for note in told.notes:
        page += [line(), *paragraph(note)]
    if told.receipt_id:
        page += [line(), *paragraph(f"Receipt {told.receipt_id}: {_kept(told)}", style="dim")]
    return page


def _left_rows(told: Forgotten) -> Page:
    """What tells of the same thing and would stay."""
    if isinstance(told.left, msgspec.UnsetType):
        return []
    page = [line(), line(Part("This would stay, and may tell of the same in other words:", "strong"))]
    for item in told.left:
        page.append(line(Part(f"{item.kind:<20}", "accent"), Part(f"{item.id}  {moment(item.at)}", "dim")))
        page.append(line(Part(f"  {one_line(item.text, _TEXT_CHARS)}")))
    return [*page, *paragraph("To have that forgotten too, name it by its ID, or all of that time: --since, --until.")]


def searched_page(found: TraceSearch) -> Page:
    """Where the words stand."""
    looked = f"{plural(found.files, 'file')}, {size(found.bytes)}"
    page: Page = []
    for name, forms in found.found.items():
        told = ", ".join(f"{count:,} as {form}" for form, count in forms.items())
        page.append(line(Part(one_line(name, 200), "bad"), Part(f"  {told}")))
    if page:
        page += [line(), *paragraph(f"It stands in {plural(len(found.found), 'file')} of {looked} that were searched.")]
        page += _inside(found)
    else:
        page = paragraph(
            f"It stands nowhere in the home: {looked} were searched, in any case and coding.", style="good"
        )
    if found.passed_over:
        page += paragraph(f"Passed over: {', '.join(one_line(name, 100) for name in found.passed_over)}.", style="dim")
    return page


def _inside(found: TraceSearch) -> Page:
    """A short name stands inside other words too ("Tor" in "history"): which ones, for the owner to judge."""
    if not found.longer_words:
        return []
    often = sorted(found.longer_words.items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(one_line(word, 40) for word, _ in often[:LONGER_WORDS_SHOWN])
    rest = f", and {len(often) - LONGER_WORDS_SHOWN:,} more" if len(often) > LONGER_WORDS_SHOWN else ""
    inside, as_text = sum(found.longer_words.values()), sum(forms.get("text", 0) for forms in found.found.values())
    how_often = "Each time" if inside >= as_text else f"{inside:,} of {as_text:,} times as text"
    return paragraph(
        f"{how_often} with letters or digits beside it: {shown}{rest}. In the memory's file two texts may stand side "
        "by side without a blank."
    )


def _headline(told: Forgotten) -> str:
    if told.is_dry_run:
        return "This would be erased for good:" if told.is_erased else "This would be archived:"
    return f"Erased for good ({told.seconds:.1f} s):" if told.is_erased else "Done:"


def _kept(told: Forgotten) -> str:
    return f"{told.tombstones:,} keyed hashes keep it from coming back with an old backup or an import."
