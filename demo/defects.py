"""The texts of findings and of their events."""

from __future__ import annotations

from typing import NamedTuple


class Defect(NamedTuple):
    """What a finding says. The texts may name a floor and a unit."""

    severity: str
    place: str
    item: str
    code: str | None
    description: str


ANYWHERE = (
    Defect("life_threatening", "{unit}, hallway", "Smoke alarm", "NSPIRE SA-1", "No smoke alarm. The base is empty."),
    Defect("life_threatening", "Boiler room", "CO alarm", None, "Carbon monoxide alarm does not sound when tested."),
    Defect("life_threatening", "Floor {floor}, rear exit", "Egress", "NFPA 1 4.4.3", "Exit door is chained shut."),
    Defect("severe", "{unit}, kitchen", "Outlet", None, "Outlet beside the sink has no ground-fault protection."),
    Defect("severe", "Floor {floor}, stair", "Handrail", None, "Handrail is loose for two flights."),
    Defect("severe", "{unit}", "Heating", None, "Radiators stay cold; 61 °F in the living room at noon."),
    Defect("moderate", "{unit}, bathroom", "Ceiling", None, "Water stain of two feet, damp to the touch."),
    Defect("moderate", "Floor {floor}, hallway", "Lighting", None, "Three fixtures are out."),
    Defect("moderate", "{unit}, bedroom", "Window", None, "Sash does not stay open."),
    Defect("low", "Lobby", "Mailboxes", None, "Two doors do not lock."),
    Defect("low", "{unit}, kitchen", "Cabinet", None, "Drawer front is missing."),
    Defect("low", "Roof", "Drain", None, "Leaves on the strainer; water stands."),
)
FIRE = (
    Defect("life_threatening", "Floor {floor}, stair", "Fire door", None, "Self-closer is missing; door wedged open."),
    Defect("severe", "Basement", "Fire pump", None, "Pump does not start on a drop of pressure."),
    Defect("severe", "Floor {floor}", "Sprinkler", "NFPA 25 5.2.1", "Two heads are painted over."),
    Defect("moderate", "Floor {floor}, hallway", "Emergency light", None, "Light fails after 20 minutes."),
    Defect("low", "Lobby", "Extinguisher", None, "Tag has expired; the gauge is in the green."),
)
LEAD = (
    Defect(
        "severe",
        "{unit}, bedroom",
        "Window sash",
        "40 CFR 745.65",
        "Paint peels; positive. A child of four lives here.",
    ),
    Defect("moderate", "{unit}, living room", "Door casing", "40 CFR 745.65", "Positive, with friction damage."),
    Defect("low", "Floor {floor}, stair", "Stringer", None, "Positive, intact. To be watched."),
)

DEFECTS = {"annual": ANYWHERE, "structural": ANYWHERE, "emergency": ANYWHERE, "fire": FIRE, "lead": LEAD}
"""The defects by type of inspection."""

EVENT_NOTES = {
    "fixed": ("Replaced and tested.", "Contractor was here; invoice filed.", None),
    "verified": ("Seen and tested.", None),
    "waived": ("The unit is gutted next month.", "Accepted until the renovation of floor {floor}."),
    "reopened": ("Broken again.", "Repaired on the wrong floor."),
    "extended": ("The part is on back order.",),
    "remark": ("Tenant of {unit} gives access on Thursdays only.", "Parts ordered."),
}
"""The notes of events, by kind."""
