"""`reveries doctor`."""

import click


@click.command("doctor", short_help="What is wrong, and what to do about it.")
@click.option("--fix", is_flag=True, help="Mend what is safe to mend: modes, a dead socket, broken-off parts.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(fix: bool, as_json: bool) -> int:
    """Look for what is wrong with the home, the settings, the daemon, the memory and the models, and say what to do.

    Ends with 1 when there is something to do. Every fault that it knows: docs/reference/faults.md.
    """
    from reveries.client.checkup.examine import examine
    from reveries.client.checkup.machine import CheckupMachine
    from reveries.client.checkup.mending import mend
    from reveries.client.doctor_page import doctor_page
    from reveries.client.json_answers import Diagnosis
    from reveries.client.render import show, write_struct
    from reveries.config import find_home

    home, machine = find_home(), CheckupMachine()
    checkup = examine(home, machine)
    done: list[str] = []
    if fix and any(finding.is_mendable for finding in checkup.findings):
        done = mend(checkup.findings, home, machine)
        checkup = examine(home, machine)
    if as_json:
        write_struct(Diagnosis(checkup.findings, checkup.looked_at, checkup.not_looked_at, done))
    else:
        show(doctor_page(checkup, done))
    return int(any(finding.severity != "note" for finding in checkup.findings))
