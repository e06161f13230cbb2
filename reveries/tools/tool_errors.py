"""Why a tool was not called, or could not do it."""

from reveries.errors import ReveriesError
from reveries.tools.reach import CallFacts


class ToolError(ReveriesError):
    """A tool could not do what was asked. The message goes to whoever called it."""


class ApprovalNeededError(ToolError):
    """The owner has to say yes first."""

    def __init__(self, call: CallFacts) -> None:
        super().__init__(f"{call.tool} needs a yes of the owner.", advice="It is asked: reveries questions")
        self.call = call


class DeniedCallError(ToolError):
    """The owner said no to just this call."""

    def __init__(self, tool: str) -> None:
        super().__init__(f"The owner said no to this call of {tool}.", advice="Do without it, or do something else.")
