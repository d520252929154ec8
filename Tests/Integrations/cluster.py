"""A Slurm cluster of two nodes on this machine, all of it in one folder and on ports of its own."""

import os
import subprocess
import time
from pathlib import Path

NODES = ("node1", "node2")
CONFIGURATION = """\
ClusterName=kf
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={ports[0]}
AuthType=auth/none
CredType=cred/none
# Also the time that a requeued task waits before it begins again (120 s by default).
AuthInfo=cred_expire=5
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,sched_min_interval=100000,batch_sched_delay=0
JobRequeue=1
# A node that does not answer for this many seconds is down, and its tasks are requeued.
SlurmdTimeout=3
MessageTimeout=2
TCPTimeout=1
NodeName=node1 NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports[1]} CPUs=1
NodeName=node2 NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports[2]} CPUs=1
PartitionName=all Nodes=node1,node2 Default=YES State=UP
"""


class Cluster:
    """slurmctld and two slurmd. Each slurmd has its own process namespace, which ends as a machine does: as a whole."""

    # The daemons end with this process, even if it is killed.
    BOUND = ("setpriv", "--pdeathsig", "KILL")
    NAMESPACE = ("unshare", "--pid", "--mount-proc", "--fork", "--kill-child")

    @classmethod
    def is_possible(cls):
        return os.geteuid() == 0 and subprocess.run([*cls.NAMESPACE, "true"], capture_output=True).returncode == 0

    def __init__(self, folder, ports):
        self.folder = Path(folder)
        (self.folder / "state").mkdir()
        configuration = self.folder / "slurm.conf"
        configuration.write_text(CONFIGURATION.format(folder=folder, ports=ports))
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "KF_"))},
            "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin",
            "SLURM_CONF": str(configuration),
        }
        self.processes = {}

    def __enter__(self):
        try:
            self._start("slurmctld", *self.BOUND, "slurmctld", "-D")
            for node in NODES:
                self._start(node, *self.BOUND, *self.NAMESPACE, "slurmd", "-D", "-N", node)
            states = ("sinfo", "-h", "-N", "-o", "%t")
            self.wait_until(lambda: self.run(*states).split() == ["idle"] * 2, 20, "two idle nodes")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for node in NODES:
            self.kill(node)
        self.kill("slurmctld")

    def _start(self, name, *command):
        with open(self.folder / f"{name}.log", "wb") as log:
            self.processes[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment, cwd=self.folder
            )

    def kill(self, name):
        """Ends a daemon with SIGKILL; of a node also its job steps and all that they run."""
        process = self.processes.pop(name, None)
        if process:
            process.kill()
            process.wait(20)

    def run(self, *command, check=False):
        """Runs a command of Slurm, and returns what it prints."""
        settings = {"env": self.environment, "cwd": self.folder, "timeout": 30}
        done = subprocess.run(command, capture_output=True, text=True, **settings)
        if check and done.returncode:
            raise RuntimeError(f"{command}: {done.stderr}")
        return done.stdout

    def submit(self, script, array):
        """Submits an array of a script, and returns its number."""
        return self.run("sbatch", "--parsable", f"--array={array}", str(script), check=True).strip()

    def tasks(self, job):
        """The tasks of an array by their number, each with its fields."""
        tasks = {}
        for line in self.run("scontrol", "-o", "show", "job", job).splitlines():
            fields = dict(part.split("=", 1) for part in line.split() if "=" in part)
            tasks[fields.get("ArrayTaskId")] = fields
        return tasks

    def wait_for(self, job, limit):
        """Waits until no task of an array runs or waits."""
        self.wait_until(lambda: not self.run("squeue", "-h", "-j", job).strip(), limit, f"the end of job {job}")

    def wait_until(self, condition, limit, what):
        end = time.monotonic() + limit
        while not condition():
            if time.monotonic() > end:
                logs = sorted(self.folder.glob("*.log"))
                logs = "".join(f"--- {log.name}\n{log.read_text()[-2000:]}" for log in logs)
                raise TimeoutError(f"{what}: not within {limit} s\n{self.run('squeue')}{self.run('sinfo')}{logs}")
            time.sleep(0.1)

    def worker(self, program, task):
        """The number of the process that runs `program` in a task of an array; None without one."""
        marks = {f"SLURM_CONF={self.folder}/slurm.conf", f"SLURM_ARRAY_TASK_ID={task}"}
        for folder in Path("/proc").iterdir():
            try:
                if folder.name.isdigit() and os.path.samefile(folder / "exe", program):
                    if marks <= set((folder / "environ").read_text(errors="replace").split("\0")):
                        return int(folder.name)
            except OSError:
                pass
        return None
