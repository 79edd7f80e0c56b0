"""Copies of a page on its own host."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.sites.model import Copy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.sites.model import Draft, Frame
    from tests.sites.words import Writer

_captions = re.compile(r"<figcaption>.*?</figcaption>", re.DOTALL)
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
_FOOTERS = (
    "<p>This page was printed from {url} on {date}.</p>",
    "<p>Printed by a guest of {site}. The page is online at {url}</p>",
)
_FOOTERS_ZH = ("<p>本页由{site}打印，网址：{url}</p>", "<p>打印自{site} {url}（{date}）</p>")
_MORE = ("<p>Read more: {other}</p>", "<p>Also on {site}: {other}</p>")
_MORE_ZH = ("<p>相关阅读：{other}</p>", "<p>推荐：{other}</p>")
_APP = ("<p>Open this page in our app for larger pictures.</p>", "<p>Get the {site} app and save your favourites.</p>")
_APP_ZH = ("<p>打开手机客户端，查看更多精彩内容</p>", "<p>下载{site}客户端，阅读体验更佳</p>")
_ARCHIVED = (
    "<p>You are looking at an archived page. It is no longer updated and may be out of date.</p>",
    "<p>Archive: this content was moved here from our former site.</p>",
)
_ARCHIVED_ZH = ("<p>此为历史归档页面，内容不再更新。</p>", "<p>提示：本页为旧版网站存档。</p>")
_TRANSLATED = (
    "<p>This page is also available in German, Polish and Welsh.</p>",
    "<p>Translated by volunteers. In case of doubt the original wording applies.</p>",
)
_TRANSLATED_ZH = ("<p>本页另有英文版和日文版。</p>", "<p>本文由志愿者翻译，以原文为准。</p>")
_NOTES_ZH = ("<p>编者注：本页链接已更正。</p>", "<p>本页内容于{date}经编辑核对。</p>")


_ABOVE = (Copy.STAMP, Copy.ARCHIVED, Copy.TRANSLATED)  #: their line stands above the text
_WITHOUT_CAPTIONS = (Copy.FOOTED, Copy.READ_MORE, Copy.APP)


def stripped(html: str) -> str:
    """Remove what only styles a page."""
    return _styling.sub("", html)


def with_line(draft: Draft, how: Copy, writer: Writer, frame: Frame, url: str) -> Draft:
    """Add the stamp, counter or note of a copy, and remove what a view lacks; all other copies keep their text."""
    zh = frame.language.startswith("zh")
    lines = {
        Copy.STAMP: (_STAMPS, _STAMPS_ZH),
        Copy.COUNTER: (_COUNTERS, _COUNTERS_ZH),
        Copy.NOTE: (_NOTES, _NOTES_ZH),
        Copy.TAIL: (_TAILS, _TAILS),
        Copy.FOOTED: (_FOOTERS, _FOOTERS_ZH),
        Copy.READ_MORE: (_MORE, _MORE_ZH),
        Copy.APP: (_APP, _APP_ZH),
        Copy.ARCHIVED: (_ARCHIVED, _ARCHIVED_ZH),
        Copy.TRANSLATED: (_TRANSLATED, _TRANSLATED_ZH),
    }
    if how not in lines:
        return draft
    line = writer.of(*lines[how][zh]).format(
        date=writer.date(),
        hour=writer.number(1, 23),
        minute=writer.number(0, 59),
        count=writer.number(300, 9000),
        few=writer.number(2, 99),
        url=url,
        site=frame.name,
        other=writer.headline(zh=zh),
    )
    body = _captions.sub("", draft.body) if how in _WITHOUT_CAPTIONS else draft.body
    return replace(draft, body=f"{line}\n{body}" if how in _ABOVE else f"{body}\n{line}")


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
        Copy.FOOTED: "?view=print",
        Copy.READ_MORE: "?amp",
        Copy.APP: "?app=0",
        Copy.ARCHIVED: "?archive=1",
        Copy.TRANSLATED: "?lang=en",
    }
    return url + endings[how]


def copied(drafts: Sequence[Draft], ways: Sequence[Copy], every: int = 4) -> tuple[Draft, ...]:
    """Give every nth draft a copy, each made in the next of the ways."""
    return tuple(
        replace(draft, copies=(ways[number // every % len(ways)],)) if number % every == 0 else draft
        for number, draft in enumerate(drafts)
    )
