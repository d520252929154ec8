// The one-shot SHA256_* calls are marked deprecated in favour of EVP, whose first use loads
// OpenSSL's configuration and providers (about a millisecond of every start).
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/evp.h>
#include <openssl/md5.h>
#include <openssl/sha.h>
