"""Draw a part of the memory graph as SVG. Pure, message to text; except for writing files at the end.

Size shows salience, shade shows age, a ring marks what was recalled for the cue; colour and dash of a link show its
type, its width the strength. Every text is made plain and escaped: remembered text cannot become markup.
"""

import datetime as dt
import errno
import math
import os
import stat
from dataclasses import dataclass
from html import escape
from itertools import zip_longest
from pathlib import Path
from typing import Final, Literal

from reveries.client.picture_labels import count_columns, wrap_label
from reveries.client.picture_layout import Bond, LabelBox, arrange_boxes, spanning_bonds
from reveries.client.wording import plural
from reveries.errors import InputFileError
from reveries.own_files import is_foreign_link
from reveries.protocol import GraphNode, GraphTie, Neighbourhood
from reveries.safe_text import one_line

Theme = Literal["dusk", "day"]

_MARGIN: Final = 36.0
_HEAD: Final = 84.0
_FOOT: Final = 64.0
_LABEL_PIXELS: Final = 12.5
_DATE_PIXELS: Final = 10.5
_LINE_HEIGHT: Final = 15.0
_CHAR_SHARE: Final = 0.57
"""Width of an average character in the widest font, as a share of the font size."""
_FONTS: Final = "Inter, 'Segoe UI', 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif"
_SHARE_OF_TIES: Final = 0.8
"""Ties per node drawn in addition to the spanning ones: more are unreadable."""
_BOWS: Final = {"thematic": 0.0, "temporal": 0.16, "emotional": -0.16, "causal": 0.26}


@dataclass(frozen=True, slots=True)
class _Colours:
    ground: str
    ground_edge: str
    ink: str
    quiet: str
    old: tuple[int, int, int]
    between: tuple[int, int, int]
    new: tuple[int, int, int]
    ring: str
    links: dict[str, str]


_DUSK: Final = _Colours(
    ground="#171b25",
    ground_edge="#0f1219",
    ink="#dfe2ea",
    quiet="#8b93a7",
    old=(66, 92, 140),
    between=(152, 116, 158),
    new=(240, 205, 146),
    ring="#f0cd92",
    links={"thematic": "#7fa6d6", "temporal": "#8b93a7", "emotional": "#d98aa6", "causal": "#e0a860"},
)
_DAY: Final = _Colours(
    ground="#fbf9f4",
    ground_edge="#f1ede3",
    ink="#2a2d35",
    quiet="#7d7a72",
    old=(160, 186, 218),
    between=(196, 150, 170),
    new=(201, 121, 43),
    ring="#b4691f",
    links={"thematic": "#3f75ad", "temporal": "#8d8a82", "emotional": "#b9507a", "causal": "#b06a10"},
)
_DASHES: Final = {"thematic": "", "temporal": "1.5 5", "emotional": "9 5", "causal": "14 4 2 4"}
_MEANINGS: Final = {
    "thematic": "similar topic",
    "temporal": "one after the other",
    "emotional": "similar feeling",
    "causal": "one led to the other",
}


def draw_picture(shown: Neighbourhood, theme: Theme = "dusk", width: float = 1280.0) -> str:
    """Return the SVG, at least `width` pixels wide."""
    colours = _DUSK if theme == "dusk" else _DAY
    drawn = _select_ties(shown)
    indices = {node.episode_id: number for number, node in enumerate(shown.nodes)}
    bonds = [Bond(indices[tie.first_id], indices[tie.second_id], tie.strength) for tie in drawn]
    labels = [wrap_label(_safe_text(node.label, 400)) for node in shown.nodes]
    boxes = [_node_box(node, label) for node, label in zip(shown.nodes, labels, strict=True)]
    rows = max(2.0, math.sqrt(len(boxes)))
    layout = arrange_boxes(boxes, bonds, width - 2 * _MARGIN, max(360.0, rows * 138.0))
    whole_width, whole_height = layout.width + 2 * _MARGIN, layout.height + _HEAD + _FOOT + _MARGIN
    shades = _node_fills(shown, colours)
    body = [
        _frame_svg(whole_width, whole_height, colours, shown),
        _title_svg(shown, drawn, whole_width, colours),
        f'<g transform="translate({_MARGIN:.1f} {_HEAD:.1f})">',
        *(
            _tie_svg(tie, layout.points[indices[tie.first_id]], layout.points[indices[tie.second_id]], colours)
            for tie in reversed(drawn)
        ),
        *(_node_svg(node, layout.points[number], shades[number], colours) for number, node in enumerate(shown.nodes)),
        *(_label_svg(*one, colours) for one in zip(shown.nodes, labels, layout.points, strict=True)),
        "</g>",
        _legend_svg(shown, drawn, whole_width, whole_height, colours),
        "</svg>",
    ]
    return "\n".join(body) + "\n"


