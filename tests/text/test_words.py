"""Words of Chinese, English and both."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dedupcrawl.text.words import words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我来到北京清华大学", ("我", "来到", "北京", "清华大学")),
        ("the 2nd harbour, frozen!", ("the", "2nd", "harbour", "frozen")),
        ("北京 2008 olympics。", ("北京", "2008", "olympics")),
        ("don't_stop", ("don", "t", "stop")),
        ("한국어 문장", ("한국어", "문장")),
        ("", ()),
        ("…！", ()),
    ],
)
def test_words(text: str, expected: tuple[str, ...]) -> None:
    assert words(text) == expected


def test_jieba_is_silent_and_loaded_only_for_chinese() -> None:
    program = (
        "import sys, warnings, dedupcrawl\n"
        "from dedupcrawl.text.words import words\n"
        "warnings.simplefilter('error')\n"
        "words('only english'); assert 'jieba' not in sys.modules\n"
        "words('北京大学'); assert 'jieba' in sys.modules\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
