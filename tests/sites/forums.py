"""Forums and questions: threads of phpBB and Discuz!, answers with votes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.sites import layouts
from tests.sites.copies import copied
from tests.sites.model import Blueprint, Copy, Draft, Frame
from tests.sites.words import slug

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.sites.words import Writer

_WAYS = (Copy.SESSION, Copy.UTM, Copy.PRINT, Copy.SECTION)


def phpbb(writer: Writer) -> Blueprint:
    """Threads of short posts between heads full of links; every member has a long signature."""
    members = [(writer.word("first") + str(writer.number(1, 99)), writer.text(2)) for _ in range(5)]
    drafts = []
    for number in range(14):
        posts = "".join(
            _post(writer, number * 10 + place, *writer.choice(members), writer.text(writer.number(1, 3)))
            for place in range(writer.number(2, 5))
        )
        topic = writer.headline()
        lead = f"{writer.number(2, 40)} posts • Page 1 of 1"
        drafts.append(
            Draft(f"/viewtopic.php/t{number + 700}", topic, posts, lead=lead, trail=("Board index", "General"))
        )
    name = writer.of("Old Engines Forum", "Allotment Board")
    frame = Frame(
        name,
        "en",
        ("General", "Market", "Off topic", "FAQ", "Unread posts"),
        "Powered by a forum software. All times are UTC.",
        side="Similar topics",
    )
    return Blueprint(f"forum.{slug(name)}.example", frame, layouts.phpbb, copied(drafts, _WAYS, 3))


def _post(writer: Writer, number: int, member: str, signature: str, text: str) -> str:
    return (
        f'<div id="p{number}" class="post has-profile bg2"><div class="inner"><dl '
        f'class="postprofile"><dt><a href="/u/{member}">{member}</a></dt>'
        f'<dd class="profile-posts"><strong>Posts:</strong> <a '
        f'href="/s/{member}">{writer.number(3, 9000)}</a></dd><dd><strong>Joined:</strong> '
        f"{writer.date()}</dd></dl>"
        f'<div class="postbody"><p class="author"><a href="#p{number}">Post</a> by <a '
        f'href="/u/{member}">{member}</a> » {writer.date()} </p>'
        f'<div class="content">{text}</div><div class="signature">{signature}</div></div></div></div>\n'
    )


def discuz(writer: Writer) -> Blueprint:
    """Threads in Chinese: the posts stand in tables beside the figures of their authors."""
    drafts = []
    for number in range(14):
        posts = "".join(_floor(writer, number * 10 + floor, floor) for floor in range(1, writer.number(2, 5)))
        topic = writer.headline(zh=True)
        lead = f"查看: <b>{writer.number(90, 9000)}</b> | 回复: <b>{writer.number(1, 90)}</b>"
        drafts.append(Draft(f"/thread-{number + 2100}-1-1.html", topic, posts, lead=lead, trail=("论坛", "本地杂谈")))
    name = writer.of("江畔论坛", "老街社区")
    frame = Frame(
        name,
        "zh-CN",
        ("首页", "本地杂谈", "二手市场", "摄影", "帮助"),
        "Powered by 论坛程序 © 2026 | 站点统计 | 举报",
        side="相关帖子",
    )
    return Blueprint(f"bbs{writer.of('jiangpan', 'laojie')}.example", frame, layouts.discuz, copied(drafts, _WAYS, 3))


def _floor(writer: Writer, number: int, floor: int) -> str:
    member = writer.zh("name")
    return (
        f'<div id="post_{number}"><table class="plhin" cellspacing="0"><tr><td class="pls" '
        f'rowspan="2"><div class="pi"><a href="/u/{number}">{member}</a></div>'
        f'<p><a href="/m/{number}">{writer.number(1, 400)}</a>主题 <a '
        f'href="/g/{number}">{writer.number(1, 900)}</a>帖子 <a href="/c">{writer.number(1, 9000)}</a>积分'
        f"</p></td>"
        f'<td class="plc"><div class="pi"><em>发表于 {writer.date()}</em> | <a href="?only={number}">只看'
        f"该作者</a> {floor}#</div>"
        f'<div class="pct"><table><tr><td class="t_f" '
        f'id="m_{number}">{writer.text(writer.number(1, 3), zh=True)}</td></tr></table></div></td></tr>'
        f"</table></div>\n"
    )


def questions(writer: Writer) -> Blueprint:
    """Questions with two answers, and the rules of the house below each."""
    rules = writer.of(
        "<div><p>Your answer: by posting you agree that your text may be shared under the licence of this site. "
        "Please answer the question instead of asking another one, avoid opinions that you cannot back up, and "
        "be kind to newcomers. Images need a description in words.</p></div>",
        "<div><p>Know better? Add an answer below. Good answers explain why and name their sources. Thanks, "
        "jokes and advertisements are removed by our volunteers. Members with more than fifty points may edit "
        "the texts of others; every edit can be undone for a month.</p></div>",
    )
    drafts = []
    for number in range(15):
        thing, noun = writer.word("thing"), writer.word("noun")
        name = writer.of(
            f"Why does my {writer.word('adj')} {thing} not fit the {noun} of {writer.word('place')}?",
            f"Best way to clean a {thing} in a {writer.word('adj')} {noun}, step {number}?",
        )
        answers = "".join(
            f"<div class='answer' id='a{number}{place}'><div "
            f"class='vote'>{writer.number(0, 99)}</div><p>{writer.text(2)}</p><span>answered by <a "
            f"href='/u/{place}'>{writer.person()}</a></span></div>\n"
            for place in range(2)
        )
        body = f"<p>{writer.text(2)}</p>\n<h2>2 Answers</h2>\n{answers}"
        drafts.append(
            Draft(f"/questions/{number + 4000}/{slug(name)[:40]}", name, body, after=rules, trail=("Questions",))
        )
    name = writer.of("Ask the Attic", "Knowhow Exchange")
    frame = Frame(
        name,
        "en",
        ("Questions", "Tags", "Users", "Unanswered", "Help"),
        "Site design © 2026. User texts under their licence.",
        side="Linked questions",
    )
    return Blueprint(
        f"{slug(name)}.example",
        frame,
        writer.of(layouts.bootstrap, layouts.tailwind),
        copied(drafts, (*_WAYS, Copy.COUNTER), 3),
    )


KINDS: Mapping[str, Callable[[Writer], Blueprint]] = {"phpbb": phpbb, "discuz": discuz, "questions": questions}
