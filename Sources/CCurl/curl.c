// For POLLRDHUP.
#define _GNU_SOURCE
#include "kf_curl.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>

#include <linux/sockios.h>

#define KF_FUNCTIONS(X)                                                                                               \
    X(curl_global_init)                                                                                               \
    X(curl_version_info)                                                                                              \
    X(curl_free)                                                                                                      \
    X(curl_easy_init)                                                                                                 \
    X(curl_easy_cleanup)                                                                                              \
    X(curl_easy_pause)                                                                                                \
    X(curl_easy_reset)                                                                                                \
    X(curl_easy_setopt)                                                                                               \
    X(curl_easy_getinfo)                                                                                              \
    X(curl_easy_strerror)                                                                                             \
    X(curl_slist_append)                                                                                              \
    X(curl_slist_free_all)                                                                                            \
    X(curl_multi_init)                                                                                                \
    X(curl_multi_cleanup)                                                                                             \
    X(curl_multi_setopt)                                                                                              \
    X(curl_multi_add_handle)                                                                                          \
    X(curl_multi_remove_handle)                                                                                       \
    X(curl_multi_socket_action)                                                                                       \
    X(curl_multi_info_read)                                                                                           \
    X(curl_multi_strerror)                                                                                            \
    X(curl_share_init)                                                                                                \
    X(curl_share_setopt)                                                                                              \
    X(curl_share_cleanup)                                                                                             \
    X(curl_url)                                                                                                       \
    X(curl_url_cleanup)                                                                                               \
    X(curl_url_set)                                                                                                   \
    X(curl_url_get)

static struct {
#define KF_MEMBER(name) __typeof__(&name) name;
    KF_FUNCTIONS(KF_MEMBER)
#undef KF_MEMBER
} lib;

// Functions of OpenSSL, which libcurl loads; NULL when it uses another TLS library. Both take an SSL *.
static struct {
    int (*has_pending)(const void *ssl);
    void (*get_alpn)(const void *ssl, const unsigned char **name, unsigned *length);
} tls;

static char load_error[256];
static bool loaded;

static void set_load_error(const char *text) {
    strncpy(load_error, text ? text : "unknown error", sizeof load_error - 1);
}

static void load(void) {
    // Never closed: libcurl and OpenSSL leave handlers behind that run at exit.
    // Binding every function at once takes 2.9 million instructions more than binding those that are called.
    void *library = dlopen("libcurl.so.4", RTLD_LAZY | RTLD_LOCAL);
    if (!library) {
        set_load_error(dlerror());
        return;
    }
#define KF_LOOK_UP(name)                                                                                              \
    lib.name = (__typeof__(lib.name))dlsym(library, #name);                                                           \
    if (!lib.name) {                                                                                                  \
        set_load_error(dlerror());                                                                                    \
        return;                                                                                                       \
    }
    KF_FUNCTIONS(KF_LOOK_UP)
#undef KF_LOOK_UP
    tls.has_pending = (__typeof__(tls.has_pending))dlsym(library, "SSL_has_pending");
    tls.get_alpn = (__typeof__(tls.get_alpn))dlsym(library, "SSL_get0_alpn_selected");
    CURLcode code = lib.curl_global_init(CURL_GLOBAL_DEFAULT);
    if (code != CURLE_OK) {
        set_load_error(lib.curl_easy_strerror(code));
        return;
    }
    loaded = true;
}

const char *kf_curl_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return loaded ? NULL : load_error;
}

const char *kf_curl_version(void) {
    static char text[128];
    if (!loaded) return "";
    const curl_version_info_data *info = lib.curl_version_info(CURLVERSION_NOW);
    snprintf(text, sizeof text, "%s (%s)", info->version, info->ssl_version ? info->ssl_version : "no TLS");
    return text;
}

const char *kf_curl_strerror(CURLcode code) { return lib.curl_easy_strerror(code); }
const char *kf_curl_multi_strerror(CURLMcode code) { return lib.curl_multi_strerror(code); }

CURL *kf_easy_new(void) { return lib.curl_easy_init(); }
void kf_easy_free(CURL *easy) { lib.curl_easy_cleanup(easy); }
void kf_easy_reset(CURL *easy) { lib.curl_easy_reset(easy); }
CURLcode kf_easy_resume(CURL *easy) { return lib.curl_easy_pause(easy, CURLPAUSE_CONT); }

