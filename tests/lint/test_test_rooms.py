"""The Python tests are in rooms: each folder of tests/python is in the table of tests/README.md and has few files, and names of files are unique."""

import collections
import re
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
FOLDER = TESTS / "python"
ROOMS = sorted(path for path in FOLDER.iterdir() if path.is_dir() and path.name != "__pycache__")
FEWEST_FILES, MOST_FILES = 6, 20


def test_every_room_is_in_the_table():
    named = re.findall(r"^\| `(\w+)/` \|", (TESTS / "README.md").read_text(), re.MULTILINE)
    assert sorted(named) == [room.name for room in ROOMS]


def test_nothing_lies_beside_the_rooms():
    assert [path.name for path in FOLDER.glob("*.py")] == ["conftest.py"]


def test_rooms_have_a_few_files():
    counts = {room.name: len(list(room.glob("*.py"))) for room in ROOMS}
    wrong = {name: count for name, count in counts.items() if not FEWEST_FILES <= count <= MOST_FILES}
    assert not wrong, f"part or merge: {wrong}"


def test_names_of_files_are_unique():
    counts = collections.Counter(path.name for room in ROOMS for path in room.glob("*.py"))
    assert not [name for name, count in counts.items() if count > 1]


def test_support_has_no_tests_and_rooms_have():
    assert not list((FOLDER / "support").rglob("test_*.py"))
    assert all(list(room.glob("test_*.py")) for room in ROOMS if room.name != "support")
