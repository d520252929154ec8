"""Two binaries take turns on one cache: each uses what the other has written, also at the same time."""
import json
import threading

from common.contents import Contents
from common.origin import Origin
from common.place import Place
from common.trial import sha256

IMAGES = 200
NEW = 60  # of each turn, beside as many that are cached


class Turns:
    def __init__(self, trial, origin, case):
        self.trial = trial
        self.origin = origin
        self.first = Place(trial, origin, trial.folder("place"))
        self.second = Place(trial, origin, self.first.root, existing=True)
        binaries = [trial.kf, trial.other]
        if case % 2 == 1:
            binaries.reverse()
        self.first.program.kf, self.second.program.kf = binaries
        self.cached = []

    def expect(self, place, *arguments, stdin=None, status=0):
        """The output of a command; None, and a fault, when it has not ended as it should."""
        result = place.kf(*arguments, stdin=stdin)
        self.trial.count(arguments[0])
        if result.status == status and (status or not result.errors):
            return result.output
        self.trial.fault(f"{place.program.kf}: {result}")
        return None

    def prefetch(self, place, indexes, status, *options):
        """Prefetches the images; each must end with the status, or with any when there is none."""
        urls = "".join(self.origin.url(index) + "\n" for index in indexes)
        output = self.expect(place, "prefetch", "-", "--json", *options, stdin=urls.encode())
        for line in (output or b"").splitlines():
            item = json.loads(line)
            if "source" in item and status and item["status"] != status:
                self.trial.fault(f"{place.program.kf}: {item['source']} is {item['status']}, not {status}")

    def fetch(self, place, index, status, *options):
        url = self.origin.url(index)
        output = self.expect(place, "fetch", "--json", url, *options)
        if output is None:
            return
        item = json.loads(output.splitlines()[0])
        if item["status"] != status:
            self.trial.fault(f"{place.program.kf}: {url} is {item['status']}, not {status}")
        if "-p" not in options:
            with open(item["path"], "rb") as file:
                if sha256(file.read()) != self.origin.digests[index]:
                    self.trial.fault(f"{place.program.kf}: {url} came wrong")

    def turn(self, writer, reader, generator):
        new = [index for index in self.origin.indexes if index not in self.cached][:NEW]
        made = generator.sample(new, 5)
        self.prefetch(writer, new, "fetched")
        self.cached += new
        for index in made:
            self.fetch(writer, index, "derived", "-p", "resize:16x")
        self.prefetch(reader, self.cached, "cached", "--offline")
        for index in generator.sample(self.cached, 10):
            self.fetch(reader, index, "disk", "--only-from-cache")
        for index in made:
            self.fetch(reader, index, "disk", "--only-from-cache", "-p", "resize:16x")
        # The other one replaces and removes what this one has written.
        replaced = generator.choice(self.cached)
        self.origin.replace(replaced)
        self.fetch(reader, replaced, "fetched", "--force-refresh")
        self.fetch(writer, replaced, "disk", "--only-from-cache")
        removed = self.cached.pop(generator.randrange(len(self.cached)))
        self.expect(reader, "cache", "rm", self.origin.url(removed))
        self.expect(writer, "fetch", self.origin.url(removed), "--only-from-cache", status=1)

    def together(self, generator):
        lists = [generator.sample(self.origin.indexes, NEW * 2) for _ in range(2)]
        threads = [
            threading.Thread(target=self.prefetch, args=(place, indexes, None))
            for place, indexes in zip((self.first, self.second), lists)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.cached = sorted(set(self.cached).union(*lists))
        for place in (self.first, self.second):
            self.prefetch(place, self.cached, "cached", "--offline")

    def verify(self):
        listed = [self.expect(place, "cache", "ls", "--json") for place in (self.first, self.second)]
        if listed[0] != listed[1]:
            self.trial.fault("the two list different entries")
        for place in (self.first, self.second):
            output = self.expect(place, "cache", "verify")
            if output is not None and b"no damage" not in output:
                self.trial.fault(f"{place.program.kf}: cache verify: {output.decode()}")
        contents = Contents(self.first.cache)
        for text in contents.faults + [f"objects/{name} is torn" for name in contents.torn]:
            self.trial.fault(text)
        if contents.orphans or contents.missing or contents.left:
            self.trial.fault(f"{contents}")
        self.first.check_canaries()

    def run(self, generator):
        self.turn(self.first, self.second, generator)
        self.turn(self.second, self.first, generator)
        self.together(generator)
        self.verify()


def run(trial):
    with Origin(trial.scratch, trial.random("origin"), IMAGES) as origin:
        for case, generator in trial.cases():
            Turns(trial, origin, case).run(generator)
