#ifndef KF_LIBRARY_H
#define KF_LIBRARY_H

#include <stddef.h>

/* A library that is opened with dlopen() when it is first needed, because loading it costs milliseconds and few images
   need it. Its functions are members of a struct, in the order of their names. */
typedef struct {
    const char *file;         /* such as "libtiff.so.6" */
    const char *const *names; /* of the functions */
    size_t count;
    void *functions;            /* the struct */
    const char *(*refuse)(void); /* returns the reason why the loaded library does not fit, or NULL; may be NULL */
    int state;                  /* of kf_library_load */
    char error[256];
} kf_library;

/* Loads the library at the first call. Returns NULL, or the reason why it cannot be used. */
const char *kf_library_load(kf_library *library);

#define KF_MEMBER(name) __typeof__(&name) name;
#define KF_NAME(name) #name,
#define KF_TEXT_OF(text) #text
#define KF_TEXT(text) KF_TEXT_OF(text)

/* Declares a struct with the functions of a list X(NAME)..., only to be used after the library has been loaded. */
#define KF_DECLARE_FUNCTIONS(variable, LIST)                                                                          \
    extern struct variable##_functions {                                                                              \
        LIST(KF_MEMBER)                                                                                               \
    } variable;

/* Defines that struct, and `library` beside it. */
#define KF_DEFINE_LIBRARY(variable, LIST, name_of_file, check)                                                        \
    struct variable##_functions variable;                                                                             \
    static const char *const names[] = {LIST(KF_NAME)};                                                               \
    static kf_library library = {                                                                                     \
        .file = (name_of_file),                                                                                       \
        .names = names,                                                                                               \
        .count = sizeof names / sizeof *names,                                                                        \
        .functions = &variable,                                                                                       \
        .refuse = (check),                                                                                            \
    };

#endif