CURLcode kf_easy_set_long(CURL *easy, CURLoption option, long value) {
    return lib.curl_easy_setopt(easy, option, value);
}

CURLcode kf_easy_set_string(CURL *easy, CURLoption option, const char *value) {
    return lib.curl_easy_setopt(easy, option, value);
}

CURLU *kf_parts_new(void) { return lib.curl_url(); }
void kf_parts_free(CURLU *parts) { lib.curl_url_cleanup(parts); }

bool kf_parts_set(CURLU *parts, const char *url, size_t path, bool same_origin) {
    const char *target = url + path, *query = strchr(target, '?');
    // The parser of a whole URL takes dots out of a path; a part that is set gets its percent codes in lower case.
    if (strstr(target, "/.") || strchr(target, '%') || (query && !query[1])) return false;
    if (!same_origin) return !lib.curl_url_set(parts, CURLUPART_URL, url, 0);
    char *copy = query ? strndup(target, (size_t)(query - target)) : NULL;
    if (query && !copy) return false;
    CURLUcode code = lib.curl_url_set(parts, CURLUPART_PATH, copy ? copy : target, 0);
    if (!code) code = lib.curl_url_set(parts, CURLUPART_QUERY, query ? query + 1 : NULL, 0);
    free(copy);
    return !code;
}

CURLcode kf_easy_set_pointer(CURL *easy, CURLoption option, void *value) {
    return lib.curl_easy_setopt(easy, option, value);
}

CURLcode kf_easy_set_size(CURL *easy, CURLoption option, int64_t value) {
    return lib.curl_easy_setopt(easy, option, (curl_off_t)value);
}

CURLcode kf_easy_set_callbacks(CURL *easy, void *context, kf_bytes_fn header, kf_bytes_fn body,
                               kf_socket_fn open_socket, kf_prerequest_fn before_request) {
    CURLcode code = CURLE_OK;
    if (!code) code = lib.curl_easy_setopt(easy, CURLOPT_PRIVATE, context);
    if (!code) code = lib.curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, header);
    if (!code) code = lib.curl_easy_setopt(easy, CURLOPT_HEADERDATA, context);
    if (!code) code = lib.curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, body);
    if (!code) code = lib.curl_easy_setopt(easy, CURLOPT_WRITEDATA, context);
    if (!code) code = lib.curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    if (!code) code = lib.curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, context);
    if (!code) code = lib.curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, before_request);
    if (!code) code = lib.curl_easy_setopt(easy, CURLOPT_PREREQDATA, context);
    return code;
}

CURLcode kf_easy_set_close_callback(CURL *easy, void *context, kf_close_fn close_socket) {
    CURLcode code = lib.curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    if (!code) code = lib.curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, context);
    return code;
}

CURLcode kf_easy_set_upload_callbacks(CURL *easy, void *context, kf_bytes_fn read, kf_seek_fn seek) {
    CURLcode code = lib.curl_easy_setopt(easy, CURLOPT_READFUNCTION, read);
    if (!code) code = lib.curl_easy_setopt(easy, CURLOPT_READDATA, context);
    if (!code) code = lib.curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, seek);
    if (!code) code = lib.curl_easy_setopt(easy, CURLOPT_SEEKDATA, context);
    return code;
}

int64_t kf_easy_acknowledged(CURL *easy, curl_socket_t socket) {
    curl_off_t sent = 0;
    int queued = 0;
    if (lib.curl_easy_getinfo(easy, CURLINFO_SIZE_UPLOAD_T, &sent) != CURLE_OK) return 0;
    if (socket < 0 || ioctl(socket, SIOCOUTQ, &queued) != 0) return sent;
    return sent - queued;
}

// NULL without TLS. Good only while the handle has its connection, that is in callbacks.
static const void *ssl_of(CURL *easy) {
    struct curl_tlssessioninfo *session = NULL;
    if (lib.curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK || !session) return NULL;
    return session->backend == CURLSSLBACKEND_OPENSSL ? session->internals : NULL;
}

bool kf_easy_is_multiplexed(CURL *easy) {
    const void *ssl = tls.get_alpn ? ssl_of(easy) : NULL;
    if (!ssl) return false;
    const unsigned char *name = NULL;
    unsigned length = 0;
    tls.get_alpn(ssl, &name, &length);
    return length == 2 && memcmp(name, "h2", 2) == 0;
}

