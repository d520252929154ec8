#!/usr/bin/env python3
"""Runs the steps of the GitHub action with a stand-in for the runner, against a release and images on this machine.

usage: test_action.py --packages DIR
"""

import argparse
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
    """Serves the images of the fixtures under /images, and a release where GitHub or a mirror would have it."""

    seen = []
    headers_seen = []
    releases = {}

    def translate_path(self, path):
        folder, _, name = path.lstrip("/").rpartition("/")
        folders = {"images": ROOT / "Fixtures/png", "release": PACKAGES, **self.releases}
        return str(folders.get(folder, pathlib.Path("/nonexistent")) / name)

    def log_message(self, form, *arguments):
        self.seen.append(self.path)
        self.headers_seen.append(dict(getattr(self, "headers", {})))


class Runner:
    """What the runner does for a composite action: contexts, files of outputs, and the two steps of caches."""

    def __init__(self, folder):
        self.folder, self.caches, self.runs = folder, {}, 0
        self.temporary = folder / "temp"
        # What another runner has: contexts, variables and tools.
        self.changes, self.variables, self.tools = {}, {}, os.environ["PATH"]

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
        self.context.update({
            "github.run_id": str(self.runs), "github.run_attempt": "1", "github.job": "build", "strategy.job-index": "0",
            "github.action_repository": "o/r", "runner.os": "Linux", **self.changes})
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
            "PATH": ":".join([*self.paths, self.tools]), "HOME": str(self.folder),
            "RUNNER_TEMP": str(self.temporary), "GITHUB_ACTION_PATH": str(ACTION), "GITHUB_SERVER_URL": "https://github.invalid",
            "GITHUB_REPOSITORY": "own/repository", **self.variables,
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
        Handler.seen, Handler.headers_seen, Handler.releases = [], [], {}
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
        self.assertRegex(self.runner.log, r"(?m)^::error file=urls.txt,line=3::not in images.lock")
        self.assertEqual((self.folder / "images.lock").read_text(), lock)
        outputs, failed = self.run_action(**{"allow-failures": "true"})
        self.assertEqual((failed, outputs["failed"]), (False, "1"), self.runner.log)
        self.assertIn("::warning file=urls.txt,line=3::", self.runner.log)

    def test_an_altered_object_of_the_restored_cache_is_fetched_again(self):
        self.run_action()
        kf = next(self.runner.temporary.glob("kf-*/kf-*/bin/kf"))
        subprocess.run([kf, "prefetch", "urls.txt", "--lock", "images.lock", "-q", "--cache-dir", "own"], check=True,
                       cwd=self.folder, timeout=LIMIT)
        self.run_action()
        self.images()
        for cache in self.runner.caches.values():
            for path in cache.glob("v1/objects/*/*.png"):
                status, data = path.stat(), bytearray(path.read_bytes())
                data[-20] ^= 1
                path.chmod(0o600)
                path.write_bytes(data)
                os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
                path.chmod(0o444)
        outputs, failed = self.run_action()
        self.assertEqual((failed, outputs["fetched"], self.images()), (False, "2", 2), self.runner.log)

    def test_a_lock_that_is_given_must_be_there(self):
        _, failed = self.run_action(lock="image.lock")
        self.assertTrue(failed)
        self.assertIn("::error::kf: there is no lock image.lock", self.runner.log)
        self.assertEqual(Handler.seen, [])

    def test_runs_that_derive_or_revalidate_save_the_cache(self):
        self.run_action()
        for options, text in [("-p resize:8x", "2 derived"), ("--revalidate", "2 revalidated")]:
            outputs, failed = self.run_action(options=options)
            self.assertEqual((failed, outputs["fetched"], len(self.runner.saved)), (False, "0", 1), self.runner.log)
            self.assertIn(f"kf: 0 fetched, {text}, 0 cached, 0 failed\n", self.runner.log)

    def test_an_option_and_its_value_may_share_a_line(self):
        options = "--tag ci --retry 0\n-H \"X-One: a b\"\n--header\nX-Two: it's\n--header=X-Three: c d\n"
        outputs, failed = self.run_action(options=options)
        self.assertFalse(failed, self.runner.log)
        seen = Handler.headers_seen[-1]
        self.assertEqual([seen.get(name) for name in ("X-One", "X-Two", "X-Three")], ["a b", "it's", "c d"])
        kf = next(self.runner.temporary.glob("kf-*/kf-*/bin/kf"))
        listed = subprocess.run([kf, "cache", "ls", "--tag", "ci", "--cache-dir", self.runner.temporary / "kf-cache"],
                                check=True, text=True, stdout=subprocess.PIPE, timeout=LIMIT)
        self.assertEqual(len(listed.stdout.splitlines()), 2)
        _, failed = self.run_action(options="-H \"X-One: a")
        self.assertTrue(failed)
        self.assertIn("::error::kf: options: -H", self.runner.log)

    def test_a_usage_error_is_reported(self):
        outputs, failed = self.run_action(options="--no-such-option")
        self.assertEqual((failed, outputs["fetched"]), (True, "0"))
        self.assertRegex(self.runner.log, "(?m)^::error::kf: kf ended with status 2: .*no-such-option")

    def test_a_local_action_takes_the_release_of_its_repository(self):
        Handler.releases = {"own/repository/releases/download/0.1.0": PACKAGES}
        self.runner.changes = {"github.action_repository": ""}
        self.runner.variables = {"GITHUB_SERVER_URL": self.address}
        _, failed = self.run_action(url="")
        self.assertFalse(failed, self.runner.log)

    def test_jobs_and_attempts_of_a_run_have_caches_of_their_own(self):
        keys = set()
        for change in [{}, {"github.run_attempt": "2"}, {"github.job": "test"}, {"strategy.job-index": "1"}]:
            self.runner.changes = {"github.run_id": "7", **change}
            self.run_action(options="--force-refresh")
            keys.update(self.runner.saved)
        self.assertEqual(len(keys), 4, keys)

    def test_root_installs_libcurl_without_sudo(self):
        # A kf that finds no libcurl, and a container with no sudo and a tool that stands in for apt-get.
        machine = os.uname().machine
        program = self.folder / f"kf-0.1.0-linux-{machine}/bin/kf"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/bash\necho '{\"libcurl\":null}'\n")
        program.chmod(0o755)
        stub, tools = self.folder / "stub", self.folder / "tools"
        stub.mkdir()
        tools.mkdir()
        archive = f"kf-0.1.0-linux-{machine}.tar.gz"
        subprocess.run(["tar", "-czf", stub / archive, f"kf-0.1.0-linux-{machine}"], cwd=self.folder, check=True)
        (stub / "SHA256SUMS").write_text(subprocess.run(
            ["sha256sum", archive], cwd=stub, check=True, text=True, stdout=subprocess.PIPE).stdout)
        names = "bash uname mktemp curl awk sha256sum tar gzip rm grep cut cat printf".split()
        for name in names:
            (tools / name).symlink_to(shutil.which(name))
        for name, text in [("apt-get", f"echo \"$@\" >>{self.folder}/installed"), ("id", "echo $USER_ID")]:
            (tools / name).write_text(f"#!/bin/bash\n{text}\n")
            (tools / name).chmod(0o755)
        Handler.releases = {"stub": stub}
        self.runner.tools = str(tools)
        for user, expected in [("0", False), ("1001", True)]:
            self.runner.variables = {"USER_ID": user}
            _, failed = self.runner.run(url=f"{self.address}/stub")
            self.assertEqual(failed, expected, self.runner.log)
        self.assertIn("::error::kf: libcurl is missing", self.runner.log)
        self.assertIn("install --yes", (self.folder / "installed").read_text())

    def test_an_empty_time_removes_nothing(self):
        _, failed = self.run_action(**{"unused-for": ""})
        self.assertEqual((failed, len(self.runner.saved)), (False, 1), self.runner.log)

    def test_a_run_that_failures_stopped_early_may_go_on(self):
        self.write("grey.png", "missing.png", "missing2.png", "missing3.png")
        options = "--max-failures 1 --retry 0 -j 1"
        outputs, failed = self.run_action(options=options)
        self.assertTrue(failed)
        self.assertRegex(self.runner.log, "(?m)^::error::kf: the run was stopped early: ")
        outputs, failed = self.run_action(options=options, **{"allow-failures": "true"})
        self.assertFalse(failed, self.runner.log)

    def test_failures_are_shown_at_their_lines(self):
        (self.folder / "a,b%.csv").write_text(
            "url,note\n" + "".join(f"{self.address}/images/missing{number}.png,x\n" for number in range(60))
            + "not a \\ url 100%,\"\"\"error\"\":{\"\"code\"\":1\"\n")
        _, failed = self.run_action(list="a,b%.csv", options="--retry 0")
        self.assertTrue(failed)
        shown = re.findall(r"(?m)^::error file=a%2Cb%25.csv,line=(\d+)::(.*)$", self.runner.log)
        self.assertEqual(len(shown), 50, self.runner.log)
        self.assertTrue(all("404" in text or "URL" in text for _, text in shown), shown)
        self.assertTrue(all(2 <= int(line) <= 62 for line, _ in shown), shown)

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
