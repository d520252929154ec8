"""One process of the library cancels many calls in every stage; each must end within half a second.

Tasks that only sleep are cancelled beside them. Where these are late too, the machine has not run the process.
"""
import server

COUNT = 100_000  # in a minute
LIMIT = 500  # milliseconds


def run(trial):
    server.run_program(trial, "cancel", trial.folder("cache"), COUNT * trial.seconds // 60, LIMIT, limit=1200)
