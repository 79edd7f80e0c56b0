"""Pages that differ in a word, a move, an hour or a tick, and views that add some lines and lack others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.sites import layouts
from tests.sites.copies import copied
from tests.sites.model import Blueprint, Copy, Draft, Frame, Layout
from tests.sites.words import listed, slug

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.sites.words import Writer

_WAYS = (Copy.FOOTED, Copy.READ_MORE, Copy.APP, Copy.ARCHIVED, Copy.TRANSLATED, Copy.STAMP)
_DAYS = listed("Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday")
_HOURS = listed("eight|nine|ten|eleven|twelve|one|two|three|four|five|six|seven")


def _site(
    writer: Writer, name: str, layout: Layout, drafts: Sequence[Draft], heading: str, *, language: str = "en"
) -> Blueprint:
    menu = tuple(writer.of(("Overview", "Search", "About", "Contact"), ("Home", "Index", "Help", "Imprint")))
    side = writer.of("Other pages", "Nearby")
    if language != "en":
        menu, side = tuple(writer.of(("首页", "办事", "公开", "互动"), ("主页", "服务", "动态", "联系"))), "相关"
    frame = Frame(name, language, menu, f"© 2026 {name}", side=side)
    host = f"www.{slug(name)}.example" if name.isascii() else writer.of("www.dating.example", "zwfw.example")
    # One heading and one title: only the text tells the pages apart.
    named = [Draft(each.path, each.name, each.body, heading=heading, title=heading) for each in drafts]
    return Blueprint(host, frame, layout, copied(named, _WAYS, 2))


def _picture(writer: Writer, *, zh: bool = False) -> str:
    """Return a picture with a caption, which is the same on all pages."""
    return (
        f'<figure><img src="/img/{writer.code()}.jpg" alt=""><figcaption>{writer.text(1, zh=zh)}</figcaption></figure>'
    )


def openings(writer: Writer) -> Blueprint:
    """Openings of chess: of six moves the last ones differ."""
    lines = writer.half(
        listed(
            "Bb5 a6|Bc4 Bc5|d4 exd4|Nc3 Nf6|c3 d5|Be2 d6|g3 g6|Bb5 Nd4|Bc4 Nf6|d4 Nxd4|Nc3 Bb4|c3 Nf6|Be2 Be7|g3 d5|"
            "Bb5 f5|Bc4 h6|d3 d6|Nc3 g6|c3 f5|Be2 Nf6|g3 Bc5|Bb5 Bc5|Bc4 d6|d3 f5|h3 d6|a3 Nf6"
        )
    )
    heading = writer.of("Opening explorer", "Lines of the open game")
    line = writer.of("The game begins 1. e4 e5 2. Nf3 Nc6 3. {}.", "After 1. e4 e5 2. Nf3 Nc6 the line goes on 3. {}.")
    picture, rest = _picture(writer), writer.story(2, 4)
    drafts = [
        Draft(f"/eco/{number}", moves, f"<p>{line.format(moves)}</p>{picture}{rest}")
        for number, moves in enumerate(lines, 60)
    ]
    return _site(writer, writer.of("Open File Chess", "Rook and Pawn"), layouts.newspaper, drafts, heading)


def tides(writer: Writer) -> Blueprint:
    """Tide tables of ports: hours and heights differ, and the port."""
    heading, picture, rest = writer.of("Tide table", "Tides today"), _picture(writer), writer.story(3, 4)
    line = writer.of("High and low water at {} in local time.", "The water at {} rises and falls as follows.")
    drafts = []
    for number, port in enumerate(writer.sample(writer.all("place"), 14)):
        rows = "".join(
            f"<tr><td>{what}</td><td>{writer.number(0, 23)}:{writer.number(10, 59)}</td>"
            f"<td>{writer.number(0, 6)}.{writer.number(0, 9)} m</td></tr>"
            for what in ("High", "Low", "High", "Low")
        )
        drafts.append(Draft(f"/port/{number}", port, f"<p>{line.format(port)}</p><table>{rows}</table>{picture}{rest}"))
    return _site(writer, writer.of("Harbour Pilot", "Sea Almanac"), layouts.bootstrap, drafts, heading)


def answers(writer: Writer) -> Blueprint:
    """Answers of a test: the letter of the right one, and a word."""
    heading, picture, rest = writer.of("Answer and explanation", "Solution"), _picture(writer), writer.story(2, 5)
    line = writer.of(
        "The right answer is {}: the {} belongs to the {}.", "Choose {}. The word that is asked for is {}, not {}."
    )
    drafts = [
        Draft(
            f"/q/{number}",
            f"Question {number}",
            f"<p>{line.format(writer.choice('ABCD'), thing, noun)}</p>{picture}{rest}",
        )
        for number, (thing, noun) in enumerate(
            zip(writer.sample(writer.all("thing"), 14), writer.sample(writer.all("noun"), 14), strict=True), 1
        )
    ]
    return _site(writer, writer.of("Driving Test Trainer", "Grammar Desk"), layouts.tailwind, drafts, heading)


def stops(writer: Writer) -> Blueprint:
    """Stops of buses: the name of the stop, and equipment as ticks."""
    heading, picture, rest = writer.of("Your stop", "Departures and stops"), _picture(writer), writer.story(2, 4)
    line = writer.of("This is the stop {}.", "You are looking at {}.")
    what = writer.of(("Shelter", "Seats", "Timetable", "Light"), ("Roof", "Bench", "Display", "Ramp"))
    names = writer.sample([f"{place} {noun}" for place in writer.all("place") for noun in writer.all("noun")], 16)
    drafts = []
    for number, name in enumerate(names, 300):
        ticks = "".join(f"<li>{writer.choice('✓✗')} {each}</li>" for each in what)
        drafts.append(Draft(f"/stop/{number}", name, f"<p>{line.format(name)}</p><ul>{ticks}</ul>{picture}{rest}"))
    return _site(writer, writer.of("Valley Buses", "Tram and Bus"), layouts.blog, drafts, heading)


def ingredients(writer: Writer) -> Blueprint:
    """Ingredients of products of one baker: one list, with one or two other words."""
    heading = writer.of("Ingredients and allergens", "What is in it")
    first = writer.of("Wheat flour, water, {}, salt, {}, yeast.", "Contains rye flour, {}, sugar, {}, butter and salt.")
    pool = writer.half(
        listed(
            "rapeseed oil|malt extract|honey|skimmed milk|sesame|linseed|potato starch|whey|oats|walnuts|"
            "almonds|hazelnuts|poppy seeds|caraway|sunflower seeds|barley malt|soya|cream|egg yolk|cocoa|raisins|figs"
        )
    )
    pairs = writer.sample([(one, two) for one in pool for two in pool if one < two], 16)
    picture, rest = _picture(writer), writer.story(2, 4)
    drafts = [
        Draft(f"/product/{number}", f"Loaf {number}", f"<p>{first.format(*pair)}</p>{picture}{rest}")
        for number, pair in enumerate(pairs, 40)
    ]
    return _site(writer, writer.of("Old Mill Bakery", "Daily Bread"), layouts.shop, drafts, heading)


def services(writer: Writer) -> Blueprint:
    """Services of parishes: day, hour in words, and who leads them."""
    heading, picture, rest = writer.of("Next service", "Worship this week"), _picture(writer), writer.story(3, 4)
    line = writer.of(
        "On {0} at {1} o'clock, {2} leads the service in the parish church.",
        "{2} invites you to morning prayer on {0} at {1}.",
    )
    drafts = [
        Draft(
            f"/parish/{number}",
            f"Parish {number}",
            f"<p>{line.format(writer.choice(_DAYS), writer.choice(_HOURS), writer.person())}</p>{picture}{rest}",
        )
        for number in range(16)
    ]
    return _site(writer, writer.of("Diocese of the Weir", "United Parishes"), layouts.elementor, drafts, heading)


def skies(writer: Writer) -> Blueprint:
    """Weather of towns in one sentence: the town, or the sky over it."""
    heading, picture, rest = writer.of("The weather", "Sky and wind"), _picture(writer), writer.story(2, 5)
    sky = writer.half(listed("sunny|cloudy|overcast|foggy|rainy|stormy|clear|hazy|drizzling|snowy"))
    line = writer.of("In {} it will be {} tomorrow.", "Tomorrow {} can expect a {} day.")
    pairs = [(town, each) for town in writer.all("place")[:6] for each in sky[:3]]
    drafts = [
        Draft(f"/town/{number}", f"Town {number}", f"<p>{line.format(*pair)}</p>{picture}{rest}")
        for number, pair in enumerate(pairs)
    ]
    return _site(writer, writer.of("Weather Cock", "Cloud and Sun"), layouts.tables, drafts, heading)


def windows(writer: Writer) -> Blueprint:
    """Counters of a Chinese office: the officer and the place differ in one sentence."""
    heading, picture, rest = writer.of("办事指南", "窗口信息"), _picture(writer, zh=True), writer.story(3, 4, zh=True)
    line = writer.of("本窗口由{}负责，地点在{}。", "{}在{}受理本项业务。")
    pairs: dict[tuple[str, str], None] = {}
    while len(pairs) < 16:
        pairs[writer.zh("name"), writer.zh("place") + writer.zh("noun")] = None
    drafts = [
        Draft(f"/ck/{number}.html", f"窗口{number}", f"<p>{line.format(*pair)}</p>{picture}{rest}")
        for number, pair in enumerate(pairs, 1)
    ]
    return _site(
        writer, writer.of("石桥县政务服务", "东山市政务大厅"), layouts.portal_zh, drafts, heading, language="zh-CN"
    )


def stories(writer: Writer) -> Blueprint:
    """Short items of news with a picture, each with a heading of its own: here only views are of interest."""
    drafts = []
    for number in range(16):
        body = writer.story(2, 5) + _picture(writer) + writer.story(2, 5)
        drafts.append(Draft(f"/brief/{number}", writer.headline(), body))
    name = writer.of("The Weir Messenger", "Evening Lantern")
    menu = tuple(writer.of(("News", "Sport", "Culture", "Letters"), ("Town", "County", "World", "Opinion")))
    frame = Frame(name, "en", menu, f"© 2026 {name}", side=writer.of("Read also", "Most read"))
    return Blueprint(f"www.{slug(name)}.example", frame, layouts.newspaper, copied(drafts, _WAYS, 1))


def notices_zh(writer: Writer) -> Blueprint:
    """Short notices in Chinese under headings of their own, with a picture."""
    drafts = []
    for number in range(16):
        body = writer.story(2, 5, zh=True) + _picture(writer, zh=True) + writer.story(2, 5, zh=True)
        drafts.append(Draft(f"/tz/{number}.htm", writer.headline(zh=True), body))
    name = writer.of("柳河水利", "金屏新闻")
    frame = Frame(name, "zh-CN", ("首页", "要闻", "公告", "服务"), f"版权所有 {name}", side="推荐阅读")
    host = writer.of("www.lhsl.example", "news.jp.example")
    return Blueprint(host, frame, layouts.portal_zh, copied(drafts, _WAYS, 1))


KINDS: Mapping[str, Callable[[Writer], Blueprint]] = {
    "openings": openings,
    "tides": tides,
    "answers": answers,
    "stops": stops,
    "ingredients": ingredients,
    "services": services,
    "skies": skies,
    "windows": windows,
    "stories": stories,
    "notices-zh": notices_zh,
}
