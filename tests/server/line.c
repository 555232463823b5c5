#include "tests/server/line.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"

enum { CONNECTIONS = 64, PIECE = 1 << 16, MAX_WAITING = 4 << 20 };

/* Bytes on their way. */
struct parcel {
    struct parcel *next;
    int64_t due_ns;
    size_t n, sent;
    char bytes[];
};

struct way {
    int from, to;
    struct parcel *first, **last;
    size_t waiting;
    bool ended; /* from has nothing more; told to `to` when all has been carried */
    bool told;
};

struct both {
    bool open;
    bool ended; /* by one side, which the other one was told */
    struct way there, back;
};

struct line {
    pthread_t thread;
    pthread_mutex_t lock; /* guards counts, cut and closing */
    int listening, port, to_port, woken;
    int64_t delay_ns;
    line_counts counts;
    bool cut, closing;
    struct both both[CONNECTIONS];
};

/* ---- One connection ---------------------------------------------------------------------------------------------- */

static void way_open(struct way *w, int from, int to)
{
    *w = (struct way){.from = from, .to = to};
    w->last = &w->first;
}

static void way_free(struct way *w)
{
    while (w->first) {
        struct parcel *p = w->first;
        w->first = p->next;
        free(p);
    }
}

static void count_ended(struct line *l, struct both *b)
{
    if (b->ended) return;
    b->ended = true;
    pthread_mutex_lock(&l->lock);
    l->counts.open--;
    pthread_mutex_unlock(&l->lock);
}

static void close_both(struct line *l, struct both *b)
{
    count_ended(l, b);
    close(b->there.from);
    close(b->there.to);
    way_free(&b->there);
    way_free(&b->back);
    b->open = false;
}

static int connect_to(int port)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && !connect(fd, (struct sockaddr *)&at, sizeof at)) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

