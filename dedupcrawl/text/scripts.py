"""Which code points make up words, which stand for themselves, which only separate."""

from __future__ import annotations

from enum import IntEnum


class Role(IntEnum):
    """What a code point does in the token stream."""

    SEPARATOR = 0  #: white space, punctuation, symbols, controls: ends a word, is no token
    WORD = 1  #: a letter, digit or mark of a script that puts spaces between words
    CHARACTER = 2  #: a token of its own: scripts without spaces


#: Scripts without spaces between words, as half-open ranges of code points (Unicode block tables).
UNSPACED = (
    (0x0E00, 0x0F00),  # Thai, Lao
    (0x1000, 0x10A0),  # Myanmar
    (0x1780, 0x1800),  # Khmer
    (0x1950, 0x19E0),  # Tai Le, New Tai Lue
    (0x1A20, 0x1AB0),  # Tai Tham
    (0x1B00, 0x1B80),  # Balinese
    (0x2E80, 0x3130),  # radicals, ideographic marks, kana, bopomofo
    (0x31A0, 0xA4D0),  # bopomofo extended … all of Han in the basic plane … Yi
    (0xA980, 0xAA80),  # Javanese, Cham, Myanmar extended
    (0xF900, 0xFB00),  # compatibility ideographs
    (0x16FE0, 0x18E00),  # Tangut, Khitan
    (0x1B000, 0x1B300),  # kana extended, Nüshu
    (0x20000, 0x40000),  # the rest of Han
)
