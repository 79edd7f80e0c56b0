# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The scores of blocks and their features, as :mod:`dedupcrawl.page.scoring` and ``block_features`` compute them, but in C.

The functions of these modules are the reference. On a page of a hundred blocks, numpy needs more time for its calls than
for the arithmetic. All sums are of whole numbers far below 2^53, so their order does not matter.
"""

from libc.math cimport sqrt
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free

cdef extern from "Python.h":
    Py_UCS4 PyUnicode_READ_CHAR(object text, Py_ssize_t index)

cdef enum:
    COLUMNS = 36
    WORD_KINDS = 0b11  # of class and id: content, post
    AUTHOR_KINDS = 0b1100  # beside a post, author
    DISCUSSION = 0b10000
    MIN_SINCE = -50  # blocks before the title
    PATH_FACTOR = 31
    PATH_MASK = 0x3FFFFFFF
    MAX_TAGS = 64

cdef struct Container:
    double length  # bytes in it
    double kept  # bytes kept in it
    int64_t side, words, path  # with those of its ancestors
    int64_t own_side, tag, parent

cdef struct Group:  # blocks with the same path and tag
    double size, length, squares, kept, links


cdef class FeatureBuilder:
    """Computes the features of pages.

    Args:
        tags, reasons: their numbers.
        other: the number of those that are not listed.
        far: ``block_features.FAR``.
        kept_reason: the number of the reason of kept blocks.
        sentence_ends: characters.
    """

    cdef dict tags, reasons
    cdef str sentence_ends
    cdef int64_t other, far, kept_reason, first_heading, last_heading, title, cell

    def __init__(self, *, dict tags, dict reasons, other, far, kept_reason, str sentence_ends):
        self.tags, self.reasons, self.sentence_ends = tags, reasons, sentence_ends
        self.other, self.far, self.kept_reason = other, far, kept_reason
        self.first_heading = self.title = tags["h1"]
        self.last_heading = tags["h6"]
        self.cell = tags["td"]
        if max(other, *tags.values()) >= MAX_TAGS:
            raise ValueError("too many tags")

    def fill(
        self,
        tree not None,
        list reasons not None,
        list signs not None,
        double[:, ::1] sizes not None,
        int64_t[:, ::1] numbers not None,
        float[:, ::1] rows not None,
    ):
        """Fill the arrays of a page; the arguments are described in ``_features.pyi``."""
        cdef list blocks = tree.blocks
        cdef Py_ssize_t count = len(blocks), containers = len(tree.parents)
        if not count or len(reasons) != count or sizes.shape[1] != count or numbers.shape[1] != count:
            raise ValueError("the arrays do not fit the blocks")
        if sizes.shape[0] != 3 or numbers.shape[0] != 3 or rows.shape[0] != COLUMNS or rows.shape[1] != count:
            raise ValueError("the arrays have a wrong size")
        if len(tree.sides) != containers or len(signs) != containers:
            raise ValueError("the lists of the containers have different lengths")
        self.fill_own(blocks, reasons, sizes, numbers, rows, containers)
        fill_places(self, numbers[0], sizes[2], rows)
        fill_containers(tree, signs, sizes, numbers, rows)
        fill_around(self.cell, sizes, rows)

    cdef int fill_own(
        self, list blocks, list reasons, double[:, ::1] sizes, int64_t[:, ::1] numbers, float[:, ::1] rows,
        Py_ssize_t containers,
    ) except -1:
        """Fill what a block is by itself."""
        cdef Py_ssize_t place, size
        cdef tuple block
        cdef str text
        cdef Py_UCS4 last
        cdef bint ends
        for place in range(len(blocks)):
            block = <tuple?>blocks[place]
            if len(block) != 7:
                raise ValueError("a block has seven values")
            text = <str?>block[0]
            size = len(text)
            ends = False
            if size:
                last = PyUnicode_READ_CHAR(text, size - 1)
                ends = last in self.sentence_ends
            sizes[0, place], sizes[1, place] = <int64_t>block[1], <int64_t>block[2]
            numbers[0, place] = self.tags.get(block[5], self.other)
            numbers[1, place] = block[6]
            numbers[2, place] = self.reasons.get(reasons[place], self.other)
            sizes[2, place] = numbers[2, place] == self.kept_reason
            if not 0 <= numbers[1, place] < containers:
                raise ValueError("a block is in no container")
            rows[0, place] = <float>sizes[0, place]
            rows[1, place] = <float>(sizes[1, place] / sizes[0, place])
            rows[2, place] = numbers[0, place]
            rows[3, place] = ends
            rows[4, place] = <float>(size / sizes[0, place])
            rows[5, place] = <float>sizes[2, place]
            rows[6, place] = numbers[2, place]
        return 0


cdef void fill_places(FeatureBuilder rules, int64_t[::1] tags, double[::1] kept, float[:, ::1] rows) noexcept:
    """Fill where a block is on the page, and among the headings; columns 7 to 11."""
    cdef Py_ssize_t place, first = -1, last, title = -1, count = tags.shape[0]
    cdef double share = count
    cdef int64_t under = rules.other
    last = count - 1
    for place in range(count):
        if kept[place]:
            first = place if first < 0 else first
            last = place
        if title < 0 and tags[place] == rules.title:
            title = place
    first = max(first, 0)
    for place in range(count):
        if rules.first_heading <= tags[place] <= rules.last_heading:
            under = tags[place]
        rows[7, place] = <float>(place / share)
        rows[8, place] = <float>((place - first) / share)
        rows[9, place] = <float>((place - last) / share)
        rows[10, place] = under
        rows[11, place] = rules.far if title < 0 else min(max(place - title, MIN_SINCE), rules.far)


cdef int fill_containers(
    tree, list signs, double[:, ::1] sizes, int64_t[:, ::1] numbers, float[:, ::1] rows
) except -1:
    """Fill what is known of the containers of each block, and of the blocks that are alike; columns 12 to 24."""
    cdef Py_ssize_t containers = len(signs), count = rows.shape[1]
    cdef Container* table = <Container*>calloc(containers, sizeof(Container))
    cdef Group* groups = <Group*>calloc(count, sizeof(Group))
    cdef Py_ssize_t* members = <Py_ssize_t*>calloc(count, sizeof(Py_ssize_t))
    try:
        if table is NULL or groups is NULL or members is NULL:
            raise MemoryError
        descend(table, tree.parents, tree.sides, signs, sizes, numbers[1])
        fill_homes(table, sizes, numbers, rows)
        count_alike(table, groups, members, sizes, numbers)
        fill_alike(groups, members, max(1.0, table[0].length), rows)
    finally:
        free(table)
        free(groups)
        free(members)
    return 0


cdef int descend(
    Container* table, list parents, list sides, list signs, double[:, ::1] sizes, int64_t[::1] homes
) except -1:
    """Fill the containers, with what their ancestors and descendants add to them."""
    cdef Py_ssize_t child, place
    cdef Container* around
    for child in range(len(parents)):
        table[child].parent = parents[child]
        table[child].side = table[child].own_side = sides[child]
        table[child].words, table[child].path, table[child].tag = <tuple?>signs[child]
        if not -1 <= table[child].parent < child or (child and table[child].parent < 0):
            raise ValueError("a container precedes its parent")
    for place in range(homes.shape[0]):
        table[homes[place]].length += sizes[0, place]
        table[homes[place]].kept += sizes[0, place] * sizes[2, place]
    for child in range(len(parents) - 1, 0, -1):
        around = &table[table[child].parent]
        around.length += table[child].length
        around.kept += table[child].kept
    for child in range(1, len(parents)):
        around = &table[table[child].parent]
        table[child].side = max(table[child].side, around.side)
        table[child].words |= around.words
        table[child].path = (around.path * PATH_FACTOR + table[child].path) & PATH_MASK
    return 0


cdef void fill_homes(
    const Container* table, double[:, ::1] sizes, int64_t[:, ::1] numbers, float[:, ::1] rows
) noexcept:
    """Fill what is known of the container of each block; columns 12 to 18, 34 and 35."""
    cdef double total = max(1.0, table[0].length)
    cdef const Container* home
    cdef const Container* parent
    cdef Py_ssize_t place
    for place in range(rows.shape[1]):
        home = &table[numbers[1, place]]
        parent = home if home.parent < 0 else &table[home.parent]
        rows[12, place] = home.own_side
        rows[13, place] = home.side
        rows[14, place] = home.tag
        rows[15, place] = <float>(parent.length / total)
        rows[16, place] = <float>(parent.kept / max(1.0, parent.length))
        rows[17, place] = <float>(home.length / total)
        rows[18, place] = home.words & WORD_KINDS
        rows[34, place] = (home.words & AUTHOR_KINDS) >> 2
        rows[35, place] = home.words >= DISCUSSION


cdef int count_alike(
    const Container* table, Group* groups, Py_ssize_t* members, double[:, ::1] sizes, int64_t[:, ::1] numbers
) except -1:
    """Add up the blocks of the same path and tag; ``members``: for each block its group."""
    cdef dict known = {}
    cdef Group* group
    cdef Py_ssize_t place
    for place in range(numbers.shape[1]):
        key = table[numbers[1, place]].path * MAX_TAGS + numbers[0, place]
        members[place] = known.setdefault(key, len(known))
        group = &groups[members[place]]
        group.size += 1
        group.length += sizes[0, place]
        group.squares += sizes[0, place] * sizes[0, place]
        group.kept += sizes[0, place] * sizes[2, place]
        group.links += sizes[1, place]
    return 0


cdef void fill_alike(
    const Group* groups, const Py_ssize_t* members, double total, float[:, ::1] rows
) noexcept:
    """Fill what is known of the blocks that are alike; columns 19 to 24."""
    cdef const Group* group
    cdef Py_ssize_t place
    cdef double mean
    for place in range(rows.shape[1]):
        group = &groups[members[place]]
        mean = group.length / group.size
        rows[19, place] = <float>group.size
        rows[20, place] = <float>mean
        rows[21, place] = <float>(group.length / total)
        rows[22, place] = <float>(group.kept / group.length)
        rows[23, place] = <float>(group.links / group.length)
        rows[24, place] = <float>(sqrt(max(0.0, group.squares / group.size - mean * mean)) / (mean + 1))


cdef void fill_around(int64_t cell, double[:, ::1] sizes, float[:, ::1] rows) noexcept:
    """Fill the shares among the neighbours, and of the whole page; columns 25 to 33."""
    cdef Py_ssize_t place, count = rows.shape[1]
    cdef double all_length = 0, all_kept = 0, all_links = 0, cells = 0
    for place in range(count):
        fill_near(1, place, sizes, &rows[25, place], &rows[26, place])
        fill_near(3, place, sizes, &rows[27, place], &rows[28, place])
        all_length += sizes[0, place]
        all_kept += sizes[0, place] * sizes[2, place]
        all_links += sizes[1, place]
        cells += rows[2, place] == cell
    all_length = max(1.0, all_length)
    for place in range(count):
        rows[29, place] = <float>(all_kept / all_length)
        rows[30, place] = <float>all_kept
        rows[31, place] = <float>all_length
        rows[32, place] = <float>(all_links / all_length)
        rows[33, place] = <float>cells


cdef void fill_near(
    Py_ssize_t reach, Py_ssize_t place, double[:, ::1] sizes, float* share_kept, float* share_of_links
) noexcept:
    """Fill the share of kept text and of links among the neighbours, ``reach`` blocks to either side."""
    cdef Py_ssize_t at
    cdef double length = 1, kept = 0, links = 0
    for at in range(max(0, place - reach), min(sizes.shape[1], place + reach + 1)):
        length += sizes[0, at]
        kept += sizes[0, at] * sizes[2, at]
        links += sizes[1, at]
    share_kept[0] = <float>(kept / length)
    share_of_links[0] = <float>(links / length)


cdef struct Part:  # what the blocks of a container add up to, without those of its descendants
    double score, positive
    int64_t length, link_length, guides, plain


cdef class BlockScores:
    """Computes the scores of blocks.

    Args:
        kinds: by tag what it is: the same object for all headings, one for all cells, one for paragraphs.
        weights: the constants of ``scoring.score_block``, see ``_features.pyi``.
        guide_links, link_run, landmark: reasons.
        landmark_side: the kind of a container that is a landmark.
        points_elsewhere: ``rules.points_elsewhere``.
    """

    cdef dict kinds
    cdef str guide_links, link_run, landmark
    cdef object landmark_side, points_elsewhere, heading, paragraph, cell
    cdef double block_cost, link_cost, paragraph_bonus, min_score, max_score
    cdef int64_t max_heading, max_guide

    def __init__(
        self, *, dict kinds, weights, str guide_links, str link_run, str landmark, landmark_side, points_elsewhere
    ):
        self.kinds, self.landmark_side, self.points_elsewhere = kinds, landmark_side, points_elsewhere
        self.guide_links, self.link_run, self.landmark = guide_links, link_run, landmark
        self.block_cost, self.link_cost, self.paragraph_bonus, self.min_score, self.max_score = weights[:5]
        self.max_heading, self.max_guide = weights[5:]
        self.heading, self.paragraph, self.cell = kinds["h1"], kinds["p"], kinds["td"]

    cdef double score(self, object tag, int64_t length, int64_t link_length):
        """Return the score of a block; see ``scoring.score_block``."""
        cdef object kind = self.kinds.get(tag)
        cdef double value
        if kind is self.heading and length < self.max_heading:
            return 0
        value = length - self.link_cost * link_length - self.block_cost
        if kind is self.paragraph:
            value += self.paragraph_bonus
            if link_length:
                value = max(value, length - link_length - self.block_cost)
        elif value < 0 and kind is self.cell and not link_length:
            return 0
        return min(max(value, self.min_score), self.max_score)

    def score_blocks(
        self, list blocks not None, list sides not None, double content, double noise, int64_t longest_run
    ):
        """Return reasons and scores of the blocks, and the sums of the containers; see ``_features.pyi``."""
        cdef Py_ssize_t containers = len(sides), at
        cdef list reasons = [], scores = []
        cdef Part* parts = <Part*>calloc(max(containers, 1), sizeof(Part))
        if parts is NULL:
            raise MemoryError
        try:
            for block in blocks:
                at = (<tuple?>block)[6]
                if not 0 <= at < containers or len(<tuple>block) != 7:
                    raise ValueError("a block is in no container")
                is_landmark = sides[at] is self.landmark_side
                reason = self.reason_of(<tuple>block, content, noise, longest_run)
                scores.append(self.add(&parts[at], <tuple>block, bool(reason), is_landmark))
                reasons.append(self.landmark if is_landmark else reason)
            return reasons, scores, (
                [parts[at].score for at in range(containers)],
                [parts[at].positive for at in range(containers)],
                [parts[at].length for at in range(containers)],
                [parts[at].link_length for at in range(containers)],
                [parts[at].guides for at in range(containers)],
                [parts[at].plain for at in range(containers)],
            )
        finally:
            free(parts)

    cdef str reason_of(self, tuple block, double content, double noise, int64_t longest_run):
        """Return why the links of a block are noise, or ""."""
        cdef int64_t length = block[1], link_length = block[2], run = block[4]
        if not link_length:
            return ""
        if link_length > noise * length:
            return self.guide_links
        if link_length < content * length:
            return ""
        if run > longest_run:
            return self.link_run
        return self.guide_links if self.points_elsewhere(block[0]) else ""

    cdef double add(self, Part* part, tuple block, bint is_noise, bint is_landmark) except? -1:
        """Add a block to its container; return its score."""
        cdef int64_t length = block[1], link_length = block[2]
        cdef double value = 0
        if is_landmark:
            pass
        elif is_noise:
            value = -self.block_cost - length if length < self.max_guide else self.min_score
            part.guides += 1
        else:
            value = self.score(block[5], length, link_length)
            part.plain += length
            part.positive += max(value, 0.0)
        part.score += value
        part.length += length
        part.link_length += link_length
        return value

    def unread_bytes(self, list blocks not None, list reasons not None, read not None):
        """Return the bytes of statements whose reason is not in ``read``; see ``block_model.unread_bytes``."""
        cdef Py_ssize_t place
        cdef int64_t found = 0, length
        if len(reasons) != len(blocks):
            raise ValueError("the lists have different lengths")
        for place in range(len(blocks)):
            block = <tuple?>blocks[place]
            length = block[1]
            if length > self.block_cost and reasons[place] not in read:
                found += max(0, <int64_t>self.score(block[5], length, block[2]))
        return found


def text_size(list blocks not None):
    """Return how many bytes and how many characters the blocks have."""
    cdef int64_t length = 0, characters = 0
    for block in blocks:
        length += <int64_t>(<tuple?>block)[1]  # else Python adds
        characters += len(<str?>(<tuple>block)[0])
    return length, characters


def left_out_bytes(list blocks not None, list reasons not None, seen not None):
    """Return the bytes beside links whose reason is not in ``seen``; see ``block_features.left_out_bytes``."""
    cdef Py_ssize_t place
    cdef int64_t found = 0
    if len(reasons) != len(blocks):
        raise ValueError("the lists have different lengths")
    for place in range(len(blocks)):
        if reasons[place] not in seen:
            block = <tuple?>blocks[place]
            found += <int64_t>block[1] - <int64_t>block[2]
    return found
