"""Many processes on one cache that is too small for them, one of which is killed every 100 ms."""
import time

from common.mixture import Mixture
from common.origin import Origin
from common.place import Place


def run(trial):
    with Origin(trial.scratch, trial.random("origin"), 300) as origin:
        mixture = Mixture(trial, origin, Place(trial, origin, trial.folder("place")))
        mixture.kills = 1
        mixture.prepare()

        def kill():
            generator = trial.random("kill")
            while time.monotonic() < trial.end:
                time.sleep(0.1)
                mixture.kills += mixture.program.kill_one(generator)

        mixture.work_all(kill)
        trial.count("kills", mixture.kills - 1)
        mixture.finish()
