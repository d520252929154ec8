#ifndef KF_SYSTEM_H
#define KF_SYSTEM_H

#include <stdint.h>
#include <sys/types.h>

// Linux calls that Glibc's module does not show to Swift.

/// copy_file_range(2) from `*position` on, which moves; to the target's own position. -1 and errno on failure.
ssize_t kf_copy_file_range(int source, int64_t *position, int target, size_t count);

/// Whether the file system behind a descriptor is NFS, SMB, 9P or FUSE.
int kf_is_network_file_system(int descriptor);

/// Opens a path below a directory: openat2(2) with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS, or `kf_open_walking` where the
/// kernel or a sandbox does not know that call. An empty, absolute or dotted component fails with EXDEV, a link with
/// ELOOP or ENOTDIR. The descriptor has O_CLOEXEC.
int kf_open_beneath(int directory, const char *path, int flags, unsigned mode);

/// A directory, to name files in it (O_PATH).
int kf_open_folder_beneath(int directory, const char *path);

/// As `kf_open_beneath`, component by component with O_NOFOLLOW.
int kf_open_walking(int directory, const char *path, int flags, unsigned mode);

/// How many descriptors this process may have; the soft limit is raised towards `wanted`, as far as the hard one allows.
long kf_descriptor_limit(long wanted);

/// Takes room for a file without writing it: fallocate(2). -1 and errno on failure, also where it would mean writing.
int kf_allocate(int descriptor, int64_t size);

/// Asks ext4 to spread the folders made in this one over the disk; what another file system says to that is ignored.
void kf_spread_folders(int directory);

/* What was freed stays the process's, to be used again, instead of going back to the system after each 128 KiB; and
   the heap grows by 4 MiB at a time. For a process that handles many bodies and ends then. */
void kf_keep_freed_memory(void);

/* Whether the calling thread is the one that the process began with. */
int kf_is_main_thread(void);

/* A word of the command line, from 0, the program's name; NULL behind the last. Swift's own reads /proc, which a bare
   root does not have. */
const char *kf_argument(int index);

#endif
