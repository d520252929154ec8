#ifndef KF_CURL_H
#define KF_CURL_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// libcurl, opened with dlopen() on first use. Linking libcurl and its forty dependencies would cost 4.4 ms at every
// start, also of a process that makes no transfer. Every function below other than kf_curl_load() may be called only
// after kf_curl_load() has returned NULL.

/// Opens and initialises libcurl once per process; callable from any thread. Returns NULL, or the reason for a failure.
const char *kf_curl_load(void);

/// Returns the version of libcurl and of its TLS library, such as "7.88.1 (OpenSSL/3.0.17)", or "" before kf_curl_load().
const char *kf_curl_version(void);

const char *kf_curl_strerror(CURLcode code);
const char *kf_curl_multi_strerror(CURLMcode code);

CURL *kf_easy_new(void);
void kf_easy_free(CURL *easy);
void kf_easy_reset(CURL *easy);
/// Resumes a body whose callback returned CURL_WRITEFUNC_PAUSE. May call the body callback before it returns.
CURLcode kf_easy_resume(CURL *easy);

CURLcode kf_easy_set_long(CURL *easy, CURLoption option, long value);
CURLcode kf_easy_set_string(CURL *easy, CURLoption option, const char *value);
CURLcode kf_easy_set_pointer(CURL *easy, CURLoption option, void *value);

CURLcode kf_easy_set_size(CURL *easy, CURLoption option, int64_t value);

/// A URL in parts, for CURLOPT_CURLU: libcurl then neither parses it nor puts it together again, which takes a fifth of the
/// instructions that a small file costs it.
CURLU *kf_parts_new(void);
void kf_parts_free(CURLU *parts);
/// Sets the parts of an http or https URL without user info and fragment, whose path begins at that byte. With `same_origin`
/// the parts have its scheme, host and port already. Returns false if libcurl has to parse the URL; the parts may have
/// changed.
bool kf_parts_set(CURLU *parts, const char *url, size_t path, bool same_origin);

typedef size_t (*kf_bytes_fn)(char *bytes, size_t one, size_t count, void *context);
typedef curl_socket_t (*kf_socket_fn)(void *context, curlsocktype purpose, struct curl_sockaddr *address);
typedef int (*kf_prerequest_fn)(void *context, char *remote, char *local, int remote_port, int local_port);

typedef int (*kf_seek_fn)(void *context, curl_off_t offset, int origin);
typedef int (*kf_close_fn)(void *context, curl_socket_t socket);

/// Sets the callbacks for header lines, body bytes, the opening of a socket, and the moment before each request, when
/// libcurl has chosen a new or an existing connection. All get the same context.
CURLcode kf_easy_set_callbacks(CURL *easy, void *context, kf_bytes_fn header, kf_bytes_fn body,
                               kf_socket_fn open_socket, kf_prerequest_fn before_request);
/// Sets the callback that closes the sockets which this handle opens. The context must outlive their connections.
CURLcode kf_easy_set_close_callback(CURL *easy, void *context, kf_close_fn close_socket);

/// Sets the callbacks that supply the body of an upload and restart it. Both get the same context.
CURLcode kf_easy_set_upload_callbacks(CURL *easy, void *context, kf_bytes_fn read, kf_seek_fn seek);
/// Returns the number of body bytes that libcurl has sent, less those that wait in the send queue of the socket for an
/// acknowledgement. A negative socket has no queue.
int64_t kf_easy_acknowledged(CURL *easy, curl_socket_t socket);

