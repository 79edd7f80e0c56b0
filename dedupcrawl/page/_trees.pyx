# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The decision trees of :mod:`dedupcrawl.page.block_model`, evaluated for many rows at once, and the choice of blocks.

Each row has a set of leaves that it may reach, one bit a leaf. Each condition removes those on the other side, without
a branch, so that compilers make vector instructions of it (Lucchese et al., "QuickScorer", SIGIR 2015).
"""

from libc.math cimport exp, rint
from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memcpy

cdef enum:
    MAX_LEAVES = 32
    LANES = 32  # rows that go down a tree together

# Bits of de Bruijn's sequence, to find the lowest bit (Leiserson, Prokop and Randall, 1998).
cdef uint32_t SEQUENCE = 0x077CB531u
cdef unsigned char PLACES[MAX_LEAVES]


cdef void _fill_places() noexcept:
    cdef int place
    for place in range(MAX_LEAVES):
        PLACES[<uint32_t>(SEQUENCE << place) >> 27] = place

_fill_places()


cdef class ForestScores:
    """The arrays of ``block_model.Trees`` whose values are added up."""

    cdef const Py_ssize_t[:, ::1] feature
    cdef const float[:, ::1] limit
    cdef const uint32_t[:, ::1] left, right
    cdef const float[:, ::1] value
    cdef Py_ssize_t columns  # that rows need to have

    def __init__(
        self, const Py_ssize_t[:, ::1] feature not None, const float[:, ::1] limit not None,
        const uint32_t[:, ::1] left not None, const uint32_t[:, ::1] right not None, const float[:, ::1] value not None,
    ):
        cdef Py_ssize_t trees = feature.shape[0], nodes = feature.shape[1], tree, node
        if limit.shape[0] != trees or left.shape[0] != trees or right.shape[0] != trees or value.shape[0] != trees:
            raise ValueError("the arrays have different numbers of trees")
        if limit.shape[1] != nodes or left.shape[1] != nodes or right.shape[1] != nodes:
            raise ValueError("the arrays have different numbers of nodes")
        if value.shape[1] > MAX_LEAVES:
            raise ValueError("the trees have too many leaves")
        self.columns = 0
        for tree in range(trees):
            for node in range(nodes):
                if feature[tree, node] < 0:
                    raise ValueError("a tree compares a feature that does not exist")
                self.columns = max(self.columns, feature[tree, node] + 1)
        self.feature, self.limit, self.left, self.right, self.value = feature, limit, left, right, value

    def add_leaves(self, const float[:, ::1] columns not None, double[::1] sums not None):
        """Add to ``sums`` the value of the leaf that each row reaches in each tree."""
        if columns.shape[0] < self.columns or sums.shape[0] != columns.shape[1]:
            raise ValueError("the features or the sums have a wrong size")
        if sums.shape[0]:
            self.add(&columns[0, 0], columns.shape[0], columns.shape[1], &sums[0])

    def probabilities(
        self, const float[:, ::1] columns not None, const unsigned char[::1] excluded not None,
        double[::1] chances not None, double unit, double quantum,
    ):
        """Set ``chances``: 0 for rows that are excluded, else the logistic function of the sum; see ``block_model``."""
        cdef Py_ssize_t count = columns.shape[1], asked = 0, row, column
        cdef float* chosen
        cdef double* sums
        if columns.shape[0] < self.columns or excluded.shape[0] != count or chances.shape[0] != count:
            raise ValueError("the features or the chances have a wrong size")
        chosen = <float*>malloc((columns.shape[0] * count + 1) * sizeof(float))
        sums = <double*>calloc(count + 1, sizeof(double))
        if chosen is NULL or sums is NULL:
            free(chosen)
            free(sums)
            raise MemoryError
        for row in range(count):
            asked += not excluded[row]
        for column in range(columns.shape[0]):
            _choose_rows(chosen + column * asked, &columns[column, 0], excluded)
        try:
            if asked:
                self.add(chosen, columns.shape[0], asked, sums)
            asked = 0
            for row in range(count):
                if excluded[row]:
                    chances[row] = 0
                else:
                    chances[row] = rint(1 / (1 + exp(-(sums[asked] / unit))) / quantum) * quantum
                    asked += 1
        finally:
            free(chosen)
            free(sums)

    cdef int add(self, const float* columns, Py_ssize_t width, Py_ssize_t rows, double* sums) except -1:
        """Add the leaves of ``width`` columns of ``rows`` values each."""
        cdef Py_ssize_t trees = self.feature.shape[0], nodes = self.feature.shape[1], tree, first
        cdef float* lanes
        if not trees or not nodes:
            return 0
        lanes = <float*>calloc(width * LANES, sizeof(float))
        if lanes is NULL:
            raise MemoryError
        for first in range(0, rows, LANES):
            _load(lanes, columns + first, width, rows, min(LANES, rows - first))
            for tree in range(trees):
                _add_tree(
                    sums + first, min(LANES, rows - first), lanes, nodes, &self.feature[tree, 0], &self.limit[tree, 0],
                    &self.left[tree, 0], &self.right[tree, 0], &self.value[tree, 0], self.value.shape[1],
                )
        free(lanes)
        return 0


cdef inline void _choose_rows(float* chosen, const float* column, const unsigned char[::1] excluded) noexcept:
    """Copy the values of a column that are not excluded."""
    cdef Py_ssize_t row, at = 0
    for row in range(excluded.shape[0]):
        chosen[at] = column[row]
        at += not excluded[row]


cdef void _load(
    float* lanes, const float* columns, Py_ssize_t width, Py_ssize_t rows, Py_ssize_t size
) noexcept:
    """Copy up to ``LANES`` rows: then each loop over them has the same length, which compilers need."""
    cdef Py_ssize_t column
    for column in range(width):
        memcpy(lanes + column * LANES, columns + column * rows, size * sizeof(float))


cdef inline void _add_tree(
    double* sums, Py_ssize_t rows, const float* lanes, Py_ssize_t nodes, const Py_ssize_t* feature, const float* limit,
    const uint32_t* left, const uint32_t* right, const float* value, Py_ssize_t count,
) noexcept:
    """Add the value of the leaf that each of the first ``rows`` lanes reaches in one tree."""
    cdef uint32_t leaves[LANES]
    cdef Py_ssize_t node
    for node in range(nodes):
        _keep(leaves, lanes + feature[node] * LANES, limit[node], left[node], right[node], node == 0)
    _add(sums, leaves, rows, value, count)


cdef inline void _keep(
    uint32_t* leaves, const float* column, float limit, uint32_t left, uint32_t right, bint is_first
) noexcept:
    """Remove the leaves that each lane cannot reach by one condition."""
    cdef uint32_t others = left ^ right
    cdef int lane
    if is_first:
        for lane in range(LANES):
            leaves[lane] = right ^ (others & -<uint32_t>(column[lane] <= limit))
    else:
        for lane in range(LANES):
            leaves[lane] &= right ^ (others & -<uint32_t>(column[lane] <= limit))


cdef inline void _add(
    double* sums, const uint32_t* leaves, Py_ssize_t rows, const float* value, Py_ssize_t count
) noexcept:
    cdef Py_ssize_t row, leaf
    cdef uint32_t left
    for row in range(rows):
        left = leaves[row]
        while left:
            leaf = PLACES[<uint32_t>((left & -left) * SEQUENCE) >> 27]
            if leaf < count:
                sums[row] += value[leaf]
            left &= left - 1


cdef struct Block:
    double chance
    Py_ssize_t place


cdef int _compare(const void* one, const void* other) noexcept nogil:
    """The more probable block first, of equal ones the earlier."""
    cdef const Block* mine = <const Block*>one
    cdef const Block* its = <const Block*>other
    if mine.chance != its.chance:
        return 1 if mine.chance < its.chance else -1
    return 1 if mine.place > its.place else -1


def choose(const double[::1] chances not None, const double[::1] lengths not None, unsigned char[::1] keep not None):
    """Set ``keep`` to 1 for the blocks with the highest expected F1, else to 0; see ``block_model.best_choice``."""
    cdef Py_ssize_t count = chances.shape[0], place, last = 0
    cdef double right = 0, all_right = 0, length = 0, expected, best = -1
    cdef Block* order
    if lengths.shape[0] != count or keep.shape[0] != count:
        raise ValueError("the arrays have different sizes")
    if not count:
        return
    order = <Block*>malloc(count * sizeof(Block))
    if order is NULL:
        raise MemoryError
    for place in range(count):
        order[place].chance, order[place].place = chances[place], place
        keep[place] = 0
    qsort(order, count, sizeof(Block), &_compare)
    for place in range(count):
        all_right += lengths[order[place].place] * order[place].chance
    for place in range(count):
        length += lengths[order[place].place]
        right += lengths[order[place].place] * order[place].chance
        expected = 2 * right / (length + all_right)
        if expected > best:
            best, last = expected, place
    for place in range(last + 1):
        keep[order[place].place] = 1
    free(order)


def promised_gain(
    const double[::1] chances not None,
    const double[::1] lengths not None,
    const unsigned char[::1] keep not None,
    const double[::1] kept not None,
):
    """Return the expected F1 of the choice ``keep`` less that of ``kept``; see ``block_model.promised_gain``."""
    cdef Py_ssize_t count = chances.shape[0], place
    cdef double right, all_right = 0, by_model = 0, by_rules = 0, model_right = 0, rules_right = 0
    if lengths.shape[0] != count or keep.shape[0] != count or kept.shape[0] != count:
        raise ValueError("the arrays have different sizes")
    for place in range(count):
        right = lengths[place] * chances[place]
        all_right += right
        if keep[place]:
            by_model += lengths[place]
            model_right += right
        if kept[place]:
            by_rules += lengths[place]
            rules_right += right
    return _f1(model_right, by_model + all_right) - _f1(rules_right, by_rules + all_right)


cdef inline double _f1(double right, double both) noexcept:
    return 2 * right / both if both else 0.0