kf_input kf_easy_input(CURL *easy, curl_socket_t socket) {
    struct pollfd entry = {.fd = socket, .events = POLLIN | POLLRDHUP};
    int count;
    do count = poll(&entry, 1, 0);
    while (count < 0 && errno == EINTR);
    // A TLS connection that was closed in good order has an alert to read as well.
    if (count < 0 || (entry.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL))) return KF_INPUT_END;
    if (entry.revents & POLLIN) return KF_INPUT_BYTES;
    const void *ssl = tls.has_pending ? ssl_of(easy) : NULL;
    return ssl && tls.has_pending(ssl) ? KF_INPUT_BYTES : KF_INPUT_NONE;
}

// libcurl 7.88 closes a connection when it reads more than the Content-Length of a response. After the last chunk, or
// after a response without a body, it only logs the excess, drops it and keeps the connection.
static int read_log(CURL *easy, curl_infotype type, char *text, size_t length, void *context) {
    static const char *const signs[] = {"Excess found", "Leftovers after chunking"};
    bool *is_wanted = context;
    if (type != CURLINFO_TEXT) return 0;
    // "TLSv1.3 (IN), TLS handshake, Request CERT (13):"
    static const char request[] = "Request CERT";
    if (is_wanted && memmem(text, length, request, sizeof request - 1)) *is_wanted = true;
    for (size_t index = 0; index < sizeof signs / sizeof *signs; index++) {
        size_t size = strlen(signs[index]);
        if (length >= size && memcmp(text, signs[index], size) == 0) {
            lib.curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
        }
    }
    return 0;
}

CURLcode kf_easy_close_on_excess(CURL *easy) {
    CURLcode code = lib.curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, read_log);
    return code ? code : lib.curl_easy_setopt(easy, CURLOPT_VERBOSE, 1L);
}

CURLcode kf_easy_watch_certificate_requests(CURL *easy, bool *is_wanted) {
    CURLcode code = lib.curl_easy_setopt(easy, CURLOPT_DEBUGDATA, is_wanted);
    return code ? code : kf_easy_close_on_excess(easy);
}

static int64_t time_info(CURL *easy, CURLINFO info) {
    curl_off_t value = 0;
    return lib.curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

static long long_info(CURL *easy, CURLINFO info) {
    long value = 0;
    return lib.curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

void kf_easy_get_facts(CURL *easy, kf_easy_facts *facts) {
    memset(facts, 0, sizeof *facts);
    facts->first_byte = time_info(easy, CURLINFO_STARTTRANSFER_TIME_T);
    facts->new_connections = long_info(easy, CURLINFO_NUM_CONNECTS);
    facts->os_errno = long_info(easy, CURLINFO_OS_ERRNO);
    if (facts->new_connections <= 0) return;
    facts->name_lookup = time_info(easy, CURLINFO_NAMELOOKUP_TIME_T);
    facts->connect = time_info(easy, CURLINFO_CONNECT_TIME_T);
    facts->tls = time_info(easy, CURLINFO_APPCONNECT_TIME_T);
}

void kf_easy_get_failure(CURL *easy, kf_easy_failure *failure) {
    failure->pre_transfer = time_info(easy, CURLINFO_PRETRANSFER_TIME_T);
    failure->verify_result = long_info(easy, CURLINFO_SSL_VERIFYRESULT);
    failure->proxy_verify_result = long_info(easy, CURLINFO_PROXY_SSL_VERIFYRESULT);
    failure->proxy_status = long_info(easy, CURLINFO_HTTP_CONNECTCODE);
}

const char *kf_easy_remote_address(CURL *easy) {
    char *address = NULL;
    return lib.curl_easy_getinfo(easy, CURLINFO_PRIMARY_IP, &address) == CURLE_OK && address ? address : "";
}

struct curl_slist *kf_list_append(struct curl_slist *list, const char *line) {
    return lib.curl_slist_append(list, line);
}

void kf_list_free(struct curl_slist *list) { lib.curl_slist_free_all(list); }

CURLSH *kf_share_new(int cookies) {
    CURLSH *share = lib.curl_share_init();
    if (!share) return NULL;
    if (lib.curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS) == CURLSHE_OK &&
        (!cookies || lib.curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_COOKIE) == CURLSHE_OK))
        return share;
    lib.curl_share_cleanup(share);
    return NULL;
}

void kf_share_free(CURLSH *share) { lib.curl_share_cleanup(share); }

