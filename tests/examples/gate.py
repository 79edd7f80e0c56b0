"""Delays requests for articles of the demo web, so that results do not depend on which worker is faster."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING

from dedupcrawl.tools.demo import sites
from tests.examples.project import TRUTH, WAIT

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

_ARTICLES = {truth.path for truth in TRUTH.values() if not truth.is_index}


class Gate:
    """Identifies workers by ``User-Agent``, and counts the articles that each requested.

    Args:
        patch: restores the handler of the servers at the end.
        agents: the user agents to delay.
        lets: whether an agent gets its n-th article; called again at every request.
    """

    def __init__(self, patch: pytest.MonkeyPatch, agents: set[str], lets: Callable[[Gate, str, int], bool]) -> None:
        self.asked: Counter[str] = Counter()
        self.agents = agents
        self.lets = lets
        self.news = threading.Condition()
        answer = sites._SiteHandler.do_GET

        def do_get(handler: sites._SiteHandler) -> None:
            agent = handler.headers["User-Agent"] or ""
            if agent in self.agents and handler.path in _ARTICLES:
                self.wait(agent)
            answer(handler)

        patch.setattr(sites._SiteHandler, "do_GET", do_get)

    def wait(self, agent: str) -> None:
        with self.news:
            self.asked[agent] += 1
            number = self.asked[agent]
            self.news.notify_all()
            self.news.wait_for(lambda: self.lets(self, agent, number), WAIT)
