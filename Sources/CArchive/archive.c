#include "kf_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define KF_FUNCTIONS(X)                                                                                               \
    X(archive_version_details)                                                                                        \
    X(archive_write_new)                                                                                              \
    X(archive_write_set_format_pax_restricted)                                                                        \
    X(archive_write_set_bytes_per_block)                                                                              \
    X(archive_write_set_bytes_in_last_block)                                                                          \
    X(archive_write_open_fd)                                                                                          \
    X(archive_write_header)                                                                                           \
    X(archive_write_data)                                                                                             \
    X(archive_write_close)                                                                                            \
    X(archive_write_fail)                                                                                             \
    X(archive_write_free)                                                                                             \
    X(archive_errno)                                                                                                  \
    X(archive_entry_new)                                                                                              \
    X(archive_entry_clear)                                                                                            \
    X(archive_entry_free)                                                                                             \
    X(archive_entry_set_pathname)                                                                                     \
    X(archive_entry_set_filetype)                                                                                     \
    X(archive_entry_set_perm)                                                                                         \
    X(archive_entry_set_mtime)                                                                                        \
    X(archive_entry_set_size)

static struct {
#define KF_MEMBER(name) __typeof__(&name) name;
    KF_FUNCTIONS(KF_MEMBER)
#undef KF_MEMBER
} lib;

static char load_error[256];
static int is_loaded;

static void set_load_error(const char *text) {
    strncpy(load_error, text ? text : "unknown error", sizeof load_error - 1);
}

static void load(void) {
    void *library = dlopen("libarchive.so.13", RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) {
        set_load_error(dlerror());
        return;
    }
#define KF_LOOK_UP(name)                                                                                              \
    lib.name = (__typeof__(lib.name))dlsym(library, #name);                                                           \
    if (lib.name == NULL) {                                                                                           \
        set_load_error(dlerror());                                                                                    \
        return;                                                                                                       \
    }
    KF_FUNCTIONS(KF_LOOK_UP)
#undef KF_LOOK_UP
    is_loaded = 1;
}

const char *kf_archive_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return is_loaded ? NULL : load_error;
}

const char *kf_archive_version(void) { return lib.archive_version_details(); }

struct kf_tar {
    struct archive *archive;
    struct archive_entry *entry;
};

// A multiple of 512. Members of some kilobytes are gathered; a larger piece is written as it is.
enum { BLOCK = 1 << 16 };

kf_tar *kf_tar_new(int descriptor) {
    kf_tar *tar = calloc(1, sizeof *tar);
    if (tar == NULL) return NULL;
    tar->archive = lib.archive_write_new();
    tar->entry = lib.archive_entry_new();
    if (tar->archive != NULL && tar->entry != NULL &&
        lib.archive_write_set_format_pax_restricted(tar->archive) == ARCHIVE_OK &&
        lib.archive_write_set_bytes_per_block(tar->archive, BLOCK) == ARCHIVE_OK &&
        lib.archive_write_set_bytes_in_last_block(tar->archive, 1) == ARCHIVE_OK &&
        lib.archive_write_open_fd(tar->archive, descriptor) == ARCHIVE_OK)
        return tar;
    kf_tar_free(tar);
    return NULL;
}

// The code of the last error. libarchive has negative ones for its own.
static int failure(kf_tar *tar) {
    int code = lib.archive_errno(tar->archive);
    return code > 0 ? code : EIO;
}

int kf_tar_begin(kf_tar *tar, const char *name, int64_t size) {
    lib.archive_entry_clear(tar->entry);
    lib.archive_entry_set_pathname(tar->entry, name);
    lib.archive_entry_set_filetype(tar->entry, AE_IFREG);
    lib.archive_entry_set_perm(tar->entry, 0644);
    lib.archive_entry_set_mtime(tar->entry, 0, 0);
    lib.archive_entry_set_size(tar->entry, size);
    // A warning means that the name is not UTF-8 in this locale. It is then written byte for byte.
    int code = lib.archive_write_header(tar->archive, tar->entry);
    return code == ARCHIVE_OK || code == ARCHIVE_WARN ? 0 : failure(tar);
}

int kf_tar_write(kf_tar *tar, const void *bytes, size_t count) {
    while (count > 0) {
        la_ssize_t written = lib.archive_write_data(tar->archive, bytes, count);
        if (written <= 0) return written < 0 ? failure(tar) : EIO;
        bytes = (const char *)bytes + written;
        count -= (size_t)written;
    }
    return 0;
}

int kf_tar_close(kf_tar *tar) {
    return lib.archive_write_close(tar->archive) == ARCHIVE_OK ? 0 : failure(tar);
}

void kf_tar_free(kf_tar *tar) {
    if (tar == NULL) return;
    if (tar->archive != NULL) {
        // Otherwise the end of an archive that was given up would be written now.
        lib.archive_write_fail(tar->archive);
        lib.archive_write_free(tar->archive);
    }
    if (tar->entry != NULL) lib.archive_entry_free(tar->entry);
    free(tar);
}
