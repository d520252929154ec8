#ifndef KF_JPEG_ERROR_H
#define KF_JPEG_ERROR_H

#include "handle.h"

#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>

/* libjpeg's error manager with a jump buffer. `base` is first, so that a pointer to it is a pointer to this. */
typedef struct {
    struct jpeg_error_mgr base;
    jmp_buf escape;
    kf_status status;
    int tolerant;
    kf_status damage; /* the first fault that was tolerated, with `message` */
    char *message; /* of a handle, with room for JMSG_LENGTH_MAX characters */
} kf_jpeg_error;

/* Notes a fault that is tolerated. */
void kf_jpeg_error_note(j_common_ptr info);
struct jpeg_error_mgr *kf_jpeg_error_start(kf_jpeg_error *error, kf_handle *handle);

#endif
