"""Progress bars of long jobs above the status line."""

from dataclasses import dataclass
from typing import Final

from textual.content import Content
from textual.widgets import Static

from reveries.client.wording import size
from reveries.clock import Clock
from reveries.safe_text import one_line

_ROWS: Final = 3
_BAR_CELLS: Final = 24
_NARROW_BAR_CELLS: Final = 8
_NARROW_COLUMNS: Final = 76
_SILENT_SECONDS: Final = 30.0
"""A job of another client without progress for this long counts as aborted."""


@dataclass(frozen=True, slots=True)
class RunningJob:
    """`total` 0: unknown."""

    what: str
    done: int
    total: int
    is_in_bytes: bool
    reported_at: float
    is_ours: bool


def job_row(job: RunningJob, columns: int) -> Content:
    """Render a job as a bar with figures, `columns` wide."""
    figures = _job_line(job)
    cells = _BAR_CELLS if columns >= _NARROW_COLUMNS else min(_NARROW_BAR_CELLS, max(0, columns - len(figures) - 12))
    share = min(1.0, job.done / job.total) if job.total > 0 else 0.0
    full = round(cells * share)
    name = one_line(job.what, max(1, columns - cells - len(figures) - 4))
    return Content.assemble(
        (f"{name}  ", "$foreground 70%"),
        ("━" * full, "$accent"),
        ("━" * (cells - full), "$foreground 20%"),
        (f"  {figures}", "$foreground 60%"),
    )


def _job_line(job: RunningJob) -> str:
    if job.is_in_bytes:
        return f"{size(job.done)} of {size(job.total)}" if job.total > 0 else size(job.done)
    if job.total <= 0:
        return "…"
    return f"{job.done:,} of {job.total:,}  {min(1.0, job.done / job.total):.0%}"


class Jobs(Static):
    """The running jobs, oldest first."""

    def __init__(self, clock: Clock) -> None:
        super().__init__("", id="jobs", classes="hidden", markup=False)
        self._clock = clock
        self._jobs: dict[str, RunningJob] = {}

    def update_job(
        self, name: str, what: str, done: int, total: int, *, is_in_bytes: bool = False, is_ours: bool = False
    ) -> None:
        """Show the progress of the job `name`. A job of another client ends with its last step."""
        if not is_ours and 0 < total <= done:
            self.remove_job(name)
            return
        self._jobs[name] = RunningJob(what, done, total, is_in_bytes, self._clock.monotonic(), is_ours)
        self._draw()

    def remove_job(self, name: str) -> None:
        """Remove a job that is done or failed."""
        if self._jobs.pop(name, None) is not None:
            self._draw()

    @property
    def own_jobs(self) -> list[str]:
        """The running jobs started in this terminal, oldest first."""
        return [name for name, job in self._jobs.items() if job.is_ours]

    def remove_silent(self) -> None:
        """Remove jobs of other clients that report no progress any more."""
        now = self._clock.monotonic()
        silent = [
            name for name, job in self._jobs.items() if not job.is_ours and now - job.reported_at > _SILENT_SECONDS
        ]
        for name in silent:
            self.remove_job(name)

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        self.set_class(not self._jobs, "hidden")
        columns = max(20, self.app.size.width - 4)
        shown = list(self._jobs.values())[:_ROWS]
        self.update(Content("\n").join([job_row(job, columns) for job in shown]))
