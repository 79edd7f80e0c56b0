# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Loops over the containers and blocks of a page that :mod:`dedupcrawl.page.scoring` and ``block_reader`` run, in C.

The Python of these modules is the reference. All scores are whole numbers far below 2^53, so their order does not matter.
"""

from libc.stdint cimport int64_t
from libc.string cimport memchr, memcmp


cdef class ChoiceRules:
    """Chooses containers and blocks by constants of ``scoring``; the arguments are described in ``_choice.pyi``."""

    cdef object comments_side, notice_side
    cdef str main_text, outside, poor_container, comments, side_class, listing, fact
    cdef double poor_score, poor_density, excluded_score, min_remaining, max_notice

    def __init__(
        self, *, comments_side, notice_side, str main_text, str outside, str poor_container, str comments,
        str side_class, str listing, str fact, weights,
    ):
        self.comments_side, self.notice_side = comments_side, notice_side
        self.main_text, self.outside, self.poor_container = main_text, outside, poor_container
        self.comments, self.side_class, self.listing, self.fact = comments, side_class, listing, fact
        self.poor_score, self.poor_density, self.excluded_score = weights[:3]
        self.min_remaining, self.max_notice = weights[3:]

    def remove_side_parts(
        self, list parents not None, list sides not None, list removed not None, list positive not None,
        spared not None, double likely,
    ):
        """Set in ``removed`` why side parts are removed; see ``scoring.ContainerScores``."""
        cdef Py_ssize_t child, count = check_sizes(parents, sides, removed)
        cdef double left, limit
        check_sizes(parents, positive, positive)
        left = positive[0]
        for child in range(1, count):
            above = <str?>removed[parent_of(parents, child)]
            if above:
                removed[child] = above
            elif <str?>removed[child]:
                left -= <double>positive[child]
            elif sides[child] and child not in spared:
                side, limit = sides[child], likely
                if side is self.comments_side:
                    limit = left - self.min_remaining
                elif side is self.notice_side:
                    limit = max(likely, min(self.max_notice, left - self.min_remaining))
                if <double>positive[child] < limit:
                    removed[child] = self.comments if side is self.comments_side else self.side_class
                    left -= <double>positive[child]

    def remove_poor(
        self, list parents not None, list score not None, list length not None, list links not None,
        list removed not None, spared not None,
    ):
        """Add up the lists from the leaves, and set in ``removed`` which containers are poor."""
        cdef Py_ssize_t child, parent, count = check_sizes(parents, score, length)
        cdef int64_t its_length, its_links
        cdef double value
        check_sizes(parents, links, removed)
        for child in range(count - 1, 0, -1):
            if <str?>removed[child]:
                continue
            parent = parent_of(parents, child)
            value, its_length, its_links = score[child], length[child], links[child]
            if its_length:
                length[parent] = <int64_t>length[parent] + its_length
            if its_links:
                links[parent] = <int64_t>links[parent] + its_links
            if value < 0 and (value < self.poor_score or its_links > self.poor_density * its_length):
                if child not in spared:
                    removed[child] = self.poor_container
                    value = self.excluded_score
            if value:
                score[parent] = <double>score[parent] + value

    def reasons_around(self, Py_ssize_t best, list parents not None, list removed not None):
        """Return for each container why its blocks are kept or removed, if ``best`` is the main one."""
        cdef Py_ssize_t child, count = check_sizes(parents, removed, removed)
        cdef list reasons = []
        if not 0 <= best < count:
            raise ValueError("there is no such container")
        for child in range(count):
            reason = <str?>removed[child]
            if child == best:
                reason = self.main_text
            elif not reason:
                inside = child > best and reasons[parent_of(parents, child)] is self.main_text
                reason = self.main_text if inside else self.outside
            reasons.append(reason)
        return reasons

    def assign_reasons(
        self, list blocks not None, list reasons not None, list around not None, around_posts not None,
        bint has_lines, has_listing,
    ):
        """Give blocks without a reason that of their container; return the places of those that are kept."""
        cdef Py_ssize_t place, container
        cdef list kept = []
        if len(reasons) != len(blocks):
            raise ValueError("the lists have different lengths")
        for place in range(len(blocks)):
            if <str?>reasons[place]:
                continue
            block = <tuple?>blocks[place]
            if len(<tuple>block) != 7:
                raise ValueError("a block has seven values")
            container = block[6]
            if not 0 <= container < len(around):
                raise ValueError("a block is in no container")
            reason, tag = around[container], <str?>block[5]
            if reason is not self.main_text and (has_lines or tag == self.listing) and has_listing(block):
                reason = self.main_text
            elif tag == self.fact and container in around_posts:
                reason = self.side_class
            reasons[place] = reason
            if reason is self.main_text:
                kept.append(place)
        return kept


cdef Py_ssize_t check_sizes(list first, list second, list third) except -1:
    """Return the length of three lists, which is the same and not 0."""
    if not len(first) == len(second) == len(third) != 0:
        raise ValueError("the lists of the containers have different lengths")
    return len(first)


cdef inline Py_ssize_t parent_of(list parents, Py_ssize_t child) except -1:
    cdef Py_ssize_t parent = parents[child]
    if not 0 <= parent < child:
        raise ValueError("a container precedes its parent")
    return parent


def sum_descendants(list parents not None, list guides not None, list plain not None, list positive not None):
    """Return the three lists with the values of all descendants added; see ``scoring.ContainerScores``."""
    cdef Py_ssize_t child, parent, count = check_sizes(parents, guides, plain)
    cdef list all_guides = list(guides), all_plain = list(plain), all_positive = list(positive)
    cdef int64_t value
    check_sizes(parents, positive, positive)
    for child in range(count - 1, 0, -1):
        parent = parent_of(parents, child)
        value = all_plain[child]
        if value:
            all_plain[parent] = <int64_t>all_plain[parent] + value
            all_positive[parent] = <double>all_positive[parent] + <double>all_positive[child]
        value = all_guides[child]
        if value:
            all_guides[parent] = <int64_t>all_guides[parent] + value
    return all_guides, all_plain, all_positive


def repeated_blocks(list blocks not None, int64_t least):
    """Return the places of blocks of at least ``least`` bytes with the text of an earlier one."""
    cdef dict counts = {}
    cdef set seen = set()
    cdef list found = []
    cdef Py_ssize_t place
    for block in blocks:
        length = (<tuple?>block)[1]
        if <int64_t>length >= least:
            counts[length] = <int64_t>counts.get(length, 0) + 1
    if len(counts) == len(blocks):
        return found
    for place in range(len(blocks)):
        block = <tuple>blocks[place]
        if <int64_t>counts.get(block[1], 0) > 1:  # texts are hashed only where their lengths are equal
            if block[0] in seen:
                found.append(place)
            seen.add(block[0])
    return found


def offsets_of(list parts not None, bytes whole not None):
    """Return where the parts are in a text, one part after the other.

    The rarest letter of a part is looked for, by vector instructions, and then the rest: ``bytes.find`` takes ten times
    as long.
    """
    cdef const char* text = <const char*>whole
    cdef const char* at
    cdef const char* letters
    cdef Py_ssize_t size = len(whole), length, rare
    cdef list found = []
    cdef bytes part
    for part in parts:
        letters, length = <const char*>part, len(part)
        if not length:
            raise ValueError("a part is empty")
        rare = rarest(letters, length)
        at = text + rare
        while text + size - at >= length - rare:
            at = <const char*>memchr(at, letters[rare], text + size - at - (length - rare) + 1)
            if at is NULL:
                break
            if memcmp(at - rare, letters, length) == 0:
                found.append(at - rare - text)
            at += 1
    return found


cdef Py_ssize_t rarest(const char* letters, Py_ssize_t length) noexcept:
    """Return the place of the first of the rarest ASCII letters, or 0."""
    cdef const char* order = b"zqxjkvbpygfwmucldrhsniotae"  # by their frequency in English
    cdef Py_ssize_t place
    while order[0]:
        for place in range(length):
            if letters[place] == order[0]:
                return place
        order += 1
    return 0


def texts_by_reason(
    list blocks not None, list reasons not None, Py_ssize_t named, kept_reasons not None, compared_reasons not None,
    position_reasons not None, str landmark not None,
):
    """Divide the texts of a page; see ``block_reader.ReasonTexts``."""
    cdef list kept = [], beside = [], stated = [], removed = []
    cdef int64_t landmark_bytes = 0, link_length
    cdef Py_ssize_t place, first = -1
    if len(reasons) != len(blocks):
        raise ValueError("the lists have different lengths")
    for place in range(len(blocks)):
        block, reason = <tuple?>blocks[place], reasons[place]
        if len(<tuple>block) != 7:
            raise ValueError("a block has seven values")
        text, link_length = block[0], block[2]
        if reason in kept_reasons:
            kept.append(text)
            if first < 0:
                first = block[6]
        elif place != named and (named < 0 or block[5] != "h1"):
            beside.append(text)
            if not link_length and reason in position_reasons:
                stated.append(text)
        if not link_length and reason not in compared_reasons:
            removed.append(text)
        if reason == landmark:
            landmark_bytes += <int64_t>block[1]
    return kept, beside, stated, removed, landmark_bytes, first
