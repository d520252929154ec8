"""What one work cost every side, set beside the goals."""

import statistics
from dataclasses import dataclass, field


@dataclass
class Goal:
    text: str
    value: object  # a function of the result
    limit: float
    least: bool = False  # the value must be at least the limit

    def judge(self, result):
        value = self.value(result)
        met = None if value is None else value >= self.limit if self.least else value <= self.limit
        return {"text": self.text, "value": value, "met": met}


@dataclass
class Result:
    work: str
    title: str
    state: str  # what the files lay on, where that matters
    sides: list
    goals: list = field(default_factory=list)
    facts: dict = field(default_factory=dict)

    @property
    def kf(self):
        return next(side for side in self.sides if side.kind == "kf")

    def side(self, name):
        return next((side for side in self.sides if side.name == name), None)

    def ratio(self, side, figure="wall"):
        """How much of that side's time kf takes: the median over neighbouring runs."""
        if isinstance(side, str):
            side = self.side(side)
        if side is None:
            return None
        return statistics.median(
            getattr(ours, figure) / max(getattr(theirs, figure), 1e-3) for ours, theirs in zip(self.kf.runs, side.runs)
        )

    def best(self, kind):
        of_kind = [side for side in self.sides if side.kind == kind]
        return min(of_kind, key=lambda side: side.median()) if of_kind else None

    def as_json(self):
        sides = [
            {
                "name": side.name,
                "kind": side.kind,
                "note": side.note,
                "output": side.output,
                "wall_ms": round(side.median(), 3),
                "cpu_ms": round(side.median("cpu"), 3),
                "cores": round(side.cores, 2),
                "memory_mib": round(max(run.memory for run in side.runs), 2),
                "kf_ratio": round(self.ratio(side), 4),
                "kf_cpu_ratio": round(self.ratio(side, "cpu"), 4),
                "walls_ms": [round(run.wall, 3) for run in side.runs],
            }
            for side in self.sides
        ]
        peer, floor = self.best("peer"), self.best("floor")
        return {
            "work": self.work,
            "title": self.title,
            "state": self.state,
            "sides": sides,
            "facts": self.facts,
            "best_peer": peer and peer.name,
            "ratio_to_best_peer": peer and round(self.ratio(peer), 4),
            "cpu_ratio_to_best_peer": peer and round(self.ratio(peer, "cpu"), 4),
            "floor": floor and floor.name,
            "ratio_to_floor": floor and round(self.ratio(floor), 4),
            "cpu_ratio_to_floor": floor and round(self.ratio(floor, "cpu"), 4),
            "goals": [goal.judge(self) for goal in self.goals],
        }


@dataclass
class Counted:
    """One program's counts. The first is what the programs are compared by."""

    name: str
    kind: str
    counts: dict
    note: str = ""


@dataclass
class Breakdown:
    """What a count is made of: rows, the same for all sides that are shown."""

    title: str
    sides: dict  # by name, a Counter of the rows
    rows: list  # in the order to show them; others follow


@dataclass
class Counts:
    """What every side needs of something that is counted, not timed."""

    work: str
    title: str
    state: str
    sides: list
    goals: list = field(default_factory=list)
    facts: dict = field(default_factory=dict)
    breakdowns: list = field(default_factory=list)

    @property
    def kf(self):
        return next(side for side in self.sides if side.kind == "kf")

    def first(self, side):
        return next(iter(side.counts.values()))

    def ratio(self, name):
        return self.first(self.kf) / next(self.first(side) for side in self.sides if side.name == name)

    def least(self, kind):
        return min((side for side in self.sides if side.kind == kind), key=self.first, default=None)

    def as_json(self):
        peer, floor = self.least("peer"), self.least("floor")
        return {
            "work": self.work,
            "title": self.title,
            "state": self.state,
            "sides": [
                {
                    "name": side.name,
                    "kind": side.kind,
                    "note": side.note,
                    "counts": side.counts,
                    "kf_ratio": round(self.ratio(side.name), 4),
                }
                for side in self.sides
            ],
            "facts": self.facts,
            "breakdowns": [vars(breakdown) for breakdown in self.breakdowns],
            "best_peer": peer and peer.name,
            "ratio_to_best_peer": peer and round(self.ratio(peer.name), 4),
            "floor": floor and floor.name,
            "ratio_to_floor": floor and round(self.ratio(floor.name), 4),
            "goals": [goal.judge(self) for goal in self.goals],
        }
