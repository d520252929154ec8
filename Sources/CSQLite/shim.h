#include <sqlite3.h>

/// sqlite3_db_config is variadic, which Swift cannot call.
static inline void kf_disable_checkpoint_on_close(sqlite3 *connection) {
    sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

/// As is sqlite3_config.
static inline int kf_disable_memory_statistics(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
