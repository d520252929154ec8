#ifndef KF_CURL_H
#define KF_CURL_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
// Glibc's Swift module shows neither.
#include <sys/epoll.h>
#include <sys/eventfd.h>

// libcurl without linking it. A start of the program that makes no transfer must not pay the 4.4 ms that linking
// libcurl and its forty dependencies costs, so the library is opened on the first use. Every function below other
// than kf_curl_load() may be called only after that one returned NULL.

/// Opens libcurl and initialises it, once per process, from any thread. NULL, or why it cannot be used.
const char *kf_curl_load(void);

/// "7.88.1", or "" before kf_curl_load().
const char *kf_curl_version(void);

const char *kf_curl_strerror(CURLcode code);
const char *kf_curl_multi_strerror(CURLMcode code);

CURL *kf_easy_new(void);
void kf_easy_free(CURL *easy);
void kf_easy_reset(CURL *easy);
/// Goes on with a body whose callback returned CURL_WRITEFUNC_PAUSE; may call that before it returns.
CURLcode kf_easy_resume(CURL *easy);

CURLcode kf_easy_set_long(CURL *easy, CURLoption option, long value);
CURLcode kf_easy_set_string(CURL *easy, CURLoption option, const char *value);
CURLcode kf_easy_set_pointer(CURL *easy, CURLoption option, void *value);

typedef size_t (*kf_bytes_fn)(char *bytes, size_t one, size_t count, void *context);
typedef curl_socket_t (*kf_socket_fn)(void *context, curlsocktype purpose, struct curl_sockaddr *address);
typedef int (*kf_prerequest_fn)(void *context, char *remote, char *local, int remote_port, int local_port);

typedef int (*kf_close_fn)(void *context, curl_socket_t socket);

/// Header lines, body bytes, the opening of a socket, and the moment before a request is sent over a connection that
/// may be an old one. All get the same context.
CURLcode kf_easy_set_callbacks(CURL *easy, void *context, kf_bytes_fn header, kf_bytes_fn body,
                               kf_socket_fn open_socket, kf_prerequest_fn before_request);
/// Closes the sockets of the connections that this handle opens. The context must outlive them.
CURLcode kf_easy_set_close_callback(CURL *easy, void *context, kf_close_fn close_socket);

/// Whether the connection of the handle is HTTP/2. For the callback before a request.
bool kf_easy_is_multiplexed(CURL *easy);
/// The unread input on the socket of the handle's connection: none, its end, or bytes. Checked before each request.
typedef enum kf_input { KF_INPUT_NONE = 0, KF_INPUT_END = 1, KF_INPUT_BYTES = 2 } kf_input;
kf_input kf_easy_input(CURL *easy, curl_socket_t socket);
/// Closes the connection after the transfer if libcurl reads more than the response. Needed for responses without a
/// body or with a chunked one; for all others libcurl does this itself. Costs three lines of libcurl's log.
CURLcode kf_easy_close_on_excess(CURL *easy);
/// Notes in `is_wanted` when a server asks for the client's certificate; it must outlive the transfer. Costs the log.
CURLcode kf_easy_watch_certificate_requests(CURL *easy, bool *is_wanted);

/// Facts that libcurl has of every transfer. Times are microseconds since its start; the first three are 0 when no connection
/// was opened.
typedef struct kf_easy_facts {
    int64_t name_lookup, connect, tls, first_byte;
    long new_connections, os_errno;
} kf_easy_facts;

void kf_easy_get_facts(CURL *easy, kf_easy_facts *facts);

/// Details of a failed transfer.
typedef struct kf_easy_failure {
    int64_t pre_transfer;
    long verify_result, proxy_status;
} kf_easy_failure;

void kf_easy_get_failure(CURL *easy, kf_easy_failure *failure);

/// Owned by libcurl, valid until the next call on the handle; never NULL.
const char *kf_easy_remote_address(CURL *easy);

/// A new list with the line added, or NULL when memory ran out (the old list is then still valid).
struct curl_slist *kf_list_append(struct curl_slist *list, const char *line);
void kf_list_free(struct curl_slist *list);

/// Resolved names, and cookies if `cookies` is not 0, that handles share by CURLOPT_SHARE. For one thread only; the handles
/// must be freed, or given another share, before it.
CURLSH *kf_share_new(int cookies);
void kf_share_free(CURLSH *share);

CURLM *kf_multi_new(void);
void kf_multi_free(CURLM *multi);
CURLMcode kf_multi_set_long(CURLM *multi, CURLMoption option, long value);
CURLMcode kf_multi_add(CURLM *multi, CURL *easy);
CURLMcode kf_multi_remove(CURLM *multi, CURL *easy);

typedef int (*kf_watch_fn)(CURL *easy, curl_socket_t socket, int what, void *context, void *of_socket);
typedef int (*kf_timer_fn)(CURLM *multi, long timeout_ms, void *context);

/// Which sockets are to be watched, for what (CURL_POLL_…), and when kf_multi_act() is wanted without an event.
CURLMcode kf_multi_set_callbacks(CURLM *multi, void *context, kf_watch_fn watch, kf_timer_fn timer);

/// Tells what a socket is ready for (CURL_CSELECT_…), or with CURL_SOCKET_TIMEOUT that the time has come.
CURLMcode kf_multi_act(CURLM *multi, curl_socket_t socket, int events);
/// Takes one finished transfer: its CURLOPT_PRIVATE and result. False when none is left.
bool kf_multi_next_done(CURLM *multi, void **context, CURLcode *result);

/// An address split by the same parser that will use it, so that no decision about a host can be made on another
/// reading of the text than libcurl's. Strings are owned by this struct; free with kf_url_free().
typedef struct kf_url {
    char *text;    // whole, normalised, without the fragment
    char *bare;    // the same without user info
    char *scheme;  // lower case
    char *host;    // IPv6 literals in brackets
    long port;
} kf_url;

typedef enum kf_url_result { KF_URL_OK = 0, KF_URL_INVALID = 1, KF_URL_NO_MEMORY = 2 } kf_url_result;

/// Parses text, relative to base when base is not NULL. Any scheme is accepted, none is guessed. Spaces and bytes
/// above 127 are percent-encoded.
kf_url_result kf_url_parse(const char *base, const char *text, kf_url *out);
void kf_url_free(kf_url *url);

#endif
