"""A failing case as a shell script that runs by itself."""
import json
import shlex
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def script_of(worker, key, case, detail):
    """The script: one line of python starts the world and makes the state, then come the lines of kf."""
    law, kind = key
    lines = [
        "#!/bin/bash", f"# {law}: {kind}"] + [f"# {line}" for line in detail.strip().splitlines()[:4]] + [
        "# What the servers receive is printed at the end; the lines that made the state are in fill.log.",
        f"KF=$(realpath \"${{KF_BINARY:-{worker.kf}}}\")", "place=$(mktemp -d); cd \"$place\"",
        f"coproc WORLD {{ /usr/bin/python3 {FOLDER}/world.py \"$KF\" \"$place\" {shlex.quote(json.dumps(case))}; }}",
        "read -r -u \"${WORLD[0]}\" place && cd \"$place\" && . ./environment"]
    for name, words, variables in worker.lines:
        text = " ".join(shlex.quote(word) for word in words)
        for address, variable in worker.addresses.items():
            text = text.replace(address, f"'${variable}'" if False else f"${variable}")
        text = text.replace("'$", "\"$").replace("\"$", "$") if False else text
        lines.append(f"echo '# {name}'; " + "".join(f"{key}={shlex.quote(value)} " for key, value in variables.items())
                     + '"$KF" ' + requoted(text) + "; echo \"exit $?\"")
    lines += ["echo >&\"${WORLD[1]}\"; cat <&\"${WORLD[0]}\""]
    return "\n".join(lines) + "\n"


def requoted(text):
    """Words with variables of the shell in double quotes."""
    words = shlex.split(text)
    return " ".join('"' + word + '"' if "$" in word else shlex.quote(word) for word in words)
