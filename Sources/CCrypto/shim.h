// The SHA256_* calls are marked deprecated in favour of EVP, whose first use loads OpenSSL's configuration and providers
// (about a millisecond of every start), and links 3 MB. SHA256() in one step uses EVP.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/md5.h>
#include <openssl/sha.h>
