#ifndef KF_LOG_VFS_H
#define KF_LOG_VFS_H

/// Registers two VFSes of SQLite that write the pages of a commit to the write-ahead log in one piece: "kf-log" and, for
/// commits that wait for the disk, "kf-log-durable". To be used with PRAGMA synchronous = FULL, which is when SQLite asks
/// for the log at the end of each commit; with "kf-log" this costs the waits of NORMAL. An SQLite result code.
int kf_register_log_vfs(void);

#endif
