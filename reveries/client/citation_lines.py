"""What a reply rests on in documents, as lines below it. Only what was found on its page is shown as a link."""

from collections.abc import Sequence
from typing import Final

from reveries.protocol import CitationEntry
from reveries.safe_text import one_line

_NAME_CHARS: Final = 120
_QUOTE_CHARS: Final = 240


def citation_lines(citations: Sequence[CitationEntry]) -> list[str]:
    """Return one line for each citation, in the order of the reply."""
    return [_citation_line(citation) for citation in citations]


def _citation_line(citation: CitationEntry) -> str:
    name = one_line(citation.document, _NAME_CHARS)
    quote = one_line(citation.quote, _QUOTE_CHARS)
    match citation.state:
        case "on_page":
            box = citation.boxes[0] if citation.boxes else None
            place = f", {box.x:.0%} from the left and {box.y:.0%} from the top" if box is not None else ""
            where = f"{name}, page {one_line(citation.page_label, _NAME_CHARS)}{place}"
            open_it = f"reveries document show {citation.short_id.partition('.')[0]} --page {citation.page_number}"
            by = "" if citation.made_by == "model" else " (found by its words, not cited by the model)"
            return f"{citation.short_id}  {where}: “{quote}”{by}  {open_it}"
        case "not_on_page":
            return f"{citation.short_id}  not found on the page: “{quote}”"
        case "not_offered":
            return f"{citation.short_id}  not found: it was shown no such place"
        case _:
            return f"Not in these documents: looked at {name}"
