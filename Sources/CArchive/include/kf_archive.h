#ifndef KF_ARCHIVE_H
#define KF_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>

// libarchive, opened with dlopen() on first use: only runs that write tar archives need it.

/// Loads libarchive, once. Returns NULL, or the reason why it cannot be loaded.
const char *kf_archive_load(void);

/// The name and version of libarchive and of what it uses. It must be loaded.
const char *kf_archive_version(void);

/// A tar archive that is being written. Used by one thread at a time.
typedef struct kf_tar kf_tar;

/// Begins an archive in an open file, which the caller closes after the archive. Returns NULL without memory.
kf_tar *kf_tar_new(int descriptor);

/// Begins a member. Exactly `size` bytes follow. Its header has mode 0644, owner 0 and time 0, so that equal images make
/// equal archives. Returns 0 or an errno; after an error the archive is useless.
int kf_tar_begin(kf_tar *tar, const char *name, int64_t size);
int kf_tar_write(kf_tar *tar, const void *bytes, size_t count);

/// Writes the end of the archive. Returns 0 or an errno.
int kf_tar_close(kf_tar *tar);

/// Releases the archive. One that was not closed stays without its end.
void kf_tar_free(kf_tar *tar);

#endif
