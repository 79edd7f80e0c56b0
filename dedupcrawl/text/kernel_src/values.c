/* The values of a text: its numbers, with the dates, prices and measures that they are part of. See values.py, which is
 * the reference; the constants are those there.
 */
#include "scan.h"
#include "values.h"

enum {
    MAX_FACTS = 4096,
    NEIGHBOURS = 8,
    MAX_VALUE_BYTES = 32,
    SHORTEST_DATE = 5,
    MAX_BETWEEN = 3,
    STAMP_REACH = 40,
    STAMP_GAP = 16,
};

enum { BLOCK = 64 }; /* bytes without a digit that are passed over at a time; compilers use vector instructions */

static inline int
is_digit(uint8_t byte)
{
    return (uint8_t)(byte - '0') < 10;
}

static inline int
has_digit(const uint8_t *text, int size)
{
    uint8_t found = 0; /* as wide as the text: wider sums would be widened byte by byte */
    for (int i = 0; i < size; i++) {
        found |= (uint8_t)is_digit(text[i]);
    }
    return found;
}

static Py_ssize_t
next_digit(const uint8_t *text, Py_ssize_t size, Py_ssize_t at)
{
    while (size - at >= BLOCK && !has_digit(text + at, BLOCK)) {
        at += BLOCK;
    }
#ifdef HAS_MARKS
    for (; size - at >= AT_ONCE; at += AT_ONCE) {
        uint64_t found = marked_bytes(text + at, '0', '9');
        if (found) {
            return at + __builtin_ctzll(found) / 8;
        }
    }
#endif
    while (at < size && !is_digit(text[at])) {
        at++;
    }
    return at;
}

/* Whether a byte between two digits joins them to one number: 3.5, 1,200, 2024-05-03, 10x20. */
static inline int
is_joining(uint8_t byte)
{
    return byte == '.' || byte == ',' || byte == ':' || byte == '/' || byte == 'x' || byte == '\'' || byte == '-';
}

/* Find the next number from `*stop` on; returns 0 and the end of the text if there is none. */
static int
next_number(const uint8_t *text, Py_ssize_t size, Py_ssize_t *start, Py_ssize_t *stop)
{
    Py_ssize_t at = next_digit(text, size, *stop);
    *start = at;
    *stop = at;
    if (at == size) {
        return 0;
    }
    do {
        at++;
        if (size - at >= 2 && is_joining(text[at]) && is_digit(text[at + 1])) {
            at++;
        }
    } while (at < size && is_digit(text[at]));
    *stop = at;
    return 1;
}

typedef struct {
    const WordSet *words; /* WORD_SETS of them */
    const uint8_t *bytes;
    Py_ssize_t size;
} Source;

static inline int
has(Source text, Py_ssize_t at, const char *word)
{
    Py_ssize_t length = (Py_ssize_t)strlen(word);
    return at >= 0 && text.size - at >= length && memcmp(text.bytes + at, word, (size_t)length) == 0;
}

static inline Py_ssize_t
skip(Source text, Py_ssize_t at, const char *word)
{
    return has(text, at, word) ? at + (Py_ssize_t)strlen(word) : at;
}

/* Return the number of digits at a place. */
static Py_ssize_t
digits(Source text, Py_ssize_t at)
{
    Py_ssize_t end = at;
    while (end < text.size && is_digit(text.bytes[end])) {
        end++;
    }
    return end - at;
}

static inline Py_ssize_t
find(Source text, WordKind kind, Py_ssize_t at, WordEnd end)
{
    return word_from(&text.words[kind], text.bytes, text.size, at, end);
}

static inline Py_ssize_t
find_back(Source text, WordKind kind, Py_ssize_t at, WordEnd end)
{
    return word_until(&text.words[kind], text.bytes, at, end);
}

