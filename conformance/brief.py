"""Reports of a worker that tell the outcome of a case and no more."""

from __future__ import annotations

import pytest
from _pytest.runner import runtestprotocol


class Brief:
    """The plugin object of a worker whose controller looks at nothing but outcomes.

    pytest-xdist sends six messages for each case, which wake the controller as often: more work
    than that of most cases. The report of the teardown has the outcome; failures stop a run early.
    """

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Run a case with its set-up and teardown."""
        for report in runtestprotocol(item, log=False, nextitem=nextitem):
            if report.failed or report.when == "teardown":
                item.ihook.pytest_runtest_logreport(report=report)
        return True
