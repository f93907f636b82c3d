"""The refusals of the subject, each with its code and message.

The details of a refusal begin with the name of its rule, by which clients recognise it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from engine.query.catalog import UniqueViolation
from models.types import Denial, Fault


class NoSuchRow(Fault, code="PT404"):
    """A row that does not exist or is not visible. The message is the same."""

    def __init__(self, noun: str) -> None:
        super().__init__(f"{noun} not found")


class NoSuchBuilding(NoSuchRow):
    def __init__(self) -> None:
        super().__init__("Building")


class VisitNotStartable(Fault, code="23514"):
    def __init__(self, status: str) -> None:
        super().__init__(f"The visit is {status} and cannot be started.", "start_visit_status_check")


class VisitClosed(Fault, code="23514"):
    def __init__(self, status: str) -> None:
        super().__init__(f"The visit is {status} already and cannot be closed again.", "close_visit_status_check")


class VisitWithoutResult(Fault, code="23514"):
    def __init__(self) -> None:
        super().__init__("Only a completed or failed visit is re-inspected.", "reinspect_status_check")


class ReasonRequired(Fault, code="23514"):
    """A visit that is completed with open life-threatening or severe findings, and without a reason."""

    def __init__(self, number: int) -> None:
        super().__init__(
            f"The case has {number} open life-threatening or severe finding{'s' * (number > 1)}: p_reason says why the"
            " visit is completed.",
            "inspections_open_findings_check",
        )


class BuildingClosed(Fault, code="23514"):
    """A schedule that runs on after its building was closed."""

    def __init__(self, building_id: int, closed_on: str) -> None:
        super().__init__(
            f"Building {building_id} closes on {closed_on}: its schedules end by then.",
            "schedules_building_closed_check",
        )


class ResultInFuture(Fault, code="23514"):
    """A result dated after today."""

    def __init__(self, day: date | str, today: date) -> None:
        super().__init__(
            f"A visit that took place is not dated {day}: today is {today.isoformat()}.",
            "inspections_result_date_check",
        )


class ReinspectionTooEarly(Fault, code="23514"):
    """A re-inspection before the visit that it repeats."""

    def __init__(self, day: str, visited: str) -> None:
        super().__init__(
            f"The re-inspection on {day} precedes the visit on {visited}.", "inspections_result_date_check"
        )


class RoundOpen(UniqueViolation):
    """A case has at most one open round, as the unique index of this name says."""

    def __init__(self) -> None:
        super().__init__("inspection_plans_open_round_key")


class NextVisitTouched(Fault, code="23505"):
    """A result that cannot be taken back, since a person has edited, booked or started the next visit."""

    def __init__(self, inspection_id: int) -> None:
        super().__init__(
            f"The result cannot be taken back: the next visit {inspection_id} is edited, booked or started already.",
            f"inspection_plans_next_touched: inspection {inspection_id}",
        )
        self.inspection_id = inspection_id


class VisitRequired(Fault, code="23514"):
    def __init__(self) -> None:
        super().__init__(
            "A visit that its schedule or case requires cannot be deleted. Cancel it.", "inspection_plans_open_check"
        )


class VisitNotSkippable(Fault, code="23514"):
    def __init__(self) -> None:
        super().__init__("Only an open visit of a schedule can be skipped.", "skip_occurrence_status_check")


class MoveNotAllowed(Fault, code="23514"):
    """A move that a finding of this status does not have, or that lacks what it needs. The details say which."""

    def __init__(self, details: str) -> None:
        super().__init__("A finding cannot be moved in this way.", f"findings_move_check: {details}")


class FindingMoved(Fault, code="23514"):
    """The deletion of a finding that was moved."""

    def __init__(self) -> None:
        super().__init__("A finding that was moved is not deleted. It can be waived.", "findings_moved_check")


class LetterNotIssued(Fault, code="23514"):
    """Findings or values of which no letter is issued. The details begin with the name of the rule."""


class LetterNotServed(Fault, code="23514"):
    """A service that cannot be recorded. The details begin with the name of the rule."""


class LetterNotWithdrawn(Fault, code="23514"):
    """A withdrawal without a reason, or of a letter that is withdrawn. The details are the name of the rule."""


class FoundOutOfRange(Fault, code="23514"):
    """A finding of the future, or one from before its visit was started."""

    def __init__(self, details: str) -> None:
        super().__init__("The finding was not made at that time.", f"findings_found_at_check: {details}")


class DeadlineTooLate(Fault, code="23514"):
    """A later deadline than the rule's, by a person who may not extend findings."""

    def __init__(self, latest: str) -> None:
        super().__init__(f"The deadline is {latest} at the latest: an admin extends findings.", "findings_due_at_check")


