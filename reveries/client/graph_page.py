"""A part of the graph as a list: for narrow terminals, for plain text and for screen readers. Pure."""

from reveries.client.render import Page, Part, bar, line, paragraph
from reveries.client.wording import ago, plural
from reveries.plaintext import one_line
from reveries.protocol import Neighbourhood

_ID_CHARS = 8
_LINKS_SHOWN = 8


def graph_page(shown: Neighbourhood, now: float) -> Page:
    """Every node, what the picture is about first, with the links that lead on from it."""
    by_id = {node.episode_id: node for node in shown.nodes}
    page: Page = [*paragraph(one_line(shown.title, 300), style="strong"), line()]
    for node in sorted(by_id.values(), key=lambda node: (node.distance, -node.energy, -node.salience, node.episode_id)):
        page.append(
            line(
                Part(f"  {bar(node.energy, 4)} ", "accent"),
                Part(one_line(node.episode_id)[:_ID_CHARS], "accent"),
                Part(f"  {ago(node.happened_at, now)}, salience {node.salience:.2f}", "dim"),
            )
        )
        page += paragraph(one_line(node.label, 200), indent=4)
        ties = [tie for tie in shown.ties if node.episode_id in (tie.first_id, tie.second_id)]
        for tie in sorted(ties, key=lambda tie: -tie.strength)[:_LINKS_SHOWN]:
            other = by_id.get(tie.second_id if tie.first_id == node.episode_id else tie.first_id)
            if other is None:
                continue
            way = f"{one_line(tie.type)} {tie.strength:.2f}"
            page += paragraph(f"{way}: {one_line(other.label, 60)}", indent=8, style="dim")
    left = f"{plural(len(shown.nodes), 'episode')}" + (f"; {shown.left_out} more had no room" if shown.left_out else "")
    return [*page, line(), line(Part(f"  {left}", "dim"))]
