"""How far a run of the suite is."""

from __future__ import annotations

from .counting import CountingBar
from .outcome import Outcome
from .settings import Settings


class Progress(CountingBar):
    """Shows on stderr how far a run is; in a log each failure as it comes, too."""

    def __init__(self, settings: Settings, *, visible: bool) -> None:
        super().__init__(settings.device, "cases", "failed", None, visible=visible)

    def seen(self, outcome: Outcome) -> None:
        """Count a case."""
        self.advance(f"{outcome.verdict.value}: {outcome.case}" if outcome.failed else "")
