#ifndef KF_SYSTEM_H
#define KF_SYSTEM_H

#include <stdint.h>
// Glibc's Swift module exports neither of the two.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/types.h>

/// The commit that the program was built of; empty if the build did not tell.
const char *kf_build_commit(void);

// Linux calls that Glibc's Swift module does not export.

/// Calls copy_file_range(2) from `*position`, which it advances, to the target's file position. -1 and errno on
/// failure.
ssize_t kf_copy_file_range(int source, int64_t *position, int target, size_t count);

/// Returns whether the file system of a descriptor is NFS, SMB, 9P or FUSE.
int kf_is_network_file_system(int descriptor);

/// Opens a path below a directory with openat2(2), RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS. Falls back to
/// `kf_open_walking` where the kernel or a sandbox lacks that call. Fails with EXDEV for an empty, absolute or dotted
/// component, and with ELOOP or ENOTDIR for a symbolic link. The descriptor has O_CLOEXEC.
int kf_open_beneath(int directory, const char *path, int flags, unsigned mode);

/// Opens a directory with O_PATH, for calls that name files in it.
int kf_open_folder_beneath(int directory, const char *path);

/// Opens like `kf_open_beneath`, but component by component with O_NOFOLLOW.
int kf_open_walking(int directory, const char *path, int flags, unsigned mode);

/// Raises the soft descriptor limit towards `wanted`, as far as the hard limit allows, and returns it.
long kf_descriptor_limit(long wanted);

/// Reserves disk space for a file with fallocate(2). Returns -1 and sets errno on failure, also where the file system
/// could reserve only by writing.
int kf_allocate(int descriptor, int64_t size);

/// Asks ext4 to spread the subfolders of this folder over the disk. Ignores errors: other file systems refuse.
void kf_spread_folders(int directory);

/// Configures malloc to keep freed memory for reuse, instead of returning it to the system after each 128 KiB, and to
/// grow the heap by 4 MiB at a time. Suits a process that handles many bodies and then exits.
void kf_keep_freed_memory(void);

/// Writes the A-labels of a host's name in UTF-8 (IDNA 2008 with the mapping of UTS 46, whatever the locale) to `result`,
/// which has `size` bytes. Loads libidn2 for the first name. Returns NULL, or the reason why there are none.
const char *kf_ascii_host_name(const char *name, char *result, size_t size);

/// Returns whether the calling thread is the process's main thread.
int kf_is_main_thread(void);

/// Returns a word of the command line, from 0 (the program's name); NULL past the last. Swift's own function reads
/// /proc, which a minimal root file system lacks.
const char *kf_argument(int index);

#endif
