"""The texts of the demo portfolio: companies, streets, people and notes."""

from __future__ import annotations

from dataclasses import dataclass

from models.vocabulary import ANNUAL, COMPLETED, DONE, EMERGENCY, FAILED, FIRE, LEAD, MONTH, PLANNED, STRUCTURAL, YEAR


@dataclass(frozen=True, slots=True)
class Neighborhood:
    """A part of a city: its coordinates and some of its real streets."""

    city: str
    state: str
    zip: str
    latitude: float
    longitude: float
    streets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Company:
    """A client: its users, buildings and neighborhoods."""

    name: str
    domain: str
    admin: str
    managers: tuple[str, ...]
    buildings: tuple[str, ...]
    neighborhoods: tuple[Neighborhood, ...]


@dataclass(frozen=True, slots=True)
class BuildingType:
    """A building type: its relative frequency, and its ranges of floors and of units a floor."""

    name: str
    weight: int
    floors: tuple[int, int]
    units_a_floor: tuple[int, int]


@dataclass(frozen=True, slots=True)
class RecurringInspection:
    """A recurring inspection: its interval, its days of grace and the rule that requires it."""

    inspection_type: str
    title: str
    every: int
    unit: str
    grace_days: int
    basis: str
    counted_from: str = PLANNED
    early_days: int | None = None

    @property
    def months(self) -> int:
        return self.every * (12 if self.unit == YEAR else 1)


SUPER_ADMIN = ("Rosalind Okafor", "root@walkthrough.example")

COMPANIES = (
    Company(
        "Harborline Property Group",
        "harborline.example",
        "Adele Moreau",
        ("Marcus Bell", "Yuki Tanabe", "Siobhan Reilly"),
        (
            "Wharfside Lofts",
            "The Chandlery",
            "Beacon Row",
            "Copley Terrace",
            "Fort Point Works",
            "Rowes Court",
            "Gallivan House",
            "Savin Hill Apartments",
            "The Ropewalk",
            "Neponset Landing",
            "Ashmont Flats",
            "Charter Street Homes",
            "Hanover Place",
            "Ellsworth Arms",
            "Mystic View",
            "Telegraph Hill Residences",
        ),
        (
            Neighborhood("Boston", "MA", "02110", 42.3567, -71.0512, ("Atlantic Ave", "Broad St")),
            Neighborhood("Boston", "MA", "02127", 42.3349, -71.0386, ("Dorchester St", "E Broadway")),
            Neighborhood("Boston", "MA", "02124", 42.2867, -71.0706, ("Ashmont St", "Dorchester Ave")),
            Neighborhood("Cambridge", "MA", "02139", 42.3647, -71.1042, ("Prospect St", "Pearl St")),
        ),
    ),
    Company(
        "Prairie & Main Residential",
        "prairiemain.example",
        "Benedikt Lang",
        ("Tomasz Wilk", "Denise Freeman"),
        (
            "Logan Square Greystones",
            "The Halsted",
            "Kedzie Gardens",
            "Wicker Commons",
            "Pulaski Manor",
            "The Lakeview Arms",
            "Sheffield Walk-Ups",
            "Bridgeport Brickworks",
            "Damen Court",
            "Third Ward Warehouse",
            "Brewers Hill Apartments",
            "Juneau Tower",
            "The Prospect",
        ),
        (
            Neighborhood("Chicago", "IL", "60647", 41.9219, -87.7010, ("N Kedzie Ave", "W Palmer St")),
            Neighborhood("Chicago", "IL", "60657", 41.9403, -87.6541, ("N Sheffield Ave", "W Belmont Ave")),
            Neighborhood("Chicago", "IL", "60608", 41.8517, -87.6694, ("S Damen Ave", "W 18th St")),
            Neighborhood("Milwaukee", "WI", "53202", 43.0462, -87.8998, ("N Prospect Ave", "E Brady St")),
        ),
    ),
    Company(
        "Cascade Commons Housing Trust",
        "cascadecommons.example",
        "Ingrid Solheim",
        ("Paolo Reyes", "Hannah Whitefeather"),
        (
            "Alder Commons",
            "The Sellwood",
            "Hawthorne Bungalow Court",
            "Burnside Lofts",
            "Powell Garden Homes",
            "Mississippi Mews",
            "Cully Green",
            "Rainier Vista Terrace",
            "The Ballard Cannery",
            "Beacon Hill Cooperative",
            "Fremont Canal House",
        ),
        (
            Neighborhood("Portland", "OR", "97214", 45.5142, -122.6430, ("SE Hawthorne Blvd", "SE Ash St")),
            Neighborhood("Portland", "OR", "97227", 45.5452, -122.6767, ("N Mississippi Ave", "N Shaver St")),
            Neighborhood("Seattle", "WA", "98107", 47.6690, -122.3766, ("Ballard Ave NW", "NW Market St")),
            Neighborhood("Seattle", "WA", "98144", 47.5846, -122.2991, ("Beacon Ave S", "S McClellan St")),
        ),
    ),
)

INSPECTORS = (
    "Ines Vega",
    "Theodore Marsh",
    "Uma Özdemir",
    "Calvin Brooks",
    "Anneke de Wit",
    "Rafael Quintero",
    "Priya Raman",
    "Joan Kowalczyk",
)
INSPECTORS_OF_CLIENT = {1: (1, 2, 7), 2: (3, 4, 7, 8), 3: (5, 6, 8)}
LINKED_INSPECTORS = {1: (1, (1,)), 7: (2, (1, 2))}
"""The inspectors who sign in: the client of their user, and the clients whose buildings they visit."""

