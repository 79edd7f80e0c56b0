"""The precision-recall curve of a sweep as an SVG or PNG file."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import hypot
from typing import TYPE_CHECKING, Any, Literal

from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.utils.optional import require_extra

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dedupcrawl.tools.evaluation.runs import SweepReport, SweepRow


FORMATS = (".svg", ".png")
_Side = Literal["left", "center"]
#: Colours of Okabe and Ito, which can be distinguished with all kinds of colour vision.
_CURVE_COLOR, _BEST_COLOR, _FAINT_COLOR = "#0072B2", "#D55E00", "#767676"
_F1_LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)  #: of the lines of equal F1
_MIN_SPAN = 0.02  #: range of each axis that is always shown
_RC_PARAMS: Any = {"svg.fonttype": "none", "svg.hashsalt": "dedupcrawl", "font.size": 10}
#: Directions of a label from its point, the best first, and distances in typographic points.
_DIRECTIONS = ((1, 0.6), (1, -0.6), (-1, -0.6), (-1, 0.6), (0, 1), (0, -1), (1, 0), (-1, 0))
_DISTANCES = (11, 18, 27, 38, 52, 70)
_OUTSIDE_COST = 2.0  #: cost of area outside the axes; covered area costs 1


def check_plot(path: Path) -> None:
    """Check that a plot can be written, before the evaluation starts.

    Raises:
        SettingError: the name of the file ends in neither .svg nor .png.
        DedupError: matplotlib is missing, or there is no such folder.
    """
    if path.suffix.lower() not in FORMATS:
        raise SettingError("--plot", str(path), f"the name of a file that ends in {' or '.join(FORMATS)}")
    require_extra("matplotlib", "--plot", "plots")
    if not path.absolute().parent.is_dir():
        raise DedupError(f"--plot: there is no folder {path.absolute().parent}")


def draw_curve(path: Path, curve: SweepReport) -> None:
    """Draw recall and precision of every value, with the best value marked.

    Lines of equal F1 and the wanted precision are drawn underneath.

    Raises:
        SettingError, DedupError: as :func:`check_plot`, and when the file cannot be written.
    """
    check_plot(path)
    from matplotlib import rc_context  # noqa: PLC0415 - an optional dependency, slow to load
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    with rc_context(_RC_PARAMS):
        figure = Figure(figsize=(8, 6), dpi=144, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        _set_up(axes, curve)
        _draw_f1_lines(axes)
        _draw_wanted_precision(axes, curve)
        _draw_points(axes, curve)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # the labels are placed by this layout
        _draw_labels(axes, curve)
        _save(figure, path)


def _save(figure: Figure, path: Path) -> None:
    metadata = {"Date": None} if path.suffix.lower() == ".svg" else None  # equal data make equal files
    try:
        figure.savefig(path, metadata=metadata)
    except OSError as error:
        raise DedupError(f"{path}: cannot be written: {error}") from error


def _set_up(axes: Axes, curve: SweepReport) -> None:
    detectors = " + ".join(curve.points[0].report.detectors)
    axes.set_title(f"{detectors}: {curve.measure} by {curve.name}", loc="left", fontweight="bold", pad=20)
    axes.set_xlabel("recall: share of the copies that are found")
    axes.set_ylabel("precision: share of what is found that is a copy")
    axes.set_xlim(*_axis_limits([point.scores.recall for point in curve.points]))
    axes.set_ylim(*_axis_limits([point.scores.precision for point in curve.points]))
    axes.grid(visible=True, color="#ececec", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _axis_limits(values: Sequence[float]) -> tuple[float, float]:
    """Return axis limits around all values, hardly beyond 0 and 1."""
    low, high = min(values), max(values)
    room = max(0.15 * (high - low), (_MIN_SPAN - (high - low)) / 2)
    return max(low - room, -room / 4), min(high + room, 1 + room / 4)


def _draw_f1_lines(axes: Axes) -> None:
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    for f1 in _F1_LEVELS:
        recalls = [left + (right - left) * step / 500 for step in range(501)]
        line = [
            (recall, f1 * recall / (2 * recall - f1))
            for recall in recalls
            if f1 / 2 < recall <= 1 and bottom <= f1 * recall / (2 * recall - f1) <= min(top, 1)
        ]
        if not _is_visible(line, right - left, top - bottom):
            continue
        axes.plot(*zip(*line, strict=True), color="#c8c8c8", linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
        (recall, precision), text = line[0], f"F1 {f1:g}"
        if recall > left:  # the line starts at the top, where there is free space
            _annotate(axes, text, (recall, top), (0, 3), "center")
        else:
            _annotate(axes, text, (recall, precision), (4, -10), "left")


def _is_visible(line: Sequence[tuple[float, float]], width: float, height: float) -> bool:
    """Return whether a line is more than a corner of the plot."""
    if len(line) < 2:
        return False
    (from_x, from_y), (to_x, to_y) = line[0], line[-1]
    return abs(to_x - from_x) > 0.1 * width or abs(to_y - from_y) > 0.1 * height


def _draw_wanted_precision(axes: Axes, curve: SweepReport) -> None:
    bottom, top = axes.get_ylim()
    if bottom < curve.precision < top:
        axes.axhline(curve.precision, color=_BEST_COLOR, linewidth=0.9, linestyle=":", zorder=1)
        _annotate(axes, f"wanted: {curve.precision:g}", (axes.get_xlim()[0], curve.precision), (4, 4), "left")


def _annotate(axes: Axes, text: str, where: tuple[float, float], offset: tuple[float, float], side: _Side) -> None:
    axes.annotate(text, where, offset, textcoords="offset points", color=_FAINT_COLOR, fontsize=8, ha=side)


def _draw_points(axes: Axes, curve: SweepReport) -> None:
    recalls = [point.scores.recall for point in curve.points]
    precisions = [point.scores.precision for point in curve.points]
    axes.plot(recalls, precisions, color=_CURVE_COLOR, linewidth=1.2, alpha=0.6, zorder=2, clip_on=False)
    marks = axes.plot(recalls, precisions, "o", color=_CURVE_COLOR, markersize=6, zorder=3, clip_on=False)
    marks[0].set_gid("points")
    if curve.best is not None:
        scores = curve.best.scores
        mark = axes.plot([scores.recall], [scores.precision], "D", markersize=8, zorder=4, clip_on=False)
        mark[0].set(markerfacecolor=_BEST_COLOR, markeredgecolor="white", markeredgewidth=1)


def _draw_labels(axes: Axes, curve: SweepReport) -> None:
    """Annotate the points with their values, without overlap where possible."""
    unit = axes.figure.dpi / 72
    pixels = _pixels(axes, [(point.scores.recall, point.scores.precision) for point in curve.points])
    taken = [PlotRectangle.around(x, y, 10 * unit, 10 * unit) for x, y in pixels]
    taken += [PlotRectangle.around(x, y, 4 * unit, 4 * unit) for x, y in points_between(pixels, 4 * unit)]
    taken += [PlotRectangle(*map(float, text.get_window_extent().extents)) for text in axes.texts]
    bounds = PlotRectangle(*map(float, axes.get_window_extent().extents))
    for where, values in sorted(_values_by_scores(curve).items(), key=lambda each: not _is_best(curve, each[1])):
        best = curve.best if _is_best(curve, values) else None
        text = _value_range(values) if best is None else _best_label(curve, best, values)
        (pixel,) = _pixels(axes, [where])
        width = (6.3 if best is None else 7.2) * len(text)
        box, offset = place_label(pixel, (width * unit, 12 * unit), taken, bounds, unit)
        taken.append(box)
        axes.annotate(
            text,
            where,
            offset,
            textcoords="offset points",
            color="#222222" if best is None else _BEST_COLOR,
            fontweight="normal" if best is None else "bold",
            ha="center",
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": "#a0a0a0", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 4},
            zorder=5,
        )


def _pixels(axes: Axes, places: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in axes.transData.transform(places)]


def _values_by_scores(curve: SweepReport) -> dict[tuple[float, float], list[float]]:
    """Return the values by their recall and precision."""
    found: dict[tuple[float, float], list[float]] = {}
    for point in curve.points:
        found.setdefault((point.scores.recall, point.scores.precision), []).append(point.value)
    return found


def _is_best(curve: SweepReport, values: Sequence[float]) -> bool:
    return curve.best is not None and curve.best.value in values


def _best_label(curve: SweepReport, best: SweepRow, values: Sequence[float]) -> str:
    """Return the label of the best value, with the values of the same scores."""
    name = curve.name.rpartition(".")[2]
    return f"{name} = {best.value:g}" + (f" ({_value_range(values)} alike)" if len(values) > 1 else "")


def _value_range(values: Sequence[float]) -> str:
    return f"{values[0]:g}" if len(values) == 1 else f"{values[0]:g} … {values[-1]:g}"


@dataclass(frozen=True, slots=True)
class PlotRectangle:
    """A rectangle in pixels; y grows upwards."""

    left: float
    bottom: float
    right: float
    top: float

    @classmethod
    def around(cls, x: float, y: float, width: float, height: float) -> PlotRectangle:
        """Return the box of this size whose centre is (x, y)."""
        return cls(x - width / 2, y - height / 2, x + width / 2, y + height / 2)

    @property
    def area(self) -> float:
        """Its area in square pixels."""
        return (self.right - self.left) * (self.top - self.bottom)

    def overlap(self, other: PlotRectangle) -> float:
        """Return the area that two boxes share."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.top, other.top) - max(self.bottom, other.bottom)
        return max(width, 0.0) * max(height, 0.0)


