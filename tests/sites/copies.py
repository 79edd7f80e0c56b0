"""Copies of a page on its own host."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.sites.model import Copy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.sites.model import Draft
    from tests.sites.words import Writer

_styling = re.compile(r' (?:style|class|id|onclick)="[^"]*"')

_STAMPS = (
    "<p>Updated {date}, {hour}:{minute:02}. Read {count} times.</p>",
    "<p>Last modified {hour}:{minute:02} on {date} · {count} views</p>",
)
_STAMPS_ZH = (
    "<p>更新时间：{date} {hour}:{minute:02}　阅读：{count}次</p>",
    "<p>{date} {hour}:{minute:02} 更新，{count}人看过</p>",
)
_COUNTERS = (
    "<p>{count} people found this helpful. Comments ({few})</p>",
    "<p>{few} comments · shared {count} times</p>",
)
_COUNTERS_ZH = ("<p>阅读 {count}　评论 {few}</p>", "<p>已有{count}人浏览，{few}条评论</p>")
_TAILS = ("<p>{date} {hour}:{minute:02}</p>", "<div>{date}, {hour}:{minute:02}</div>")
_NOTES = (
    "<p>Note: an earlier version of this page had a wrong link in its last line.</p>",
    "<p>This page was checked by our editors and last reviewed on {date}.</p>",
)
_NOTES_ZH = ("<p>编者注：本页链接已更正。</p>", "<p>本页内容于{date}经编辑核对。</p>")


def stripped(html: str) -> str:
    """Remove what only styles a page."""
    return _styling.sub("", html)


def with_line(draft: Draft, how: Copy, writer: Writer, *, zh: bool) -> Draft:
    """Add the stamp, counter or note of a copy; all other copies keep their text."""
    lines = {
        Copy.STAMP: (_STAMPS, _STAMPS_ZH),
        Copy.COUNTER: (_COUNTERS, _COUNTERS_ZH),
        Copy.NOTE: (_NOTES, _NOTES_ZH),
        Copy.TAIL: (_TAILS, _TAILS),
    }
    if how not in lines:
        return draft
    line = writer.of(*lines[how][zh]).format(
        date=writer.date(),
        hour=writer.number(1, 23),
        minute=writer.number(0, 59),
        count=writer.number(300, 9000),
        few=writer.number(2, 99),
    )
    return replace(draft, body=f"{line}\n{draft.body}" if how is Copy.STAMP else f"{draft.body}\n{line}")


def url_of(url: str, how: Copy, writer: Writer) -> str:
    """Return the URL of a copy."""
    if how is Copy.SCHEME:
        return url.replace("https:", "http:")
    if how is Copy.MOBILE:
        return url.replace("://www.", "://m.")
    endings = {
        Copy.PRINT: "?print=1",
        Copy.AMP: "?amp=1",
        Copy.UTM: f"?utm_source=mail&utm_medium=email&utm_campaign={writer.number(100, 999)}",
        Copy.SESSION: f"?sid={writer.chance.getrandbits(64):016x}",
        Copy.SECTION: "?from=section",
        Copy.STAMP: f"?v={writer.number(2, 9)}",
        Copy.COUNTER: f"?ref={writer.number(10, 99)}",
        Copy.NOTE: "?rev=2",
        Copy.TAIL: "?d=1",
    }
    return url + endings[how]


def copied(drafts: Sequence[Draft], ways: Sequence[Copy], every: int = 4) -> tuple[Draft, ...]:
    """Give every nth draft a copy, each made in the next of the ways."""
    return tuple(
        replace(draft, copies=(ways[number // every % len(ways)],)) if number % every == 0 else draft
        for number, draft in enumerate(drafts)
    )