FIRM = {
    "firm": "Fieldwork Inspections",
    "firm_address": "40 Water St, Boston, MA 02109",
    "firm_phone": "+1 617 555 0140",
    "firm_certificate": "FC-3021",
}

RECURRING_INSPECTIONS = {
    ANNUAL: RecurringInspection(ANNUAL, "", 1, YEAR, 0, "24 CFR 5.707"),
    FIRE: RecurringInspection(FIRE, "", 1, YEAR, 14, "NFPA 1 10.2.7"),
    LEAD: RecurringInspection(LEAD, "", 2, YEAR, 30, "24 CFR 35.1355", counted_from=DONE),
    "sprinklers": RecurringInspection(FIRE, "Sprinklers", 3, MONTH, 7, "NFPA 25 Table 5.1.1.2", early_days=30),
}
LEAD_TYPES = ("residential", "mixed-use", "senior housing")
"""The types of buildings with a lead inspection."""
SPRINKLER_FLOORS = 7

BUILDING_TYPES = (
    BuildingType("residential", 22, (3, 9), (4, 8)),
    BuildingType("mixed-use", 9, (4, 14), (5, 9)),
    BuildingType("senior housing", 5, (3, 8), (8, 14)),
    BuildingType("commercial", 4, (2, 6), (1, 4)),
)

NOTES = {
    (ANNUAL, COMPLETED): (
        "Walked all {floors} floors with the super. Common areas clean, no open items.",
        "Unit {unit}: smoke detector chirping, battery replaced on the spot. Otherwise fine.",
        "Hallway lighting out on floor {floor}; maintenance has the ticket. Everything else in order.",
        "Boiler serviced last month, tag in date. Roof drains clear.",
        "Handrail on the rear stair is loose again; tightened, watch it next year.",
    ),
    (ANNUAL, FAILED): (
        "Water stains on the ceiling of {unit}, active drip from the riser. Re-inspect after repair.",
        "No heat in {unit} and two neighbors; below 60 °F at 10 a.m. Notice left with management.",
        "Rear egress on floor {floor} blocked by storage. Must be cleared before sign-off.",
        "Evidence of mice in the trash room and in {unit}. Exterminator report required.",
    ),
    (FIRE, COMPLETED): (
        "Alarm panel normal, all {floors} floors tested with the monitoring company on the line.",
        "Extinguishers tagged through next year. Replaced one gauge on floor {floor}.",
        "Sprinkler main drain test 62 psi static, 54 residual. Passed.",
        "Emergency lights held the full 90 minutes except one on floor {floor}, swapped.",
    ),
    (FIRE, FAILED): (
        "Self-closer missing on the stair door, floor {floor}. Door found propped with a brick.",
        "Fire pump did not start on pressure drop; starts by hand only. Fire watch advised.",
        "Smoke detectors removed in {unit}; tenant says they 'go off when I cook'. Re-inspect.",
    ),
    (LEAD, COMPLETED): (
        "XRF of {unit} and common stair, gun checked before and after. No lead-based paint found.",
        "Window troughs in {unit} wiped after abatement: cleared by the laboratory. Certificate to follow.",
        "Lead-safe: intact paint throughout, one porch column to watch.",
    ),
    (LEAD, FAILED): (
        'Unit {unit}: "peeling" paint on two window sashes, positive. Child under six in residence.',
        "Positive on the stair stringers between floors {floor} and up. Interim controls ordered.",
        "Friction surfaces of the windows in {unit} are positive. Abatement plan due in 30 days.",
    ),
    (STRUCTURAL, COMPLETED): (
        "Crack gauges on the east wall unchanged since last visit (0.3 mm).",
        "Fire escape load-tested, all anchors sound. Repaint recommended within two years.",
        "Parapet re-pointed to spec. Photos filed.",
    ),
    (STRUCTURAL, FAILED): (
        "Spalled lintel over the entrance, loose pieces removed. Shed to stay until repaired.",
        "Floor {floor} joists notched by a plumber, deflection visible. Shored, engineer called.",
        "Balcony rail of {unit} moves under hand pressure. Balcony closed off.",
    ),
    (EMERGENCY, COMPLETED): (
        "Called for gas smell on floor {floor}; pilot light out in {unit}. Relit by the utility, clear.",
        "Burst pipe above {unit}, shut off on arrival. Drying under way, no structural damage.",
        "Elevator entrapment, everybody out before we came. Door operator replaced the same day.",
    ),
    (EMERGENCY, FAILED): (
        "Carbon monoxide 70 ppm in the boiler room. Building vented, boiler red-tagged.",
        "Kitchen fire in {unit}; smoke damage on floor {floor}. Unit not to be re-occupied.",
    ),
}
"""Notes of finished inspections, by type and status."""

NOTES_OPEN = (
    "Meet the super at the side entrance.",
    "Keys at the front desk; tenant in {unit} asks for a call the day before.",
    "Dog in {unit}.",
    "Rescheduled once already.",
)
NOTES_UNDER_WAY = (
    "Floors 1 to {floor} done, rest tomorrow.",
    "Waiting for the lab on two samples from {unit}.",
    "No access to {unit}; second attempt this week.",
)
NOTES_CANCELLED = (
    "Nobody on site to let us in; to be rebooked.",
    "Cancelled by management, renovation under way on floor {floor}.",
    "Storm. Moved to a later date.",
    "Double booking.",
)
