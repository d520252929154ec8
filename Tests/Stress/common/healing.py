"""What has to hold after a fault is over: right bytes at once, and a cache that is whole again in the end."""
import json
import re

from .contents import Contents
from .program import DOCUMENTED
from .trial import first_line, sha256

# An error may refuse where it says what to do.
ADVICE = re.compile(r"to use it:|update kf|use another|try again|--repair|remove |delete |`kf |'kf |chmod|chown")
# Temporary files of a command that was killed; the sweep takes them after an hour.
LEFTOVERS = 200


class Healing:
    """Goes through the commands in an order of chance, then repairs, then looks at what is left."""

    def __init__(self, place, origin, generator, indexes, verifies=False, promised=()):
        """`promised`: URLs that must still be hits. `verifies`: every file is hashed when it is read."""
        self.place = place
        self.trial = place.trial
        self.origin = origin
        self.generator = generator
        self.indexes = list(indexes)
        self.options = ["--verify"] if verifies else []
        self.promised = promised

    def run(self):
        self.check_promises()
        steps = [self.fetch, self.fetch_to_output, self.prefetch, self.statistics, self.listing, self.explain,
                 self.verify, self.remove, self.clean]
        for step in self.generator.sample(steps, self.generator.randint(0, 3)):
            step()
        last = [self.fetch, self.prefetch]
        self.generator.shuffle(last)
        for step in last:
            step()
        if self.repair():
            self.fetch()
            self.inspect()
        self.place.check_canaries()

    # -- Steps

    def command(self, *arguments, stdin=None, allowed=(0,), heals=True):
        """`heals`: the command writes, and has to mend what it meets. Others may say that the index is damaged."""
        result = self.place.kf(*arguments, stdin=stdin)
        if result.status in allowed or result.status not in DOCUMENTED:
            return result
        if result.status == 3 and "is damaged" in result.errors and "other processes" not in result.errors:
            if heals or "--repair" not in result.errors:
                self.trial.fault(f"not mended: {result}")
            self.trial.count("refusals to read a damaged index")
        elif result.status == 3 and ADVICE.search(result.errors):
            self.trial.count("refusals with advice")
        else:
            self.trial.fault(f"after the fault: {result}")
        return result

    def reports(self, output):
        for line in output.decode(errors="replace").splitlines():
            try:
                yield json.loads(line)
            except ValueError:
                self.trial.fault(f"no JSON: {line[:200]}")

    def check_files(self, name, result):
        """Every path that a report gives holds what the origin has."""
        seen = 0
        wrong = []
        for report in self.reports(result.output):
            if report.get("summary") or report.get("error"):
                continue
            seen += 1
            index = self.origin.index(report["source"])
            said = f"{report['source']} '{report['status']}'"
            try:
                with open(report["path"], "rb") as file:
                    data = file.read()
            except (OSError, TypeError) as error:
                # Not stored, as the status of the command says.
                if report["path"] or result.status == 0:
                    wrong.append(f"{said}, but its file: {error}")
                continue
            if sha256(data) not in self.origin.ever[index]:
                wrong.append(
                    f"{said}, but its file is wrong: {len(data)} bytes, the origin has {self.origin.sizes[index]}")
        if wrong:
            more = f" ({len(wrong)} such)" if len(wrong) > 1 else ""
            self.trial.fault(f"{name} calls {wrong[0]}{more}")
        if result.status == 0 and seen != len(self.indexes):
            self.trial.fault(f"{name} ended with 0, but reported {seen} of {len(self.indexes)} images")

    def urls(self):
        return [self.origin.url(index) for index in self.indexes]

    def fetch(self):
        self.check_files("fetch", self.command("fetch", "--json", *self.options, *self.urls()))

    def prefetch(self):
        stdin = "".join(f"{url}\n" for url in self.urls()).encode()
        result = self.command("prefetch", "-", "--json", *self.options, stdin=stdin)
        self.check_files("prefetch", result)

    def fetch_to_output(self):
        for index in self.generator.sample(self.indexes, min(2, len(self.indexes))):
            result = self.command("fetch", self.origin.url(index), "-o", "-", *self.options)
            if result.status == 0 and sha256(result.output) not in self.origin.ever[index]:
                self.trial.fault(
                    f"fetch wrote {len(result.output)} bytes for {self.origin.url(index)}, "
                    f"the origin has {self.origin.sizes[index]}")

    def statistics(self):
        self.command("cache", "stat", "--json", heals=False)

    def listing(self):
        self.command("cache", "ls", "--json", "--long", heals=False)

    def explain(self):
        url = self.origin.url(self.generator.choice(self.indexes))
        self.command("cache", "explain", url, allowed=(0, 1), heals=False)

    def verify(self):
        self.command("cache", "verify", "--json", allowed=(0, 1), heals=False)

    def remove(self):
        self.command("cache", "rm", self.origin.url(self.generator.choice(self.indexes)), allowed=(0, 1))

    def clean(self):
        self.command("cache", "clean", "-q", *self.generator.choice([["--max-size", "1"], ["--all", "--yes"], []]))

    # -- What must hold in the end

    def check_promises(self):
        for url in self.promised:
            result = self.place.kf("fetch", url, "--only-from-cache", "-o", "-")
            if result.status != 0 or sha256(result.output) not in self.origin.ever[self.origin.index(url)]:
                self.trial.fault(f"stored with --fsync before the crash, and lost: {result}")

    def repair(self):
        """False when it could not be done, which has been said."""
        self.command("cache", "verify", "--repair", "--json", allowed=(0, 1))
        result = self.command("cache", "verify", "--json", allowed=(0, 1))
        if result.status not in (0, 1):
            return False
        found = [report for report in self.reports(result.output) if not report.get("summary")]
        if result.status == 1 and not found:
            self.trial.fault(f"verify finds nothing: {result}")
        for report in found[:3]:
            self.trial.fault(
                f"verify still finds after a repair: {report['kind']}: {report['detail']} {report['path'] or ''}")
        return not found

    def inspect(self):
        contents = Contents(self.place.cache)
        for text in contents.faults + [f"objects/{name} is torn" for name in contents.torn]:
            self.trial.fault(f"after the repair, {text}")
        if contents.orphans or contents.missing:
            self.trial.fault(f"after the repair there are {contents}")
        if len(contents.left) > LEFTOVERS:
            self.trial.fault(f"{len(contents.left)} temporary files are left")


def check_output(trial, origin, index, result, data):
    """A command that was disturbed may fail and write less. Other bytes are wrong, and so is less with success."""
    if sha256(data) in origin.ever[index]:
        return
    original = (origin.folder / f"{index}.png").read_bytes()
    if result.status == 0:
        trial.fault(f"success with {len(data)} bytes in place of {len(original)}: {result}")
    elif not original.startswith(data):
        trial.fault(f"{len(data)} wrong bytes were written: {result}: {first_line(result.errors)}")