/* Whether a word that counts readers stands after a number. */
static int
is_counted_from(Source text, Py_ssize_t at)
{
    for (int i = 0; i <= MAX_BETWEEN; i++) {
        if (find(text, COUNTED, at, AT_WORDS) >= 0 || find(text, COUNTED_OPEN, at, ANYWHERE) >= 0) {
            return 1;
        }
        if (has(text, at, "万") || has(text, at, "萬")) {
            at += 3;
        } else if (has(text, at, " ") || has(text, at, "+") || has(text, at, "k") || has(text, at, ")")) {
            at++;
        } else {
            return 0;
        }
    }
    return 0;
}

int
is_counted(const WordSet *words, const uint8_t *text, Py_ssize_t size, Py_ssize_t at)
{
    return is_counted_from((Source){.words = words, .bytes = text, .size = size}, at);
}

/* Whether a word that counts, or names an edition, stands before a number, with little between. */
int
is_counting(const WordSet *words, const uint8_t *text, Py_ssize_t start)
{
    for (int i = 0; i <= MAX_BETWEEN; i++, start--) {
        if (word_until(words, text, start, ANYWHERE) >= 0) {
            return 1;
        }
        if (start == 0 || !(text[start - 1] == ' ' || text[start - 1] == ':' || text[start - 1] == '(')) {
            return 0;
        }
    }
    return 0;
}

static int
is_counter(Source text, Py_ssize_t start, Py_ssize_t stop)
{
    if (has(text, stop, " of ")) {
        Py_ssize_t count = digits(text, stop + 4);
        if (count >= 1 && count <= 9 && is_counted_from(text, stop + 4 + count)) {
            return 1;
        }
    }
    if (is_counted_from(text, stop)) {
        return 1;
    }
    if (find_back(text, SINCE, start, ANYWHERE) >= 0) {
        return has(text, stop, " ") && find(text, PASSING, stop + 1, AT_WORDS) >= 0;
    }
    return is_counting(&text.words[COUNTING], text.bytes, start);
}

/* Whether the text up to `end` says that a date follows: one of the words, and little more. */
int
is_stamp(const WordSet *words, const uint8_t *text, Py_ssize_t begin, Py_ssize_t end)
{
    Py_ssize_t gap = end;
    while (gap > begin && end - gap < STAMP_GAP && !is_digit(text[gap - 1]) && strchr(".;!?", text[gap - 1]) == NULL) {
        gap--;
    }
    for (Py_ssize_t at = begin; at < end; at++) {
        /* The longest word at a place ends nearest to the date. */
        if (word_from(words, text, end, at, ANYWHERE) >= gap) {
            return 1;
        }
    }
    return 0;
}

/* Return where a year ends that follows a day and month, or `at`. */
static Py_ssize_t
year_after(Source text, Py_ssize_t at, int may_have_words)
{
    Py_ssize_t year = skip(text, at, ",");
    if (!has(text, year, " ")) {
        return at;
    }
    year++;
    if (may_have_words) {
        Py_ssize_t word = skip(text, year, "of ");
        word = word > year ? word : skip(text, year, "de ");
        year = word > year ? word : skip(text, year, "del ");
    }
    return digits(text, year) == 4 ? year + 4 : at;
}

/* Return where a suffix of a day ends ("1st", "2nd"), or `at`. */
static Py_ssize_t
suffix_after(Source text, Py_ssize_t at, int may_be_foreign)
{
    static const char *const suffixes[] = {"st", "nd", "rd", "th", "er", "º"};
    if (at == text.size || !is_letter_byte(text.bytes[at])) {
        return at;
    }
    for (int i = 0; i < (may_be_foreign ? 6 : 4); i++) {
        if (has(text, at, suffixes[i])) {
            return at + (Py_ssize_t)strlen(suffixes[i]);
        }
    }
    return at;
}

