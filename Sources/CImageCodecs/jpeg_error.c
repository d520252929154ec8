#include "jpeg_error.h"

#include <jerror.h>

static kf_status status_of(int code) {
    switch (code) {
    case JERR_OUT_OF_MEMORY:
    case JERR_NO_BACKING_STORE: return KF_NO_MEMORY;
    case JERR_INPUT_EMPTY:
    case JERR_INPUT_EOF:
    case JWRN_JPEG_EOF: return KF_TRUNCATED;
    case JERR_ARITH_NOTIMPL:
    case JERR_BAD_PRECISION:
    case JERR_CCIR601_NOTIMPL:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_NOTIMPL:
    case JERR_NOT_COMPILED:
    case JERR_SOF_UNSUPPORTED: return KF_UNSUPPORTED;
    default: return KF_CORRUPT;
    }
}

static void on_error(j_common_ptr info) {
    kf_jpeg_error *error = (kf_jpeg_error *)info->err;
    error->status = status_of(error->base.msg_code);
    error->base.format_message(info, error->message);
    longjmp(error->escape, 1);
}

void kf_jpeg_error_note(j_common_ptr info) {
    kf_jpeg_error *error = (kf_jpeg_error *)info->err;
    if (error->damage != KF_OK) return;
    error->damage = status_of(error->base.msg_code);
    error->base.format_message(info, error->message);
}

/* libjpeg decodes damaged data with a warning. Here, lost picture data is an error. Faults that cost no pixel are
   accepted: bytes between segments, odd revision numbers, progressions that other decoders accept too. */
static void on_message(j_common_ptr info, int level) {
    if (level >= 0) return;
    switch (info->err->msg_code) {
    case JWRN_ARITH_BAD_CODE:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_JPEG_EOF:
    case JWRN_MUST_RESYNC:
        if (!((kf_jpeg_error *)info->err)->tolerant) on_error(info);
        else kf_jpeg_error_note(info);
    }
}

static void on_output(j_common_ptr info) { (void)info; }

struct jpeg_error_mgr *kf_jpeg_error_start(kf_jpeg_error *error, kf_handle *handle) {
    _Static_assert(sizeof handle->message >= JMSG_LENGTH_MAX, "a message of libjpeg must fit");
    error->message = handle->message;
    jpeg_std_error(&error->base);
    error->base.error_exit = on_error;
    error->base.emit_message = on_message;
    error->base.output_message = on_output;
    return &error->base;
}
