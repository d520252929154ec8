// What a prefetch costs at the least when one thread does all of it with nothing in between: transfers over libcurl's
// multi interface into memory, SHA-256, a file created, written and renamed under its hash, and a row in SQLite, in
// transactions of 64. Nothing is checked, nobody else can use the directory, a file that fails ends it.
//
// usage: prefetch LIST AT-ONCE DIRECTORY    the directory is made when it is not there

#define _GNU_SOURCE
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/sha.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BATCH = 64, LARGEST = 1 << 20, MOST = 256 };

struct transfer {
    CURL *easy;
    char url[1024];
    size_t used;
    unsigned char body[LARGEST];
};

static sqlite3 *database;
static sqlite3_stmt *insert;
static long stored;

static void check(int good, const char *what) {
    if (good) return;
    perror(what);
    exit(1);
}

static void make_directory(const char *path) { check(mkdir(path, 0700) == 0 || errno == EEXIST, path); }

static void run(const char *text) { check(sqlite3_exec(database, text, NULL, NULL, NULL) == SQLITE_OK, text); }

static size_t receive(char *bytes, size_t one, size_t length, void *context) {
    (void)one;
    struct transfer *transfer = context;
    if (length > LARGEST - transfer->used) return 0;
    memcpy(transfer->body + transfer->used, bytes, length);
    transfer->used += length;
    return length;
}

static void store(const struct transfer *transfer) {
    unsigned char digest[SHA256_DIGEST_LENGTH];
    SHA256(transfer->body, transfer->used, digest);
    char temporary[32], name[80];
    snprintf(temporary, sizeof temporary, "tmp/%ld", stored);
    char *end = name + snprintf(name, sizeof name, "%02x/", digest[0]);
    for (int k = 1; k < SHA256_DIGEST_LENGTH; k++) end += sprintf(end, "%02x", digest[k]);
    const int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    check(file >= 0, "open");
    check(write(file, transfer->body, transfer->used) == (ssize_t)transfer->used, "write");
    check(close(file) == 0, "close");
    check(rename(temporary, name) == 0, "rename");
    if (stored % BATCH == 0) run("BEGIN IMMEDIATE");
    int64_t row;
    memcpy(&row, digest, sizeof row);
    sqlite3_bind_int64(insert, 1, row);
    sqlite3_bind_text(insert, 2, transfer->url, -1, SQLITE_STATIC);
    sqlite3_bind_blob(insert, 3, digest, sizeof digest, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 4, (int64_t)transfer->used);
    check(sqlite3_step(insert) == SQLITE_DONE, "insert");
    sqlite3_reset(insert);
    if (++stored % BATCH == 0) run("COMMIT");
}

static int start(CURLM *multi, struct transfer *transfer, FILE *list) {
    if (!fgets(transfer->url, sizeof transfer->url, list)) return 0;
    transfer->url[strcspn(transfer->url, "\n")] = 0;
    transfer->used = 0;
    curl_easy_setopt(transfer->easy, CURLOPT_URL, transfer->url);
    curl_multi_add_handle(multi, transfer->easy);
    return 1;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    FILE *list = fopen(argv[1], "r");
    check(list != NULL, "list");
    const int parallel = atoi(argv[2]);
    check(parallel > 0 && parallel <= MOST, "at once");
    make_directory(argv[3]);
    check(chdir(argv[3]) == 0, argv[3]);
    make_directory("tmp");
    for (int i = 0; i < 256; i++) {
        char folder[8];
        snprintf(folder, sizeof folder, "%02x", i);
        make_directory(folder);
    }
    check(sqlite3_open("index.sqlite", &database) == SQLITE_OK, "sqlite");
    run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
        "CREATE TABLE entries (id INTEGER PRIMARY KEY, url TEXT, hash BLOB, size INTEGER)");
    sqlite3_prepare_v2(database, "INSERT INTO entries VALUES (?,?,?,?)", -1, &insert, NULL);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    CURLM *multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)parallel);
    int active = 0;
    for (int i = 0; i < parallel; i++) {
        struct transfer *transfer = malloc(sizeof *transfer);
        check(transfer && (transfer->easy = curl_easy_init()), "memory");
        curl_easy_setopt(transfer->easy, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(transfer->easy, CURLOPT_BUFFERSIZE, 65536L);
        curl_easy_setopt(transfer->easy, CURLOPT_FAILONERROR, 1L);
        curl_easy_setopt(transfer->easy, CURLOPT_WRITEFUNCTION, receive);
        curl_easy_setopt(transfer->easy, CURLOPT_WRITEDATA, transfer);
        curl_easy_setopt(transfer->easy, CURLOPT_PRIVATE, transfer);
        active += start(multi, transfer, list);
    }
    while (active > 0) {
        int running, left, again = 0;
        curl_multi_perform(multi, &running);
        for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
            if (message->msg != CURLMSG_DONE) continue;
            struct transfer *transfer;
            check(message->data.result == CURLE_OK, "transfer");
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
            curl_multi_remove_handle(multi, transfer->easy);
            store(transfer);
            active--;
            if (start(multi, transfer, list)) active++, again = 1;
        }
        if (!again && active > 0) curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
    if (stored % BATCH != 0) run("COMMIT");
    sqlite3_finalize(insert);
    sqlite3_close(database);
    printf("%ld stored\n", stored);
    return 0;
}
