"""Inspections: what a visit, a case, a finding and a schedule are, and what follows from a write of one."""