/// Returns whether the handle's connection is HTTP/2. Valid in the callback before a request.
bool kf_easy_is_multiplexed(CURL *easy);
/// Unread input on the socket of the handle's connection: none, end of file, or bytes.
typedef enum kf_input { KF_INPUT_NONE = 0, KF_INPUT_END = 1, KF_INPUT_BYTES = 2 } kf_input;
kf_input kf_easy_input(CURL *easy, curl_socket_t socket);
/// Has libcurl close the connection after the transfer if it reads more than the response. Needed for responses with no
/// body or a chunked body; for others libcurl does so itself. Makes libcurl format its verbose log, about three lines.
CURLcode kf_easy_close_on_excess(CURL *easy);
/// Sets `*is_wanted` to true when a server requests a client certificate, as libcurl's verbose log shows. `is_wanted`
/// must outlive the transfer.
CURLcode kf_easy_watch_certificate_requests(CURL *easy, bool *is_wanted);

/// libcurl's figures about a transfer. Times are microseconds since its start; the first three are 0 if it opened no
/// connection.
typedef struct kf_easy_facts {
    int64_t name_lookup, connect, tls, first_byte;
    long new_connections, os_errno;
} kf_easy_facts;

void kf_easy_get_facts(CURL *easy, kf_easy_facts *facts);

/// Details of a failed transfer.
typedef struct kf_easy_failure {
    int64_t pre_transfer;
    long verify_result, proxy_verify_result, proxy_status;
} kf_easy_failure;

void kf_easy_get_failure(CURL *easy, kf_easy_failure *failure);

/// Returns the peer's address, never NULL. The text is owned by libcurl and valid until the next call on the handle.
const char *kf_easy_remote_address(CURL *easy);

/// Appends the line and returns the list, or NULL when out of memory (the old list then stays valid).
struct curl_slist *kf_list_append(struct curl_slist *list, const char *line);
void kf_list_free(struct curl_slist *list);

/// Creates a share for the handles that name it with CURLOPT_SHARE: a DNS cache, and a cookie engine if `cookies` is not 0.
/// Only one thread may use it. It must outlive their use of it.
CURLSH *kf_share_new(int cookies);
void kf_share_free(CURLSH *share);

CURLM *kf_multi_new(void);
void kf_multi_free(CURLM *multi);
CURLMcode kf_multi_set_long(CURLM *multi, CURLMoption option, long value);
CURLMcode kf_multi_add(CURLM *multi, CURL *easy);
CURLMcode kf_multi_remove(CURLM *multi, CURL *easy);

typedef int (*kf_watch_fn)(CURL *easy, curl_socket_t socket, int what, void *context, void *of_socket);
typedef int (*kf_timer_fn)(CURLM *multi, long timeout_ms, void *context);

/// Sets the callbacks by which libcurl names the sockets to watch (for CURL_POLL_…) and the time of its next timeout.
CURLMcode kf_multi_set_callbacks(CURLM *multi, void *context, kf_watch_fn watch, kf_timer_fn timer);

/// Has libcurl act on the readiness of a socket (CURL_CSELECT_…), or on its timeout with CURL_SOCKET_TIMEOUT.
CURLMcode kf_multi_act(CURLM *multi, curl_socket_t socket, int events);
/// Takes one finished transfer: its CURLOPT_PRIVATE and its result. Returns false when there is none.
bool kf_multi_next_done(CURLM *multi, void **context, CURLcode *result);

/// A URL split by libcurl's own parser, so that no decision about a host rests on a different reading of the text. The
/// struct owns its strings; free them with kf_url_free().
typedef struct kf_url {
    char *text;    // the whole URL, normalised, without the fragment
    char *bare;    // the URL without user info
    char *scheme;  // lower case
    char *host;    // IPv6 literals in brackets, with their zone: [fe80::1%25eth0]
    long port;
} kf_url;

typedef enum kf_url_result { KF_URL_OK = 0, KF_URL_INVALID = 1, KF_URL_NO_MEMORY = 2 } kf_url_result;

/// Parses text, relative to base unless that is NULL, and puts host, unless that is NULL, in place of its host. Accepts any
/// scheme and guesses none. Percent-encodes spaces and bytes above 127.
kf_url_result kf_url_parse(const char *base, const char *text, const char *host, kf_url *out);
void kf_url_free(kf_url *url);

#endif