/* Return where a date with a day before the name of the month ends, or 0. */
static Py_ssize_t
named_date(Source text, Py_ssize_t start)
{
    Py_ssize_t at = skip(text, suffix_after(text, start + digits(text, start), 1), ".");
    Py_ssize_t month = at;
    if (has(text, at, " of ") || has(text, at, " de ") || has(text, at, " di ")) {
        month = at + 3;
    }
    if (!has(text, month, " ")) {
        return 0;
    }
    Py_ssize_t end = find(text, MONTHS, month + 1, AT_WORDS);
    return end < 0 ? 0 : year_after(text, skip(text, end, "."), 1);
}

/* Return where a date such as 2024年5月3日 or 5月3日 ends, or 0. */
static Py_ssize_t
ideographic_date(Source text, Py_ssize_t start)
{
    Py_ssize_t count = digits(text, start), at = start + count;
    if (count == 4 && has(text, at, "年")) {
        at = skip(text, at + 3, " ");
        count = digits(text, at);
        at += count;
    }
    if (count < 1 || count > 2 || !has(text, at, "月")) {
        return 0;
    }
    at += 3;
    Py_ssize_t day = skip(text, at, " ");
    count = digits(text, day);
    Py_ssize_t mark = day + count;
    if ((count == 1 || count == 2) && (has(text, mark, "日") || has(text, mark, "号") || has(text, mark, "號"))) {
        return mark + 3;
    }
    return at;
}

static Py_ssize_t
day_first(Source text, Py_ssize_t start)
{
    Py_ssize_t count = digits(text, start);
    Py_ssize_t end = count == 1 || count == 2 ? named_date(text, start) : 0;
    return end ? end : ideographic_date(text, start);
}

/* Return the end of a date that has its month before the number, or 0. */
static Py_ssize_t
rest_of_date(Source text, Py_ssize_t start)
{
    Py_ssize_t count = digits(text, start), at = start + count;
    if (count == 4) {
        return at;
    }
    if (count < 1 || count > 2) {
        return 0;
    }
    Py_ssize_t end = suffix_after(text, at, 0);
    end = digits(text, end) ? at : end;
    return year_after(text, end, 0);
}

/* Whether a number is a date: 2024-05-03, 3.5.2024, 3/5/24. */
static int
is_numeric_date(Source text, Py_ssize_t start, Py_ssize_t stop)
{
    Py_ssize_t first = digits(text, start), at = start + first + 1;
    Py_ssize_t second = digits(text, at), last = at + second + 1;
    if (first == 0 || second == 0 || last >= stop) {
        return 0;
    }
    uint8_t mark = text.bytes[at - 1];
    Py_ssize_t third = digits(text, last);
    if ((mark != '-' && mark != '/' && mark != '.') || text.bytes[last - 1] != mark || last + third != stop || second > 2) {
        return 0;
    }
    return first == 4 ? third <= 2 : first <= 2 && (third == 2 || third == 4);
}

/* Return where the time of day after a date ends, or `at`. */
static Py_ssize_t
hour_after(Source text, Py_ssize_t at)
{
    static const char *const words[] = {"at ", "um ", "à ", "a las ", "alle ", "klo ", "kl ", "kl. "};
    Py_ssize_t hour = at;
    if (at < text.size && (text.bytes[at] == ',' || text.bytes[at] == '.' || text.bytes[at] == ';')) {
        hour++;
    }
    hour = skip(text, hour, " ");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (has(text, hour, words[i])) {
            hour += (Py_ssize_t)strlen(words[i]);
            break;
        }
    }
    Py_ssize_t count = digits(text, hour), minute = hour + count;
    if (count < 1 || count > 2 || !(has(text, minute, ":") || has(text, minute, ".")) || digits(text, minute + 1) < 2) {
        return at;
    }
    minute += 3;
    return has(text, minute, ":") && digits(text, minute + 1) >= 2 ? minute + 3 : minute;
}

typedef struct {
    Py_ssize_t start, stop; /* of the value; equal: the number is part of no longer value */
    Py_ssize_t end;         /* numbers before it are done; 0: none is */
    int is_strong, has_sign;
} LongValue;

