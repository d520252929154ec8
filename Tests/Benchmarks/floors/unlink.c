// What removing many files costs at the least: a loop of unlink over all files in the directories of DIRECTORY.
//
// usage: unlink DIRECTORY; prints how many were removed

#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void check(int good, const char *what) {
    if (good) return;
    perror(what);
    exit(1);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    DIR *parent = opendir(arguments[1]);
    check(parent != NULL, arguments[1]);
    long removed = 0;
    for (struct dirent *folder; (folder = readdir(parent));) {
        if (folder->d_name[0] == '.' || folder->d_type != DT_DIR) continue;
        DIR *inner = fdopendir(openat(dirfd(parent), folder->d_name, O_RDONLY | O_DIRECTORY));
        check(inner != NULL, folder->d_name);
        for (struct dirent *file; (file = readdir(inner));) {
            if (file->d_type != DT_REG) continue;
            check(unlinkat(dirfd(inner), file->d_name, 0) == 0, file->d_name);
            removed++;
        }
        closedir(inner);
    }
    closedir(parent);
    printf("%ld\n", removed);
    return 0;
}
