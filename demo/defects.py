"""The texts of findings and of their events."""

from __future__ import annotations

from typing import NamedTuple

from models.vocabulary import (
    ANNUAL,
    EMERGENCY,
    EXTENDED,
    FIRE,
    FIXED,
    LEAD,
    LIFE_THREATENING,
    LOW,
    MODERATE,
    REGRADED,
    REMARK,
    REOPENED,
    SEVERE,
    STRUCTURAL,
    VERIFIED,
    WAIVED,
)


class Defect(NamedTuple):
    """What a finding says. The texts may name a floor and a unit."""

    severity: str
    place: str
    item: str
    code: str | None
    description: str


ANYWHERE = (
    Defect(
        LIFE_THREATENING, "{unit}, hallway", "Smoke alarm", "NSPIRE Smoke Alarm", "No smoke alarm. The base is empty."
    ),
    Defect(LIFE_THREATENING, "Boiler room", "CO alarm", None, "Carbon monoxide alarm does not sound when tested."),
    Defect(LIFE_THREATENING, "Floor {floor}, rear exit", "Egress", "NFPA 1 4.4.3", "Exit door is chained shut."),
    Defect(SEVERE, "{unit}, kitchen", "Outlet", None, "Outlet beside the sink has no ground-fault protection."),
    Defect(SEVERE, "Floor {floor}, stair", "Handrail", None, "Handrail is loose for two flights."),
    Defect(SEVERE, "{unit}", "Heating", None, "Radiator valve leaks; the floor below it is soft."),
    Defect(MODERATE, "{unit}, bathroom", "Ceiling", None, "Water stain of two feet, damp to the touch."),
    Defect(MODERATE, "Floor {floor}, hallway", "Lighting", None, "Three fixtures are out."),
    Defect(MODERATE, "{unit}, bedroom", "Window", None, "Sash does not stay open."),
    Defect(LOW, "Lobby", "Mailboxes", None, "Two doors do not lock."),
    Defect(LOW, "{unit}, kitchen", "Cabinet", None, "Drawer front is missing."),
    Defect(LOW, "Roof", "Drain", None, "Leaves on the strainer; water stands."),
)
FIRE_DEFECTS = (
    Defect(LIFE_THREATENING, "Floor {floor}, stair", "Fire door", None, "Self-closer is missing; door wedged open."),
    Defect(SEVERE, "Basement", "Fire pump", None, "Pump does not start on a drop of pressure."),
    Defect(SEVERE, "Floor {floor}", "Sprinkler", "NFPA 25 5.2.1", "Two heads are painted over."),
    Defect(MODERATE, "Floor {floor}, hallway", "Emergency light", None, "Light fails after 20 minutes."),
    Defect(LOW, "Lobby", "Extinguisher", None, "Tag has expired; the gauge is in the green."),
)
LEAD_DEFECTS = (
    Defect(
        SEVERE, "{unit}, bedroom", "Window sash", "40 CFR 745.65", "Paint peels; positive. A child of four lives here."
    ),
    Defect(MODERATE, "{unit}, living room", "Door casing", "40 CFR 745.65", "Positive, with friction damage."),
    Defect(LOW, "Floor {floor}, stair", "Stringer", None, "Positive, intact. To be watched."),
)

DEFECTS = {ANNUAL: ANYWHERE, STRUCTURAL: ANYWHERE, EMERGENCY: ANYWHERE, FIRE: FIRE_DEFECTS, LEAD: LEAD_DEFECTS}
"""The defects by type of inspection."""

EVENT_NOTES = {
    FIXED: ("Replaced and tested.", "Contractor was here; invoice filed.", None),
    VERIFIED: ("Seen and tested.", None),
    WAIVED: ("The unit is gutted next month.", "Accepted until the renovation of floor {floor}."),
    REOPENED: ("Broken again.", "Repaired on the wrong floor."),
    REGRADED: ("Seen again with the superintendent.",),
    EXTENDED: ("The part is on back order.",),
    REMARK: ("Tenant of {unit} gives access on Thursdays only.", "Parts ordered."),
}
"""The notes of events, by kind."""