def _select_ties(shown: Neighbourhood) -> list[GraphTie]:
    """Select the ties to draw, strongest first: the spanning ones, and the strongest of each type."""
    place = {node.episode_id: number for number, node in enumerate(shown.nodes)}
    ties = [tie for tie in shown.ties if tie.first_id in place and tie.second_id in place]
    bonds = [Bond(place[tie.first_id], place[tie.second_id], tie.strength) for tie in ties]
    kept = set(spanning_bonds(len(shown.nodes), bonds))
    by_kind: dict[str, list[int]] = {}
    for number, tie in enumerate(ties):
        if number not in kept:
            by_kind.setdefault(tie.type, []).append(number)
    # One of each type in turn, as strengths of different types are not comparable.
    extra = [tie_number for round_ in zip_longest(*by_kind.values()) for tie_number in round_ if tie_number is not None]
    kept.update(extra[: math.ceil(_SHARE_OF_TIES * len(shown.nodes))])
    return sorted((ties[number] for number in kept), key=lambda tie: -tie.strength)


# --- the parts -------------------------------------------------------------------------------------------------------


def _frame_svg(width: float, height: float, colours: _Colours, shown: Neighbourhood) -> str:
    about = escape(_safe_text(shown.title, 200))
    description = escape(f"{plural(len(shown.nodes), 'episode')} of a memory and their links.")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" font-family="{escape(_FONTS)}">\n'
        f"<title>{about}</title>\n<desc>{description}</desc>\n"
        '<defs><radialGradient id="ground" cx="50%" cy="45%" r="75%">'
        f'<stop offset="0" stop-color="{colours.ground}"/><stop offset="1" stop-color="{colours.ground_edge}"/>'
        "</radialGradient>"
        f'<linearGradient id="time"><stop offset="0" stop-color="{_format_rgb(colours.old)}"/>'
        f'<stop offset="0.5" stop-color="{_format_rgb(colours.between)}"/>'
        f'<stop offset="1" stop-color="{_format_rgb(colours.new)}"/></linearGradient>'
        '<marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" orient="auto" '
        f'markerUnits="userSpaceOnUse"><path d="M0 0 L8 4 L0 8 z" fill="{colours.links["causal"]}"/></marker></defs>\n'
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="url(#ground)"/>'
    )


def _title_svg(shown: Neighbourhood, drawn: list[GraphTie], width: float, colours: _Colours) -> str:
    columns = int((width - 2 * _MARGIN) / (20 * _CHAR_SHARE))
    facts = [plural(len(shown.nodes), "episode"), _date_range(shown), plural(len(drawn), "link")]
    if more := len(shown.ties) - len(drawn):
        facts.append(f"{plural(more, 'weaker one')} not drawn")
    if shown.left_out:
        facts.append(f"{plural(shown.left_out, 'more neighbour')} not shown")
    return (
        f'<text x="{_MARGIN:.0f}" y="42" font-size="20" font-weight="600" fill="{colours.ink}">'
        f"{escape(_safe_text(shown.title, columns))}</text>\n"
        f'<text x="{_MARGIN:.0f}" y="63" font-size="12.5" fill="{colours.quiet}">'
        f"{escape('  ·  '.join(part for part in facts if part))}</text>"
    )


def _tie_svg(tie: GraphTie, first: tuple[float, float], second: tuple[float, float], colours: _Colours) -> str:
    """Draw a tie. Each type bends differently, so that ties between the same nodes do not overlap."""
    (x1, y1), (x2, y2) = first, second
    bow = _BOWS.get(tie.type, 0.08)
    middle_x, middle_y = (x1 + x2) / 2 - bow * (y2 - y1), (y1 + y2) / 2 + bow * (x2 - x1)
    strength = max(0.0, min(1.0, tie.strength))
    dash = f' stroke-dasharray="{_DASHES[tie.type]}"' if _DASHES.get(tie.type) else ""
    arrow = ' marker-end="url(#to)"' if tie.is_directed else ""
    colour = colours.links.get(tie.type, colours.quiet)
    return (
        f'<path d="M{x1:.1f} {y1:.1f} Q{middle_x:.1f} {middle_y:.1f} {x2:.1f} {y2:.1f}" fill="none" '
        f'stroke="{colour}" stroke-width="{1.5 + 2.6 * strength**2:.2f}" stroke-linecap="round" '
        f'stroke-opacity="{0.6 + 0.25 * strength:.2f}"{dash}{arrow}/>'
    )