CURLM *kf_multi_new(void) { return lib.curl_multi_init(); }
void kf_multi_free(CURLM *multi) { lib.curl_multi_cleanup(multi); }

CURLMcode kf_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return lib.curl_multi_setopt(multi, option, value);
}

CURLMcode kf_multi_set_callbacks(CURLM *multi, void *context, kf_watch_fn watch, kf_timer_fn timer) {
    CURLMcode code = lib.curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, watch);
    if (!code) code = lib.curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
    if (!code) code = lib.curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer);
    if (!code) code = lib.curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
    return code;
}

CURLMcode kf_multi_add(CURLM *multi, CURL *easy) { return lib.curl_multi_add_handle(multi, easy); }
CURLMcode kf_multi_remove(CURLM *multi, CURL *easy) { return lib.curl_multi_remove_handle(multi, easy); }
CURLMcode kf_multi_act(CURLM *multi, curl_socket_t socket, int events) {
    int running = 0;
    return lib.curl_multi_socket_action(multi, socket, events, &running);
}

bool kf_multi_next_done(CURLM *multi, void **context, CURLcode *result) {
    int left = 0;
    for (CURLMsg *message; (message = lib.curl_multi_info_read(multi, &left));) {
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        *context = NULL;
        lib.curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, context);
        return true;
    }
    return false;
}

static char *part(CURLU *handle, CURLUPart which, unsigned flags) {
    char *owned = NULL;
    if (lib.curl_url_get(handle, which, &owned, flags) != CURLUE_OK) return NULL;
    char *copy = strdup(owned);
    lib.curl_free(owned);
    return copy;
}

// Addresses in two zones are two hosts: "[fe80::1]" with the zone "lo" becomes "[fe80::1%25lo]".
static void add_zone(CURLU *handle, char **host) {
    char *zone = part(handle, CURLUPART_ZONEID, 0);
    if (!zone) return;
    size_t length = strlen(*host);
    char *both = length ? malloc(length + strlen(zone) + 4) : NULL;
    if (both) sprintf(both, "%.*s%%25%s]", (int)length - 1, *host, zone);
    free(zone);
    free(*host);
    *host = both;
}

kf_url_result kf_url_parse(const char *base, const char *text, const char *host, kf_url *out) {
    const unsigned flags = CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE | CURLU_ALLOW_SPACE;
    memset(out, 0, sizeof *out);
    CURLU *handle = lib.curl_url();
    if (!handle) return KF_URL_NO_MEMORY;
    kf_url_result result = KF_URL_INVALID;
    CURLUcode code = base ? lib.curl_url_set(handle, CURLUPART_URL, base, flags) : CURLUE_OK;
    if (!code) code = lib.curl_url_set(handle, CURLUPART_URL, text, flags);
    if (!code) code = lib.curl_url_set(handle, CURLUPART_FRAGMENT, NULL, 0);
    if (!code && host) code = lib.curl_url_set(handle, CURLUPART_HOST, host, 0);
    if (code) goto done;

    out->scheme = part(handle, CURLUPART_SCHEME, 0);
    out->host = part(handle, CURLUPART_HOST, 0);
    out->text = part(handle, CURLUPART_URL, 0);
    char *port = part(handle, CURLUPART_PORT, CURLU_DEFAULT_PORT);
    out->port = port ? strtol(port, NULL, 10) : 0;
    free(port);
    lib.curl_url_set(handle, CURLUPART_USER, NULL, 0);
    lib.curl_url_set(handle, CURLUPART_PASSWORD, NULL, 0);
    lib.curl_url_set(handle, CURLUPART_OPTIONS, NULL, 0);
    out->bare = part(handle, CURLUPART_URL, 0);
    if (!out->scheme || !out->text || !out->bare) goto done;
    if (!out->host) out->host = strdup("");
    add_zone(handle, &out->host);
    if (!out->host) goto done;
    for (char *at = out->scheme; *at; at++) *at |= (*at >= 'A' && *at <= 'Z') ? 0x20 : 0;
    for (char *at = out->host; *at; at++) *at |= (*at >= 'A' && *at <= 'Z') ? 0x20 : 0;
    result = KF_URL_OK;
done:
    lib.curl_url_cleanup(handle);
    if (result != KF_URL_OK) kf_url_free(out);
    return result;
}

void kf_url_free(kf_url *url) {
    free(url->text);
    free(url->bare);
    free(url->scheme);
    free(url->host);
    memset(url, 0, sizeof *url);
}
