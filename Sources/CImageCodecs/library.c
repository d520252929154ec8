#include "library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

enum { UNTRIED, LOADED, FAILED };

static int fail(kf_library *library, const char *reason) {
    strncpy(library->error, reason ? reason : "unknown error", sizeof library->error - 1);
    return FAILED;
}

static int load(kf_library *library) {
    void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) return fail(library, dlerror());
    for (size_t index = 0; index < library->count; index++) {
        void *function = dlsym(handle, library->names[index]);
        if (function == NULL) return fail(library, dlerror());
        memcpy((char *)library->functions + index * sizeof function, &function, sizeof function);
    }
    const char *reason = library->refuse != NULL ? library->refuse() : NULL;
    return reason != NULL ? fail(library, reason) : LOADED;
}

const char *kf_library_load(kf_library *library) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    if (library->state == UNTRIED) library->state = load(library);
    pthread_mutex_unlock(&mutex);
    return library->state == LOADED ? NULL : library->error;
}
