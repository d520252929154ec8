#ifndef KF_LOG_VFS_H
#define KF_LOG_VFS_H

/// Registers two VFSes of SQLite that write a commit's pages to the write-ahead log in one call: "kf-log" and, for
/// commits that wait for the disk, "kf-log-durable". They need PRAGMA synchronous = FULL: only then does SQLite
/// synchronize the log at the end of each commit. "kf-log" still waits for the disk only where NORMAL would.
/// Returns an SQLite result code.
int kf_register_log_vfs(void);

#endif
