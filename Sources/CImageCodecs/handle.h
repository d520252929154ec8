#ifndef KF_HANDLE_H
#define KF_HANDLE_H

#include "kf_status.h"

/* The first member of every reader and writer. */
struct kf_handle {
    void (*release)(void *); /* gives back what a reader or writer holds, but not its own memory */
    char message[224];       /* of the last failure */
};

/* Allocates a reader or writer of zeros. NULL when there is no memory. */
void *kf_handle_create(size_t size, void (*release)(void *));
/* Keeps the message, and returns the status. */
kf_status kf_fail(kf_handle *handle, kf_status status, const char *message);

#endif
