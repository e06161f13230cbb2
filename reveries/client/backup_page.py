"""The pages of `reveries backup`: pure, from what is said of copies to lines."""

from reveries.client.render import Page, Part, line, paragraph
from reveries.client.wording import ago, moment, plural, size
from reveries.plaintext import one_line
from reveries.protocol import BackupEntry, BackupRestored, Backups


def backups_page(found: Backups, now: float) -> Page:
    """A line for each copy, and what is wrong with it."""
    if not found.backups:
        return paragraph(
            "There is no backup yet. One is made every hour while the mind is awake: reveries backup create"
        )
    page: Page = []
    for one in found.backups:
        page += [line(Part(one_line(one.name), "strong"), Part(f"  {ago(one.made_at, now)}, {size(one.size_bytes)}"))]
        page += _findings_rows(one)
    return [*page, line(), *paragraph(f"They are in {one_line(found.folder)}.", style="dim")]


def restored_page(done: BackupRestored) -> Page:
    """What was done, and what is missing now."""
    page = [line(Part(f"The memory is now that of {one_line(done.backup)}.", "strong"))]
    since, until = moment(done.missing_from), moment(done.missing_until)
    if done.missing_until < done.missing_from:
        page += paragraph(f"The clock was set back after it was made, at {since}: what happened since is not in it.")
    else:
        page += paragraph(f"What happened between {since} and {until} is not in it.")
    if done.kept:
        page += paragraph(f"The file that it replaced is kept: {one_line(done.kept)}", style="dim")
    return page


def _findings_rows(one: BackupEntry) -> Page:
    if not one.is_looked_at:
        return paragraph("made before a change of the schema", style="dim") if one.is_before_migration else []
    told = [Part(f"  {plural(one.turns, 'turn')}, {plural(one.episodes, 'episode')}", "dim")]
    if one.problems:
        return [line(Part("  not whole: ", "bad"), Part(one_line(problem, 300))) for problem in one.problems]
    page = [line(Part("  whole", "good"), *told)]
    return page + [line(Part("  ", ""), Part(one_line(text, 300), "warn")) for text in one.rotten]