class DefectUndescribed(Fault, code="23514"):
    def __init__(self) -> None:
        super().__init__("A defect needs a description.", "report_defect_description_check")


class InspectorNotManager(Fault, code="23514"):
    def __init__(self) -> None:
        super().__init__(
            "An inspector is linked to a user with the role client_manager only.", "inspectors_user_role_check"
        )


class UnreadableFile(Fault, code="22P04"):
    """A file that is no CSV table of the target."""


class InvalidImport(Fault, code="22023"):
    """Arguments of an import that do not fit its file or its target."""


class UnfitCell(Fault, code="22P02"):
    """A line or a cell of a file that has no meaning for its column."""


class RowExists(Fault, code="23505"):
    """A line with the id of a row that the caller reads, of which an import would write a second one."""

    def __init__(self, table: str, row_id: object) -> None:
        super().__init__(
            f"this id is that of an existing row of {table}, {row_id}, with other values. An import changes no row:"
            " count such lines as existing, or let other fields decide (p_key)"
        )


class UnnamedColumn(Fault, code="22P04"):
    """A column of a file in which no line names the columns."""

    def __init__(self) -> None:
        super().__init__("no field has the name of this column. Say which field it fills (p_mapping)")


class SkippedLines(Fault, code="01000"):
    """A warning about a line or a column that is imported, or about one that is not."""


class ConflictUnexplained(Fault, code="23514"):
    """A graver result that is replaced by the classification without a note."""

    def __init__(self, result: str, classification: str) -> None:
        super().__init__(
            f"The result was {result}. Say in the note why the reading is {classification}.",
            "reports_lead_conflict_check",
        )


class RowsVoid(Fault, code="23514"):
    """Rows that are void already. Their reason stays."""

    def __init__(self, table: str, ids: Sequence[int]) -> None:
        named = ", ".join(map(str, ids[:10]))
        super().__init__("Some rows are void already.", f"{table}_voided_check: {named}")


class ReportTooLarge(Fault, code="54000"):
    def __init__(self, rows_max: int, table: str) -> None:
        super().__init__(f"A report has at most {rows_max:,} rows of {table}.")


class ContentTooLarge(Fault, code="54000"):
    """An issued report or letter whose content has too many bytes."""

    def __init__(self, bytes_max: int) -> None:
        super().__init__(f"An issued report or letter has at most {bytes_max >> 20} MiB.")


# Issued reports


class ReportWithoutResult(Fault, code="23514"):
    """A report of a visit that is neither completed nor failed."""

    def __init__(self) -> None:
        super().__init__("A report is issued of a completed or failed visit only.", "issue_report_status_check")


class ReportIssued(UniqueViolation):
    """A visit has at most one report of a kind that is not withdrawn, as the unique index of this name says."""

    def __init__(self) -> None:
        super().__init__("issued_reports_active_key")


class ReportHasGaps(Fault, code="23514"):
    """A lead report that lacks what its rule requires, without a reason."""

    def __init__(self, codes: Sequence[str]) -> None:
        super().__init__(
            "The report lacks what its rule requires: p_gaps_reason says why it is issued incomplete.",
            f"issue_report_gaps_check: {', '.join(codes)}",
        )


