#include "handle.h"

#include <stdio.h>
#include <stdlib.h>

void *kf_handle_create(size_t size, void (*release)(void *)) {
    kf_handle *handle = calloc(1, size);
    if (handle != NULL) handle->release = release;
    return handle;
}

kf_status kf_fail(kf_handle *handle, kf_status status, const char *message) {
    snprintf(handle->message, sizeof handle->message, "%s", message);
    return status;
}

const char *kf_handle_message(const kf_handle *handle) { return handle->message; }

void kf_handle_destroy(kf_handle *handle) {
    if (handle == NULL) return;
    handle->release(handle);
    free(handle);
}