/* Whether a hyphen or minus stands before a number, at the beginning of a word. */
static int
has_sign(Source text, Py_ssize_t start)
{
    Py_ssize_t at = start - (has(text, start - 1, "-") ? 1 : has(text, start - 3, "\xe2\x88\x92") ? 3 : 0);
    return at < start && (at == 0 || text.bytes[at - 1] == ' ' || text.bytes[at - 1] == 0);
}

/* Find the date, price or measure that a number is part of. */
static LongValue
long_value(Source text, Py_ssize_t start, Py_ssize_t stop)
{
    Py_ssize_t month = -1, date = 0;
    if (start && text.bytes[start - 1] == ' ') {
        Py_ssize_t end = start - 1;
        end -= end && text.bytes[end - 1] == '.';
        month = find_back(text, MONTHS_BEFORE, end, AT_LETTERS);
        date = month >= 0 ? rest_of_date(text, start) : 0;
    }
    date = date ? date : day_first(text, start);
    if (date || (stop - start > SHORTEST_DATE && is_numeric_date(text, start, stop))) {
        Py_ssize_t end = date ? date : stop, said = start > STAMP_REACH ? start - STAMP_REACH : 0;
        if (is_stamp(&text.words[CHANGED], text.bytes, said, start)) {
            return (LongValue){.end = hour_after(text, end)};
        }
        int is_strong = !is_stamp(&text.words[PUBLISHED], text.bytes, said, start);
        return (LongValue){month >= 0 ? month : start, end, end, is_strong, 0};
    }
    Py_ssize_t unit = skip(text, stop, " "), end = find(text, UNITS, unit, AT_WORDS);
    end = end < 0 ? find(text, UNITS_OPEN, unit, ANYWHERE) : end;
    if (end >= 0) {
        return (LongValue){start, end, end, 1, has_sign(text, start)};
    }
    Py_ssize_t currency = start - (start && text.bytes[start - 1] == ' ');
    Py_ssize_t price = find_back(text, CURRENCIES, currency, AT_ASCII);
    return price >= 0 ? (LongValue){price, stop, stop, 1, 0} : (LongValue){.end = 0};
}

uint32_t
add_to_crc(const ByteHash *hash, uint32_t crc, const uint8_t *text, Py_ssize_t size)
{
    const uint8_t *bytes = hash->bytes;
    for (; size >= CRC_SLICES; size -= CRC_SLICES, text += CRC_SLICES) { /* one step waits for the one before */
        crc ^= bytes[text[0]] | (uint32_t)bytes[text[1]] << 8 | (uint32_t)bytes[text[2]] << 16
               | (uint32_t)bytes[text[3]] << 24;
        crc = hash->crc[7][crc & 0xFF] ^ hash->crc[6][crc >> 8 & 0xFF] ^ hash->crc[5][crc >> 16 & 0xFF]
              ^ hash->crc[4][crc >> 24] ^ hash->crc[3][bytes[text[4]]] ^ hash->crc[2][bytes[text[5]]]
              ^ hash->crc[1][bytes[text[6]]] ^ hash->crc[0][bytes[text[7]]];
    }
    for (; size > 0; size--, text++) {
        crc = hash->crc[0][(crc ^ bytes[*text]) & 0xFF] ^ crc >> 8;
    }
    return crc;
}

uint32_t
end_of_crc(uint32_t crc)
{
    return (uint32_t)(~crc * HASH_FACTOR);
}

uint32_t
hash_bytes(const ByteHash *hash, const uint8_t *text, Py_ssize_t size)
{
    return end_of_crc(add_to_crc(hash, CRC_START, text, size));
}

