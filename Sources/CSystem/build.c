#include "kf_system.h"

// `make build` links an object file with this name. SwiftPM alone cannot: a definition that changes with each commit would
// compile everything anew.
extern const char kf_linked_commit[] __attribute__((weak));

const char *kf_build_commit(void) { return &kf_linked_commit[0] ? kf_linked_commit : ""; }
