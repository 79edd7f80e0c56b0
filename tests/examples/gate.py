"""A gate before the articles of the demo web: what two workers do must not depend on who is quicker."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING

from dedupcrawl.tools.demo import server
from tests.examples.project import TRUTH, WAIT

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

_ARTICLES = {truth.path for truth in TRUTH.values() if not truth.is_index}


class Gate:
    """Knows workers by their ``User-Agent``, and counts which of them asked for how many articles.

    Args:
        patch: gives the web its doors back.
        agents: that it cares for.
        lets: whether an agent gets the n-th article that it asks for; asked again whenever somebody asks.
    """

    def __init__(self, patch: pytest.MonkeyPatch, agents: set[str], lets: Callable[[Gate, str, int], bool]) -> None:
        self.asked: Counter[str] = Counter()
        self._agents = agents
        self._lets = lets
        self._news = threading.Condition()
        answer = server._SiteHandler.do_GET

        def do_get(handler: server._SiteHandler) -> None:
            agent = handler.headers["User-Agent"] or ""
            if agent in self._agents and handler.path in _ARTICLES:
                self._stand(agent)
            answer(handler)

        patch.setattr(server._SiteHandler, "do_GET", do_get)

    def _stand(self, agent: str) -> None:
        with self._news:
            self.asked[agent] += 1
            number = self.asked[agent]
            self._news.notify_all()
            self._news.wait_for(lambda: self._lets(self, agent, number), WAIT)
