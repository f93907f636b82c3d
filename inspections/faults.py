"""The refusals of the subject, each with its message. `routes/postgrest/errors.py` maps them to status and code.

The details of a refusal begin with the name of its rule, by which clients recognise it.
"""

from __future__ import annotations

from datetime import date

from engine.query.constraints import UniqueViolation
from models.errors import Denial, Fault


class NoSuchRow(Fault):
    """A row that does not exist or is not visible. The message is the same."""

    def __init__(self, noun: str) -> None:
        super().__init__(f"{noun} not found")


class NoSuchBuilding(NoSuchRow):
    def __init__(self) -> None:
        super().__init__("Building")


class InvalidClosing(Fault):
    """Arguments that close no visit."""


class InvalidMove(Fault):
    """Arguments that no move of a finding has."""


class VisitNotStartable(Fault):
    def __init__(self, status: str) -> None:
        super().__init__(f"The visit is {status} and cannot be started.", "start_visit_status_check")


class VisitClosed(Fault):
    def __init__(self, status: str) -> None:
        super().__init__(f"The visit is {status} already and cannot be closed again.", "close_visit_status_check")


class VisitWithoutResult(Fault):
    def __init__(self) -> None:
        super().__init__("Only a completed or failed visit is re-inspected.", "reinspect_status_check")


class ResultInFuture(Fault):
    """A result dated after today."""

    def __init__(self, day: date | str, today: date) -> None:
        super().__init__(
            f"A visit that took place is not dated {day}: today is {today.isoformat()}.",
            "inspections_result_date_check",
        )


class ReinspectionTooEarly(Fault):
    """A re-inspection before the visit that it repeats."""

    def __init__(self, day: str, visited: str) -> None:
        super().__init__(
            f"The re-inspection on {day} precedes the visit on {visited}.", "inspections_result_date_check"
        )


class RoundOpen(UniqueViolation):
    """A case has at most one open round, as the unique index of this name says."""

    def __init__(self) -> None:
        super().__init__("inspection_plans_open_round_key")


class NextVisitTouched(Fault):
    """A result that cannot be taken back, since a person has edited, booked or started the next visit."""

    def __init__(self, inspection_id: int) -> None:
        super().__init__(
            f"The result cannot be taken back: the next visit {inspection_id} is edited, booked or started already.",
            f"inspection_plans_next_touched: inspection {inspection_id}",
        )
        self.inspection_id = inspection_id


class VisitRequired(Fault):
    def __init__(self) -> None:
        super().__init__(
            "A visit that its schedule or case requires cannot be deleted. Cancel it.", "inspection_plans_open_check"
        )


class VisitNotSkippable(Fault):
    def __init__(self) -> None:
        super().__init__("Only an open visit of a schedule can be skipped.", "skip_occurrence_status_check")


class MoveNotAllowed(Fault):
    """A move that a finding of this status does not have, or that lacks what it needs. The details say which."""

    def __init__(self, details: str) -> None:
        super().__init__("A finding cannot be moved in this way.", f"findings_move_check: {details}")


class InspectorNotManager(Fault):
    def __init__(self) -> None:
        super().__init__(
            "An inspector is linked to a user with the role client_manager only.", "inspectors_user_role_check"
        )


class UnreadableFile(Fault):
    """A file that is no CSV table of the target."""


class InvalidImport(Fault):
    """Arguments of an import that do not fit its file or its target."""


class UnfitCell(Fault):
    """A line or a cell of a file that has no meaning for its column."""


class SkippedLines(Fault):
    """A warning: lines of a file that are not imported."""


class ReportTooLarge(Fault):
    def __init__(self, rows_max: int, table: str) -> None:
        super().__init__(f"A report has at most {rows_max:,} rows of {table}.")


# Files


class NoSuchBucket(Fault):
    def __init__(self) -> None:
        super().__init__("Bucket not found")


class NoSuchFile(Fault):
    """A file that does not exist or is not visible."""

    def __init__(self) -> None:
        super().__init__("Object not found")


class FileExists(Fault):
    """Another file has the name. Only a caller who reads it learns this."""

    def __init__(self) -> None:
        super().__init__("The resource already exists", hint="Set x-upsert: true, or take another name.")


class FileDenied(Denial):
    """A row that the caller may not add files to, or that is hidden or missing. The message is the same."""

    def __init__(self) -> None:
        super().__init__("permission denied to write files of this row")


class InvalidFileName(Fault):
    """A name that no file has."""


class FileTooLarge(Fault):
    def __init__(self, bytes_max: int) -> None:
        super().__init__("Payload too large", f"A file has at most {bytes_max} bytes.")


class FileEmpty(Fault):
    def __init__(self) -> None:
        super().__init__("A file has at least one byte.")


class UnknownFileType(Fault):
    """Bytes that begin as no known type."""

    def __init__(self) -> None:
        super().__init__("Files are JPEG, PNG, WebP, HEIC or PDF.", "The first bytes decide, not the name.")


class FileTypeMismatch(UnknownFileType):
    """A content type that the bytes contradict."""

    def __init__(self, claimed: str, mimetype: str) -> None:
        Fault.__init__(self, f"The file is {mimetype}, not {claimed}.", "The first bytes decide, not the content type.")


class NoRoomForFile(Fault):
    """No room: for the row, for all files, or on the disk."""


class BytesMissing(Fault):
    """Bytes that were removed before their row was written. A repetition of the upload keeps them."""

    def __init__(self) -> None:
        super().__init__("The upload took too long. Repeat it.")


class NoThumbnail(Fault):
    """A file of which no thumbnail can be made."""

    def __init__(self) -> None:
        super().__init__("This file has no thumbnail: it is no JPEG, PNG or WebP, is damaged, or is too large.")


class InvalidLink(Fault):
    """A signed link of another name or use, or with a wrong signature."""

    def __init__(self) -> None:
        super().__init__("The link is not valid for this file.")


class LinkExpired(Fault):
    def __init__(self) -> None:
        super().__init__("The link has expired.")


class LinkSpent(InvalidLink):
    """A signed upload that was used already."""

    def __init__(self) -> None:
        Fault.__init__(self, "The link was used already.")
