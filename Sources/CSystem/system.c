#define _GNU_SOURCE
#include "kf_system.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <errno.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <malloc.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

ssize_t kf_copy_file_range(int source, int64_t *position, int target, size_t count) {
    return copy_file_range(source, position, target, NULL, count, 0);
}

int kf_is_network_file_system(int descriptor) {
    struct statfs status;
    if (fstatfs(descriptor, &status) != 0) return 0;
    switch ((uint32_t)status.f_type) {
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

// Whether every component of a path names something in the folder before it.
static int is_inner(const char *path) {
    for (;;) {
        size_t length = strcspn(path, "/");
        if (length == 0 || (path[0] == '.' && (length == 1 || (length == 2 && path[1] == '.')))) return 0;
        if (path[length] == '\0') return 1;
        path += length + 1;
    }
}

int kf_open_walking(int directory, const char *path, int flags, unsigned mode) {
    if (!is_inner(path)) return errno = EXDEV, -1;
    char name[NAME_MAX + 1];
    int at = directory;
    for (;;) {
        size_t length = strcspn(path, "/");
        int is_last = path[length] == '\0', next = -1;
        if (length > NAME_MAX) {
            errno = ENAMETOOLONG;
        } else {
            memcpy(name, path, length);
            name[length] = '\0';
            next = openat(at, name, (is_last ? flags : O_PATH | O_DIRECTORY) | O_NOFOLLOW | O_CLOEXEC, mode);
        }
        int code = errno;
        if (at != directory) close(at);
        errno = code;
        if (is_last || next == -1) return next;
        at = next;
        path += length + 1;
    }
}

int kf_open_beneath(int directory, const char *path, int flags, unsigned mode) {
    if (!is_inner(path)) return errno = EXDEV, -1;
    struct open_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_NOFOLLOW | O_CLOEXEC),
        .mode = flags & O_CREAT ? mode : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
    };
    int result = (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
    // Kernels before 5.6 do not know the call, and sandboxes that do not answer EPERM as well as ENOSYS.
    if (result == -1 && (errno == ENOSYS || errno == EPERM)) return kf_open_walking(directory, path, flags, mode);
    return result;
}

int kf_open_folder_beneath(int directory, const char *path) {
    return kf_open_beneath(directory, path, O_PATH | O_DIRECTORY, 0);
}

long kf_descriptor_limit(long wanted) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
    if (limit.rlim_cur < (rlim_t)wanted && limit.rlim_cur < limit.rlim_max) {
        struct rlimit raised = {(rlim_t)wanted < limit.rlim_max ? (rlim_t)wanted : limit.rlim_max, limit.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
    }
    return limit.rlim_cur < 1L << 30 ? (long)limit.rlim_cur : 1L << 30;
}

int kf_allocate(int descriptor, int64_t size) { return fallocate(descriptor, 0, 0, size); }

void kf_spread_folders(int directory) {
    // FS_TOPDIR_FL; FS_IOC_GETFLAGS reads an int, whatever its number says.
    int flags = 0;
    if (ioctl(directory, FS_IOC_GETFLAGS, &flags) != 0 || (flags & FS_TOPDIR_FL)) return;
    flags |= FS_TOPDIR_FL;
    (void)ioctl(directory, FS_IOC_SETFLAGS, &flags);
}

void kf_keep_freed_memory(void) {
#ifdef M_TRIM_THRESHOLD
    // Setting any of them ends glibc's own adjusting of the third, which in a process that decodes images would arrive at
    // the same 32 MiB.
    (void)mallopt(M_TRIM_THRESHOLD, 64 << 20);
    (void)mallopt(M_TOP_PAD, 4 << 20);
    (void)mallopt(M_MMAP_THRESHOLD, 32 << 20);
    // Threads free what others allocated, and wait for each other's arenas: with two arenas these were most futexes of a
    // run. With the default of eight a core, memory would grow with the cores.
    (void)mallopt(M_ARENA_MAX, 4);
#endif
}

int kf_is_main_thread(void) { return syscall(SYS_gettid) == getpid(); }

static int argument_count;
static char **arguments;

// glibc hands these to every function of .init_array.
__attribute__((constructor)) static void keep_arguments(int count, char **words) {
    argument_count = count;
    arguments = words;
}

const char *kf_argument(int index) {
    return index >= 0 && index < argument_count ? arguments[index] : NULL;
}