def _node_svg(node: GraphNode, at: tuple[float, float], fill: str, colours: _Colours) -> str:
    """Draw a node. A ring marks the start of the picture; it is brighter for a higher energy."""
    x, y = at
    radius = _node_radius(node)
    tooltip = escape(f"{_format_date(node.happened_at)}: {_safe_text(node.summary, 600)}")
    circle = f'<circle cx="{x:.1f}" cy="{y:.1f}"'
    parts = [f"<g><title>{tooltip}</title>"]
    if node.distance == 0:
        glow = 0.3 + 0.65 * max(0.0, min(1.0, node.energy))
        parts.append(f'{circle} r="{radius + 12:.1f}" fill="{colours.ring}" fill-opacity="{glow * 0.18:.2f}"/>')
        parts.append(
            f'{circle} r="{radius + 5:.1f}" fill="none" stroke="{colours.ring}" stroke-width="1.8" '
            f'stroke-opacity="{glow:.2f}"/>'
        )
    # Faded nodes are translucent to the background, but not to links.
    opacity = 0.35 + 0.65 * max(0.0, min(1.0, node.accessibility))
    parts.append(f'{circle} r="{radius + 1:.1f}" fill="{colours.ground}"/>')
    parts.append(f'{circle} r="{radius:.1f}" fill="{fill}" fill-opacity="{opacity:.2f}"/></g>')
    return "".join(parts)


def _label_svg(node: GraphNode, rows: list[str], at: tuple[float, float], colours: _Colours) -> str:
    x, y = at
    top = y + _node_radius(node) + 17.0
    halo = f'stroke="{colours.ground}" stroke-width="4" stroke-linejoin="round" paint-order="stroke"'
    weight = ' font-weight="600"' if node.distance == 0 else ""
    begin = f'<text x="{x:.1f}" text-anchor="middle" {halo}'
    lines = [
        f'{begin} y="{top + number * _LINE_HEIGHT:.1f}" font-size="{_LABEL_PIXELS}"{weight} fill="{colours.ink}">'
        f"{escape(row)}</text>"
        for number, row in enumerate(rows)
    ]
    lines.append(
        f'{begin} y="{top + len(rows) * _LINE_HEIGHT - 1:.1f}" font-size="{_DATE_PIXELS}" fill="{colours.quiet}">'
        f"{escape(_format_date(node.happened_at))}</text>"
    )
    return "".join(lines)


def _legend_svg(
    shown: Neighbourhood,
    drawn: list[GraphTie],
    width: float,
    height: float,
    colours: _Colours,
) -> str:
    y = height - 34.0
    parts = [f'<g font-size="11.5" fill="{colours.quiet}">']
    x = _MARGIN
    for kind in [kind for kind in _MEANINGS if any(tie.type == kind for tie in drawn)]:
        dash = f' stroke-dasharray="{_DASHES[kind]}"' if _DASHES[kind] else ""
        text = f"{kind}: {_MEANINGS[kind]}"
        parts.append(
            f'<path d="M{x:.1f} {y - 4:.1f} h30" stroke="{colours.links[kind]}" stroke-width="2.6" '
            f'stroke-linecap="round"{dash}/><text x="{x + 38:.1f}" y="{y:.1f}">{text}</text>'
        )
        x += 38 + len(text) * 11.5 * _CHAR_SHARE + 22
    right = width - _MARGIN
    parts.append(_time_scale_svg(_time_bounds(shown), right, y, colours))
    parts.append(
        f'<circle cx="{right - 396:.1f}" cy="{y - 4:.1f}" r="4" fill="{colours.quiet}"/>'
        f'<circle cx="{right - 378:.1f}" cy="{y - 4:.1f}" r="9" fill="{colours.quiet}"/>'
        f'<text x="{right - 362:.1f}" y="{y:.1f}">matters more</text>'
    )
    if any(node.energy > 0 for node in shown.nodes):
        parts.append(
            f'<circle cx="{right - 476:.1f}" cy="{y - 4:.1f}" r="7" fill="none" stroke="{colours.ring}" '
            f'stroke-width="1.6"/><text x="{right - 463:.1f}" y="{y:.1f}">start</text>'
        )
    return "".join(parts) + "</g>"


