"""Which events of a calendar take place for its owner: not what was cancelled or declined. Pure."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

_NO_EVENT_METHODS: Final = frozenset({"CANCEL", "REPLY", "REFRESH", "COUNTER", "DECLINECOUNTER"})
"""Messages about events, which a mail program may have filed as calendars (RFC 5546)."""
_NO_GUESTS: Final = frozenset({"ROOM", "RESOURCE"})


def announces_events(calendar: Any) -> bool:
    """Whether the calendar's events are to take place; a file may be the cancellation of one, or somebody's answer."""
    return str(calendar.get("METHOD", "")).strip().upper() not in _NO_EVENT_METHODS


def find_own_addresses(calendar: Any, file_name: str) -> frozenset[str]:
    """Return the owner's address as the calendar or its file is named, as Google does, else the addresses that are
    invited to, or have invited to, each of its two or more meetings."""
    for name in (str(calendar.get("X-WR-CALNAME", "")), file_name.removesuffix(".ics")):
        if "@" in name and " " not in name.strip():
            return frozenset({_address(name)})
    meetings = [
        {_address(guest) for guest in _guests(event)} | {_address(event.get("ORGANIZER", ""))}
        for event in calendar.subcomponents
        if event.name == "VEVENT" and "RECURRENCE-ID" not in event and _guests(event)
    ]
    return frozenset(set.intersection(*meetings) - {""}) if len(meetings) > 1 else frozenset()


def takes_place(event: Any, own: frozenset[str]) -> bool:
    """Whether the event was neither cancelled nor declined by its owner. When it is unknown which guest that is, it
    counts as declined if all guests declined."""
    if str(event.get("STATUS", "")).strip().upper() == "CANCELLED":
        return False
    organizer = _address(event.get("ORGANIZER", ""))
    guests = [guest for guest in _guests(event) if _address(guest) != organizer]
    mine = [guest for guest in guests if _address(guest) in own] or ([] if organizer in own else guests)
    return not _have_all_declined(mine)


def _have_all_declined(guests: Sequence[Any]) -> bool:
    answers = {str(guest.params.get("PARTSTAT", "")).upper() for guest in guests}
    return answers == {"DECLINED"}


def _guests(event: Any) -> list[Any]:
    listed = event.get("ATTENDEE", [])
    guests: Iterable[Any] = listed if isinstance(listed, list) else [listed]
    return [
        guest
        for guest in guests
        if hasattr(guest, "params") and str(guest.params.get("CUTYPE", "")).upper() not in _NO_GUESTS
    ]


def _address(written: object) -> str:
    return str(written).strip().casefold().removeprefix("mailto:")
