"""One process of the library works for as long as the harness runs, and looks at itself."""
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def build():
    """Builds the program for debugging, so that it asserts what the library takes for granted, where `make example` does."""
    command = ["swift", "build", "--package-path", ROOT / "Tests/LibraryExample", "--scratch-path",
               ROOT / ".build/example", "--product", "LibrarySoak"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    place = subprocess.run([*command, "--show-bin-path"], check=True, capture_output=True, text=True)
    return pathlib.Path(place.stdout.strip()) / "LibrarySoak"


def run(trial):
    # What still runs at the end has its retries and stores before it.
    run_program(trial, trial.folder("cache"), trial.seconds, limit=trial.seconds + 120)


def run_program(trial, *arguments, limit):
    """Runs LibrarySoak. What it prints as a fault is one."""
    command = [build(), *map(str, arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        trial.fault("it did not end in time")
        return
    for line in done.stdout.splitlines():
        if line.startswith("fault: "):
            trial.fault(line.removeprefix("fault: "))
        else:
            print(f"stress: {trial.name}: {line}", flush=True)
    if done.returncode not in (0, 1):
        trial.fault(f"it ended with {done.returncode}: {done.stderr[-2000:]}")
