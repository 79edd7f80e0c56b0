from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.tools.evaluation.plot import PlotRectangle, check_plot, draw_curve, place_label, points_between
from dedupcrawl.tools.evaluation.runs import Measure, SweepReport
from tests.tools.evaluation.test_runs import point

SVG = "{http://www.w3.org/2000/svg}"


def curve(measure: Measure = "drops", precision: float = 0.95) -> SweepReport:
    found = ((0.5, 99, 30), (0.6, 95, 10), (0.7, 90, 2), (0.75, 90, 2), (0.8, 70, 0), (0.9, 30, 0))
    points = (point(value, right, wrong, measure=measure) for value, right, wrong in found)
    return SweepReport("minhash.threshold", tuple(points), measure, precision)


def texts(path: Path) -> list[str]:
    return ["".join(text.itertext()).strip() for text in ET.parse(path).iter(f"{SVG}text")]


def marks(path: Path) -> list[tuple[float, float]]:
    """The positions of the points, in the order of the settings."""
    (group,) = [g for g in ET.parse(path).iter(f"{SVG}g") if g.get("id") == "points"]
    return [(float(use.get("x", "")), float(use.get("y", ""))) for use in group.iter(f"{SVG}use")]


def test_svg_holds_every_point_and_a_title(tmp_path: Path) -> None:
    path = tmp_path / "curve.svg"
    draw_curve(path, curve())
    assert path.read_bytes().startswith(b"<?xml")
    places = marks(path)
    assert len(places) == 6
    assert [x for x, _ in places] == sorted((x for x, _ in places), reverse=True)  # recall falls
    assert [y for _, y in places] == sorted((y for _, y in places), reverse=True)  # up is less in SVG
    said = texts(path)
    assert {"0.5", "0.6", "0.8", "0.9", "threshold = 0.7 (0.7 … 0.75 alike)"} <= set(said)
    assert "minhash: drops by minhash.threshold" in said
    assert any("recall" in text for text in said)
    assert any("precision" in text for text in said)
    assert "wanted: 0.95" in said


def test_png_is_a_picture(tmp_path: Path) -> None:
    path = tmp_path / "curve.PNG"
    draw_curve(path, curve("pairs"))
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = (int.from_bytes(data[at : at + 4], "big") for at in (16, 20))
    assert width > height > 500


def test_equal_figures_make_equal_files(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        draw_curve(tmp_path / name, curve())
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


@pytest.mark.parametrize(
    "points",
    [
        [(0.5, 100, 0)],
        [(0.5, 0, 0)],
        [(value / 100, 90, 1) for value in range(1, 60)],
        [(value / 100, value, 100 - value) for value in range(100)],
    ],
)
def test_degenerate_curves_are_drawn(tmp_path: Path, points: list[tuple[float, int, int]]) -> None:
    path = tmp_path / "curve.svg"
    draw_curve(path, SweepReport("threshold", tuple(point(*each) for each in points), "drops", 0.99))
    assert len(marks(path)) == len(points)


def test_a_steep_line_of_equal_f1_is_drawn(tmp_path: Path) -> None:
    path = tmp_path / "curve.svg"
    points = [point(0.6, 99, 1), point(0.8, 98, 0), point(0.95, 86, 0)]
    draw_curve(path, SweepReport("threshold", tuple(points), "drops", 0.99))
    assert "F1 0.95" in texts(path)


@pytest.mark.parametrize("name", ["curve", "curve.pdf", "curve.svg.gz", ".svg"])
def test_other_formats_are_refused(name: str) -> None:
    with pytest.raises(SettingError, match=re.escape(".svg or .png")):
        check_plot(Path(name))


def test_a_missing_folder_or_matplotlib_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DedupError, match="no folder"):
        check_plot(tmp_path / "absent" / "curve.svg")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(DedupError, match=re.escape("pip install 'dedupcrawl[plots]'")):
        check_plot(tmp_path / "curve.svg")


def test_a_file_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "curve.svg").mkdir()
    with pytest.raises(DedupError, match="cannot be written"):
        draw_curve(tmp_path / "curve.svg", curve())


def test_labels_keep_off_what_is_taken_and_inside() -> None:
    bounds = PlotRectangle(0, 0, 400, 400)
    taken: list[PlotRectangle] = []
    for _ in range(12):
        box, offset = place_label((200, 200), (40, 12), taken, bounds, 1)
        assert all(box.overlap(other) == 0 for other in taken)
        assert box.overlap(bounds) == box.area
        assert (200 + offset[0], 200 + offset[1]) == pytest.approx(
            ((box.left + box.right) / 2, (box.bottom + box.top) / 2)
        )
        taken.append(box)
    corner, _ = place_label((399, 399), (40, 12), [], bounds, 1)
    assert corner.overlap(bounds) == corner.area


def test_places_between_points() -> None:
    assert list(points_between([(0, 0), (10, 0), (10, 4)], 2)) == [(2, 0), (4, 0), (6, 0), (8, 0), (10, 2)]
    assert list(points_between([(3, 3)], 1)) == []
