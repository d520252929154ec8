// What `cache stat` would cost without totals kept by triggers: counting and adding up every entry.
//
// usage: count CACHE

#include <sqlite3.h>
#include <stdio.h>

int main(int count, char **arguments) {
    if (count != 2) return 2;
    char path[4096];
    snprintf(path, sizeof path, "%s/v1/index.sqlite", arguments[1]);
    sqlite3 *index;
    sqlite3_stmt *select;
    if (sqlite3_open_v2(path, &index, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(index, "SELECT count(*), sum(size) FROM objects", -1, &select, NULL) != SQLITE_OK ||
        sqlite3_step(select) != SQLITE_ROW) {
        fprintf(stderr, "count: %s\n", sqlite3_errmsg(index));
        return 1;
    }
    printf("%lld files, %lld bytes\n", sqlite3_column_int64(select, 0), sqlite3_column_int64(select, 1));
    return 0;
}
