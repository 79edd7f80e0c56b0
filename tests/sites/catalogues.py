"""Series of near-equal pages: shades, volumes, strengths, papers, games, verses, species, charts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.sites import layouts
from tests.sites.copies import copied
from tests.sites.model import Blueprint, Copy, Draft, Frame, Layout
from tests.sites.words import listed, slug

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.sites.words import Writer

_WAYS = (Copy.UTM, Copy.PRINT, Copy.TAIL, Copy.MOBILE, Copy.SESSION, Copy.AMP, Copy.SCHEME, Copy.SECTION)
_ROMAN = listed("I|II|III|IV|V|VI|VII|VIII|IX|X|XI|XII|XIII|XIV|XV|XVI|XVII|XVIII|XIX|XX")


def _site(
    writer: Writer,
    name: str,
    layout: Layout,
    drafts: Sequence[Draft],
    ways: Sequence[Copy] = _WAYS,
    *,
    one_h1: bool = False,
) -> Blueprint:
    menu = tuple(writer.of(("New in", "Browse", "Help", "About us"), ("Start", "All items", "Service", "Contact")))
    frame = Frame(name, "en", menu, f"© 2026 {name}", side=writer.of("More of this", "See also"))
    return Blueprint(f"www.{slug(name)}.example", frame, layout, copied(drafts, ways, 2), one_h1=one_h1)


def swatches(writer: Writer) -> Blueprint:
    """One cloth in many colours: a word of the name differs, the price and the text do not."""
    colours = writer.half(
        listed(
            "ochre|teal|rust|sage|ivory|plum|navy|coral|slate|moss|denim|wine|sand|mint|black|olive|"
            "cherry|lilac|cream|indigo|amber|pearl|copper|fern|brick|smoke"
        )
    )
    cloth = writer.of("Linen curtain fabric", "Velvet upholstery cloth")
    line = writer.of(
        "Our {} comes from a family mill and is sold by the metre; this bolt is {}.",
        "The {} on this page was dyed {} in the yarn and is cut to the length that you need.",
    )
    care, price = writer.story(3, 4), writer.price(20, 60)
    drafts = [
        Draft(
            f"/p/{700 + number}",
            f"{cloth}, {colour}",
            f"<p>{line.format(cloth.lower(), colour)}</p>{care}",
            lead=f'<p class="price">{price}</p>',
        )
        for number, colour in enumerate(colours)
    ]
    return _site(writer, writer.of("Mill and Loom", "Cloth Yard"), layouts.shop, drafts)


def reels(writer: Writer) -> Blueprint:
    """Equal numbers with other units."""
    units = (("50", "m"), ("50", "ft"), ("50", "yd"))
    gauges = (("6", "mm"), ("6", "in"), ("8", "mm"), ("8", "ga"), ("10", "mm"))
    kind = writer.of("Steel wire rope", "Braided hose")
    line = writer.of(
        "This {} has a diameter of {} {} and comes on a reel of {} {}.",
        "You order {} of {} {} thickness, wound in lengths of {} {}.",
    )
    rest = writer.story(3, 4)
    drafts: list[Draft] = []
    for size, gauge in gauges:
        for length, unit in units:
            text = line.format(kind.lower(), size, gauge, length, unit)
            table = (
                f"<table><tr><td>Size</td><td>{size} {gauge}</td></tr><tr><td>Reel</td><td>{length} {unit}</td></tr>"
            )
            name = f"{kind} {size} {gauge}, {length} {unit}"
            drafts.append(Draft(f"/item/{len(drafts) + 31}", name, f"<p>{text}</p>{table}</table>{rest}"))
    return _site(writer, writer.of("Rigging Store", "Hose Depot"), layouts.bootstrap, drafts)


def volumes(writer: Writer) -> Blueprint:
    """The volumes of one work: a Roman numeral differs."""
    work = writer.of("The Chronicle of the Northern Towns", "Letters of a Country Surveyor")
    line = writer.of("This is volume {} of the complete edition.", "You are looking at part {} of the whole set.")
    rest = writer.story(3, 4)
    drafts = [
        Draft(f"/book/{number + 4400}", f"{work} {roman}", f"<p>{line.format(roman)}</p>{rest}", lead="<p>Cloth</p>")
        for number, roman in enumerate(_ROMAN)
    ]
    return _site(writer, writer.of("Old Stack Books", "Quarto Corner"), layouts.blog, drafts)


def gallery(writer: Writer) -> Blueprint:
    """Pictures of one collection: only the picture and its alternative text differ."""
    heading = writer.of("From our collection", "Picture of the archive")
    rest = writer.story(2, 4)
    drafts = []
    for number in range(14):
        what = f"{writer.word('adj')} {writer.word('thing')} beside a {writer.word('noun')} in {writer.word('place')}"
        picture = f'<figure><img src="/pictures/{writer.code()}.jpg" alt="{what}" width="900"></figure>'
        path = f"/picture/{number + 51}"
        drafts.append(Draft(path, f"Picture {number + 51}", picture + rest, heading=heading, title=heading))
    ways = (Copy.UTM, Copy.SESSION, Copy.SCHEME)
    return _site(writer, writer.of("Town Museum", "Photo Cellar"), layouts.newspaper, drafts, ways)


def dosages(writer: Writer) -> Blueprint:
    """Leaflets of medicines: one text for all strengths of a medicine, one wording for all medicines."""
    names = writer.half(listed("Amlovan|Bisoprex|Candelor|Doxafil|Enalix|Furosan|Glimerol|Hydrelan|Ibetan|Losavex"))
    uses = writer.sample(("raised blood pressure", "heart failure", "oedema", "angina", "type 2 diabetes"), 5)
    line = writer.of(
        "{0} {1} mg tablets contain {1} mg of the active substance and are used to treat {2}.",
        "Each tablet of {0} {1} mg has {1} mg of active substance; your doctor prescribes it against {2}.",
    )
    rest = writer.story(5, 4)
    drafts = []
    for name, use in zip(names, uses, strict=True):
        for strength in writer.sample(("2.5", "5", "10", "20", "40"), 3):
            title = f"{name} {strength} mg tablets"
            body = f"<h2>{writer.of('What it is', 'In short')}</h2><p>{line.format(name, strength, use)}</p>{rest}"
            drafts.append(Draft(f"/leaflet/{slug(title)}", title, body))
    return _site(writer, writer.of("Leaflet Finder", "Medicine Compass"), layouts.tailwind, drafts)


def songs(writer: Writer) -> Blueprint:
    """Songs of one book with one refrain: the lines of the verses differ."""
    refrain = "<br>".join(writer.sentence() for _ in range(6))
    drafts = []
    for number in range(14):
        verses = ["<br>".join(writer.sentence() for _ in range(2)) for _ in range(3)]
        body = "".join(f"<p>{verse}</p><p><i>{refrain}</i></p>\n" for verse in verses)
        drafts.append(
            Draft(f"/song/{number + 1}", writer.headline(), body, title=writer.of("Lyrics", "Words of a song"))
        )
    return _site(writer, writer.of("Shanty Book", "Carol Sheets"), layouts.blog, drafts)


def papers(writer: Writer) -> Blueprint:
    """Examination papers by year: one heading, equal instructions, questions with other numbers."""
    heading = writer.of("Mathematics: past paper", "Physics: examination paper")
    rules = writer.story(2, 4)
    asked = writer.of(
        "A train of {} wagons needs {} minutes for {} km. Work out its mean speed.",
        "A body of mass {} kg slides {} m down a slope in {} seconds. Find its acceleration.",
    )
    again = writer.of(
        "Show your working and give units with each of your answers.", "Draw a diagram where it helps you."
    )
    drafts = []
    for year in range(2006, 2022):
        questions = "".join(
            f"<li>{asked.format(*(writer.number(2, 90) for _ in range(3)))} {again}</li>" for _ in range(3)
        )
        body = f"<p>{writer.of('Summer', 'June session')} {year}</p>{rules}<ol>{questions}</ol>"
        drafts.append(Draft(f"/papers/{year}", f"Paper {year}", body, heading=heading, title=heading))
    return _site(writer, writer.of("Paper Chest", "Exam Shelf"), layouts.manual, drafts)


def chess(writer: Writer) -> Blueprint:
    """The games of one match: equal opening, players and notes; the later moves differ."""
    players = f"{writer.person()} – {writer.person()}"
    opening = "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3 O-O"
    notes = writer.story(2, 4)
    drafts = []
    for number in range(1, 17):
        moves = " ".join(f"{turn}. {_move(writer)} {_move(writer)}" for turn in range(9, writer.number(20, 40)))
        result = writer.choice(("1-0", "0-1", "½-½"))
        body = f"<p>Round {number}</p><div class='pgn'>{opening} {moves} {result}</div>{notes}"
        drafts.append(Draft(f"/match/game{number}.html", f"Game {number}", body, heading=players, title=players))
    return _site(writer, writer.of("Endgame Archive", "Open File Chess"), layouts.tables, drafts)


def _move(writer: Writer) -> str:
    return writer.choice("NBRQK") + writer.choice(("", "x")) + writer.choice("abcdefgh") + str(writer.number(1, 8))


def patents(writer: Writer) -> Blueprint:
    """Patents of one family: equal titles and descriptions, a few words of the claims differ."""
    title = writer.of("Apparatus for sorting parcels", "Device for drying fruit")
    description = writer.story(6, 4)
    claim = writer.of(
        "The apparatus of claim {}, wherein the {} {} is coupled to the {}.",
        "The device as claimed in claim {}, in which a {} {} is arranged beside the {}.",
    )
    drafts = []
    for _ in range(12):
        number = f"{writer.number(8, 11)},{writer.number(100, 999)},{writer.number(100, 999)}"
        claims = "".join(
            f"<li>{claim.format(at, writer.word('adj'), writer.word('thing'), writer.word('noun'))}</li>"
            for at in range(1, 4)
        )
        body = f"<p>US {number} B2</p>{description}<h2>Claims</h2><ol>{claims}</ol>"
        drafts.append(
            Draft(f"/patent/US{number.replace(',', '')}", f"{title} {number}", body, heading=title, title=title)
        )
    return _site(writer, writer.of("Patent Reading Room", "Claims Index"), layouts.bootstrap, drafts)


def errors(writer: Writer) -> Blueprint:
    """Codes of errors: the code and a short name differ, cause and remedy are one text."""
    cause, remedy = writer.story(2, 4), writer.story(2, 4)
    line = writer.of("The system reports {} when it cannot go on.", "You see {} in the log of the service.")
    drafts = []
    for _ in range(18):
        code = f"0x{writer.chance.getrandbits(32) | 0x80000000:08X}"
        body = f"<p>{line.format(f'<code>{code}</code>')}</p><h2>Cause</h2>{cause}<h2>Remedy</h2>{remedy}"
        drafts.append(Draft(f"/ref/{code}", f"Error {code}", body, title=writer.of("Error reference", "Codes")))
    return _site(writer, writer.of("Runtime Manual", "Service Handbook"), layouts.manual, drafts)


def verses(writer: Writer) -> Blueprint:
    """Verses in parallel translations over one introduction."""
    book, about = writer.of("Maro", "Tesh"), writer.story(3, 4)
    drafts = []
    for verse in range(1, 19):
        line = writer.sentence()
        words = line.split()
        forms = (line, " ".join([words[0], "verily", *words[1:]]), " ".join([*words[:-1], "indeed,", words[-1]]))
        rows = "".join(f"<tr><th>{name}</th><td>{form}</td></tr>" for name, form in zip("ABC", forms, strict=True))
        drafts.append(Draft(f"/v/{book.lower()}/3/{verse}", f"{book} 3:{verse}", f"<table>{rows}</table>{about}"))
    return _site(writer, writer.of("Parallel Verses", "Interlinear"), layouts.tables, drafts)


def species(writer: Writer) -> Blueprint:
    """Stubs of a wiki: one sentence of facts, and a note that says that the article is short."""
    family = writer.of("Cerambycidae", "Noctuidae")
    fact = writer.of(
        "{} is a species of beetle in the family {}. It was described by {} in {}.",
        "{} is a moth of the {} family. {} described the species in {}.",
    )
    genera = writer.half(listed("Acanthor|Batocer|Callidus|Dorcadix|Exocent|Glenea|Hesper|Leptura|Monoch|Oberea"))
    drafts = []
    for _ in range(20):
        name = (
            f"{writer.choice(genera)} {writer.choice(('alba', 'nigra', 'minor', 'rufa', 'lata', 'grandis', 'dubia'))}"
        )
        name += writer.choice(("", "ta", "nus", "lis", "ceps"))
        text = fact.format(f"<i><b>{name}</b></i>", family, writer.word("last"), writer.number(1790, 1990))
        box = f'<table class="infobox"><tr><th>{name}</th></tr><tr><td>{family}</td></tr></table>'
        stub = (
            f"<p>{writer.of('This article is a stub. You can help by expanding it.', 'Please add to this page.')}</p>"
        )
        drafts.append(Draft(f"/wiki/{name.replace(' ', '_')}", name, f"{box}<p>{text}</p>{stub}"))
    drafts = list({draft.path: draft for draft in drafts}.values())
    return _site(writer, writer.of("Insect Wiki", "Mothpedia"), layouts.newspaper, drafts)


def charts(writer: Writer) -> Blueprint:
    """Weekly charts: the same entries in another order."""
    entries = [f"{writer.person()} – {writer.word('adj')} {writer.word('thing')}" for _ in range(20)]
    about = writer.text(4)
    heading = writer.of("The top twenty", "Radio chart")
    drafts = []
    for week in range(1, 16):
        rows = "".join(f"<li>{entry}</li>" for entry in writer.sample(entries, len(entries)))
        drafts.append(
            Draft(f"/chart/{week}", f"Week {week}", f"<ol>{rows}</ol><p>{about}</p>", heading=heading, title=heading)
        )
    return _site(
        writer, writer.of("Chart Room", "Radio Four Winds"), layouts.elementor, drafts, (Copy.UTM, Copy.SESSION)
    )


KINDS: Mapping[str, Callable[[Writer], Blueprint]] = {
    "swatches": swatches,
    "reels": reels,
    "volumes": volumes,
    "gallery": gallery,
    "dosages": dosages,
    "songs": songs,
    "papers": papers,
    "chess": chess,
    "patents": patents,
    "errors": errors,
    "verses": verses,
    "species": species,
    "charts": charts,
}
