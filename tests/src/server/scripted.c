#include "tests/src/server/scripted.h"

#include <arpa/inet.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct scripted scripted;
static int listening;

static char came[sizeof scripted.asked];

/* False: the other end went before all of a request had come. */
static bool read_request(int fd)
{
    size_t n = 0, want = 0;
    char *body = NULL;
    while (n < sizeof came - 1 && (!body || n < want)) {
        ssize_t got = read(fd, came + n, sizeof came - 1 - n);
        if (got <= 0) return false;
        n += (size_t)got;
        came[n] = 0;
        if (scripted.unread) return true;
        char *length = strcasestr(came, "content-length:");
        body = strstr(came, "\r\n\r\n");
        if (body) want = (size_t)(body + 4 - came) + (length && length < body ? (size_t)atoi(length + 15) : 0);
    }
    return true;
}

static const char *answer_of(bool *second)
{
    *second = false;
    const char *path = strchr(scripted.asked, ' ');
    for (const struct scripted_page *p = scripted.pages; p && p->path && path; p++) {
        size_t n = strlen(p->path);
        if (!strncmp(path + 1, p->path, n) && path[1 + n] == ' ') return p->answer;
    }
    *second = scripted.second && scripted.first_went;
    scripted.first_went = scripted.second;
    return *second ? scripted.second : scripted.answer;
}

static void serve(int fd)
{
    static char xs[1 << 16];
    if (!read_request(fd)) return;
    if (!strncmp(came, "GET /health ", 12)) { /* by which a connection is made ready */
        scripted.readied++;
        const char *ok = scripted_ok("{}");
        send(fd, ok, strlen(ok), MSG_NOSIGNAL);
        return;
    }
    memcpy(scripted.asked, came, sizeof came);
    scripted.found += scripted.sought && strstr(came, scripted.sought);
    scripted.served++;
    bool second;
    const char *answer = answer_of(&second);
    if (send(fd, answer, strlen(answer), MSG_NOSIGNAL) < 0) return;
    memset(xs, 'x', sizeof xs);
    for (size_t sent = 0; sent < scripted.flood; sent += sizeof xs)
        if (send(fd, xs, sizeof xs, MSG_NOSIGNAL) < 0) break;
    char rest;
    if ((scripted.hangs || (second && scripted.second_hangs)) && read(fd, &rest, 1) <= 0) sem_post(&scripted.left);
}

static void *serve_all(void *ctx)
{
    (void)ctx;
    for (;;) {
        int fd = accept(listening, NULL, NULL);
        if (fd < 0) return NULL;
        scripted.connected++;
        serve(fd);
        close(fd);
    }
}

const char *scripted_start(void)
{
    static char url[64];
    static pthread_t thread;
    if (url[0]) return url;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    sem_init(&scripted.left, 0, 0);
    listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listening, (struct sockaddr *)&at, sizeof at) || listen(listening, 8) ||
        getsockname(listening, (struct sockaddr *)&at, &size) || pthread_create(&thread, NULL, serve_all, NULL))
        abort();
    scripted.port = ntohs(at.sin_port);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", scripted.port);
    return url;
}

const char *scripted_ok(const char *body)
{
    static struct kept { /* or the sanitizers take them for lost */
        struct kept *next;
        char *text;
    } *all;
    struct kept *one = malloc(sizeof *one);
    char *text;
    if (!one) abort();
    if (asprintf(&text, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s", strlen(body), body) <
        0)
        abort();
    *one = (struct kept){all, text};
    all = one;
    return text;
}

bool scripted_find_net(void)
{
    const char *program = getenv("TANDEM");
    char path[2 * PATH_MAX], folder[PATH_MAX]; /* of PATH only entries with a slash in front count */
    snprintf(path, sizeof path, "%s-net", program ? program : "build/tandem");
    if (!realpath(path, folder) || access(folder, X_OK)) return false;
    *strrchr(folder, '/') = 0;
    snprintf(path, sizeof path, "%s:%s", folder, getenv("PATH"));
    setenv("PATH", path, 1);
    return true;
}
