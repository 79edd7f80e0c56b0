"""Shops: parts by size, variants of one phone, short texts above the terms, recipes of a cook's shop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.sites import layouts
from tests.sites.copies import copied
from tests.sites.model import Blueprint, Copy, Draft, Frame
from tests.sites.words import slug

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.sites.words import Writer

_WAYS = (Copy.PRINT, Copy.UTM, Copy.SESSION, Copy.SECTION, Copy.COUNTER)
_TERMS = (
    (
        "<h2>Delivery and returns</h2><p>Orders placed before two o'clock on a working day leave our warehouse "
        "the same afternoon. Delivery within the country takes one to three working days; islands and mountain "
        "villages may take two days longer. You may return unused goods in their original packing within thirty "
        "days of receipt. We refund the price of the goods and the cheapest way of delivery within a fortnight "
        "of their arrival.</p><p>Goods that were cut to length or made to your drawing cannot be returned unless "
        "they are faulty. Please tell us about damage in transit within two days and keep the packing, so that "
        "the carrier can inspect it.</p><p>All prices include value added tax. Payment is possible by card, "
        "transfer or invoice; companies pay within thirty days. The goods remain our property until they are "
        "paid for in full. The warranty of two years begins with delivery.</p>"
    ),
    (
        "<h3>How we ship</h3><p>We pack every parcel by hand and give it to the courier on the next working day. "
        "You will receive a message with a number by which you can follow its way to your door. Parcels that "
        "nobody can accept wait for a week at the nearest post office before they come back to us. We do not "
        "ship to post office boxes.</p><h3>If you change your mind</h3><p>There is no need to give a reason: "
        "send the article back within a month, clean and complete, and the amount returns to the account from "
        "which it came. Vouchers are refunded as vouchers. Opened software, food and articles of hygiene are "
        "excluded from this rule by law.</p><h3>Our guarantee</h3><p>Should an article fail within three years "
        "although it was used as described, we repair it, replace it or pay its price, in this order. Wear, "
        "misuse and repairs by others are not covered. Your rights by law are not limited by this.</p>"
    ),
)


def _frame(writer: Writer, name: str) -> Frame:
    menu = writer.of(
        ("Fasteners", "Tools", "Workwear", "Offers", "Help"),
        ("New in", "Household", "Outdoor", "Electronics", "Service"),
    )
    footer = writer.of(
        f"© 2026 {name}. All rights reserved. Prices include VAT, without delivery.",
        f"{name} GmbH · All prices in euros.",
    )
    return Frame(name, "en", menu, footer, side=writer.of("Customers also bought", "You may also like"))


def _rows(facts: Mapping[str, str], *, listed: bool) -> str:
    if listed:
        return "<dl>" + "".join(f"<dt>{key}</dt><dd>{value}</dd>" for key, value in facts.items()) + "</dl>"
    rows = "".join(f"<tr><th>{key}</th><td>{value}</td></tr>" for key, value in facts.items())
    return f"<table class='specs'>{rows}</table>"


def parts(writer: Writer) -> Blueprint:
    """Hex bolts or ball bearings, one size a page: only sizes, article numbers and prices differ."""
    name = writer.of("Boltworks Direct", "Lagerhaus Bearings")
    drafts = [_bolt(writer, size) if not writer.odd else _bearing(writer, size) for size in range(24)]
    return Blueprint(
        f"www.{slug(name)}.example",
        _frame(writer, name),
        writer.of(layouts.shop, layouts.tables),
        copied(drafts, _WAYS),
    )


def _bolt(writer: Writer, number: int) -> Draft:
    thread, length = ("M4", "M5", "M6", "M8", "M10", "M12")[number % 6], (16, 25, 40, 60)[number // 6]
    size = f"{thread} x {length}"
    facts = {
        "Thread": thread,
        "Length": f"{length} mm",
        "Width across flats": f"{int(thread[1:]) * 3 // 2 + 1} mm",
        "Article": writer.code(),
        "Pack": f"{writer.choice((25, 50, 100, 200))} pieces",
    }
    body = (
        f"<p>Hex bolt {size} with partial thread, made of steel of strength class 8.8 and galvanised against "
        "rust. It is used in machines, in timber work and in vehicles wherever a joint must be opened again. "
        "Tighten it with a ring spanner and secure it with a washer on both sides. The bolt is supplied without "
        f"nut.</p>\n{_rows(facts, listed=False)}"
    )
    return Draft(
        f"/p/hex-bolt-{slug(size)}",
        f"Hex bolt {size}",
        body,
        lead=f"<p class='price'>{writer.price(2, 40)} EUR</p>",
        trail=("Bolts",),
    )


def _bearing(writer: Writer, number: int) -> Draft:
    bore, outer, width = 5 + number, 15 + 2 * number + number % 3, 5 + number // 3
    name = f"Deep groove ball bearing {6200 + number}-2RS"
    facts = {
        "Bore": f"{bore} mm",
        "Outer diameter": f"{outer} mm",
        "Width": f"{width} mm",
        "Dynamic load": f"{writer.number(20, 190) / 10} kN",
        "Order number": writer.code(1, 6),
    }
    body = (
        "<p>This single row bearing runs quietly at high speed and takes loads across and along the shaft. "
        "Rubber seals on both sides keep the grease in and the dust out for its whole life, so it needs no "
        "maintenance. Do not wash the bearing before fitting. Press it on by the inner ring when it sits on a "
        f"shaft.</p>\n{_rows(facts, listed=True)}"
    )
    return Draft(
        f"/bearing/{6200 + number}", name, body, lead=f"<p>Price: <b>{writer.price(3, 60)}</b></p>", trail=("Bearings",)
    )


def variants(writer: Writer) -> Blueprint:
    """One phone (or one shoe) in all colours and sizes, a page each."""
    colours = writer.half(["Graphite", "Sand", "Ocean", "Coral", "Forest", "Lilac", "Chalk", "Amber", "Slate", "Rose"])
    sizes, thing = writer.of(
        (("64 GB", "128 GB", "256 GB", "512 GB"), "Calyx 7 Pro"), (("39", "41", "43", "45"), "Strider Trail Shoe")
    )
    text = writer.of(
        "<p>The {thing} has a display that stays readable in the sun, a battery for two days and a camera with "
        "three lenses. It survives half an hour under water and charges to the half in a quarter of an hour. "
        "With seven years of updates it remains safe long after others are thrown away. You have chosen "
        "<strong>{size}</strong> in <strong>{colour}</strong>. The box contains a cable and a pin for the card "
        "tray, but no charger.</p>",
        "<p>Made for wet paths and loose stones, the {thing} combines a grippy sole with an upper that dries "
        "overnight. A plate under the arch protects the foot, and the heel holds firm on steep descents. The "
        "laces stay tied because they are slightly rough. Shown here: colour {colour}, size {size}. Wash by hand "
        "with cold water and let it dry in the shade.</p>",
    )
    drafts = []
    for colour in colours:
        for size in sizes:
            name = f"{thing} {colour} {size}"
            facts = {"Colour": colour, writer.of("Storage", "Size (EU)"): size, "SKU": writer.code(3, 5)}
            body = text.format(thing=thing, size=size, colour=colour) + "\n" + _rows(facts, listed=bool(writer.odd))
            lead = f"<div class='price'>{writer.price(90, 900)} €</div>"
            drafts.append(
                Draft(
                    f"/products/{slug(name)}", name, body, lead=lead, head=_product(name, facts["SKU"]), trail=(thing,)
                )
            )
    name = writer.of("Fonehaus", "Bergwerk Sports")
    return Blueprint(
        f"{slug(name)}.example", _frame(writer, name), writer.of(layouts.tailwind, layouts.shop), copied(drafts, _WAYS)
    )


def _product(name: str, sku: str) -> str:
    return (
        f'<script type="application/ld+json">{{"@context":"https://schema.org","@type":"Product","name":"{name}",'
        f'"sku":"{sku}"}}</script>'
    )


def terms(writer: Writer) -> Blueprint:
    """Short product texts of their own above the shop's long terms, on every page."""
    drafts = []
    for _ in range(18):
        name = (
            f"{writer.word('adj').capitalize()} {writer.word('thing')} {writer.choice(('No.', 'Mk', 'Type'))} "
            f"{writer.number(2, 99)}"
        )
        body = f"<p>{name}, {writer.word('verb')} by hand in {writer.word('place')}. {writer.sentence()}</p>"
        lead = f"<p>{writer.price()} €</p>"
        drafts.append(
            Draft(
                f"/shop/{slug(name)}-{writer.number(1000, 9999)}",
                name,
                body,
                lead=lead,
                after=writer.of(*_TERMS),
                trail=("Shop",),
            )
        )
    name = writer.of("The Curious Cupboard", "Handwerk & More")
    return Blueprint(
        f"{slug(name)}.example", _frame(writer, name), writer.of(layouts.bootstrap, layouts.blog), copied(drafts, _WAYS)
    )


