"""The words that columns hold: statuses, types, severities, outcomes, kinds and units."""

from __future__ import annotations

from typing import Final

# Inspections

INSPECTION_TYPES: Final = ("annual", "fire", "lead", "structural", "emergency")
ANNUAL, FIRE, LEAD, STRUCTURAL, EMERGENCY = INSPECTION_TYPES
COMPLAINT: Final = "complaint"
"""The type of a visit that report_defect makes. Counts by type always have the INSPECTION_TYPES, not this one."""
INSPECTION_STATUSES: Final = ("scheduled", "in_progress", "completed", "failed", "cancelled")
SCHEDULED, IN_PROGRESS, COMPLETED, FAILED, CANCELLED = INSPECTION_STATUSES
OPEN_STATUSES: Final = (SCHEDULED, IN_PROGRESS)
CLOSED_STATUSES: Final = (COMPLETED, FAILED, CANCELLED)
VISIT_RESULTS: Final = (COMPLETED, FAILED)
"""The statuses of a visit that took place."""

# Planned visits and schedules

DONE: Final = "done"
EARLY: Final = "early"
SKIPPED: Final = "skipped"
OUTCOMES: Final = (DONE, EARLY, SKIPPED, CANCELLED)
UNITS: Final = ("day", "week", "month", "year")
DAY, WEEK, MONTH, YEAR = UNITS
PLANNED: Final = "planned"
COUNTED_FROM: Final = (PLANNED, DONE)

# Findings

SEVERITIES: Final = ("life_threatening", "severe", "moderate", "low")
LIFE_THREATENING, SEVERE, MODERATE, LOW = SEVERITIES
OPEN: Final = "open"
FIXED: Final = "fixed"
VERIFIED: Final = "verified"
WAIVED: Final = "waived"
GRAVE: Final = (LIFE_THREATENING, SEVERE)
"""The severities with which a visit is completed for a reason only."""
MADE: Final = "made"
REOPENED: Final = "reopened"
EXTENDED: Final = "extended"
REGRADED: Final = "regraded"
REMARK: Final = "remark"
NOTIFIED: Final = "notified"
VERIFICATIONS: Final = ("visit", "photo", "certificate")
DEADLINE_UNITS: Final = ("h", "d")
DEADLINE_STARTS: Final = ("found", "served")
SERVED: Final = DEADLINE_STARTS[1]

# Issued reports and letters

REPORT_KINDS: Final = (LEAD, "findings")
SERVICES: Final = ("post", "hand", "posted", "electronic")
"""How a letter was served."""

# Readings

READING_RESULTS: Final = ("positive", "negative", "inconclusive")
POSITIVE, NEGATIVE, INCONCLUSIVE = READING_RESULTS
READING_METHODS: Final = ("xrf", "paint_chip", "assumed")
XRF, PAINT_CHIP, ASSUMED = READING_METHODS
QUALIFIERS: Final = ("<", ">")
LIMITS_FROM: Final = ("sheet", "standard")
SHEET, STANDARD = LIMITS_FROM
CHECK_RESULTS: Final = ("pass", "fail")
VALIDITIES: Final = ("valid", "no_check", "late", "open", "doubtful")

STANDARD_KINDS: Final = ("paint",)
[PAINT] = STANDARD_KINDS
STANDARD_UNITS: Final = ("mg_cm2", "percent")
MG_CM2, PERCENT = STANDARD_UNITS

# Details of buildings

OCCUPANCIES: Final = ("yes", "no", "unknown")
HAZARD_CLASSES: Final = ("high", "moderate", "low")

# Files

BUCKETS: Final = ("inspections", "findings", "buildings")
FILE_TYPES: Final = ("image/jpeg", "image/png", "image/webp", "image/heic", "application/pdf")
JPEG, PNG, WEBP, HEIC, PDF = FILE_TYPES
