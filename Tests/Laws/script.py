"""A failing case as a shell script that runs by itself: python makes the place and serves its world, then come kf's lines."""
import json
import shlex
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def script_of(worker, key, seen, detail):
    lines = ["#!/bin/bash", f"# {key[0]}: {key[1]}", *(f"# {line}" for line in detail.strip().splitlines()[:6]),
             f'kf=$(realpath "${{KF_BINARY:-{worker.kf}}}"); folder=$(mktemp -d)',
             f'coproc world {{ /usr/bin/python3 {FOLDER}/serve.py "$kf" "$folder" {shlex.quote(json.dumps(seen.case))}; }}',
             'read -r -u "${world[0]}" place; cd "$place" && . ../environment']
    names = (("dry run", seen.dry), ("run", seen.first), ("the other run", seen.twin), ("the same again", seen.second),
             ("then", seen.following), ("the same again", seen.third))
    for name, run in names:
        if run is not None and not (name == "then" and seen.third is None and run is None):
            lines += [f"echo; echo '# {name}'", line(worker, seen, run)]
    lines += ["echo; echo '# What the servers received'", 'echo >&"${world[1]}"; cat <&"${world[0]}"; rm -rf "$folder"']
    return "\n".join(lines) + "\n"


def line(worker, seen, run):
    """One run as a line of the shell."""
    words = [quoted(worker, seen, word) for word in run.argv]
    given = [f"{name}={quoted(worker, seen, value)}" for name, value in run.environment.items() if value != worker.environment(
        seen.place).get(name)]
    end = seen.case.get("end") if run is seen.first else None
    before = [f"timeout -s {end.removeprefix('sig').upper()} 0.03"] if end in ("sigterm", "kill") else []
    if seen.case.get("limits") == "descriptors":
        before.append("prlimit --nofile=128")
    after = "& first=$!" if seen.twin and run is seen.first else '; echo "exit $?"' + ("; wait $first" if run is seen.twin else "")
    return " ".join([*(["env"] if given and before else []), *given, *before, '"$kf"', *words, "<../stdin", after])


def quoted(worker, seen, word):
    """A word for the shell, with the addresses and the place of this run as variables."""
    text = shlex.quote(word)
    marks = {address: f"${{{name}}}" for address, name in worker.world.variables.items()} | {str(seen.place.root): "$place"}
    if not any(mark in word for mark in marks):
        return text
    for mark, variable in marks.items():
        text = text.replace(mark, f"'\"{variable}\"'" if text.startswith("'") else f'"{variable}"')
    return text
