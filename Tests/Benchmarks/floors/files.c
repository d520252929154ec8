// What storing costs at the least: hash, create, write and rename so many files, on one thread, without any index.
//
// usage: files DIRECTORY COUNT; prints milliseconds. The directory is made.

#define _GNU_SOURCE
#include <fcntl.h>
#include <openssl/sha.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 13000 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static void check(int result, const char *what) {
    if (result < 0) {
        perror(what);
        exit(1);
    }
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    const uint32_t files = (uint32_t)atoi(arguments[2]);
    unsigned char body[SIZE];
    for (int i = 0; i < SIZE; i++) body[i] = (unsigned char)(i * 7);
    check(mkdir(arguments[1], 0700), "mkdir");
    check(chdir(arguments[1]), "chdir");
    const double start = now();
    check(mkdir("tmp", 0700), "mkdir");
    for (int i = 0; i < 256; i++) {
        char folder[8];
        snprintf(folder, sizeof folder, "%02x", i);
        check(mkdir(folder, 0700), "mkdir");
    }
    for (uint32_t i = 0; i < files; i++) {
        memcpy(body, &i, sizeof i);
        unsigned char digest[SHA256_DIGEST_LENGTH];
        SHA256(body, SIZE, digest);
        char temporary[32], name[80];
        snprintf(temporary, sizeof temporary, "tmp/%u", i);
        char *end = name + snprintf(name, sizeof name, "%02x/", digest[0]);
        for (int k = 1; k < SHA256_DIGEST_LENGTH; k++) end += sprintf(end, "%02x", digest[k]);
        const int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
        check(file, "open");
        check(write(file, body, SIZE) == SIZE ? 0 : -1, "write");
        check(close(file), "close");
        check(rename(temporary, name), "rename");
    }
    printf("%.1f\n", now() - start);
    return 0;
}
