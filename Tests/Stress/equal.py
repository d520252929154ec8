"""Eight processes fetch many URLs of few images into one cache, beside busy loops; in every second case it is emptied."""
import subprocess
import threading
import time

from common.contents import Contents
from common.origin import Origin
from common.place import Place

PROCESSES = 8


class Equal:
    def __init__(self, trial, origin, case):
        self.trial = trial
        self.origin = origin
        self.place = Place(trial, origin, trial.folder(f"place{case % 2}"))
        self.is_emptied = case % 2 == 1

    def prefetch(self, urls):
        # Without busy loops eight of them take 2,500 URLs a second on two cores.
        result = self.place.kf(
            "prefetch", "-", "-q", stdin="".join(url + "\n" for url in urls).encode(), limit=60 + self.trial.urls // 10)
        self.trial.count("prefetch")
        if result.status != 0 or result.errors:
            self.trial.fault(f"prefetch: {result}")

    def run(self, generator):
        urls, bodies = self.trial.urls, self.trial.bodies
        lists = [
            [f"{self.origin.url(generator.randrange(bodies))}?{process}-{number}" for number in range(urls)]
            for process in range(PROCESSES)]
        start = time.monotonic()
        threads = [threading.Thread(target=self.prefetch, args=(urls,), daemon=True) for urls in lists]
        for thread in threads:
            thread.start()
        while self.is_emptied and any(thread.is_alive() for thread in threads):
            result = self.place.kf("cache", "clean", "--all", "--yes", "-q")
            if result.status != 0:
                self.trial.fault(f"cache clean: {result}")
            self.trial.count("cache clean")
        for thread in threads:
            thread.join()
        seconds = time.monotonic() - start
        self.check_once()
        verified = self.place.kf("cache", "verify", limit=60 + urls // 10)
        if verified.status != 0 or b"no damage" not in verified.output:
            self.trial.fault(f"cache verify: {verified}: {verified.output.decode()}")
        contents = Contents(self.place.cache)
        expected = PROCESSES * urls + 2 * bodies
        if not self.is_emptied and contents.entries != expected:
            self.trial.fault(f"{contents.entries} entries instead of {expected}")
        print(f"stress: equal: {PROCESSES * urls} URLs in {seconds:.1f} s, {verified.seconds:.2f} s to verify "
              f"{contents.entries} entries; {contents}", flush=True)
        for text in contents.faults + [f"objects/{name} is torn" for name in contents.torn]:
            self.trial.fault(text)
        if contents.orphans or contents.missing or contents.left:
            self.trial.fault(f"{contents}")
        self.place.check_canaries()

    def files(self):
        objects = self.place.cache / "v1/objects"
        return {str(path): path.stat().st_ino for path in objects.rglob("*") if path.is_file()}

    def check_once(self):
        """What the cache has is not written again for other URLs."""
        self.prefetch([f"{self.origin.url(index)}?first" for index in range(self.trial.bodies)])
        before = self.files()
        self.prefetch([f"{self.origin.url(index)}?second" for index in range(self.trial.bodies)])
        if before != self.files() or len(before) != self.trial.bodies:
            self.trial.fault(f"{len(before)} objects for {self.trial.bodies} images, or some were written again")


def run(trial):
    loops = [
        subprocess.Popen(["nice", "sh", "-c", "while :; do :; done"], start_new_session=True) for _ in range(trial.loops)]
    try:
        with Origin(trial.scratch, trial.random("origin"), trial.bodies) as origin:
            for case, generator in trial.cases():
                Equal(trial, origin, case).run(generator)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
