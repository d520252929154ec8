// The least that libcurl can do the work of the transfer engine for: handles that are set up once, a multi handle, and
// a callback that throws the bodies away.
//
// usage: transfer LIST AT-ONCE [CA-FILE]    LIST holds an address a line

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char **urls;
static size_t count, started, finished, failed;
static curl_off_t received;

static size_t discard(char *bytes, size_t one, size_t length, void *context) {
    (void)bytes, (void)one, (void)context;
    received += (curl_off_t)length;
    return length;
}

static size_t head(char *bytes, size_t one, size_t length, void *context) {
    (void)bytes, (void)one, (void)context;
    return length;
}

static void read_list(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) exit(2);
    char *line = NULL;
    size_t size = 0, room = 0;
    for (ssize_t length; (length = getline(&line, &size, file)) > 0;) {
        line[strcspn(line, "\n")] = 0;
        if (count == room && !(urls = realloc(urls, (room = room ? 2 * room : 1024) * sizeof *urls))) exit(2);
        urls[count++] = strdup(line);
    }
    free(line);
    fclose(file);
}

static CURL *new_handle(const char *authority) {
    CURL *easy = curl_easy_init();
    if (!easy) exit(2);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 65536L);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, discard);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, head);
    curl_easy_setopt(easy, CURLOPT_FAILONERROR, 1L);
    if (authority) {
        curl_easy_setopt(easy, CURLOPT_CAINFO, authority);
        curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
        curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    }
    return easy;
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    read_list(argv[1]);
    size_t parallel = strtoul(argv[2], NULL, 10);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    CURLM *multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)parallel);
    for (; started < parallel && started < count; started++) {
        CURL *easy = new_handle(argc > 3 ? argv[3] : NULL);
        curl_easy_setopt(easy, CURLOPT_URL, urls[started]);
        curl_multi_add_handle(multi, easy);
    }
    while (finished < count) {
        int running, left;
        curl_multi_perform(multi, &running);
        int again = 0;
        for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
            if (message->msg != CURLMSG_DONE) continue;
            CURL *easy = message->easy_handle;
            if (message->data.result != CURLE_OK) failed++;
            finished++;
            curl_multi_remove_handle(multi, easy);
            if (started == count) {
                curl_easy_cleanup(easy);
                continue;
            }
            curl_easy_setopt(easy, CURLOPT_URL, urls[started++]);
            curl_multi_add_handle(multi, easy);
            again = 1;
        }
        if (!again && finished < count) curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
    curl_multi_cleanup(multi);
    printf("%zu transfers, %zu failed, %lld bytes\n", finished, failed, (long long)received);
    return failed != 0;
}
