"""Notices and services of authorities, agencies and schools, whose wording is the same on all pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.sites import layouts
from tests.sites.copies import copied
from tests.sites.model import Blueprint, Copy, Draft, Frame, Layout
from tests.sites.words import listed, slug

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.sites.words import Writer

_WAYS = (Copy.PRINT, Copy.UTM, Copy.MOBILE, Copy.SESSION, Copy.SECTION, Copy.AMP, Copy.SCHEME)
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
_ORDINALS = listed(
    "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|"
    "thirteenth|fourteenth|fifteenth|sixteenth|seventeenth|eighteenth|nineteenth|twentieth"
)
_MONTHS = listed("January|February|March|April|May|June|July|August|September|October|November|December")


_COURSES = listed(
    "Bookkeeping|Watercolours|Typewriting|Beekeepers' law|Welding|Calligraphy|Sign language|"
    "Pottery wheels|Upholstery|Photography|Accordion|Navigation|Woodturning|Esperanto|Juggling|"
    "Mushroom lore|Bridge bidding|Sourdough|Origami|Astronomy|Stained glass|Morse code|Knots|"
    "Bonsai|Lacemaking|Fencing|Shorthand|Cheesemaking|Puppetry|Genealogy"
)


def _site(
    writer: Writer,
    name: str,
    layout: Layout,
    drafts: Sequence[Draft],
    ways: Sequence[Copy] = _WAYS,
    *,
    one_h1: bool = False,
) -> Blueprint:
    menu = tuple(writer.of(("Services", "News", "Council", "Contact"), ("Home", "Topics", "Find us", "Press")))
    frame = Frame(name, "en", menu, f"© 2026 {name}", side=writer.of("Other pages", "Elsewhere on this site"))
    return Blueprint(f"www.{slug(name)}.example", frame, layout, copied(drafts, ways, 2), one_h1=one_h1)


def memorials(writer: Writer) -> Blueprint:
    """Obituaries of one funeral home: name, dates and family differ in a standing wording."""
    heading = writer.of("In loving memory", "Obituary")
    line = writer.of(
        "{0}, aged {1}, of {2}, passed away peacefully on {3}. Loved by {4} and {5}, and by all who knew the family.",
        "It is with sadness that we announce the death of {0} of {2} on {3} at the age of {1}. {4} and {5} survive.",
    )
    rest = writer.story(2, 4)
    drafts = []
    for number, first in enumerate(writer.sample(writer.all("first"), 16)):
        name = f"{first} {writer.word('last')}"
        when = f"{writer.number(1, 28)} {writer.choice(_MONTHS)}"
        text = line.format(
            name, writer.number(61, 99), writer.word("place"), when, writer.word("first"), writer.person()
        )
        path = f"/obituary/{number + 310}"
        drafts.append(Draft(path, name, f"<h2>{name}</h2><p>{text}</p>{rest}", heading=heading, title=name))
    return _site(writer, writer.of("Hollow Oak Funerals", "Greene and Sons"), layouts.blog, drafts)


def branches(writer: Writer) -> Blueprint:
    """A service in many towns: one heading and title, the town stands in running text only."""
    heading = writer.of("Emergency plumber near you", "Your local locksmith")
    lines = writer.of(
        (
            "When a pipe bursts in {0}, our van is on its way within the hour.",
            "Our people know the streets of {0} and park where nobody else finds a place.",
            "Ask your neighbours in {0} how we work, or call us for a free estimate.",
        ),
        (
            "Locked out in {0}? We open doors without damage, by day and by night.",
            "For customers in {0} the journey is free, and the price is agreed before we start.",
            "We have worked in {0} for many years and are members of the guild.",
        ),
    )
    more = [writer.text(4) for _ in lines]
    drafts = []
    for number, town in enumerate(writer.sample(writer.all("place"), 18)):
        body = "".join(f"<p>{line.format(town)} {rest}</p>\n" for line, rest in zip(lines, more, strict=True))
        drafts.append(Draft(f"/area/{number + 1}", f"{heading} {town}", body, heading=heading, title=heading))
    return _site(writer, writer.of("Pipewell", "Keyhole Brothers"), layouts.elementor, drafts, (*_WAYS, Copy.TAIL))


def menus(writer: Writer) -> Blueprint:
    """The menus of a canteen: a date in words, three short dishes, a long text on allergens."""
    heading = writer.of("Today in the canteen", "Lunch menu")
    dishes = writer.half(
        listed(
            "lentil soup|fish pie|onion tart|rice pudding|pea stew|baked apple|potato salad|leek quiche|"
            "bean chilli|plum crumble|roast squash|egg curry|mushroom toast|barley broth|carrot cake|"
            "spinach lasagne"
        )
    )
    rest = writer.story(3, 4)
    drafts = []
    for number, ordinal in enumerate(_ORDINALS):
        day = f"{_DAYS[number % len(_DAYS)]}, the {ordinal} of {writer.choice(_MONTHS)}"
        items = "".join(f"<li>{dish.capitalize()}</li>" for dish in writer.sample(dishes, 3))
        body = f"<p>{day}</p><ul>{items}</ul>{rest}"
        drafts.append(Draft(f"/menu?id={number + 100}", f"Menu {number}", body, heading=heading, title=heading))
    drafts = [Draft(d.path.replace("?id=", "/"), d.name, d.body, heading=heading, title=heading) for d in drafts]
    return _site(writer, writer.of("Riverside School", "County Offices Canteen"), layouts.bootstrap, drafts)


def tariffs(writer: Writer) -> Blueprint:
    """Schedules of fees of districts: one row of fifty differs, and the name of the district."""
    heading = writer.of("Schedule of fees", "Table of charges")
    rows = [(f"{writer.word('adj')} {writer.word('thing')}".capitalize(), writer.price(5, 400)) for _ in range(50)]
    about = writer.text(4)
    drafts = []
    for number, town in enumerate(writer.sample(writer.all("place"), 14)):
        own = list(rows)
        at = writer.number(0, 49)
        own[at] = (own[at][0], writer.price(401, 900))
        table = "".join(f"<tr><td>{what}</td><td>{fee}</td></tr>" for what, fee in own)
        body = f"<p>{writer.of('District', 'Valid in')}: {town}</p><p>{about}</p><table>{table}</table>"
        drafts.append(Draft(f"/fees/{number}", f"{heading} {town}", body, heading=heading, title=heading))
    return _site(writer, writer.of("Registry of Deeds", "Harbour Board"), layouts.newspaper, drafts)


def access(writer: Writer) -> Blueprint:
    """What stations offer: equal lists with other ticks and crosses."""
    heading = writer.of("Facilities of this station", "Access for passengers")
    items = writer.of(
        "Lift|Ramp|Toilets|Waiting room|Ticket desk|Taxi rank|Car park|Bicycle racks|Help point|Step-free exit",
        "Escalator|Handrail|Baby change|Shelter|Machine|Bus stop|Set-down area|Lockers|Induction loop|Wide gate",
    ).split("|")
    about = writer.story(2, 4)
    seen: set[str] = set()
    drafts: list[Draft] = []
    while len(drafts) < 16:
        marks = "".join(writer.choice("✓✗") for _ in items)
        if marks in seen:
            continue
        seen.add(marks)
        listed = "".join(f"<li>{mark} {item}</li>" for mark, item in zip(marks, items, strict=True))
        town = writer.word("place")
        body = f"<p>{writer.of('Station', 'Stop')}: {town}</p><ul>{listed}</ul>{about}"
        path = f"/station/{len(drafts) + 1}"
        drafts.append(Draft(path, f"{town} {len(drafts)}", body, heading=heading, title=heading))
    return _site(writer, writer.of("Valley Trains", "Coastal Rail"), layouts.tailwind, drafts)


def rulings(writer: Writer) -> Blueprint:
    """Decisions of an ombudsman: the number of the case, and whether the word "not" is there."""
    reasons = [writer.story(3, 4) for _ in range(6)]
    heading = writer.of("Decision of the ombudsman", "Ruling on a complaint")
    line = writer.of("The complaint against {} is {}upheld.", "We do {1}accept what the customer says about {0}.")
    drafts = []
    for reason in reasons:
        bank = writer.word("place") + writer.of(" Bank", " Mutual")
        for no in ("", "not "):
            case = writer.code(3, 6)
            body = f"<p>{case}</p>{reason}<p>{line.format(bank, no)}</p>"
            drafts.append(Draft(f"/decision/{slug(case)}", f"Case {case}", body, heading=heading, title=heading))
    return _site(writer, writer.of("Savings Ombudsman", "Complaints Board"), layouts.tables, drafts)


def warnings(writer: Writer) -> Blueprint:
    """Warnings of floods: area, river and hour differ in a standing wording."""
    heading = writer.of("Flood alert", "Storm warning")
    line = writer.of(
        "River levels are rising at {0}. Flooding of low-lying land is possible from {1}. The next update is at {2}.",
        "Gusts are expected around {0} between {1} and {2}. Loose objects may be blown about.",
    )
    rest = writer.story(3, 4)
    drafts = []
    for number in range(18):
        hours = f"{writer.number(0, 11)} am", f"{writer.number(1, 11)} pm"
        body = f"<p>{line.format(writer.word('place'), *hours)}</p>{rest}"
        drafts.append(Draft(f"/alert/{number}", f"Alert {number}", body, heading=heading, title=heading))
    return _site(writer, writer.of("River Agency", "Met Desk"), layouts.bootstrap, drafts)


def routes(writer: Writer) -> Blueprint:
    """Lines by direction: the same stops in the other order."""
    about = writer.story(2, 3)
    drafts = []
    for line in range(1, 8):
        stops = writer.sample(writer.all("place"), 9)
        for way in (stops, stops[::-1]):
            rows = "".join(f"<tr><td>{stop}</td><td>every {5 + line} minutes</td></tr>" for stop in way)
            name = f"Line {line} towards {way[-1]}"
            body = f"<table>{rows}</table>{about}"
            drafts.append(Draft(f"/line/{line}/{slug(way[-1])}", name, body))
    return _site(writer, writer.of("City Buses", "Tramways"), layouts.newspaper, drafts)


def recalls(writer: Writer) -> Blueprint:
    """Recalls of goods: the only h1 is the agency's name; model and lot differ."""
    rest = writer.story(3, 4)
    line = writer.of(
        "{0} recalls the {1} {2}, lot {3}, because its handle may break.",
        "Please return the {1} {2} by {0} (lot {3}) to the shop: the plug can become hot.",
    )
    drafts = []
    for number in range(18):
        thing = writer.word("thing")
        model = writer.code(2, 3)
        title = f"{thing.capitalize()} {model}"
        body = f"<p>{line.format(writer.word('last'), thing, model, writer.number(1000, 9999))}</p>{rest}"
        drafts.append(Draft(f"/recall/{number + 70}", title, body))
    return _site(writer, writer.of("Product Safety Office", "Recall Watch"), layouts.bootstrap, drafts, one_h1=True)


