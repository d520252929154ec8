// What a prefetch costs at the least: transfers over libcurl's multi interface into memory, SHA-256, a file that is
// created, written and renamed under its hash, and a row in SQLite, in transactions of 64. One thread does all of it,
// or the first transfers and a second one stores. Nothing is checked, no other process can use the directory, and any
// failure ends the program.
//
// usage: prefetch LIST AT-ONCE DIRECTORY THREADS [CA-FILE]    DIRECTORY is made when it is missing; THREADS is 1 or 2;
//                                                             CA-FILE asks for HTTP/2 over one TLS connection

#define _GNU_SOURCE
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/sha.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BATCH = 64, LARGEST = 1 << 20, MOST = 256 };

struct body {
    struct body *next;
    size_t used;
    char url[1024];
    unsigned char bytes[LARGEST];
};

// Bodies on their way between the two threads. A list is handed over whole, so that a turn of either thread takes the
// lock once.
struct list {
    struct body *first, **end;
};

static struct list received, unused;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER, returned = PTHREAD_COND_INITIALIZER;
static int finished, storing_waits, network_waits;

static sqlite3 *database;
static sqlite3_stmt *insert;
static long stored;
static int threads;

static void check(int good, const char *what) {
    if (good) return;
    perror(what);
    exit(1);
}

static void clear(struct list *list) { list->first = NULL, list->end = &list->first; }

static void append(struct list *list, struct body *body) {
    body->next = NULL;
    *list->end = body;
    list->end = &body->next;
}

static void move(struct list *from, struct list *to) {
    if (!from->first) return;
    *to->end = from->first;
    to->end = from->end;
    clear(from);
}

static struct body *take(struct list *list) {
    struct body *body = list->first;
    if (body && !(list->first = body->next)) clear(list);
    return body;
}

static void make_directory(const char *path) { check(mkdir(path, 0700) == 0 || errno == EEXIST, path); }

static void run(const char *text) { check(sqlite3_exec(database, text, NULL, NULL, NULL) == SQLITE_OK, text); }

static size_t receive(char *bytes, size_t one, size_t length, void *context) {
    (void)one;
    struct body *body = *(struct body **)context;
    if (length > LARGEST - body->used) return 0;
    memcpy(body->bytes + body->used, bytes, length);
    body->used += length;
    return length;
}

static void store(const struct body *body) {
    unsigned char digest[SHA256_DIGEST_LENGTH];
    SHA256(body->bytes, body->used, digest);
    char temporary[32], name[80];
    snprintf(temporary, sizeof temporary, "tmp/%ld", stored);
    char *end = name + snprintf(name, sizeof name, "%02x/", digest[0]);
    for (int k = 1; k < SHA256_DIGEST_LENGTH; k++) end += sprintf(end, "%02x", digest[k]);
    const int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    check(file >= 0, "open");
    check(write(file, body->bytes, body->used) == (ssize_t)body->used, "write");
    check(close(file) == 0, "close");
    check(rename(temporary, name) == 0, "rename");
    if (stored % BATCH == 0) run("BEGIN IMMEDIATE");
    int64_t row;
    memcpy(&row, digest, sizeof row);
    sqlite3_bind_int64(insert, 1, row);
    sqlite3_bind_text(insert, 2, body->url, -1, SQLITE_STATIC);
    sqlite3_bind_blob(insert, 3, digest, sizeof digest, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 4, (int64_t)body->used);
    check(sqlite3_step(insert) == SQLITE_DONE, "insert");
    sqlite3_reset(insert);
    if (++stored % BATCH == 0) run("COMMIT");
}

// The second thread: stores all that has arrived, and returns the buffers.
static void *store_all(void *context) {
    struct list taken;
    clear(&taken);
    for (;;) {
        pthread_mutex_lock(&lock);
        move(&taken, &unused);
        if (network_waits) pthread_cond_signal(&returned);
        while (!received.first && !finished) {
            storing_waits = 1;
            pthread_cond_wait(&arrived, &lock);
            storing_waits = 0;
        }
        move(&received, &taken);
        pthread_mutex_unlock(&lock);
        if (!taken.first) return context;
        for (const struct body *body = taken.first; body; body = body->next) store(body);
    }
}

// Hands over what one turn of the network's loop has received. Returns with enough buffers for as many new transfers.
static void hand_over(struct list *done, struct list *spare, int count) {
    if (threads == 1) {
        for (const struct body *body = done->first; body; body = body->next) store(body);
        move(done, spare);
        return;
    }
    pthread_mutex_lock(&lock);
    move(done, &received);
    if (storing_waits) pthread_cond_signal(&arrived);
    while (count > 0) {
        struct body *body = take(&unused);
        if (body) {
            append(spare, body);
            count--;
            continue;
        }
        network_waits = 1;
        pthread_cond_wait(&returned, &lock);
        network_waits = 0;
    }
    pthread_mutex_unlock(&lock);
}

