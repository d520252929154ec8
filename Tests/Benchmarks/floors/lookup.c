// What finding images in kf's index costs at the least: SQLite from its archive, one prepared statement, one read
// transaction. A key on the command line is found and its file is looked at, as `kf fetch` of a cached image does; without
// one the keys come from standard input, a line each, and are found in the order of their rows, as `kf prefetch` does.
//
// usage: lookup CACHE [KEY]

#include <openssl/sha.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BATCH = 4096, LONGEST = 4096 };

struct wanted {
    int64_t row;
    char *key;
};

static sqlite3_stmt *find;
static long found;

static int64_t row_of(const char *key) {
    unsigned char digest[SHA256_DIGEST_LENGTH];
    // The key, NUL, and the empty identifier of an original.
    SHA256((const unsigned char *)key, strlen(key) + 1, digest);
    uint64_t row = 0;
    for (int i = 0; i < 8; i++) row = row << 8 | digest[i];
    const int64_t last = INT64_MAX - 4;
    return (int64_t)row > last ? last : (int64_t)row;
}

static int step(const struct wanted *wanted) {
    sqlite3_reset(find);
    sqlite3_bind_int64(find, 1, wanted->row);
    if (sqlite3_step(find) != SQLITE_ROW || strcmp((const char *)sqlite3_column_text(find, 0), wanted->key) != 0) return 0;
    found++;
    return 1;
}

static int by_row(const void *a, const void *b) {
    const int64_t first = ((const struct wanted *)a)->row, second = ((const struct wanted *)b)->row;
    return (first > second) - (first < second);
}

static long from_list(void) {
    static struct wanted batch[BATCH];
    static char line[LONGEST];
    long lines = 0;
    int used = 0;
    for (int more = 1; more;) {
        more = fgets(line, sizeof line, stdin) != NULL;
        if (more) {
            line[strcspn(line, "\n")] = 0;
            batch[used++] = (struct wanted){row_of(line), strdup(line)};
            lines++;
        }
        if (used == BATCH || !more) {
            qsort(batch, (size_t)used, sizeof batch[0], by_row);
            for (int i = 0; i < used; i++) {
                step(&batch[i]);
                free(batch[i].key);
            }
            used = 0;
        }
    }
    return lines;
}

static long one(const char *cache, const char *key) {
    const struct wanted wanted = {row_of(key), (char *)key};
    if (!step(&wanted)) return 1;
    const unsigned char *hash = sqlite3_column_blob(find, 2);
    char path[LONGEST];
    int length = snprintf(path, sizeof path, "%s/v1/objects/%02x/", cache, hash[0]);
    for (int i = 1; i < SHA256_DIGEST_LENGTH; i++)
        length += snprintf(path + length, sizeof path - (size_t)length, "%02x", hash[i]);
    snprintf(path + length, sizeof path - (size_t)length, ".%s", sqlite3_column_text(find, 3));
    struct stat facts;
    if (stat(path, &facts) != 0 || facts.st_size != sqlite3_column_int64(find, 4)) return 1;
    puts(path);
    return 1;
}

int main(int count, char **arguments) {
    if (count < 2) return 2;
    char path[LONGEST];
    snprintf(path, sizeof path, "%s/v1/index.sqlite", arguments[1]);
    sqlite3 *index;
    if (sqlite3_open_v2(path, &index, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
        sqlite3_exec(index, "PRAGMA cache_size = -2048; BEGIN", NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(index,
                           count > 2 ? "SELECT e.key, t.expires, o.hash, o.ext, o.size FROM entries e JOIN times t USING (id) "
                                       "JOIN objects o ON o.id = e.object WHERE e.id = ?"
                                     : "SELECT e.key, t.expires FROM entries e JOIN times t USING (id) WHERE e.id = ?",
                           -1, &find, NULL) != SQLITE_OK) {
        fprintf(stderr, "lookup: %s\n", sqlite3_errmsg(index));
        return 1;
    }
    const long wanted = count > 2 ? one(arguments[1], arguments[2]) : from_list();
    fprintf(stderr, "%ld of %ld\n", found, wanted);
    return found == wanted ? 0 : 1;
}
