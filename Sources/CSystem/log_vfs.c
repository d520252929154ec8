#include "kf_log_vfs.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

// SQLite hands each page of its write-ahead log over in two small writes: of 5,000 stores, 24,000 calls of pwrite. Here
// they gather in memory and are written together when SQLite asks for the log to be synchronized, which it does at the
// end of each commit (PRAGMA synchronous = FULL), before it shows the pages to readers. Whether that then waits for the
// disk is another question: "kf-log" waits only where PRAGMA synchronous = NORMAL would.

// The VFS of Unix systems writes fewer than 128 KiB at a time.
enum { CAPACITY = 124 << 10 };

typedef struct {
    sqlite3_file base;
    sqlite3_file *real;
    char *buffer;
    sqlite3_int64 start;
    int used;
    // The buffer holds the log's header, which must reach the disk before the pages behind it.
    int has_header;
    int is_durable;
} log_file;

static log_file *of(sqlite3_file *file) { return (log_file *)file; }

static int flush(log_file *file) {
    if (file->used == 0) return SQLITE_OK;
    const int count = file->used;
    file->used = 0;
    return file->real->pMethods->xWrite(file->real, file->buffer, count, file->start);
}

static int log_close(sqlite3_file *base) {
    log_file *file = of(base);
    const int flushed = flush(file);
    const int closed = file->real->pMethods->xClose(file->real);
    free(file->buffer);
    return flushed != SQLITE_OK ? flushed : closed;
}

static int log_read(sqlite3_file *base, void *target, int count, sqlite3_int64 offset) {
    const int flushed = flush(of(base));
    if (flushed != SQLITE_OK) return flushed;
    return of(base)->real->pMethods->xRead(of(base)->real, target, count, offset);
}

static int log_write(sqlite3_file *base, const void *source, int count, sqlite3_int64 offset) {
    log_file *file = of(base);
    if (offset == 0) file->has_header = 1;
    if (file->used > 0 && (offset != file->start + file->used || file->used + count > CAPACITY)) {
        const int flushed = flush(file);
        if (flushed != SQLITE_OK) return flushed;
    }
    if (count > CAPACITY) return file->real->pMethods->xWrite(file->real, source, count, offset);
    if (file->used == 0) file->start = offset;
    memcpy(file->buffer + file->used, source, (size_t)count);
    file->used += count;
    return SQLITE_OK;
}

static int log_truncate(sqlite3_file *base, sqlite3_int64 size) {
    const int flushed = flush(of(base));
    if (flushed != SQLITE_OK) return flushed;
    return of(base)->real->pMethods->xTruncate(of(base)->real, size);
}

static int log_sync(sqlite3_file *base, int flags) {
    log_file *file = of(base);
    // Without anything new since the last commit this is a checkpoint.
    const int waits = file->is_durable || file->has_header || file->used == 0;
    const int flushed = flush(file);
    if (flushed != SQLITE_OK) return flushed;
    file->has_header = 0;
    return waits ? file->real->pMethods->xSync(file->real, flags) : SQLITE_OK;
}

static int log_size(sqlite3_file *base, sqlite3_int64 *size) {
    const int flushed = flush(of(base));
    if (flushed != SQLITE_OK) return flushed;
    return of(base)->real->pMethods->xFileSize(of(base)->real, size);
}

static int log_lock(sqlite3_file *base, int kind) {
    return of(base)->real->pMethods->xLock(of(base)->real, kind);
}

static int log_unlock(sqlite3_file *base, int kind) {
    return of(base)->real->pMethods->xUnlock(of(base)->real, kind);
}

static int log_check_lock(sqlite3_file *base, int *result) {
    return of(base)->real->pMethods->xCheckReservedLock(of(base)->real, result);
}

static int log_control(sqlite3_file *base, int operation, void *argument) {
    return of(base)->real->pMethods->xFileControl(of(base)->real, operation, argument);
}

static int log_sector(sqlite3_file *base) { return of(base)->real->pMethods->xSectorSize(of(base)->real); }

static int log_device(sqlite3_file *base) { return of(base)->real->pMethods->xDeviceCharacteristics(of(base)->real); }

static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = log_close,
    .xRead = log_read,
    .xWrite = log_write,
    .xTruncate = log_truncate,
    .xSync = log_sync,
    .xFileSize = log_size,
    .xLock = log_lock,
    .xUnlock = log_unlock,
    .xCheckReservedLock = log_check_lock,
    .xFileControl = log_control,
    .xSectorSize = log_sector,
    .xDeviceCharacteristics = log_device,
};

static sqlite3_vfs *system_vfs;

static int open_file(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *base, int flags, int *given) {
    // Other files are the system's own, in the same memory.
    if (!(flags & SQLITE_OPEN_WAL)) return system_vfs->xOpen(system_vfs, name, base, flags, given);
    log_file *file = of(base);
    memset(file, 0, sizeof *file);
    file->real = (sqlite3_file *)(file + 1);
    file->is_durable = vfs->pAppData != NULL;
    file->buffer = malloc(CAPACITY);
    if (file->buffer == NULL) return SQLITE_NOMEM;
    const int result = system_vfs->xOpen(system_vfs, name, file->real, flags, given);
    // SQLite closes what has methods, also after a failure.
    if (file->real->pMethods != NULL) {
        file->base.pMethods = &methods;
    } else {
        free(file->buffer);
    }
    return result;
}

static sqlite3_vfs gathering, durable;

static int add(sqlite3_vfs *vfs, const char *name, void *mark) {
    *vfs = *system_vfs;
    vfs->zName = name;
    vfs->pAppData = mark;
    vfs->pNext = NULL;
    vfs->szOsFile = (int)sizeof(log_file) + system_vfs->szOsFile;
    vfs->xOpen = open_file;
    return sqlite3_vfs_register(vfs, 0);
}

int kf_register_log_vfs(void) {
    system_vfs = sqlite3_vfs_find(NULL);
    if (system_vfs == NULL) return SQLITE_ERROR;
    const int result = add(&gathering, "kf-log", NULL);
    return result != SQLITE_OK ? result : add(&durable, "kf-log-durable", &durable);
}
