"""The subject: the inspections of buildings.

A visit is an inspection as an inspector conducts it: scheduled, in progress, then completed, failed or cancelled. A
schedule requires visits of one type at a building at an interval. It has at most one open visit. A planned visit is a
row of inspection_plans: the occurrence of a schedule, or the round of a case, of an inspection. A case is an inspection
and its re-inspections. Each of its rounds is one visit. A finding is a defect that a visit found. It belongs to the
case, has a deadline, and moves from open to verified. An event records each move of a finding. `register.py` registers
the domain rules of these tables with the engine, except those of `lead/readings.py`. `models/vocabulary.py` spells the
words.
"""