class ReportWithdrawn(Fault, code="23514"):
    def __init__(self) -> None:
        super().__init__("The report is withdrawn already.", "withdraw_report_status_check")


class InvalidSignature(Fault, code="22023"):
    """A drawn signature that is no small PNG."""

    def __init__(self, width: int, height: int, bytes_max: int) -> None:
        super().__init__(f"A signature is a PNG in base64 of at most {width} x {height} pixels and {bytes_max} bytes.")


class ReportChanged(Fault, code="55P03"):
    """A row was changed while its report was made. A retry is right."""

    def __init__(self) -> None:
        super().__init__("The rows of the report were changed meanwhile. Repeat the request.")


# Files


class NoSuchBucket(Fault, code="PT404"):
    def __init__(self) -> None:
        super().__init__("Bucket not found")


class NoSuchFile(Fault, code="PT404"):
    """A file that does not exist or is not visible."""

    def __init__(self) -> None:
        super().__init__("Object not found")


class FileExists(Fault, code="23505"):
    """Another file has the name. Only a caller who reads it learns this."""

    def __init__(self) -> None:
        super().__init__("The resource already exists", hint="Set x-upsert: true, or take another name.")


class FileDenied(Denial):
    """A row that the caller may not add files to, or that is hidden or missing. The message is the same."""

    def __init__(self) -> None:
        super().__init__("permission denied to write files of this row")


class InvalidFileName(Fault, code="22023"):
    """A name that no file has."""


class FileTooLarge(Fault, code="54000", status=413):
    def __init__(self, bytes_max: int) -> None:
        super().__init__("Payload too large", f"A file has at most {bytes_max} bytes.")
        self.bytes_max = bytes_max


class FileEmpty(Fault, code="22023"):
    def __init__(self) -> None:
        super().__init__("A file has at least one byte.")


class UnknownFileType(Fault, code="22023", status=415):
    """Bytes that begin as no known type."""

    def __init__(self) -> None:
        super().__init__("Files are JPEG, PNG, WebP, HEIC or PDF.", "The first bytes decide, not the name.")


class FileTypeMismatch(UnknownFileType):
    """A content type that the bytes contradict."""

    def __init__(self, claimed: str, mimetype: str) -> None:
        Fault.__init__(self, f"The file is {mimetype}, not {claimed}.", "The first bytes decide, not the content type.")


class NoRoomForFile(Fault, code="54000", status=507):
    """No room: for the row, for all files, or on the disk."""


class BytesMissing(Fault, code="55P03"):
    """Bytes of a row that are not in the folder of files: they were just removed, or the folder is not there."""

    def __init__(self) -> None:
        super().__init__("The bytes of this file cannot be read now. Repeat the request.")


class FilesUnavailable(Fault, code="58P01"):
    """The folder of files is missing. Nothing is stored until it is back."""

    def __init__(self) -> None:
        super().__init__("The folder of files is missing.")


class NoThumbnail(Fault, code="22023"):
    """A file of which no thumbnail can be made."""

    def __init__(self) -> None:
        super().__init__(
            "This file has no thumbnail: it is no JPEG, PNG or WebP, is damaged, or takes too much memory or time."
        )


class TooManyThumbnails(Fault, code="55P03"):
    """Too many requests wait for a thumbnail that has to be made. A retry is right."""

    def __init__(self) -> None:
        super().__init__("The server is making other thumbnails.")


class InvalidLink(Fault, code="22023"):
    """A signed link of another name or use, or with a wrong signature."""

    def __init__(self) -> None:
        super().__init__("The link is not valid for this file.")


class LinkExpired(Fault, code="22023"):
    def __init__(self) -> None:
        super().__init__("The link has expired.")


class LinkSpent(InvalidLink):
    """A signed upload that was used already."""

    def __init__(self) -> None:
        Fault.__init__(self, "The link was used already.")
