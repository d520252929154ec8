#include <sqlite3.h>
#include <sys/vfs.h>

/// sqlite3_db_config is variadic, which Swift cannot call.
static inline void kf_disable_checkpoint_on_close(sqlite3 *connection) {
    sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

/// Whether SQLite's shared memory cannot be relied on there: NFS, SMB, 9P or FUSE. (Glibc's module has no statfs.)
static inline int kf_is_network_file_system(int descriptor) {
    struct statfs status;
    if (fstatfs(descriptor, &status) != 0) return 0;
    switch ((unsigned long)status.f_type & 0xffffffffUL) {
    case 0x6969:     // NFS
    case 0xff534d42: // CIFS
    case 0xfe534d42: // SMB2
    case 0x517b:     // SMB
    case 0x01021997: // 9P
    case 0x65735546: // FUSE
        return 1;
    default:
        return 0;
    }
}