struct transfer {
    CURL *easy;
    struct body *body;
};

static int start(CURLM *multi, struct transfer *transfer, FILE *list) {
    struct body *body = transfer->body;
    if (!fgets(body->url, sizeof body->url, list)) return 0;
    body->url[strcspn(body->url, "\n")] = 0;
    body->used = 0;
    curl_easy_setopt(transfer->easy, CURLOPT_URL, body->url);
    curl_multi_add_handle(multi, transfer->easy);
    return 1;
}

static struct body *new_body(void) {
    struct body *body = malloc(sizeof *body);
    check(body != NULL, "memory");
    return body;
}

static void prepare(struct transfer *transfer, const char *authority) {
    transfer->body = new_body();
    check((transfer->easy = curl_easy_init()) != NULL, "memory");
    curl_easy_setopt(transfer->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(transfer->easy, CURLOPT_BUFFERSIZE, 65536L);
    curl_easy_setopt(transfer->easy, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(transfer->easy, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(transfer->easy, CURLOPT_WRITEDATA, &transfer->body);
    curl_easy_setopt(transfer->easy, CURLOPT_PRIVATE, transfer);
    if (!authority) return;
    curl_easy_setopt(transfer->easy, CURLOPT_CAINFO, authority);
    curl_easy_setopt(transfer->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(transfer->easy, CURLOPT_PIPEWAIT, 1L);
}

static void transfer_all(FILE *list, int parallel, const char *authority) {
    curl_global_init(CURL_GLOBAL_DEFAULT);
    CURLM *multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)parallel);
    static struct transfer transfers[MOST];
    int active = 0;
    for (int i = 0; i < parallel; i++) {
        prepare(&transfers[i], authority);
        active += start(multi, &transfers[i], list);
    }
    struct list done, spare;
    clear(&done), clear(&spare);
    while (active > 0) {
        struct transfer *idle[MOST];
        int running, left, count = 0, again = 0;
        curl_multi_perform(multi, &running);
        for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
            if (message->msg != CURLMSG_DONE) continue;
            struct transfer *transfer;
            check(message->data.result == CURLE_OK, "transfer");
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
            curl_multi_remove_handle(multi, transfer->easy);
            append(&done, transfer->body);
            idle[count++] = transfer;
        }
        hand_over(&done, &spare, count);
        for (int i = 0; i < count; i++) {
            idle[i]->body = take(&spare);
            if (start(multi, idle[i], list)) again = 1;
            else active--;
        }
        if (!again && active > 0) curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
}

int main(int argc, char **argv) {
    if (argc < 5) return 2;
    FILE *list = fopen(argv[1], "r");
    check(list != NULL, "list");
    const int parallel = atoi(argv[2]);
    check(parallel > 0 && parallel <= MOST, "at once");
    threads = atoi(argv[4]);
    check(threads == 1 || threads == 2, "threads");
    make_directory(argv[3]);
    check(chdir(argv[3]) == 0, argv[3]);
    make_directory("tmp");
    for (int i = 0; i < 256; i++) {
        char folder[8];
        snprintf(folder, sizeof folder, "%02x", i);
        make_directory(folder);
    }
    check(sqlite3_open("index.sqlite", &database) == SQLITE_OK, "sqlite");
    run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
        "CREATE TABLE entries (id INTEGER PRIMARY KEY, url TEXT, hash BLOB, size INTEGER)");
    sqlite3_prepare_v2(database, "INSERT INTO entries VALUES (?,?,?,?)", -1, &insert, NULL);
    clear(&received), clear(&unused);
    pthread_t second;
    if (threads == 2) {
        for (int i = 0; i < 2 * parallel; i++) append(&unused, new_body());
        check(pthread_create(&second, NULL, store_all, NULL) == 0, "thread");
    }
    transfer_all(list, parallel, argc > 5 ? argv[5] : NULL);
    if (threads == 2) {
        pthread_mutex_lock(&lock);
        finished = 1;
        pthread_cond_signal(&arrived);
        pthread_mutex_unlock(&lock);
        pthread_join(second, NULL);
    }
    if (stored % BATCH != 0) run("COMMIT");
    sqlite3_finalize(insert);
    sqlite3_close(database);
    printf("%ld stored\n", stored);
    return 0;
}
