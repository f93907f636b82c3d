"""Lists of files: levels of folders, whole names, pages and orders, each as far as the caller reads."""

import unicodedata
from collections.abc import Callable

import pytest

from inspections.faults import NoSuchBucket
from inspections.files.listing import Order, list_level, list_page
from inspections.files.records import remove_all
from inspections.files.store import FileStore
from tests.inspections.case_world import ELSEWHERE, FAILED, MOMENT, SCHEDULED, case_rows
from tests.inspections.file_world import Files

NAMES = [f"{FAILED}/b.jpg", f"{FAILED}/a.jpg", f"{FAILED}/in/z.jpg", f"{FAILED}/in/deep/y.jpg", f"{SCHEDULED}/Ä.jpg",
         f"{ELSEWHERE}/hidden.jpg"]  # fmt: skip

ORDERS = [Order(column, is_descending) for column in ("name", "created_at") for is_descending in (False, True)]


@pytest.fixture
def files(world: Callable, tmp_path: object) -> Callable[[str], Files]:
    case = world(case_rows(), MOMENT)
    store = FileStore(tmp_path / "files")
    root = Files(case, store, "root")
    for name in NAMES:
        root.put(f"inspections/{name}")
    root.put("buildings/1/x.jpg")
    return lambda who: Files(case, store, who)


def level(files: Files, folder: str, **options: object) -> list[str]:
    entries = files.read(list_level, "inspections", folder, **options)
    return [each.name + ("" if each.file else "/") for each in entries]


def page(files: Files, prefix: str, **options: object) -> list[str]:
    found = files.read(list_page, "inspections", prefix, **options)
    assert all(row.name.startswith(prefix.lstrip("/")) for row in found.files)
    return found.folders + [row.name for row in found.files]


def test_level_has_files_and_folders(files: Callable) -> None:
    ada = files("ada")

    assert level(ada, "") == level(ada, "/") == [f"{FAILED}/", f"{SCHEDULED}/"]
    assert level(ada, f"{FAILED}") == level(ada, f"/{FAILED}/") == ["a.jpg", "b.jpg", "in/"]
    assert level(ada, f"{FAILED}/in") == ["deep/", "z.jpg"]
    assert level(ada, f"{FAILED}/in/deep") == ["y.jpg"]
    for nothing in (f"{FAILED}/i", f"{FAILED}/a.jpg", "x", "1918x", f"0{FAILED}", "999", f"{FAILED}/../{FAILED}"):
        assert level(ada, nothing) == []


@pytest.mark.parametrize(
    ("who", "rows"),
    [("root", [FAILED, SCHEDULED, ELSEWHERE]), ("ada", [FAILED, SCHEDULED]), ("bob", [FAILED, ELSEWHERE]),
     ("moe", [FAILED, SCHEDULED]), ("mia", [FAILED, SCHEDULED]), ("max", [])],
)  # fmt: skip
def test_hidden_files_are_in_no_list(files: Callable, who: str, rows: list[int]) -> None:
    own = files(who)
    names = sorted(name for name in NAMES if int(name.split("/")[0]) in rows)

    assert level(own, "") == [f"{row}/" for row in sorted(rows)]
    assert page(own, "") == names
    assert page(own, "", with_delimiter=True) == [f"{row}/" for row in sorted(rows)]
    for row in (FAILED, SCHEDULED, ELSEWHERE):
        assert bool(level(own, str(row))) == bool(page(own, f"{row}/")) == (row in rows)


def test_search_finds_beginnings_in_any_case(files: Callable) -> None:
    ada = files("ada")

    assert level(ada, f"{FAILED}", search="A") == ["a.jpg"]
    assert level(ada, f"{FAILED}", search="I") == ["in/"]
    assert level(ada, f"{SCHEDULED}", search="ä") == ["Ä.jpg"]
    assert level(ada, "", search="19") == [f"{FAILED}/", f"{SCHEDULED}/"]
    assert level(ada, "", search="1919") == [f"{SCHEDULED}/"]
    for nothing in ("%", "_", "x", "19%"):
        assert level(ada, "", search=nothing) == []
    assert level(ada, f"{FAILED}", search="%") == []


@pytest.mark.parametrize("folder", ["", f"{FAILED}", f"{FAILED}/in"])
def test_pages_of_a_level_are_the_whole_level(files: Callable, folder: str) -> None:
    ada = files("ada")
    whole = level(ada, folder)

    assert [level(ada, folder, limit=1, offset=at) for at in range(len(whole) + 1)] == [[each] for each in whole] + [[]]
    assert level(ada, folder, order=Order(descending=True)) == whole[::-1]


