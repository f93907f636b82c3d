"""The files of imports: separator, header, metadata, the meaning of columns, and the values of cells."""

import pathlib

import pytest

from engine.query.catalog import catalog
from inspections.faults import InvalidImport, UnfitCell, UnreadableFile
from inspections.imports import reader
from inspections.imports import sources as cells
from inspections.imports.reader import proposed_mapping
from inspections.imports.sources import Source, find_source, sources_of
from models.types import InvalidDatetime

pytestmark = pytest.mark.no_database

FILES = pathlib.Path(__file__).parent.parent / "data" / "imports"


def read(text: str, target: str = "reports_lead", preset: str | None = None) -> reader.FileTable:
    sources = sources_of(target, preset)
    return reader.read_table(text, lambda name: find_source(sources, name) is not None)


def names(header: list[str], target: str = "reports_lead", preset: str | None = None) -> dict[str, str]:
    return proposed_mapping(sources_of(target, preset), header).names


# The file


def test_metadata_precedes_the_header() -> None:
    table = read((FILES / "viken.csv").read_text())

    assert table.header_line == 7
    assert table.meta == {
        "Company": "Example Lead Ltd", "Model": "Pb200i", "Type": "Lead", "Serial Num": "1170", "App Version": "4.1.0",
    }  # fmt: skip
    assert [line.number for line in table.lines] == [8, 9]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_separator_is_found(separator: str) -> None:
    lines = [["Room", "Component", "Result"], ["Hall", "Door, left; or right", "x"]]
    text = "\n".join(separator.join(f'"{cell}"' for cell in line) for line in lines)

    table = read(text)

    assert (table.header, table.lines[0].cells) == (lines[0], lines[1])


def test_line_of_a_row_is_that_of_its_first_cell() -> None:
    table = read((FILES / "violations.csv").read_text() + '\n\n"7",,,A,,,"x\ny",\n8,,,A,,,z,\n', "findings")

    assert [line.number for line in table.lines] == [2, 3, 7, 9]
    assert table.lines[1].cells[6] == "REPAIR THE BROKEN PLASTERED SURFACES\nAND PAINT IN THE 1st ROOM"


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_line_ends_of_every_system_are_read(end: str) -> None:
    assert [line.number for line in read(f"Room,Result{end}Hall,x{end}{end}Attic,y{end}").lines] == [2, 4]


def test_formulas_of_a_spreadsheet_are_unescaped() -> None:
    text = "room,result\n'=A1,'tis\n"

    assert read(f"\ufeff{text}").lines[0].cells == ["=A1", "'tis"]
    assert read(text).lines[0].cells == ["'=A1", "'tis"]


def test_header_after_line_25_is_not_found() -> None:
    assert read("x,y\n" * 24 + "room,result\n").header_line == 25
    with pytest.raises(UnreadableFile, match="25 lines"):
        read("x,y\n" * 25 + "room,result\n")


def test_widest_line_is_the_header_of_a_file_that_nothing_knows() -> None:
    table = reader.read_table("City;Example\n\nA;B;C\n1;2;3\n", lambda name: False, takes_unknown=True)

    assert (table.header, table.header_line, table.meta, table.is_known) == (
        ["A", "B", "C"], 3, {"City": "Example"}, False,
    )  # fmt: skip
    with pytest.raises(UnreadableFile):
        reader.read_table("A\n1\n", lambda name: False, takes_unknown=True)


def test_header_has_two_known_names() -> None:
    assert read("Room,about the house\nroom,result\nHall,x\n").header_line == 2


def test_encoding_to_save_in_is_named() -> None:
    with pytest.raises(UnreadableFile) as latin:
        reader.decode("Größe".encode("latin-1"))
    with pytest.raises(UnreadableFile) as wide:
        read("r\0o\0o\0m\0")

    assert "CSV in UTF-8" in latin.value.message
    assert "CSV in UTF-8" in wide.value.message


def test_broken_quotation_names_its_line() -> None:
    with pytest.raises(UnreadableFile, match="Line 3 "):
        read('room,result\nHall,x\nAttic,"y\n')


def test_lines_are_limited() -> None:
    assert len(read("room,result\n" + "a,b\n" * reader.LINES_MAX).lines) == reader.LINES_MAX
    with pytest.raises(UnreadableFile, match="10,000"):
        read("room,result\n" + "a,b\n" * (reader.LINES_MAX + 1))


def test_cells_of_a_line_are_limited() -> None:
    """A file of separators alone would have millions of cells."""
    with pytest.raises(UnreadableFile, match="Line 2 "):
        read("room,result\n" + "," * reader.CELLS_MAX + "\n")


