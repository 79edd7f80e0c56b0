"""Works of reference: manuals in versions, release notes, laws by section, dictionary entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.sites import layouts
from tests.sites.copies import copied
from tests.sites.model import Blueprint, Copy, Draft, Frame
from tests.sites.words import slug

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.sites.words import Writer

_WAYS = (Copy.PRINT, Copy.UTM, Copy.SECTION)


def versions(writer: Writer) -> Blueprint:
    """A manual in three versions: half of its pages are the same in all of them, the others were written anew."""
    name = writer.of("Larch", "Quickstep")
    drafts = []
    for number in range(8):
        topic = f"{writer.word('verb').capitalize()} {writer.word('thing')}s in the {writer.word('noun')}"
        text = _manual(writer, number)
        for version in ("1.4", "2.0", "2.1"):
            if number % 2 and version != "1.4":
                text = _manual(writer, number)
            note = f"<div class='admonition note'><p>You are reading the manual of version {version}.</p></div>"
            path = f"/{version}/{slug(topic)}.html"
            content = f"{topic}/{version if number % 2 else 'all'}"
            drafts.append(Draft(path, topic, text, content=content, lead=note, trail=(f"Version {version}", "Guide")))
    frame = Frame(
        f"{name} manual",
        "en",
        ("Install", "Guide", "Reference", "Changes"),
        f"© 2026 the {name} developers. Built with a generator.",
        side="On this page",
    )
    return Blueprint(f"docs.{name.lower()}.example", frame, layouts.manual, tuple(drafts))


def _manual(writer: Writer, number: int) -> str:
    option = f"{writer.word('noun')}_{writer.word('thing')}"
    return (
        f"{writer.story(2)}<pre><code>{writer.word('noun')}.open({option}={writer.number(1, 900)})</code></pre>\n"
        f"<dl><dt>{option}</dt><dd>{writer.text(1)}</dd></dl>\n<h2>Example {number + 1}</h2>{writer.story(1)}"
    )


def releases(writer: Writer) -> Blueprint:
    """Release notes: a few lines of changes above the same instructions."""
    name = writer.of("Larch", "Quickstep")
    howto = writer.of(
        "<h2>Upgrading</h2><p>Make a backup before you upgrade. Stop the service, install the package of your "
        "system and start the service again. The format of the data is changed at the first start, which may "
        "take some minutes. If anything fails, the log says why. Users of the container pull the new image and "
        f"keep their volumes. The checksums of all packages are signed with the key of the {name} developers.</p>",
        "<h3>Download and support</h3><p>Packages for all systems are on the page of downloads. Please report "
        "problems with the output of the doctor command. Paid support is available from several companies. This "
        "release follows semantic versioning: patch releases contain corrections only, minor releases add "
        "features without breaking programs, and major releases may change interfaces after a warning of one "
        "year.</p>",
    )
    drafts = []
    for number in range(16):
        version = f"{2 + number // 6}.{number % 6}.{writer.number(0, 3)}"
        changes = "".join(
            f"<li>{writer.choice(('Fix', 'Speed up', 'Add', 'Remove'))} the {writer.word('adj')} "
            f"{writer.word('thing')} of {writer.word('noun')} (#{writer.number(100, 9999)})</li>"
            for _ in range(writer.number(2, 5))
        )
        body = f"<p>Released on {writer.date()}.</p>\n<ul>{changes}</ul>\n{howto}"
        drafts.append(Draft(f"/releases/{version}", f"{name} {version}", body, trail=("Releases",)))
    frame = Frame(
        f"{name} releases",
        "en",
        ("Install", "Guide", "Releases", "Community"),
        f"© 2026 the {name} developers.",
        side="Other releases",
    )
    return Blueprint(
        f"{name.lower()}.example", frame, writer.of(layouts.manual, layouts.blog), copied(drafts, _WAYS, 4)
    )


def laws(writer: Writer) -> Blueprint:
    """A law by sections: parallel wording about different objects, terms and fines."""
    drafts = []
    for number in range(1, 21):
        thing, noun, other = writer.word("thing"), writer.word("noun"), writer.word("person")
        name = f"Section {number}: Keeping of {thing}s in a {noun}"
        body = writer.of(
            f"<p>(1) Whoever keeps a {thing} in a {noun} shall notify the competent authority in writing within "
            f"{writer.number(2, 90)} days.</p>\n<p>(2) The authority may refuse permission if the safety of the "
            f"public or of a {other} is endangered. It shall give its reasons in writing.</p>\n<p>(3) An "
            f"infringement of paragraph (1) is punished with a fine of up to {writer.number(1, 90) * 50} crowns. "
            f"Section {writer.number(30, 60)} remains unaffected.</p>",
            f"<p>{number}.1 A {other} may hold a {thing} in or near any {noun} only with a licence, which is "
            f"valid for {writer.number(1, 30)} years.</p>\n<p>{number}.2 The licence is granted on application if "
            f"the holder has reached the age of {writer.number(16, 30)} and proves the necessary "
            f"knowledge.</p>\n<p>{number}.3 The minister is empowered to make regulations about fees, which shall "
            f"not exceed {writer.number(10, 900)} marks, and about the form of the register.</p>",
        )
        drafts.append(
            Draft(
                f"/act/{writer.of('s', 'art')}{number}",
                name,
                body,
                trail=("Acts", "Chapter " + "I" * (1 + number // 8)),
            )
        )
    name = writer.of("Statutes Online", "Law Register")
    footer = writer.of(
        "Unofficial text. Only the printed gazette is binding. Consolidated version of 1 January 2026.",
        "Published by the Ministry of Justice · As amended up to spring 2026 · Without guarantee",
    )
    frame = Frame(name, "en", ("Acts", "Regulations", "Search", "Gazette"), footer, side="Neighbouring sections")
    return Blueprint(
        f"{slug(name)}.example", frame, writer.of(layouts.tables, layouts.manual), copied(drafts, _WAYS, 5)
    )


def dictionary(writer: Writer) -> Blueprint:
    """Entries of a dictionary: a word, its sounds and one meaning, above the key to the signs."""
    key = writer.of(
        "<p>Key: a raised stroke stands before the stressed syllable, a colon after a long vowel. Words in "
        "brackets may be left out. Obsolete meanings have a dagger. The examples are taken from newspapers and "
        "letters. Did you find a mistake? Write to the editors; entries are revised four times a year.</p>",
        "<p>About this entry: the pronunciation is that of the capital. Frequency is given in five steps, from "
        "very rare to very common. Meanings are arranged by age, the oldest first. Quotations keep the spelling "
        "of their sources. You may quote an entry if you name the dictionary and the date.</p>",
    )
    syllables = writer.half(
        [
            "ba",
            "cor",
            "den",
            "fil",
            "gra",
            "hom",
            "jun",
            "kel",
            "lor",
            "mar",
            "nim",
            "ost",
            "pel",
            "quar",
            "rin",
            "sol",
            "tav",
            "ulm",
            "ven",
            "wex",
        ]
    )
    drafts = []
    for number in range(20):
        word = "".join(writer.sample(syllables, 2)) + syllables[number % len(syllables)]
        meaning = (
            f"a {writer.word('adj')} {writer.word('thing')} for the {writer.word('noun')} of a {writer.word('person')}"
        )
        body = (
            f"<p><b>{word}</b> /{word[:2]}ˈ{word[2:]}/ <i>noun</i>, plural "
            f"{word}s</p>\n<ol><li>{meaning}</li></ol>\n<p><i>“{writer.sentence()}”</i></p>\n{key}"
        )
        drafts.append(
            Draft(f"/entry/{word}-{number}", word, body, content=f"{word}-{number}", trail=("Entries", word[0].upper()))
        )
    name = writer.of("Pocket Lexicon", "The Great Glossary")
    frame = Frame(name, "en", ("A–F", "G–L", "M–R", "S–Z"), f"© 2026 {name}. All rights reserved.", side="Words nearby")
    return Blueprint(
        f"{slug(name)}.example", frame, writer.of(layouts.bootstrap, layouts.blog), copied(drafts, _WAYS, 5)
    )


KINDS: Mapping[str, Callable[[Writer], Blueprint]] = {
    "versions": versions,
    "releases": releases,
    "laws": laws,
    "dictionary": dictionary,
}