def forms(writer: Writer) -> Blueprint:
    """Forms in two columns: the subject differs, most fields and all explanations do not."""
    subjects = writer.half(
        listed(
            "dog licence|street party|skip permit|market stall|parking bay|tree felling|busking|"
            "burial plot|boat mooring|allotment|bonfire|scaffold|taxi badge|library card|school place|"
            "bus pass|noise complaint|shop sign|pavement café|road closure|drain cover|beach hut|"
            "fishing permit|food stall"
        )
    )
    labels = writer.of(
        "Surname|First name|Street|Town|Postcode|Telephone|Date of birth", "Name|Address|E-mail|Mobile|Signature"
    )
    fields = "".join(f'<div class="col-6"><label>{label}</label><input></div>' for label in labels.split("|"))
    rest = writer.story(2, 4)
    line = writer.of("Use this form if you want to apply for a {}.", "Fill in the fields below. Subject: {}.")
    drafts = []
    for number, subject in enumerate(subjects):
        body = f"<p>{line.format(subject)}</p><form><div class='row'>{fields}</div></form>{rest}"
        drafts.append(
            Draft(f"/form/{number + 20}", f"Apply: {subject}", body, heading=writer.of("Online form", "Application"))
        )
    return _site(writer, writer.of("Borough Council", "Parish Office"), layouts.tailwind, drafts)


def courses(writer: Writer) -> Blueprint:
    """A program in the browser: one title for all pages, the h1 is the logo; names stand in plain parts."""
    app = writer.of("LearnHub", "StudyBase")
    rest = writer.story(2, 4)
    drafts = []
    for number, name in enumerate(_COURSES[writer.odd :: 2]):
        meta = f"{writer.person()} · {writer.number(3, 40)} h"
        body = f'<div class="c-name">{name}</div><div class="c-meta">{meta}</div>{rest}'
        drafts.append(Draft(f"/app/course/{number + 900}", name, body, heading=f'<a href="/">{app}</a>', title=app))
    return _site(writer, app, layouts.tailwind, drafts)


KINDS: Mapping[str, Callable[[Writer], Blueprint]] = {
    "memorials": memorials,
    "branches": branches,
    "menus": menus,
    "tariffs": tariffs,
    "access": access,
    "rulings": rulings,
    "warnings": warnings,
    "routes": routes,
    "recalls": recalls,
    "forms": forms,
    "courses": courses,
}
