// Runs one command to its end and writes to a descriptor: wall time and processor time in microseconds, peak memory in
// KiB, exit status. A child begins with the memory of the process that starts it, and Python's is larger than kf's, so
// that something as small as this has to stand between.
//
// usage: measure DESCRIPTOR COMMAND [ARGUMENT]...

#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <fcntl.h>
#include <unistd.h>

static long long microseconds(struct timeval time) { return time.tv_sec * 1000000LL + time.tv_usec; }

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}

int main(int count, char **arguments) {
    if (count < 3) return 2;
    const int report = atoi(arguments[1]);
    if (fcntl(report, F_SETFD, FD_CLOEXEC) < 0) return 2;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const long long start = now();
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execvp(arguments[2], arguments + 2);
        perror(arguments[2]);
        _exit(127);
    }
    int status;
    struct rusage usage;
    if (child < 0 || wait4(child, &status, 0, &usage) != child) return 2;
    const long long wall = now() - start;
    dprintf(report, "%lld %lld %ld %d\n", wall, microseconds(usage.ru_utime) + microseconds(usage.ru_stime),
            usage.ru_maxrss, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return 0;
}
