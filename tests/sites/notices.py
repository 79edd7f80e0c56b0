"""Advertisements and lists of one publisher: jobs, events, flats, a directory, timetables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.sites import layouts
from tests.sites.copies import copied
from tests.sites.model import Blueprint, Copy, Draft, Frame
from tests.sites.words import slug

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.sites.words import Writer

_WAYS = (Copy.UTM, Copy.PRINT, Copy.STAMP, Copy.SECTION, Copy.SESSION, Copy.AMP)


def _frame(name: str, side: str, *menu: str) -> Frame:
    return Frame(name, "en", menu, f"© 2026 {name} · Imprint · Privacy · All rights reserved.", side=side)


def _table(*rows: tuple[str, ...]) -> str:
    return (
        "<table>" + "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows) + "</table>"
    )


def jobs(writer: Writer) -> Blueprint:
    """Advertisements of one agency: role, town, pay and reference differ."""
    roles = writer.half(
        [
            "Warehouse Clerk",
            "Forklift Driver",
            "Site Electrician",
            "Payroll Assistant",
            "Night Porter",
            "Welder",
            "Lab Technician",
            "Bus Driver",
            "Receptionist",
            "Machine Operator",
            "Bookkeeper",
            "Kitchen Porter",
            "Quality Inspector",
            "Scaffolder",
            "Data Analyst",
            "Cleaner",
        ]
    )
    text = writer.of(
        "<p>For a well known client in {town} we are looking for a {role} to start as soon as possible. As one "
        "of the largest agencies of the region we have placed people for thirty years. You will be part of a "
        "friendly team, work with modern equipment and receive a contract without a limit from the first "
        "day.</p>\n<h3>What we offer</h3><ul><li>Weekly pay of {pay} per hour</li><li>Twenty-eight days of paid "
        "leave and a pension</li><li>Training, working clothes and a free medical check</li><li>A person in our "
        "branch who answers your questions</li></ul>\n<h3>How to apply</h3><p>Send your papers with the "
        "reference {ref} to our branch, or come by without an appointment. We answer every application within "
        "three days and treat it in confidence. We welcome applications from people of every age, origin and "
        "ability.</p>",
        "<p>{role} ({town})</p>\n<p>Our customer is a family business that values its staff. You bring "
        "experience or the wish to learn, you are reliable and you like to get things done. In return you get a "
        "secure place, short ways and colleagues who help. The place is to be filled at {pay} per hour from "
        "{date}.</p>\n<p>About us: since its foundation our company has brought people and firms together. "
        "Twelve branches look after more than two thousand employees. Fair pay by collective agreement, "
        "supplements for nights and Sundays, and holiday money are a matter of course. Apply in two minutes, "
        "even without a covering letter, and mention number {ref}. Your personal data are kept for six months "
        "and then erased.</p>",
    )
    drafts = []
    for number in range(24):
        role, town, ref = roles[number % len(roles)], writer.word("place"), writer.code(3, 5)
        body = text.format(role=role, town=town, pay=writer.price(12, 39), ref=ref, date=writer.date())
        lead = (
            "<ul "
            f"class='facts'><li>{town}</li><li>{writer.choice(('Full time', 'Part time', 'Shifts'))}</li><li>Ref. "
            f"{ref}</li></ul>"
        )
        drafts.append(
            Draft(
                f"/jobs/{slug(role)}-{slug(town)}-{ref.lower()}",
                f"{role} in {town}",
                body,
                lead=lead,
                trail=("Jobs", town),
            )
        )
    name = writer.of("Castor Staffing", "Brightline Personnel")
    frame = _frame(name, "Similar jobs", "Jobs", "For employers", "Branches", "Advice", "About")
    return Blueprint(
        f"jobs.{slug(name)}.example", frame, writer.of(layouts.bootstrap, layouts.tailwind), copied(drafts, _WAYS)
    )


def events(writer: Writer) -> Blueprint:
    """One play, twenty evenings: date, hour and hall differ."""
    play, text = writer.of(
        (
            "The Clockmaker's Daughter",
            (
                "<p>A girl grows up among clocks that all show another hour, until a stranger asks her for the "
                "right one. The comedy by the young author of the house was invited to three festivals and "
                "returns to the stage in a new cast. Two actors play eleven parts, a cellist accompanies them, "
                "and in the end somebody stops the pendulum. The play lasts two hours with one interval and is "
                "suitable for children from ten years.</p>"
            ),
        ),
        (
            "Salt Road",
            (
                "<p>Three carters, a mule and a barrel that nobody may open are on their way to the sea. What "
                "begins as a farce ends as a story about debts. The ensemble has rehearsed it for a year, built "
                "every prop itself and composed the songs. There is no interval. Late comers are admitted after "
                "the first song only. Wheelchair places can be reserved at the box office.</p>"
            ),
        ),
    )
    drafts = []
    for number in range(20):
        day, hour = (
            f"{1 + number} {writer.of('October', 'March')} 2026",
            f"{writer.choice((15, 18, 19, 20))}:{writer.choice(('00', '30'))}",
        )
        facts = _table(
            ("Date", day),
            ("Begin", hour),
            ("Hall", writer.choice(("Great Stage", "Studio", "Foyer"))),
            ("Tickets", f"{writer.price(9, 60)} €"),
        )
        body = f"<p>{day}, {hour}</p>\n{text}\n{facts}" if writer.odd else f"{facts}\n{text}"
        drafts.append(
            Draft(f"/events/{slug(play)}/{number + 1:03}", f"{play} – {day}", body, trail=("Programme", play))
        )
    name = writer.of("Theatre at the Weir", "Old Tram Depot Stage")
    frame = _frame(name, "More dates", "Programme", "Tickets", "Ensemble", "House", "Contact")
    return Blueprint(
        f"{slug(name)}.example", frame, writer.of(layouts.elementor, layouts.newspaper), copied(drafts, _WAYS, 5)
    )


def flats(writer: Writer) -> Blueprint:
    """Flats of one landlord: address, rooms, size and rent differ, in a list of facts."""
    text = writer.of(
        "<p>The flat is in a well kept house of the nineteen-sixties near shops, schools and a tram stop. It was "
        "renovated before it was let again; the bathroom has a window and the kitchen has connections for your "
        "own appliances. A cellar belongs to it, and bicycles are kept in a locked yard. Viewings by appointment "
        "only. We let without commission and ask for a deposit of three rents.</p>",
        "<p>A bright home with oiled floors and a balcony towards the garden. Heating and hot water come from "
        "the district network. The caretaker lives in the house next door. Pets are welcome after consultation. "
        "Please bring proof of income and a copy of your identity card to the viewing, which we arrange by "
        "telephone. The offer is subject to change and prior letting.</p>",
    )
    drafts = []
    for _ in range(20):
        street, rooms, size = (
            f"{writer.word('place')} Street {writer.number(1, 140)}",
            writer.number(1, 5),
            writer.number(24, 130),
        )
        facts = {
            "Rooms": str(rooms),
            "Area": f"{size} m²",
            "Rent": f"{writer.number(380, 1900)} €",
            "Floor": str(writer.number(0, 6)),
            "Free from": writer.date(),
        }
        listed = "<dl>" + "".join(f"<dt>{key}</dt><dd>{value}</dd>" for key, value in facts.items()) + "</dl>"
        name = writer.of(f"{rooms} rooms, {size} m², {street}", f"{street}: {size} m² with {rooms} rooms")
        drafts.append(
            Draft(
                f"/flat/{writer.code(1, 5).lower()}",
                name,
                writer.of(f"{listed}\n{text}", f"{text}\n{listed}"),
                trail=("Rent",),
            )
        )
    name = writer.of("Kolbe Homes", "Nordhof Housing")
    frame = _frame(name, "More flats", "Rent", "Buy", "Tenants", "Company")
    return Blueprint(
        f"www.{slug(name)}.example", frame, writer.of(layouts.tailwind, layouts.bootstrap), copied(drafts, _WAYS, 5)
    )


def directory(writer: Writer) -> Blueprint:
    """Entries of a directory: name, address and telephone above the same words of advice."""
    advice = writer.of(
        "<p>Is this your business? Claim the entry to add pictures, opening hours and your offers. Entries are "
        "checked by hand, which takes up to a week. If an address is wrong, please tell us, so that other "
        "visitors find the way. We do not recommend any business and do not accept payment for better places in "
        "the list.</p>",
        "<p>Our register lists practices and offices by town. We copy the details from public sources and cannot "
        "promise that they are current, so please call before you go. In an emergency, dial the general number. "
        "Reviews are written by visitors and do not reflect our opinion. Report a closed business with the form "
        "at the foot of the page.</p>",
    )
    drafts = []
    for _ in range(20):
        town, trade = (
            writer.word("place"),
            writer.choice(
                writer.half(["Dentist", "Locksmith", "Notary", "Florist", "Optician", "Roofer", "Vet", "Tailor"])
            ),
        )
        name = f"{writer.word('last')} &amp; {writer.word('last')} {trade}"
        address = f"{writer.number(1, 99)} {writer.word('noun').capitalize()} Lane, {town}"
        facts = _table(
            ("Address", address),
            ("Telephone", f"0{writer.number(200, 999)} {writer.number(10000, 99999)}"),
            ("Opened", str(writer.number(1950, 2020))),
        )
        drafts.append(
            Draft(
                f"/{slug(town)}/{slug(name)}-{writer.number(100, 999)}",
                f"{name}, {town}",
                f"{facts}\n{advice}",
                trail=(town, trade),
            )
        )
    name = writer.of("Townfinder", "The Local Register")
    frame = _frame(name, "Nearby", "Health", "Craft", "Law", "Shops")
    return Blueprint(
        f"{slug(name)}.example", frame, writer.of(layouts.bootstrap, layouts.tables), copied(drafts, _WAYS, 5)
    )


def timetables(writer: Writer) -> Blueprint:
    """Timetables of one bus company: stops and times differ, and the notes are the same."""
    notes = writer.of(
        "<p>Times in italics are on schooldays only. On public holidays buses run as on Sundays. Please be at "
        "the stop three minutes early and signal to the driver. Bicycles are carried when there is room. Tickets "
        "are sold on the bus and online.</p>",
        "<p>No service on the first day of the year. A reservation is needed for groups of ten or more. "
        "Connections are not guaranteed when a bus is late. Lost property is kept at the depot for a month. This "
        "timetable replaces all earlier ones.</p>",
    )
    drafts = []
    for line in range(15):
        stops = writer.sample(writer.all("place"), 8)
        rows = [(stop, *(f"{hour:02}:{writer.number(0, 59):02}" for hour in range(6, 12))) for stop in stops]
        number = 10 + 7 * line + writer.number(0, 6)
        name = f"Line {number}: {stops[0]} – {stops[-1]}"
        drafts.append(Draft(f"/lines/{number}", name, f"{_table(*rows)}\n{notes}", trail=("Timetables",)))
    name = writer.of("Valley Buses", "Coast Line Transport")
    frame = _frame(name, "Other lines", "Timetables", "Tickets", "News", "Jobs")
    return Blueprint(
        f"{slug(name)}.example", frame, writer.of(layouts.tables, layouts.bootstrap), copied(drafts, _WAYS, 4)
    )


KINDS: Mapping[str, Callable[[Writer], Blueprint]] = {
    "jobs": jobs,
    "events": events,
    "flats": flats,
    "directory": directory,
    "timetables": timetables,
}
