"""Duties: what follows from a write of schedules, inspections and findings (docs/decisions/0027)."""