def _time_scale_svg(bounds: tuple[float, float], right: float, y: float, colours: _Colours) -> str:
    old, new = _format_date(bounds[0]), _format_date(bounds[1])
    if old == new:
        return f'<text x="{right:.1f}" y="{y:.1f}" text-anchor="end">{escape(old)}</text>'
    return (
        f'<text x="{right - 174:.1f}" y="{y:.1f}" text-anchor="end">{escape(old)}</text>'
        f'<rect x="{right - 168:.1f}" y="{y - 9:.1f}" width="72" height="9" rx="4.5" fill="url(#time)"/>'
        f'<text x="{right - 90:.1f}" y="{y:.1f}">{escape(new)}</text>'
    )


# --- measures --------------------------------------------------------------------------------------------------------


def _node_radius(node: GraphNode) -> float:
    return 6.0 + 13.0 * float(max(0.0, min(1.0, node.salience)) ** 1.5)


def _node_box(node: GraphNode, label: list[str]) -> LabelBox:
    widest = max((count_columns(row) for row in label), default=0) * _LABEL_PIXELS * _CHAR_SHARE
    half = max(_node_radius(node) + 12.0, widest / 2 + 8.0, 34.0)
    return LabelBox(half, _node_radius(node) + 13.0, _node_radius(node) + 14.0 + (len(label) + 1) * _LINE_HEIGHT)


def _node_fills(shown: Neighbourhood, colours: _Colours) -> list[str]:
    """Return the colour of each node, mostly by rank in time: one old episode must not make all others look alike."""
    first, last = _time_bounds(shown)
    times = sorted({node.happened_at for node in shown.nodes})
    rank = {at: place / max(1, len(times) - 1) for place, at in enumerate(times)}
    fills: list[str] = []
    for node in shown.nodes:
        share = (node.happened_at - first) / (last - first) if last > first else 1.0
        share = 0.25 * share + 0.75 * rank[node.happened_at]
        fills.append(_mix_colours(colours, share))
    return fills


def _mix_colours(colours: _Colours, share: float) -> str:
    """Interpolate between the old, the middle and the new colour."""
    first, second = (colours.old, colours.between) if share < 0.5 else (colours.between, colours.new)
    way = 2.0 * share if share < 0.5 else 2.0 * share - 1.0
    red, green, blue = (round(a + (b - a) * way) for a, b in zip(first, second, strict=True))
    return _format_rgb((red, green, blue))


def _time_bounds(shown: Neighbourhood) -> tuple[float, float]:
    times = [node.happened_at for node in shown.nodes] or [0.0]
    return min(times), max(times)


def _date_range(shown: Neighbourhood) -> str:
    first, last = (_format_date(at) for at in _time_bounds(shown))
    return first if first == last else f"{first} to {last}"


def _format_date(at: float) -> str:
    try:
        day = dt.datetime.fromtimestamp(at)
    except (OverflowError, OSError, ValueError):
        return ""
    return f"{day.day} {day:%b} {day.year}"


def _format_rgb(colour: tuple[int, int, int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


def _safe_text(text: str, most: int) -> str:
    """Return one line without control characters and characters that XML forbids."""
    return one_line("".join(char for char in text if char not in "\ufffe\uffff"), most)


_PRIVATE: Final = 0o600


def write_svg(shown: Neighbourhood, file: Path, theme: Theme) -> None:
    """Write the SVG. Raises InputFileError if the file cannot be written."""
    write_picture(file, draw_picture(shown, theme).encode("utf-8"))


def write_picture(file: Path, content: bytes) -> None:
    """Write `content`, readable by the owner alone. Raises InputFileError if the file cannot be written."""
    try:
        if is_foreign_link(file):
            raise OSError(errno.EPERM, "it is another user's link")
        # The owner's own link is resolved now; a link created after this point is not followed.
        place = file.resolve() if file.is_symlink() else file
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(place, flags, _PRIVATE), "wb") as opened:
            if stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                os.fchmod(opened.fileno(), _PRIVATE)  # An existing file would keep its mode.
            opened.write(content)
    except OSError as error:
        raise InputFileError(
            f"{file} cannot be written: {error.strerror}.", advice="Choose another path for the picture."
        ) from error
