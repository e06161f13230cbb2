"""Groups of tools: a tool is declared once, on the method that runs it, and has its name, arguments and answer."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import ClassVar, Final, TypeVar, get_type_hints

from reveries.tools.reach import Reach
from reveries.tools.registry import Tool, ToolOffer

_MARK: Final = "__tool_offer__"
_Method = TypeVar("_Method", bound=Callable[..., Awaitable[object]])


@dataclass(frozen=True, slots=True)
class _Offer(ToolOffer):
    check: str = ""


def offer_tool(
    description: str,
    reach: Reach = Reach.LOOK,
    *,
    is_repeatable: bool = True,
    is_additive: bool = False,
    check: str = "",
) -> Callable[[_Method], _Method]:
    """Mark a method `(self, given, caller)` as a tool. `is_repeatable` and `is_additive` as in `Tool`; `check`: the
    name of the method that checks the arguments."""

    def mark(run: _Method) -> _Method:
        setattr(run, _MARK, _Offer(description, reach, is_repeatable, is_additive, check))
        return run

    return mark


class ToolGroup:
    """Base class of a group: offers the methods marked with `offer_tool`, in the order in which they are defined."""

    __slots__ = ()
    server: ClassVar[str]
    """The name under which the group is offered."""

    def tools(self) -> list[Tool]:
        """Return the tools of this group."""
        return [self._build_tool(name, getattr(self, name), offer) for name, offer in self._offers().items()]

    @classmethod
    def describe_tools(cls) -> list[Tool]:
        """Return what the tools of the group are, without an object that could run them."""
        return [_build_tool(cls.server, name, getattr(cls, name), offer, None) for name, offer in cls._offers().items()]

    def _build_tool(self, name: str, run: Callable[..., Awaitable[object]], offer: _Offer) -> Tool:
        return _build_tool(self.server, name, run, offer, getattr(self, offer.check) if offer.check else None)

    @classmethod
    def _offers(cls) -> dict[str, _Offer]:
        return {name: getattr(method, _MARK) for name, method in vars(cls).items() if hasattr(method, _MARK)}


def _build_tool(
    server: str,
    name: str,
    run: Callable[..., Awaitable[object]],
    offer: _Offer,
    check: Callable[..., None] | None,
) -> Tool:
    given = next(name for name in inspect.signature(run).parameters if name != "self")
    return Tool(
        offer.description, offer.reach, offer.is_repeatable, offer.is_additive,
        name=name, server=server, arguments=get_type_hints(run)[given], run=run, check=check,
    )  # fmt: skip