static void prepare(int fd)
{
    int one = 1;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static void accept_one(struct line *l)
{
    int client = accept4(l->listening, NULL, NULL, SOCK_CLOEXEC);
    if (client < 0) return;
    int server = connect_to(l->to_port);
    struct both *b = NULL;
    for (int i = 0; i < CONNECTIONS && !b; i++)
        if (!l->both[i].open) b = &l->both[i];
    if (!b || server < 0) {
        close(client);
        if (server >= 0) close(server);
        return;
    }
    prepare(client);
    prepare(server);
    b->open = true;
    b->ended = false;
    way_open(&b->there, client, server);
    way_open(&b->back, server, client);
    pthread_mutex_lock(&l->lock);
    l->counts.connections++;
    l->counts.open++;
    pthread_mutex_unlock(&l->lock);
}

/* ---- Carrying ---------------------------------------------------------------------------------------------------- */

/* False: the connection is gone. */
static bool take(struct line *l, struct way *w, uint64_t *count)
{
    struct parcel *p = malloc(sizeof *p + PIECE);
    if (!p) return false;
    ssize_t n = read(w->from, p->bytes, PIECE);
    if (n <= 0) {
        int why = errno;
        free(p);
        if (n == 0) w->ended = true;
        return n == 0 || why == EAGAIN || why == EINTR;
    }
    p->next = NULL;
    p->due_ns = clock_ns() + l->delay_ns;
    p->n = (size_t)n;
    p->sent = 0;
    *w->last = p;
    w->last = &p->next;
    w->waiting += p->n;
    pthread_mutex_lock(&l->lock);
    *count += p->n;
    pthread_mutex_unlock(&l->lock);
    return true;
}

static bool give(struct way *w, int64_t now)
{
    while (w->first && w->first->due_ns <= now) {
        struct parcel *p = w->first;
        ssize_t n = send(w->to, p->bytes + p->sent, p->n - p->sent, MSG_NOSIGNAL);
        if (n < 0) return errno == EAGAIN || errno == EINTR;
        p->sent += (size_t)n;
        if (p->sent < p->n) return true;
        w->waiting -= p->n;
        w->first = p->next;
        if (!w->first) w->last = &w->first;
        free(p);
    }
    if (w->ended && !w->first && !w->told) {
        w->told = true;
        shutdown(w->to, SHUT_WR);
    }
    return true;
}

static short wanted(const struct way *in, const struct way *out, int64_t now)
{
    return (short)((!in->ended && in->waiting < MAX_WAITING ? POLLIN : 0) |
                   (out->first && out->first->due_ns <= now ? POLLOUT : 0));
}

/* Milliseconds until the next parcel is due that is not yet; at most a second. */
static int next_due(const struct line *l, int64_t now)
{
    int64_t least = now + 1000000000;
    for (int i = 0; i < CONNECTIONS; i++) {
        const struct both *b = &l->both[i];
        if (!b->open) continue;
        if (b->there.first && b->there.first->due_ns > now && b->there.first->due_ns < least)
            least = b->there.first->due_ns;
        if (b->back.first && b->back.first->due_ns > now && b->back.first->due_ns < least)
            least = b->back.first->due_ns;
    }
    return (int)((least - now + 999999) / 1000000);
}

static void carry(struct line *l, struct both *b, short client, short server)
{
    bool good = true;
    if (client & (POLLIN | POLLHUP | POLLERR) && !b->there.ended) good = take(l, &b->there, &l->counts.bytes_there);
    if (good && server & (POLLIN | POLLHUP | POLLERR) && !b->back.ended)
        good = take(l, &b->back, &l->counts.bytes_back);
    int64_t now = clock_ns();
    if (good) good = give(&b->there, now) && give(&b->back, now);
    if (b->there.told || b->back.told) count_ended(l, b);
    if (!good || (b->there.told && b->back.told)) close_both(l, b);
}

static bool is_asked(struct line *l, bool *flag)
{
    pthread_mutex_lock(&l->lock);
    bool asked = *flag;
    *flag = false;
    pthread_mutex_unlock(&l->lock);
    return asked;
}

static void *run(void *ctx)
{
    struct line *l = ctx;
    for (;;) {
        struct pollfd fds[2 + 2 * CONNECTIONS] = {{.fd = l->woken, .events = POLLIN},
                                                  {.fd = l->listening, .events = POLLIN}};
        int64_t now = clock_ns();
        for (int i = 0; i < CONNECTIONS; i++) {
            struct both *b = &l->both[i];
            fds[2 + 2 * i].fd = fds[3 + 2 * i].fd = -1;
            if (!b->open) continue;
            short client = wanted(&b->there, &b->back, now), server = wanted(&b->back, &b->there, now);
            /* One that has ended and has nothing to take would be reported again and again. */
            if (client) fds[2 + 2 * i] = (struct pollfd){.fd = b->there.from, .events = client};
            if (server) fds[3 + 2 * i] = (struct pollfd){.fd = b->there.to, .events = server};
        }
        if (poll(fds, 2 + 2 * CONNECTIONS, next_due(l, now)) < 0 && errno != EINTR) break;
        uint64_t n;
        if (fds[0].revents && read(l->woken, &n, sizeof n) < 0) continue;
        if (is_asked(l, &l->closing)) break;
        if (is_asked(l, &l->cut))
            for (int i = 0; i < CONNECTIONS; i++)
                if (l->both[i].open) close_both(l, &l->both[i]);
        for (int i = 0; i < CONNECTIONS; i++)
            if (l->both[i].open) carry(l, &l->both[i], fds[2 + 2 * i].revents, fds[3 + 2 * i].revents);
        if (fds[1].revents) accept_one(l);
    }
    for (int i = 0; i < CONNECTIONS; i++)
        if (l->both[i].open) close_both(l, &l->both[i]);
    return NULL;
}

/* ---- The line ---------------------------------------------------------------------------------------------------- */

int line_listen(int *port)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)*port)};
    socklen_t size = sizeof at;
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 64) ||
        getsockname(fd, (struct sockaddr *)&at, &size)) {
        close(fd);
        return -1;
    }
    *port = ntohs(at.sin_port);
    return fd;
}

tdm_status line_open(struct line **out, int port, int to_port, int delay_ms, tdm_error *err)
{
    struct line *l = calloc(1, sizeof *l);
    *out = NULL;
    if (!l) return error_set(err, TDM_E_NOMEM, "no memory for a line");
    pthread_mutex_init(&l->lock, NULL);
    l->to_port = to_port;
    l->port = port;
    l->delay_ns = (int64_t)delay_ms * 1000000;
    l->woken = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    l->listening = line_listen(&l->port);
    if (l->woken >= 0 && l->listening >= 0 && !pthread_create(&l->thread, NULL, run, l)) {
        *out = l;
        return TDM_OK;
    }
    tdm_status status = error_errno(err, TDM_E_IO, "port %d of this machine", port);
    if (l->woken >= 0) close(l->woken);
    if (l->listening >= 0) close(l->listening);
    free(l);
    return status;
}

static void ask(struct line *l, bool *flag)
{
    uint64_t one = 1;
    pthread_mutex_lock(&l->lock);
    *flag = true;
    pthread_mutex_unlock(&l->lock);
    while (write(l->woken, &one, sizeof one) < 0 && errno == EINTR) continue;
}

void line_cut(struct line *l)
{
    ask(l, &l->cut);
}

void line_close(struct line *l)
{
    if (!l) return;
    ask(l, &l->closing);
    pthread_join(l->thread, NULL);
    close(l->woken);
    close(l->listening);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

int line_port(const struct line *l)
{
    return l->port;
}

void line_count(struct line *l, line_counts *out)
{
    pthread_mutex_lock(&l->lock);
    *out = l->counts;
    pthread_mutex_unlock(&l->lock);
}