# The mapping


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("Reading #", "reading_no"), ("Reading No", "reading_no"), ("Conc", "lead_mg_cm2"), ("PbC", "lead_mg_cm2"),
        ("COMPONE", "component"), ("COLO", "color"), ("Colour", "color"), ("ROOM TY", "room"), ("ROOM NUM", "room"),
        ("Side", "wall"), ("lead_mg_cm2", "lead_mg_cm2"), ("Units", "unit"), ("Time", "taken_at"),
        ("PbC (mg/cm2)", "lead_mg_cm2"),
        ("Reading (mg/cm2)", "lead_mg_cm2"), ("Reading mg/cm²", "lead_mg_cm2"), ("Pb", "lead_mg_cm2"),
        ("Value", "lead_mg_cm2"), ("Concentra (mg/cm^2)", "lead_mg_cm2"), ("Date", "taken_at"),
        ("Date Time", "taken_at"), ("Date/Time", "taken_at"), ("Timestamp", "taken_at"), ("Time (local)", "taken_at"),
        ("Apt", "dwelling"), ("Apartment", "dwelling"), ("Unit No", "dwelling"), ("Paint Condition", "condition"),
        ("Surface", "component"), ("Feature", "component"), ("Member", "component"), ("Structure", "component"),
        ("Location", "room"), ("Notes", "note"), ("Job", "job"), ("Site", "job"),
    ],
)  # fmt: skip
def test_names_of_instruments_are_known_from_four_letters(name: str, field: str) -> None:
    source = find_source(sources_of("reports_lead", None), name)

    assert source is not None
    assert source.field == field


@pytest.mark.parametrize("name", ["COM", "Compass", "id", "created_at", "classification", "PbC Error", "", "#"])
def test_other_names_are_unknown(name: str) -> None:
    assert find_source(sources_of("reports_lead", None), name) is None


def test_cut_name_of_two_columns_is_unknown() -> None:
    sources = [Source("a", ("colour",), is_cut=True), Source("b", ("column",), is_cut=True)]

    assert find_source(sources, "Colo") is sources[0]
    assert find_source([*sources, Source("c", ("colossal",), is_cut=True)], "Colo") is None


def test_names_of_other_files_are_not_cut() -> None:
    assert find_source(sources_of("buildings", None), "buil") is None


def test_references_are_known_by_their_column_alone() -> None:
    """A column `Building` holds names, and the reference takes numbers."""
    assert names(["Building", "Inspector", "Type"], "inspections") == {"Type": "inspection_type"}


def test_columns_of_the_service_are_not_proposed() -> None:
    header = ["id", "case_id", "status", "closed_at", "created_at", "description", "severity"]

    found = proposed_mapping(sources_of("findings", "walkthrough"), header)

    assert list(found.names) == ["description", "severity"]
    assert found.unmapped == header[:5]


def test_first_of_two_columns_fills_a_field() -> None:
    assert names(["PbC", "Concentration", "Room"]) == {"PbC": "lead_mg_cm2", "Room": "room"}


@pytest.mark.parametrize(
    ("cells_of_unit", "field"),
    [
        (["3D", "", "4A"], "dwelling"),
        (["mg/cm2", ""], "unit"),
        (["ppm"], "unit"),
        (["cps", "3D"], "unit"),
        ([""], "unit"),
    ],
)
@pytest.mark.parametrize("name", ["Unit", "Unit #"])
def test_unit_is_a_dwelling_where_its_cells_are_no_measures(name: str, cells_of_unit: list[str], field: str) -> None:
    lines = [reader.FileLine(number, [cell]) for number, cell in enumerate(cells_of_unit)]

    assert proposed_mapping(sources_of("reports_lead", None), [name], lines).names == {name: field}


def test_day_and_time_of_day_are_one_time() -> None:
    assert names(["Time", "Date", "Timestamp"]) == {"Time": "taken_at", "Date": "taken_at"}


def test_repeated_column_is_refused() -> None:
    with pytest.raises(InvalidImport, match="twice"):
        names(["Room", "Room", "Result"])


def test_preset_of_an_instrument_needs_readings() -> None:
    with pytest.raises(InvalidImport, match="reports_lead"):
        sources_of("buildings", "niton")


# Cells


@pytest.mark.parametrize(
    ("text", "date_format", "expected"),
    [
        ("10/09/2013", "mdy", "2013-10-09"), ("10/09/2013", "dmy", "2013-09-10"), ("9.10.2013", "dmy", "2013-10-09"),
        ("2013-10-09", "mdy", "2013-10-09"), ("2013-10-09T00:00:00.000", "mdy", "2013-10-09"),
        ("5/4/2026 12:05:09 AM", "mdy", "2026-05-04T00:05:09"), ("5/4/2026 12:05 p.m.", "mdy", "2026-05-04T12:05"),
        ("2026-05-04T9:12:30.5+02:00", "ymd", "2026-05-04T09:12:30.5+02:00"), ("2026-05-04 x", "ymd", "2026-05-04 x"),
    ],
)  # fmt: skip
def test_dates_have_the_named_order(text: str, date_format: str, expected: str) -> None:
    assert cells.read_date(text, date_format) == expected


