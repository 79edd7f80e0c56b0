"""Newspapers and blogs: long consent texts, author boxes, teasers, briefs, several views of one article."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tests.sites import layouts
from tests.sites.copies import copied
from tests.sites.model import Blueprint, Copy, Draft, Frame
from tests.sites.words import slug

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.sites.words import Writer

_ALL = (Copy.PRINT, Copy.AMP, Copy.UTM, Copy.SESSION, Copy.SECTION, Copy.STAMP, Copy.COUNTER, Copy.NOTE)
_CONSENT = (
    (
        '<div id="onetrust-consent-sdk"><div id="onetrust-pc-sdk" class="otPcCenter" '
        'role="alertdialog"><h2 id="ot-pc-title">Privacy Preference '
        'Center</h2><div id="ot-pc-desc">When you visit a website, it may store or retrieve information '
        "on your browser, mostly in the form of "
        "cookies. This information might concern you, your preferences or your device and mostly serves "
        "to make the site work as you expect. It "
        "does not identify you directly as a rule, but it can give you a web experience that is closer "
        "to your interests. You can choose not to allow "
        "some types of cookies. Blocking them may affect what we can offer you.</div><h3>Strictly "
        "Necessary Cookies</h3><p>These cookies are needed "
        "for the website to function and cannot be switched off in our systems. They are set in response "
        "to what you do: setting your privacy "
        "preferences, logging in or filling in forms.</p><h3>Performance Cookies</h3><p>With these "
        "cookies we count visits and sources of traffic, so that we can "
        "measure and improve our site. All information that they collect is aggregated and therefore "
        "anonymous.</p><h3>Targeting Cookies</h3><p>These "
        "cookies may be set by our advertising partners. Those companies may use them to build a profile "
        "of your interests and show you relevant "
        "advertisements on other sites.</p><h3>Vendors list</h3><p>We and our 842 partners store and "
        "access personal data on your device under "
        "legitimate interest or with your consent. You may object at any time.</p><button>Confirm My "
        "Choices</button><button>Allow All</button></div></div>"
    ),
    (
        '<div class="cmp-layer"><div class="cmp-text"><p>We value your privacy. Together with our '
        "partners we use cookies and similar technologies "
        "to store information on a device and to read it there, such as unique identifiers and standard "
        "information sent by a device. Personal data "
        "may be processed for personalised advertising and content, measurement of advertising and "
        "content, audience research and the development of "
        "services. Precise geolocation data and identification through device scanning may be used with "
        "your permission.</p><p>You can click to consent "
        "to the processing described above. Alternatively you may refuse, or look at detailed "
        "information and change your preferences before you consent. "
        "Please note that some processing of your personal data may not require your consent, but you "
        "have a right to object to it. Your preferences "
        "apply to this website only. You can change them or withdraw your consent at any time by coming "
        "back to this site and clicking on the button "
        "at the foot of the page.</p><p>Use limited data to select advertising. Create profiles for "
        "personalised advertising. Measure advertising performance. "
        "Understand audiences through statistics or combinations of data from different "
        "sources.</p></div><a>More options</a><a>Agree</a></div>"
    ),
)


def _frame(writer: Writer, name: str, *, banner: str = "") -> Frame:
    menu = writer.of(
        ("Region", "World", "Culture", "Sport", "Top stories"), ("Politics", "Business", "Opinion", "Science", "Latest")
    )
    footer = writer.of(
        f"© 2026 {name}. Reproduction of texts only with our written permission. Contact · Subscribe · Privacy",
        f"{name} is a member of the press council. Imprint · Terms of use · Newsletter",
    )
    return Frame(name, "en", menu, footer, side=writer.of("Most read", "More stories"), banner=banner)


def _articles(writer: Writer, count: int, paragraphs: int = 5, sentences: int = 3) -> list[Draft]:
    drafts = []
    for number in range(count):
        name = writer.headline()
        by = f"<p class='byline'>By {writer.person()}, {writer.date()}</p>"
        path = f"/2026/{number + 100}/{slug(name)}"
        drafts.append(
            Draft(path, name, writer.story(paragraphs, sentences), lead=by, trail=(writer.choice(("News", "Region")),))
        )
    return drafts


def consent(writer: Writer) -> Blueprint:
    """Short stories under a long consent text, the same on each page."""
    name = writer.of("The Hill Courier", "Estuary Post")
    drafts = [replace(draft, body=writer.story(1, 2)) for draft in _articles(writer, 15)]
    frame = _frame(writer, name, banner=writer.of(*_CONSENT))
    return Blueprint(f"{slug(name)}.example", frame, writer.of(layouts.blog, layouts.bootstrap), copied(drafts, _ALL))


def bios(writer: Writer) -> Blueprint:
    """Short articles joined with the long biography of their author, and the page of the author."""
    name = writer.of("Slow Science", "Market Square Letters")
    authors = [(f"{first} {writer.word('last')}", writer.text(7)) for first in writer.sample(writer.all("first"), 3)]
    drafts = []
    for number, draft in enumerate(_articles(writer, 15, 1, 3)):
        author, bio = authors[number % 3]
        box = f"<div class='about-author'><h4>About {author}</h4><p>{author} is a writer. {bio}</p></div>"
        drafts.append(replace(draft, after=box, lead=f"<p>by <a href='/a/{slug(author)}'>{author}</a></p>"))
    drafts = list(copied(drafts, _ALL, 3))
    for author, bio in authors:
        listed = "".join(
            f"<li><a href='{draft.path}'>{draft.name}</a></li>" for draft in drafts if author in draft.after
        )
        body = f"<p>{author} is a writer. {bio}</p>\n<h2>Articles by {author}</h2><ul>{listed}</ul>"
        drafts.append(Draft(f"/a/{slug(author)}", author, body, trail=("Authors",)))
    return Blueprint(
        f"{slug(name)}.example", _frame(writer, name), writer.of(layouts.blog, layouts.newspaper), tuple(drafts)
    )


def paywall(writer: Writer) -> Blueprint:
    """Teasers of two sentences above the offer of a subscription."""
    offer = writer.of(
        "<div class='offer'><h2>Read on with a subscription</h2><p>You have reached the end of the free part of "
        "this article. Subscribers read all our articles on every device, the printed edition as a file on the "
        "evening before, and the archive back to the first issue. The first month is free, and you can cancel "
        "whenever you like. Independent journalism costs money: with your subscription you pay reporters who ask "
        "questions where others copy press releases.</p><p>Already a subscriber? Log in here.</p></div>",
        "<div class='wall'><p>This text is for members. Members support our newsroom with a monthly contribution "
        "and receive every article, the weekly letter of the editors and invitations to our evenings. Choose "
        "between three amounts; all of them open the same texts. You may end your membership at the end of each "
        "month without giving a reason. Students and people without income pay half. Thank you to the nine "
        "thousand members who make our work possible.</p><p>Become a member or sign in to continue.</p></div>",
    )
    name = writer.of("Financial Lantern", "The Inquirer of the North")
    drafts = [replace(draft, body=writer.story(1, 2), after=offer) for draft in _articles(writer, 15)]
    return Blueprint(
        f"{slug(name)}.example",
        _frame(writer, name),
        writer.of(layouts.newspaper, layouts.tailwind),
        copied(drafts, _ALL, 3),
    )


def markets(writer: Writer) -> Blueprint:
    """Closing reports of a stock exchange: the same phrases with the numbers of each day."""
    drafts = []
    for day in range(18):
        level, change = writer.number(8000, 16000), writer.number(-290, 290) / 100
        rise, fall = writer.word("last"), writer.word("last")
        move = "gained" if change > 0 else "lost"
        name = (
            f"{writer.of('Market close', 'Stocks')} {day + 1} {writer.of('June', 'September')}: index {move} "
            f"{abs(change)} percent"
        )
        body = writer.of(
            f"<p>The leading index of the exchange {move} {abs(change)} percent on {day + 1} June and closed at "
            f"{level:,} points. Trading was calm, with {writer.number(30, 99)} million shares changing hands. "
            f"Shares of {rise} rose by {writer.number(2, 9)}.{day % 10} percent, while those of {fall} fell by "
            f"{writer.number(2, 9)}.{writer.number(0, 9)} percent. The currency was quoted at "
            f"{writer.number(90, 120) / 100} dollars, and the price of oil stood at "
            f"{writer.number(60, 99)}.{writer.number(10, 99)} dollars a barrel.</p>",
            f"<p>On {day + 1} September the board of shares ended the session at {level:,}, "
            f"{'up' if change > 0 else 'down'} {abs(change)} percent from the day before. Analysts pointed to the "
            f"data on employment. At the top of the table stood {rise} with plus {writer.number(2, 9)} percent, "
            f"at its foot {fall} with minus {writer.number(2, 9)} percent. Ten-year bonds yielded "
            f"{writer.number(100, 400) / 100} percent; gold cost {writer.number(1800, 2900):,} an ounce.</p>",
        )
        drafts.append(Draft(f"/markets/2026-{day + 101}", name, body, trail=("Markets",)))
    name = writer.of("Exchange Daily", "Quay Street Brief")
    return Blueprint(
        f"{slug(name)}.example",
        _frame(writer, name),
        writer.of(layouts.newspaper, layouts.blog),
        copied(drafts, (Copy.AMP, Copy.UTM, Copy.PRINT), 5),
    )


def weather(writer: Writer) -> Blueprint:
    """Forecasts of a few sentences for many towns on one day."""
    places = writer.all("place")[:20]
    drafts = []
    for place in places:
        low, high = writer.number(-4, 9), writer.number(10, 29)
        sky = writer.choice(("sunny", "cloudy", "rainy", "windy", "misty"))
        body = writer.of(
            f"<p>The weather in {place}: today it will be {sky} with a high of {high} °C and a low of {low} °C. "
            f"The wind blows from the west at {writer.number(5, 60)} km/h, and the chance of rain is "
            f"{writer.number(1, 19) * 5} percent. The sun rises at 6:{writer.number(10, 59)} and sets at "
            f"20:{writer.number(10, 59)}.</p>",
            f"<p>Forecast for {place} and its surroundings. The day begins {sky}; around noon the thermometer "
            f"shows {high} degrees. At night the air cools down to {low} degrees. Gusts reach "
            f"{writer.number(20, 80)} kilometres an hour. Pollen: {writer.choice(('low', 'medium', 'high'))}. "
            f"Humidity: {writer.number(30, 95)} percent.</p>",
        )
        table = f"<table><tr><td>Low</td><td>{low}°</td></tr><tr><td>High</td><td>{high}°</td></tr></table>"
        drafts.append(
            Draft(f"/weather/{slug(place)}", f"Weather in {place}", f"{body}\n{table}", trail=("Weather", place))
        )
    name = writer.of("Skywatch", "Barometer Online")
    return Blueprint(
        f"{slug(name)}.example",
        _frame(writer, name),
        writer.of(layouts.tailwind, layouts.bootstrap),
        copied(drafts, (Copy.UTM, Copy.SESSION, Copy.SECTION), 4),
    )


def matches(writer: Writer) -> Blueprint:
    """Match reports in set phrases, with a table of the goals."""
    drafts = []
    teams = writer.all("place")
    for number in range(16):
        home, away = writer.sample(teams, 2)
        goals, against = writer.number(0, 4), writer.number(0, 4)
        scorer, other = writer.person(), writer.person()
        body = writer.of(
            f"<p>{home} and {away} met on matchday {number + 1} in front of {writer.number(900, 9000):,} "
            f"spectators. After a cautious start {scorer} had the first chance in minute {writer.number(3, 40)}. "
            f"Before the break the goalkeeper saved a free kick of {other}. The second half was open, and in the "
            f"end it was {goals}:{against}. “We take what we can get,” said the coach. Next week {home} plays "
            f"away, and {away} receives the leader of the table.</p>",
            f"<p>Final score in {home}: {goals}:{against} against {away}. The referee, {writer.person()}, showed "
            f"{writer.number(0, 7)} yellow cards. {scorer} was chosen as the player of the match number "
            f"{number + 1}; {other} left the field injured after {writer.number(10, 80)} minutes. The guests had "
            "more of the ball, the hosts had the better chances. The sold-out ground celebrated with "
            f"{writer.number(800, 9000)} fans until late in the night.</p>",
        )
        table = f"<table><tr><td>{home}</td><td>{goals}</td></tr><tr><td>{away}</td><td>{against}</td></tr></table>"
        drafts.append(
            Draft(
                f"/match/{number + 500}",
                f"{home} – {away} {goals}:{against}",
                f"{table}\n{body}",
                trail=("League", f"Matchday {number + 1}"),
            )
        )
    name = writer.of("Corner Flag", "Second Half")
    return Blueprint(
        f"{slug(name)}.example",
        _frame(writer, name),
        writer.of(layouts.blog, layouts.newspaper),
        copied(drafts, _ALL, 4),
    )


def multipage(writer: Writer) -> Blueprint:
    """Long articles on three pages each, and the view of all on one page."""
    drafts = []
    for draft in _articles(writer, 4):
        parts = [writer.story(4) for _ in range(3)]
        for number, part in enumerate(parts, 1):
            pager = (
                f"<div class='pager'>Page {number} of 3 <a href='{draft.path}?page={number % 3 + 1}'>Next</a> <a "
                f"href='{draft.path}?view=all'>Single page</a></div>"
            )
            drafts.append(
                replace(
                    draft,
                    path=f"{draft.path}/{number}",
                    body=part,
                    after=pager,
                    copies=(Copy.UTM,) if number == 1 else (),
                )
            )
        drafts.append(replace(draft, path=f"{draft.path}/all", body="".join(parts), copies=(Copy.PRINT, Copy.AMP)))
    name = writer.of("Long Form Weekly", "The Reader's Review")
    return Blueprint(
        f"{slug(name)}.example", _frame(writer, name), writer.of(layouts.newspaper, layouts.blog), tuple(drafts)
    )


def views(writer: Writer) -> Blueprint:
    """Articles of usual length, each with several copies of every kind."""
    drafts = [replace(draft, copies=tuple(writer.sample(_ALL, 3))) for draft in _articles(writer, 10, 6)]
    name = writer.of("Dockside Gazette", "Plateau News")
    return Blueprint(
        f"{slug(name)}.example", _frame(writer, name), writer.of(layouts.newspaper, layouts.blog), tuple(drafts)
    )


def reprints(writer: Writer) -> Blueprint:
    """Agency articles on three hosts, each with its template; some have another headline or a note."""
    hosts = (
        ("echo.example", layouts.newspaper),
        ("tribune.example", layouts.bootstrap),
        ("valley-online.example", layouts.elementor),
    )
    drafts = []
    for number, draft in enumerate(_articles(writer, 10, 6)):
        for place, (host, layout) in enumerate(hosts[writer.odd :] + hosts[: writer.odd]):
            name = writer.headline() if (number + place) % 3 == 1 else draft.name
            source = f"<p>This article was first published by {hosts[0][0]}.</p>" if place == 2 else ""
            path = f"/{writer.number(10_000, 99_999)}/{slug(name)}"
            drafts.append(
                replace(draft, path=path, name=name, content=draft.path, host=host, layout=layout, after=source)
            )
    return Blueprint(
        "echo.example",
        _frame(writer, writer.of("Echo Network", "Union of Local Papers")),
        layouts.newspaper,
        tuple(drafts),
    )


def widgets(writer: Writer) -> Blueprint:
    """Posts of a page builder: the paragraphs stand in widgets, and the only h1 is that of the blog."""
    drafts = _articles(writer, 12, 4)
    name = writer.of("Potter's Diary", "Letters from the Workshop")
    return Blueprint(
        f"{slug(name)}.example",
        _frame(writer, name),
        layouts.elementor,
        copied(_subheaded(drafts), _ALL, 3),
        one_h1=True,
    )


def utilities(writer: Writer) -> Blueprint:
    """Posts in utility classes that cut what overflows, or show a part to wide screens only."""
    drafts = _articles(writer, 12, 4)
    box = writer.of('<div class="rounded overflow-hidden">', '<div class="mt-4 block lg:hidden">')
    hidden = [
        replace(draft, body=draft.body.replace("<p>", f"{box}<p>").replace("</p>", "</p></div>")) for draft in drafts
    ]
    name = writer.of("Ship It Weekly", "The Startup Garden")
    return Blueprint(
        f"{slug(name)}.example",
        _frame(writer, name),
        layouts.tailwind,
        copied(_subheaded(hidden), _ALL, 3),
        one_h1=True,
    )


def _subheaded(drafts: list[Draft]) -> list[Draft]:
    return [replace(draft, body=f"<h2>{draft.name}</h2>\n{draft.body}") for draft in drafts]


KINDS: Mapping[str, Callable[[Writer], Blueprint]] = {
    "consent": consent,
    "bios": bios,
    "paywall": paywall,
    "markets": markets,
    "weather": weather,
    "matches": matches,
    "multipage": multipage,
    "views": views,
    "reprints": reprints,
    "elementor": widgets,
    "tailwind": utilities,
}
