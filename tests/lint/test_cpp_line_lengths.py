"""C++ lines over 100 columns become fewer: `cpp_line_lengths.json` says how many a folder may have, and only smaller numbers may replace it.

    python tests/lint/test_cpp_line_lengths.py --write      # lowers the figures to what is there, and raises none
"""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIGURES = Path(__file__).with_name("cpp_line_lengths.json")
#: So many fewer than the figure may be there before the figure has to follow: branches that shorten lines meet in no conflict.
SLACK = 20


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def limit():
    return int(re.search(r"^ColumnLimit: (\d+)$", (ROOT / ".clang-format").read_text(), re.M)[1])


def long_lines(names, columns, root=ROOT):
    """Folder -> how many lines of its C++ files are longer."""
    found = Counter()
    for name in names:
        path = root / name
        if path.suffix in (".cpp", ".h", ".inc") and path.is_file():
            found[name.split("/")[0]] += sum(len(line) > columns for line in path.read_text().split("\n"))
    return found


def complaints(found, figures):
    wrong = []
    for folder in sorted(found.keys() | figures.keys()):
        number, most = found.get(folder, 0), figures.get(folder, 0)
        if number > most:
            wrong.append(f"{folder}: {number} lines over 100 columns, {most} are allowed; wrap those you have added")
        elif number < most - SLACK:
            wrong.append(f"{folder}: {number} lines over 100 columns, the figure says {most}; lower it: {Path(__file__).name} --write")
    return wrong


def raised(figures, earlier):
    """What is above an earlier version of the file: a folder, or all together, so that lines may move to a new folder and come from nowhere."""
    wrong = []
    for before in earlier:
        wrong += [folder for folder, number in figures.items() if number > before.get(folder, number)]
        wrong += ["all"] if sum(figures.values()) > sum(before.values()) else []
    return wrong


def found_here():
    return long_lines(git("ls-files", "--cached", "--others", "--exclude-standard").split("\n"), limit())


def test_no_folder_has_more_than_its_figure():
    wrong = complaints(found_here(), json.loads(FIGURES.read_text()))
    assert not wrong, "\n".join(wrong)


def test_no_figure_was_ever_lower():
    name = FIGURES.relative_to(ROOT).as_posix()
    earlier = [json.loads(git("show", f"{commit}:{name}")) for commit in git("log", "--format=%H", "--", name).split()]
    assert not raised(json.loads(FIGURES.read_text()), earlier)


def test_too_many_too_few_and_a_raised_figure_are_noticed():
    assert complaints({"a": 5}, {"a": 5}) == complaints({"a": 5}, {"a": 5 + SLACK}) == []
    assert "6 lines" in complaints({"a": 6}, {"a": 5})[0] and "lower it" in complaints({"a": 5}, {"a": 6 + SLACK})[0]
    assert complaints({"new": 1}, {}) and complaints({}, {"gone": 1 + SLACK})
    assert raised({"a": 6, "b": 0}, [{"a": 7}, {"a": 5, "b": 9}]) == ["a"] and not raised({"a": 5}, [{"a": 7}, {"a": 5}])
    assert raised({"a": 5, "new": 1}, [{"a": 5}]) == ["all"] and not raised({"a": 4, "new": 1}, [{"a": 5}])


def test_lines_are_counted_in_columns(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/sample.cpp").write_text("a" * 100 + "\n" + "\u00e9" * 100 + "\n" + "b" * 101 + "\n")
    assert long_lines(["a/sample.cpp", "a/missing.cpp"], 100, tmp_path) == {"a": 1}


def write():
    found, before = found_here(), json.loads(FIGURES.read_text())
    figures = {folder: min(number, before.get(folder, number)) for folder, number in sorted(found.items())}
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__" and "--write" in sys.argv:
    write()