static void
add_value(FoundValues *found, const ByteHash *hash, Source text, LongValue value, int may_replace)
{
    Py_ssize_t size = value.stop - value.start;
    uint32_t crc = value.has_sign ? add_to_crc(hash, CRC_START, (const uint8_t *)"-", 1) : CRC_START;
    crc = add_to_crc(hash, crc, text.bytes + value.start, size < MAX_VALUE_BYTES ? size : MAX_VALUE_BYTES);
    uint32_t hashed = end_of_crc(crc);
    int i = 0;
    while (i < found->count && found->hashes[i] != hashed) {
        i++;
    }
    if (i < found->count && !may_replace) {
        return;
    }
    found->hashes[i] = hashed;
    found->is_strong[i] = (uint8_t)value.is_strong;
    found->count += i == found->count;
}

/* Add a part of a text to the facts; a line break separates them. */
static void
add_fact(Facts *facts, const ByteHash *hash, const uint8_t *text, Py_ssize_t start, Py_ssize_t stop)
{
    if (facts->count++) {
        facts->crc = add_to_crc(hash, facts->crc, (const uint8_t *)"\n", 1);
    }
    facts->crc = add_to_crc(hash, facts->crc, text + start, stop - start);
}

void
find_values(const WordSet *words, const ByteHash *hash, const uint8_t *bytes, Py_ssize_t size, FoundValues *found,
            Facts *facts)
{
    Source text = {words, bytes, size};
    Py_ssize_t start = 0, stop = 0, last = 0, done = 0, next = 0, next_stop = 0;
    int is_there = next_number(bytes, size, &next, &next_stop);
    for (int count = 0; is_there; count++) {
        start = next;
        stop = next_stop;
        if (count >= (facts == NULL ? MAX_NUMBERS : MAX_FACTS)) {
            if (facts != NULL) {
                add_fact(facts, hash, bytes, start, size);
            }
            return;
        }
        is_there = next_number(bytes, size, &next, &next_stop);
        if (start >= done) {
            if (is_counter(text, start, stop)) {
                last = stop;
                continue;
            }
            LongValue value = count < MAX_NUMBERS ? long_value(text, start, stop) : (LongValue){.end = 0};
            done = value.end ? value.end : done;
            if (value.stop > value.start) {
                add_value(found, hash, text, value, 1);
            }
        }
        if (count < MAX_NUMBERS && start >= done) {
            LongValue number = {.start = start, .stop = stop, .has_sign = has_sign(text, start)};
            add_value(found, hash, text, number, 0);
        }
        if (facts != NULL) {
            Py_ssize_t from = start - NEIGHBOURS > last ? start - NEIGHBOURS : last;
            add_fact(facts, hash, bytes, from, stop + NEIGHBOURS < next ? stop + NEIGHBOURS : next);
        }
        last = stop;
    }
}

/* Whether a Chinese numeral begins at a place; each has three bytes. */
static inline int
is_numeral(const HanNumerals *numerals, const uint8_t *text, Py_ssize_t size, Py_ssize_t at)
{
    if (size - at < 3 || text[at] < 0xE0 || text[at] >= 0xF0) {
        return 0;
    }
    uint32_t upper = (text[at] & 15u) << 6 | (text[at + 1] & 63u), code = upper << 6 | (text[at + 2] & 63u);
    return numerals->begins[upper] && numerals->bits[code / 8] >> code % 8 & 1;
}

/* Add the numbers in Chinese characters to the facts, each with the character after it. */
void
add_han_numbers(const HanNumerals *numerals, const ByteHash *hash, const uint8_t *text, Py_ssize_t size, Facts *facts)
{
    Py_ssize_t at = 0;
    while (at < size) {
        Py_ssize_t end = at;
        while (is_numeral(numerals, text, size, end)) {
            end += 3;
        }
        if (end == at) {
            at += text[at] < 0xE0 ? 1 : 3; /* none begins within a character */
            continue;
        }
        if (end < size && (text[end] < 0x80 || text[end] >= 0xC0)) {
            end++;
            while (end < size && text[end - 1] >= 0x80 && (text[end] & 0xC0) == 0x80) {
                end++;
            }
        }
        add_fact(facts, hash, text, at, end);
        at = end;
    }
}
