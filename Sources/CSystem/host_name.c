#include "kf_system.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

// Flags of idn2.h, which is not included, so that builders need no further package. They normalise the input, and map it by
// UTS 46 without the transitional rules, under which "faß.de" would become "fass.de".
enum { NFC_INPUT = 1, NONTRANSITIONAL = 8 };

static struct {
    int (*to_ascii)(const char *name, char **result, int flags);
    const char *(*describe)(int code);
    void (*release)(void *result);
} idn;

static void load(void) {
    void *library = dlopen("libidn2.so.0", RTLD_LAZY | RTLD_LOCAL);
    if (!library) return;
    idn.describe = (__typeof__(idn.describe))dlsym(library, "idn2_strerror");
    idn.release = (__typeof__(idn.release))dlsym(library, "idn2_free");
    if (idn.describe && idn.release) idn.to_ascii = (__typeof__(idn.to_ascii))dlsym(library, "idn2_to_ascii_8z");
}

const char *kf_ascii_host_name(const char *name, char *result, size_t size) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (!idn.to_ascii) return "needs libidn2 (libidn2-0 in Debian and Ubuntu, libidn2 in Fedora)";
    char *ascii = NULL;
    int code = idn.to_ascii(name, &ascii, NFC_INPUT | NONTRANSITIONAL);
    if (code) {
        static _Thread_local char reason[128];
        snprintf(reason, sizeof reason, "is not a valid name (%s)", idn.describe(code));
        return reason;
    }
    size_t length = strlen(ascii);
    if (length < size) memcpy(result, ascii, length + 1);
    idn.release(ascii);
    return length < size ? NULL : "is too long";
}
