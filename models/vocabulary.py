"""The words that columns hold: statuses, types, severities, outcomes, kinds and units.

Only the default of FINDING_DEADLINES in settings.py repeats words.
"""

from __future__ import annotations

from typing import Final

# Inspections

INSPECTION_TYPES: Final = ("annual", "fire", "lead", "structural", "emergency")
ANNUAL, FIRE, LEAD, STRUCTURAL, EMERGENCY = INSPECTION_TYPES
INSPECTION_STATUSES: Final = ("scheduled", "in_progress", "completed", "failed", "cancelled")
SCHEDULED, IN_PROGRESS, COMPLETED, FAILED, CANCELLED = INSPECTION_STATUSES
OPEN_STATUSES: Final = (SCHEDULED, IN_PROGRESS)
CLOSED_STATUSES: Final = (COMPLETED, FAILED, CANCELLED)
VISIT_RESULTS: Final = (COMPLETED, FAILED)
"""The statuses of a visit that took place."""

# Planned visits and schedules

DONE: Final = "done"
SKIPPED: Final = "skipped"
OUTCOMES: Final = (DONE, SKIPPED, CANCELLED)
UNITS: Final = ("day", "week", "month", "year")
DAY, WEEK, MONTH, YEAR = UNITS
PLANNED: Final = "planned"
COUNTED_FROM: Final = (PLANNED, DONE)

# Findings

SEVERITIES: Final = ("life_threatening", "severe", "moderate", "low")
LIFE_THREATENING, SEVERE, MODERATE, LOW = SEVERITIES
FINDING_STATUSES: Final = ("open", "fixed", "verified", "waived")
OPEN, FIXED, VERIFIED, WAIVED = FINDING_STATUSES
MADE: Final = "made"
REOPENED: Final = "reopened"
EXTENDED: Final = "extended"
REMARK: Final = "remark"
EVENT_KINDS: Final = (MADE, FIXED, VERIFIED, WAIVED, REOPENED, EXTENDED, REMARK)

# Readings

READING_RESULTS: Final = ("positive", "negative", "inconclusive")
POSITIVE, NEGATIVE, INCONCLUSIVE = READING_RESULTS
READING_METHODS: Final = ("xrf", "paint_chip", "assumed")
XRF, PAINT_CHIP, ASSUMED = READING_METHODS
QUALIFIERS: Final = ("<", ">")
CHECK_RESULTS: Final = ("pass", "fail")
VALIDITIES: Final = ("valid", "no_check", "late", "open", "doubtful")

# Details of buildings

OCCUPANCIES: Final = ("yes", "no", "unknown")
HAZARD_CLASSES: Final = ("high", "moderate", "low")

# Files

BUCKETS: Final = ("inspections", "findings", "buildings")
FILE_TYPES: Final = ("image/jpeg", "image/png", "image/webp", "image/heic", "application/pdf")
JPEG, PNG, WEBP, HEIC, PDF = FILE_TYPES