def points_between(points: Sequence[tuple[float, float]], step: float) -> Iterator[tuple[float, float]]:
    """Yield positions on the lines from point to point, about ``step`` apart."""
    for (x, y), (to_x, to_y) in pairwise(points):
        count = int(hypot(to_x - x, to_y - y) / step)
        for number in range(1, count):
            part = number / count
            yield x + part * (to_x - x), y + part * (to_y - y)


def place_label(
    point: tuple[float, float],
    size: tuple[float, float],
    taken: Sequence[PlotRectangle],
    bounds: PlotRectangle,
    unit: float,
) -> tuple[PlotRectangle, tuple[float, float]]:
    """Choose the position of a label of ``size`` pixels: the nearest that is free, else the least covered.

    Returns its box, and the offset of its centre from the point in units of ``unit`` pixels.
    """
    places = [_beside(point, size, direction, far * unit) for far in _DISTANCES for direction in _DIRECTIONS]
    best = min(places, key=lambda box: round(_placement_cost(box, taken, bounds), 3))
    x, y = (best.left + best.right) / 2 - point[0], (best.bottom + best.top) / 2 - point[1]
    return best, (x / unit, y / unit)


def _beside(
    point: tuple[float, float], size: tuple[float, float], direction: tuple[float, float], far: float
) -> PlotRectangle:
    """Return the box of a label; its nearest edge is ``far`` pixels away."""
    (x, y), (width, height) = point, size
    across = direction[0] * (far + width / 2) if direction[0] else 0.0
    return PlotRectangle.around(x + across, y + direction[1] * (far + height / 2), width, height)


def _placement_cost(box: PlotRectangle, taken: Sequence[PlotRectangle], bounds: PlotRectangle) -> float:
    return sum(map(box.overlap, taken)) + _OUTSIDE_COST * (box.area - box.overlap(bounds))