@pytest.mark.parametrize(
    ("text", "date_format", "problem"),
    [
        ("10/09/2013", "ymd", "another order than year, month, day"),
        ("10/09/13", "mdy", "two digits"),
        ("9.1.26 08:00", "dmy", "two digits"),
        ("26-05-04", "ymd", "two digits"),
    ],
)
def test_date_of_another_form_is_refused_in_words(text: str, date_format: str, problem: str) -> None:
    with pytest.raises(InvalidDatetime, match=problem):
        cells.read_date(text, date_format)


@pytest.mark.parametrize("text", ["5/4/2026 13:05 PM", "5/4/2026 0:05 AM"])
def test_hours_of_half_a_day_end_at_12(text: str) -> None:
    with pytest.raises(UnfitCell):
        cells.read_date(text, "mdy")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.5 mg/cm²", ("1.5", None, None)), ("0.4 mg/cm2", ("0.4", None, None)),
        ("1.0mg / cm ^2", ("1.0", None, None)),
        ("<0.1", ("0.1", "<", None)), ("> 5", ("5", ">", None)), ("Negative", (None, None, "negative")),
        ("< LOD", (None, "<", None)), ("POS", (None, None, "positive")), ("N/A", (None, None, None)),
    ],
)  # fmt: skip
def test_measurement_is_a_number_with_its_qualifier(text: str, expected: tuple) -> None:
    assert cells.read_measurement(text) == expected


@pytest.mark.parametrize("text", ["1.5 ppm", "1,5", "1.5 µg/ft²", "one", "1.5 +/- 0.2", "1e3 mg", "0x10"])
def test_other_units_and_numbers_are_no_measurement(text: str) -> None:
    with pytest.raises(UnfitCell):
        cells.read_measurement(text)


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("0.5", "", ("0.5", None, None)), ("0.5 %", "", ("0.5", None, None)), ("5000 ppm", "", ("0.5", None, None)),
        ("5000", "ppm", ("0.5", None, None)), ("5000", "mg/kg", ("0.5", None, None)),
        ("5000 µg/g", "", ("0.5", None, None)),
        ("<40", "ppm", ("0.004", "<", None)), ("< LOD", "ppm", (None, "<", None)),
        ("0.5", "% by weight", ("0.5", None, None)),
        ("90 ppm", "mg/kg", ("0.009", None, None)),
    ],
)  # fmt: skip
def test_share_by_weight_is_a_percentage(text: str, unit: str, expected: tuple) -> None:
    assert cells.read_percent(text, "point", unit) == expected


@pytest.mark.parametrize(("text", "unit"), [("0.5 mg/cm²", ""), ("0.5", "mg/cm2"), ("5000 ppm", "%"), ("0.5 %", "ppm")])
def test_other_unit_is_no_share_by_weight(text: str, unit: str) -> None:
    with pytest.raises(UnfitCell, match="unit"):
        cells.read_percent(text, "point", unit)


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("Lead (ppm)", "lead_percent"), ("Result (%)", "lead_percent"), ("Pb (mg/kg)", "lead_percent"),
        ("Lead (% by weight)", "lead_percent"), ("Lead (mg/cm2)", "lead_mg_cm2"), ("Sample ID", "sample_no"),
        ("Lab", "lab_name"), ("Report Date", "reported_on"), ("PbC (ppm)", "lead_mg_cm2"),
    ],
)  # fmt: skip
def test_columns_of_laboratories_are_known(name: str, field: str) -> None:
    assert names([name]) == {name: field}


def test_decimal_mark_is_the_named_one() -> None:
    assert cells.read_measurement("0,2 mg/cm2", "comma") == ("0.2", None, None)
    assert cells.read_measurement("<0,1", "comma") == ("0.1", "<", None)
    for text, decimal in (("0,2", "point"), ("0.2", "comma"), ("1.234,5", "comma"), ("1,234.5", "point")):
        with pytest.raises(UnfitCell, match="decimal mark"):
            cells.read_measurement(text, decimal)


@pytest.mark.parametrize(
    ("word", "result"),
    [
        ("POS", "positive"), ("NEG", "negative"), ("INC", "inconclusive"), ("Positivo", "positive"),
        ("Négatif", "negative"), ("Inconclusive", "inconclusive"),
    ],
)  # fmt: skip
def test_results_are_read_in_the_words_of_instruments(word: str, result: str) -> None:
    assert cells.read_result(word) == result


def test_unknown_result_is_refused() -> None:
    with pytest.raises(UnfitCell, match="no result"):
        cells.read_result("Perhaps")


def test_words_of_the_vocabulary_are_recognised() -> None:
    status = catalog().relations["inspections"].attributes["status"]

    assert cells.read_word(status, "In Progress") == "in_progress"
    assert cells.read_word(status, "Postponed by rain") == "Postponed by rain"