@pytest.mark.parametrize("column", ["created_at", "updated_at"])
def test_orders_by_time(files: Callable, column: str) -> None:
    ada = files("ada")

    assert level(ada, f"{FAILED}", order=Order(column)) == ["a.jpg", "b.jpg", "in/"]
    assert level(ada, f"{FAILED}", order=Order(column, descending=True)) == ["in/", "a.jpg", "b.jpg"]
    assert page(ada, "", order=Order(column, descending=True)) == sorted(NAMES[:5])


def test_prefix_of_whole_names_is_no_folder(files: Callable) -> None:
    ada = files("ada")

    assert page(ada, "191") == sorted(NAMES[:5])
    assert page(ada, "1919") == page(ada, "/1919/") == [NAMES[4]]
    assert page(ada, f"{FAILED}/i") == [NAMES[3], NAMES[2]]
    assert page(ada, f"{FAILED}/i", with_delimiter=True) == [f"{FAILED}/in/"]
    assert page(ada, f"{FAILED}/in/", with_delimiter=True) == [f"{FAILED}/in/deep/", NAMES[2]]
    assert page(ada, f"{FAILED}/", with_delimiter=True) == [f"{FAILED}/in/", NAMES[1], NAMES[0]]
    assert page(ada, "191", with_delimiter=True) == [f"{FAILED}/", f"{SCHEDULED}/"]
    for nothing in ("%", "x", "19_8", "2", f"{FAILED}x/", f"{FAILED}/%"):
        assert page(ada, nothing) == page(ada, nothing, with_delimiter=True) == []


@pytest.mark.parametrize("with_delimiter", [False, True])
@pytest.mark.parametrize("prefix", ["", f"{FAILED}/"])
@pytest.mark.parametrize("order", ORDERS)
def test_cursors_lead_through_all_pages(files: Callable, prefix: str, with_delimiter: bool, order: Order) -> None:
    ada = files("ada")
    whole = page(ada, prefix, with_delimiter=with_delimiter)
    found: list[str] = []
    after, is_first = None, True
    while is_first or after is not None:
        part = ada.read(
            list_page, "inspections", prefix, with_delimiter=with_delimiter, order=order, limit=1, after=after
        )
        found += part.folders + [row.name for row in part.files]
        after, is_first = part.next_position, False

    assert sorted(found) == sorted(whole)
    assert len(found) == len(whole)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("prefix", ["", f"{FAILED}/"])
def test_files_that_come_and_go_between_pages_hide_no_others(files: Callable, prefix: str, order: Order) -> None:
    """The files of each page are removed before the next page, and another one arrives."""
    root = files("root")
    first, found = page(root, prefix), []
    part = root.read(list_page, "inspections", prefix, order=order, limit=2)
    while True:
        found += [row.name for row in part.files]
        root.write(remove_all, "inspections", [row.name for row in part.files])
        root.put(f"inspections/{FAILED}/{'zz' if order.descending else '0'}{len(found)}.jpg")
        if part.next_position is None or len(found) > 20:
            break
        part = root.read(list_page, "inspections", prefix, order=order, limit=2, after=part.next_position)

    assert sorted(name for name in found if name in first) == sorted(first)


def test_decomposed_name_is_found(files: Callable) -> None:
    ada, sent = files("ada"), unicodedata.normalize("NFD", "Ä")

    assert level(ada, f"{SCHEDULED}", search=sent) == level(ada, f"{SCHEDULED}", search=sent.lower()) == ["Ä.jpg"]
    found = ada.read(list_page, "inspections", f"{SCHEDULED}/{sent}")
    assert [row.name for row in found.files] == [NAMES[4]]
    assert level(ada, f"{SCHEDULED}", search="A") == []


@pytest.mark.parametrize("text", ["1" * 60_000, "9" * 20, "1" * 4_301])
def test_more_digits_than_an_id_has_find_nothing(files: Callable, text: str) -> None:
    ada = files("ada")

    assert level(ada, "", search=text) == page(ada, text) == page(ada, text, with_delimiter=True) == []
    assert page(ada, f"{text}/x") == []


def test_unknown_bucket_has_no_list(files: Callable) -> None:
    for function in (list_level, list_page):
        with pytest.raises(NoSuchBucket):
            files("ada").read(function, "users", "")
