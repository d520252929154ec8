// What the index of a prefetch costs at the least: SQLite, one row with the columns of an entry for each image, in
// transactions of 64, in WAL mode without waiting for the disk.
//
// usage: rows FILE COUNT

#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 64 };

static sqlite3 *database;

static void check(int result) {
    if (result == SQLITE_OK || result == SQLITE_DONE) return;
    fprintf(stderr, "rows: %s\n", sqlite3_errmsg(database));
    exit(1);
}

static void run(const char *text) { check(sqlite3_exec(database, text, NULL, NULL, NULL)); }

int main(int count, char **arguments) {
    if (count != 3) return 2;
    const long rows = atol(arguments[2]);
    check(sqlite3_open(arguments[1], &database));
    run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
        "CREATE TABLE entries (id INTEGER PRIMARY KEY, key TEXT, hash BLOB, ext TEXT, size INTEGER, mtime INTEGER,"
        " created INTEGER, accessed INTEGER, expires INTEGER, etag TEXT, modified TEXT)");
    sqlite3_stmt *insert;
    check(sqlite3_prepare_v2(database, "INSERT INTO entries VALUES (?,?,?,'png',13000,?,?,?,?,?,?)", -1, &insert, NULL));
    uint64_t random = 1;
    for (long i = 0; i < rows; i++) {
        if (i % BATCH == 0) run("BEGIN IMMEDIATE");
        // A different place in the tree each time, as a hash has.
        random = random * 6364136223846793005u + 1442695040888963407u;
        char key[64];
        const int length = snprintf(key, sizeof key, "http://127.0.0.1:8080/%ld.png", i);
        uint64_t hash[4] = {random, random, random, random};
        sqlite3_bind_int64(insert, 1, (int64_t)random);
        sqlite3_bind_text(insert, 2, key, length, SQLITE_TRANSIENT);
        sqlite3_bind_blob(insert, 3, hash, sizeof hash, SQLITE_TRANSIENT);
        for (int column = 4; column < 8; column++) sqlite3_bind_int64(insert, column, (int64_t)1700000000000 + i);
        sqlite3_bind_text(insert, 8, "\"5f3c-1a2b3c4d5e6f\"", -1, SQLITE_STATIC);
        sqlite3_bind_text(insert, 9, "Sat, 21 Nov 2026 10:00:00 GMT", -1, SQLITE_STATIC);
        check(sqlite3_step(insert));
        sqlite3_reset(insert);
        if (i % BATCH == BATCH - 1 || i == rows - 1) run("COMMIT");
    }
    sqlite3_finalize(insert);
    check(sqlite3_close(database));
    return 0;
}
