from __future__ import annotations

from dedupcrawl.report.drawing_hosts import draw_hosts
from dedupcrawl.report.figures import Flow


def test_hosts_that_are_not_named_stand_behind_those_that_are() -> None:
    """They are one line however many pages they have, and however many hosts are left out here."""
    flows = [Flow("(others)", "(others)", 9), Flow("a", "b", 2), Flow("c", "b", 1), Flow("d", "(others)", 4)]
    whole, short = draw_hosts(flows), draw_hosts(flows, most=1)
    assert whole is not None
    assert short is not None
    assert (whole.columns, whole.sums) == (("b", ""), (3, 13))
    assert [(row.host, row.pages) for row in whole.rows] == [("d", 4), ("a", 2), ("c", 1), ("", 9)]
    assert [(row.host, row.pages) for row in short.rows] == [("d", 4), ("", 12)]
