#!/usr/bin/python3
"""Tests of kf as the worker of a Slurm array, on a cluster of two nodes: the script of Engines.md, and its requeues.

usage: KF_BINARY=kf test_slurm.py

Needs root: slurmd runs the tasks of others, and each node gets a process namespace. Skipped without, which is said last.
"""

import hashlib
import json
import os
import re
import signal
import socket
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import skips  # noqa: E402
from cluster import Cluster  # noqa: E402
from origin import ROOT, Origin  # noqa: E402

KF = os.environ.get("KF_BINARY") or sys.exit(__doc__)
ARTICLE = ROOT / "Sources/KFCore/KFCore.docc/Engines.md"
COUNT, JOBS = 400, 4
IN_FLIGHT = JOBS + 32  # kf uploads 32 at a time


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@unittest.skipUnless(Cluster.is_possible(), "the nodes need root and process namespaces: run `make engines` as root")
class SlurmTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kf-slurm-", ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.origin = self.enterContext(Origin(delay=0.02))
        self.paths = [f"/{place}.jpg" for place in range(COUNT)]
        self.paths[COUNT // 2] = "/none.jpg"
        (self.folder / "urls.txt").write_text("".join(f"{self.origin.address}{path}\n" for path in self.paths))
        self.cluster = self.enterContext(Cluster(self.folder, free_ports(3)))

    def submit(self):
        """Submits the script of the article with the folders of this test."""
        (text,) = re.findall(r"```sh\n(#!/bin/bash\n#SBATCH.*?)```", ARTICLE.read_text(), re.S)
        for old, new in {
            "/scratch/kf": f"{self.folder}/$SLURMD_NODENAME",  # a disk of each node
            "/shared/kf": f"{self.folder}/remote",
            "kf prefetch": f'"{KF}" prefetch --jobs {JOBS}',
        }.items():
            self.assertIn(old, text)
            text = text.replace(old, new)
        script = self.folder / "job.sh"
        script.write_text(text)
        return self.cluster.submit(script, "0-3")

    def answers(self):
        """The paths of what kf has answered with an image, with the ways by which it came."""
        ways = {}
        for file in self.folder.glob("results-*.jsonl"):
            for line in file.read_text().splitlines(keepends=True):
                item = json.loads(line) if line.endswith("\n") and line.startswith("{") else {}
                if item.get("path"):
                    ways.setdefault(item["source"].rsplit("/", 1)[1], []).append(item["status"])
        return ways

    def uploaded(self):
        """The paths of the images that the remote has."""
        return {path for path in self.paths if self.entry(self.origin.address + path).exists()}

    def entry(self, key):
        name = hashlib.sha256(f"kf1\0{key}\0".encode()).hexdigest()
        return self.folder / "remote/kf1/ac" / name[:2] / name

    def check(self, job, killed, uploaded):
        """Every image is there, one task was repeated, and only what was in flight was fetched again."""
        tasks = self.cluster.tasks(job)
        self.assertEqual([tasks[str(number)]["JobState"] for number in range(4)], ["COMPLETED"] * 4)
        restarts = [tasks[str(number)]["Restarts"] for number in range(4)]
        self.assertEqual(restarts, ["01"[number == killed] for number in range(4)])
        ways = self.answers()
        self.assertEqual(len(ways), COUNT - 1)
        self.assertEqual(len(self.origin.counts), COUNT)
        self.assertLessEqual(max(self.origin.counts.values()), 2)
        twice = self.origin.twice()
        told = f"{COUNT} images, {len(uploaded)} in the remote at the kill, {len(twice)} of the others fetched twice"
        print(told, file=sys.stderr)
        self.assertGreater(len(uploaded), 20)
        self.assertEqual(twice & uploaded, set())
        self.assertLessEqual(len(twice), IN_FLIGHT)
        return ways

    def run_and_kill(self, action):
        """Submits the array, and acts once task 1 is in its midst. Returns the job and what was uploaded by then."""
        job = self.submit()
        self.cluster.wait_until(lambda: self.cluster.worker(KF, 1), 30, "the worker of task 1")
        self.origin.wait_for_requests(self.origin.counts.total() + COUNT // 8)
        action()
        uploaded = self.uploaded()
        self.cluster.wait_for(job, 50)
        return job, uploaded

    def test_a_killed_kf_is_requeued(self):
        job, uploaded = self.run_and_kill(lambda: os.kill(self.cluster.worker(KF, 1), signal.SIGKILL))
        self.check(job, 1, uploaded)

    def test_a_lost_node_is_replaced_by_the_other_through_the_remote(self):
        lost = []

        def lose():
            running = self.cluster.run("squeue", "-h", "-r", "-t", "R", "-o", "%N %K").split()
            lost.append(int(running[running.index("node2") + 1]))
            self.cluster.kill("node2")

        job, uploaded = self.run_and_kill(lose)
        ways = self.check(job, lost[0], uploaded)
        # The other node has none of these in its cache: they came from the remote.
        self.assertGreater(sum("remote" in way for way in ways.values()), 5)


if __name__ == "__main__":
    skips.main()
