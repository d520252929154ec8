"""The program's own table of options: `kf help --json`, or for a binary without it, what its help and its manual page say."""
import json
import re
import subprocess


class Table:
    """`commands`: by the name of a command, its options, each with its `value` (None for a switch) and `excludes`."""

    def __init__(self, kf):
        self.kf = kf
        result = subprocess.run([kf, "help", "--json"], capture_output=True, text=True)
        self.commands = self.dumped(result.stdout) if result.returncode == 0 else self.read()

    def dumped(self, text):
        commands = [json.loads(line) for line in text.splitlines()]
        return {command["name"]: {"--" + option["name"]: {
            "value": option["value"], "optional": option["value_optional"], "excludes": {"--" + name for name in option["excludes"]},
            "variable": option["environment"]} for option in command["options"]} for command in commands}

    def say(self, *words):
        return subprocess.run([self.kf, *words], capture_output=True, text=True, check=True).stdout

    def read(self):
        manual = self.say("man").replace(r"\-", "-").replace(r"\&", "")
        # The options of one command stand below it, those of several in sections of their own.
        entries = {}
        for section in re.split(r"\n\.S[SH] ", manual):
            command = re.match(r'"kf ((?:cache )?\w+)', section)
            for entry in section.split("\n.TP\n"):
                if found := re.match(r"\\fB(?:-\S, )?--([\w.-]+)", entry):
                    text = re.sub(r"\s+", " ", entry)
                    excluded = re.search(r"Excludes (.*?)\.(?: |$)", text)
                    variable = re.search(r"Environment: (KF_\w+)", text)
                    entries[command and command[1], "--" + found[1]] = {
                        "excludes": set(re.findall(r"--[\w.-]*\w", excluded[1])) if excluded else set(),
                        "variable": variable and variable[1]}
        commands = {}
        for name in dict.fromkeys(re.findall(r"^\.SS \"kf ((?:cache )?\w+)", manual, re.M)):
            options = re.findall(
                r"^  (?:-\S, |    )--([\w.-]+)(?: (\S+(?: \S+)*))?(?:\s{2,}|$)", self.say("help", *name.split()), re.M)
            none = {"excludes": set(), "variable": None}
            commands[name] = {
                "--" + option: {"value": value or None,
                                **entries.get((name, "--" + option), entries.get((None, "--" + option), none))}
                for option, value in options}
        return commands

    def excludes(self, command, one, other):
        options = self.commands[command]
        return any(b in options[a]["excludes"] for a, b in ((one, other), (other, one)) if a in options and b in options)