def recipes(writer: Writer) -> Blueprint:
    """Recipes with the same steps: ingredients and amounts differ."""
    fruits = writer.half(
        [
            "apple",
            "plum",
            "cherry",
            "quince",
            "rhubarb",
            "apricot",
            "pear",
            "gooseberry",
            "peach",
            "blueberry",
            "currant",
            "fig",
        ]
    )
    dishes = writer.of(("cake", "crumble"), ("jam", "chutney"))
    drafts = [_recipe(writer, fruit, dish) for fruit in fruits for dish in dishes]
    name = writer.of("Marta's Oven", "The Preserving Pan")
    return Blueprint(
        f"{slug(name)}.example", _frame(writer, name), writer.of(layouts.blog, layouts.elementor), copied(drafts, _WAYS)
    )


def _recipe(writer: Writer, fruit: str, dish: str) -> Draft:
    grams, sugar, minutes = writer.number(3, 15) * 100, writer.number(5, 40) * 10, writer.number(20, 75)
    more = writer.choice(
        writer.half(["cinnamon", "ginger", "vanilla", "lemon peel", "cardamom", "cloves", "star anise", "rum"])
    )
    items = (
        f"{grams} g {fruit}s, washed and halved",
        f"{sugar} g sugar",
        f"1 pinch of {more}",
        "1 lemon, its juice",
        f"{sugar // 2} g butter",
    )
    steps = writer.of(
        (
            f"Prepare the {fruit}s, remove what is not eaten, and cut them into pieces of equal size.",
            "Mix them with the sugar in a wide bowl and let them stand under a cloth until the juice comes out.",
            f"Add the {more} and the lemon juice, and stir with a wooden spoon.",
            f"Bake for {minutes} minutes and look at it now and then; the colour should be that of honey.",
            f"Let the {dish} rest before you serve it. It keeps for a week in a cool place.",
        ),
        (
            f"Rinse {grams} grams of {fruit}s under cold water and drain them in a sieve.",
            f"Bring the {fruit}s to the boil with the sugar, skim the foam and lower the heat.",
            f"Stir in the {more} and simmer for {minutes} minutes until a drop sets on a cold plate.",
            f"Fill the hot {dish} into clean jars, close them and turn them upside down.",
            "Write the year on the lid. Unopened jars last until the next harvest in a dark cellar.",
        ),
    )
    listed = "".join(f"<li>{item}</li>" for item in items)
    told = "".join(f"<li>{step}</li>" for step in steps)
    name = f"{fruit.capitalize()} {dish} with {more}"
    body = f"<p>{writer.text(1)}</p>\n<h2>Ingredients</h2><ul>{listed}</ul>\n<h2>Method</h2><ol>{told}</ol>"
    return Draft(f"/recipes/{slug(name)}", name, body, trail=("Recipes", dish.capitalize()))


KINDS: Mapping[str, Callable[[Writer], Blueprint]] = {
    "parts": parts,
    "variants": variants,
    "terms": terms,
    "recipes": recipes,
}
