"""What the reading child refuses, and why."""

from reveries.errors import DocumentFault


class RefusalError(Exception):
    """A document cannot be read. `what` goes on from its name ("needs a password"); `advice` is a sentence."""

    def __init__(self, fault: DocumentFault, what: str, advice: str = "") -> None:
        super().__init__(what)
        self.fault = fault
        self.what = what
        self.advice = advice
