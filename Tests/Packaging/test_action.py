#!/usr/bin/env python3
"""Runs the steps of the GitHub action with a stand-in for the runner, against a release and images on this machine.

usage: test_action.py --packages DIR
"""

import argparse
import functools
import http.server
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/Integrations"))
import skips  # noqa: E402

PACKAGES = ROOT / ".build/packages"
ACTION = ROOT / ".github/actions/kf"
LIMIT = 120  # seconds of a step

try:
    import yaml
except ImportError:
    yaml = None


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the images of the fixtures under /images, and the packages under /release."""

    seen = []

    def translate_path(self, path):
        folder, _, name = path.lstrip("/").partition("/")
        return str({"images": ROOT / "Fixtures/png", "release": PACKAGES}.get(folder, pathlib.Path("/nonexistent")) / name)

    def log_message(self, form, *arguments):
        self.seen.append(self.path)


class Runner:
    """What the runner does for a composite action: contexts, files of outputs, and the two steps of caches."""

    def __init__(self, folder):
        self.folder, self.caches, self.runs = folder, {}, 0
        self.temporary = folder / "temp"

    def run(self, **inputs):
        """Returns the outputs of a run of the action, and whether a step failed; the log is in `log`."""
        action = yaml.safe_load((ACTION / "action.yml").read_text())
        self.runs += 1
        shutil.rmtree(self.temporary, ignore_errors=True)
        self.temporary.mkdir()
        given = {name: str(spec.get("default", "")) for name, spec in action["inputs"].items()}
        assert set(inputs) <= set(given), inputs
        given.update(inputs)
        self.context = {f"inputs.{name}": value for name, value in given.items()}
        self.context.update({"github.run_id": str(self.runs), "github.action_repository": "o/r", "runner.os": "Linux"})
        self.environment, self.paths, self.log, failed, self.saved = {}, [], "", False, []
        for step in action["runs"]["steps"]:
            if failed or not self.holds(step.get("if", "true")):
                continue
            if "run" in step:
                failed = not self.execute(step)
            else:
                self.keep(step)
        outputs = {name: self.expand(spec["value"]) for name, spec in action["outputs"].items()}
        return outputs, failed

    def expand(self, text):
        return re.sub(r"\$\{\{ (\S+) \}\}", lambda match: self.context.get(match[1], ""), text)

    def holds(self, condition):
        if condition == "true":
            return True
        name, operator, value = re.fullmatch(r"\$\{\{ (\S+) (==|!=) '(.*)' \}\}", condition).groups()
        return (self.context.get(name, "") == value) == (operator == "==")

    def execute(self, step):
        files = {name: self.temporary / name for name in ("OUTPUT", "ENV", "PATH", "STEP_SUMMARY")}
        for path in files.values():
            path.write_text("")
        environment = {
            "PATH": ":".join([*self.paths, os.environ["PATH"]]), "HOME": str(self.folder),
            "RUNNER_TEMP": str(self.temporary), "GITHUB_ACTION_PATH": str(ACTION), "GITHUB_SERVER_URL": "https://github.invalid",
            **{f"GITHUB_{name}": str(path) for name, path in files.items()}, **self.environment,
            **{name: self.expand(value) for name, value in step.get("env", {}).items()},
        }
        # As the runner starts bash for `shell: bash`.
        result = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", self.expand(step["run"])], cwd=self.folder, text=True,
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT)
        self.log += result.stdout
        for line in files["OUTPUT"].read_text().splitlines():
            name, value = line.split("=", 1)
            self.context[f"steps.{step['id']}.outputs.{name}"] = value
        self.environment.update(line.split("=", 1) for line in files["ENV"].read_text().splitlines())
        self.paths = files["PATH"].read_text().split() + self.paths
        return result.returncode == 0

    def keep(self, step):
        options = {name: self.expand(value) for name, value in step["with"].items()}
        path = pathlib.Path(options["path"])
        if step["uses"].startswith("actions/cache/save@"):
            assert options["key"] not in self.caches, "a saved cache is never replaced"
            copy = self.folder / f"saved-{len(self.caches)}"
            shutil.copytree(path, copy, symlinks=True)
            self.caches[options["key"]] = copy
            self.saved.append(options["key"])
            return
        assert step["uses"].startswith("actions/cache/restore@")
        for prefix in [options["key"], *options["restore-keys"].split()]:
            for key in reversed(self.caches):
                if key.startswith(prefix):
                    return shutil.copytree(self.caches[key], path, symlinks=True)


@unittest.skipIf(yaml is None, "the stand-in of the runner needs python3-yaml")
class ActionTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        Handler.seen = []
        self.runner = Runner(self.folder)
        self.write("grey.png", "rgb.png")

    def write(self, *names):
        (self.folder / "urls.txt").write_text("".join(f"{self.address}/images/{name}\n" for name in names))

    def run_action(self, **inputs):
        return self.runner.run(**{"list": "urls.txt", "url": f"{self.address}/release", **inputs})

    def images(self):
        seen = [path for path in Handler.seen if path.startswith("/images/")]
        Handler.seen = []
        return len(seen)

    def test_a_second_run_restores_and_saves_nothing(self):
        outputs, failed = self.run_action()
        self.assertFalse(failed, self.runner.log)
        self.assertEqual((outputs["fetched"], outputs["failed"], self.images()), ("2", "0", 2), self.runner.log)
        self.assertEqual(len(self.runner.saved), 1)
        outputs, failed = self.run_action()
        self.assertEqual((failed, outputs["fetched"], self.images(), self.runner.saved), (False, "0", 0, []), self.runner.log)
        self.write("grey.png", "rgb.png", "rgba.png")
        outputs, failed = self.run_action()
        self.assertEqual((outputs["fetched"], self.images(), len(self.runner.saved)), ("1", 1, 1), self.runner.log)

    def test_a_lock_is_held(self):
        self.run_action()
        kf = next(self.runner.temporary.glob("kf-*/kf-*/bin/kf"))
        subprocess.run([kf, "prefetch", "urls.txt", "--lock", "images.lock", "-q", "--cache-dir", "own"], check=True,
                       cwd=self.folder, timeout=LIMIT)
        lock = (self.folder / "images.lock").read_text()
        outputs, failed = self.run_action()
        self.assertFalse(failed, self.runner.log)
        self.write("grey.png", "rgb.png", "rgba.png")
        outputs, failed = self.run_action()
        self.assertEqual((failed, outputs["failed"]), (True, "1"), self.runner.log)
        self.assertIn("::error::kf: images failed", self.runner.log)
        self.assertEqual((self.folder / "images.lock").read_text(), lock)
        outputs, failed = self.run_action(**{"allow-failures": "true"})
        self.assertEqual((failed, outputs["failed"]), (False, "1"), self.runner.log)

    def test_failures_are_shown_after_what_was_fetched_is_saved(self):
        self.write("grey.png", "missing.png")
        outputs, failed = self.run_action(options="--retry\n0\n")
        self.assertEqual((failed, outputs["fetched"], outputs["failed"]), (True, "1", "1"), self.runner.log)
        self.assertEqual(len(self.runner.saved), 1)
        self.assertIn("missing.png", self.runner.log)

    def test_another_tarball_than_the_expected_is_refused(self):
        _, failed = self.run_action(sha256="0" * 64)
        self.assertTrue(failed)
        self.assertRegex(self.runner.log, r"::error::kf: kf-\S+\.tar\.gz is not the file with SHA-256 0+")
        _, failed = self.run_action(version="9.9.9")
        self.assertTrue(failed)
        self.assertIn("cannot be downloaded", self.runner.log)
        self.assertEqual((self.images(), self.runner.caches), (0, {}))

    def test_without_a_list_kf_is_installed(self):
        outputs, failed = self.runner.run(url=f"{self.address}/release")
        self.assertFalse(failed, self.runner.log)
        self.assertEqual((self.images(), outputs["fetched"]), (0, ""))
        self.assertIn("libcurl", self.runner.log)
        self.assertTrue(self.runner.environment["KF_CACHE_DIR"].endswith("kf-cache"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--packages", type=pathlib.Path, default=PACKAGES)
    known, rest = parser.parse_known_args()
    PACKAGES = known.packages.resolve()
    sys.argv[1:] = rest
    skips.main()
