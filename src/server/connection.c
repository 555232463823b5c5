#include "src/server/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/json/write.h"
#include "engine/os/start.h"
#include "src/cli/program.h"
#include "src/net/wire.h"
#include "src/process/inherit.h"

struct asked {
    struct asked *next;
    uint32_t id;
    bool given_up; /* tandem-net can't be asked to end it: it ends here, and what still comes is dropped */
    connection_calls calls;
};

struct connection {
    pthread_mutex_t lock; /* guards the wire's output, the list, and the flags; never held during a call back */
    pthread_t reader;
    pid_t child;
    wire wire;
    int woken; /* an eventfd: output waits, or the connection is to close */
    struct asked *asked;
    uint32_t last_id;
    bool closing;
    bool overlay;   /* a request was not sent, since an overlay network needs plain_http (wire.h) */
    tdm_error gone; /* tandem-net has ended; code TDM_OK: it runs */
};

/* ---- Answers ----------------------------------------------------------------------------------------------------- */

/* The calls of a request; false: it has ended. With `last` it is forgotten. */
static bool find(connection *c, uint32_t id, bool last, connection_calls *out)
{
    bool found = false;
    pthread_mutex_lock(&c->lock);
    for (struct asked **at = &c->asked; *at && !found; at = &(*at)->next) {
        struct asked *a = *at;
        if (a->id != id) continue;
        found = true;
        *out = a->calls;
        if (!last) continue;
        *at = a->next;
        free(a);
        break;
    }
    pthread_mutex_unlock(&c->lock);
    return found;
}

static void give_end(connection *c, const connection_calls *calls, json_object *o)
{
    pthread_mutex_lock(&c->lock);
    c->overlay |= json_flag(o, "overlay", false);
    pthread_mutex_unlock(&c->lock);
    calls->end(calls->ctx, json_text(o, "error", NULL), json_real(o, "connect_ms", 0), json_real(o, "first_ms", 0),
               json_real(o, "total_ms", 0));
}

static void give(connection *c, const wire_frame *f)
{
    connection_calls calls;
    json_object *o = f->frame.head;
    if (!find(c, f->id, f->kind == WIRE_END, &calls)) return;
    if (f->kind == WIRE_DATA)
        calls.data(calls.ctx, f->frame.payload);
    else if (f->kind == WIRE_HEAD)
        calls.head(calls.ctx, (int)json_int(o, "status", 0), (int)json_int(o, "retry_after_s", -1));
    else if (f->kind == WIRE_END)
        give_end(c, &calls, o);
}

/* All requests, or those that are given up. */
static void end_them(connection *c, bool all, const char *why)
{
    for (;;) {
        pthread_mutex_lock(&c->lock);
        struct asked **at = &c->asked;
        while (*at && !all && !(*at)->given_up) at = &(*at)->next;
        struct asked *a = *at;
        if (a) *at = a->next;
        pthread_mutex_unlock(&c->lock);
        if (!a) return;
        a->calls.end(a->calls.ctx, why, 0, 0, 0);
        free(a);
    }
}

/* Takes what has come. *later: there was no memory for all of it; the rest is taken later. */
static tdm_status receive(connection *c, bool *later, tdm_error *err)
{
    /* Only this thread reads; others write. */
    tdm_status status = wire_read(&c->wire, err);
    wire_frame f;
    while (!status && !(status = wire_take(&c->wire, &f, err)) && f.frame.head) {
        give(c, &f);
        json_free(f.frame.head);
    }
    *later = status == TDM_E_NOMEM;
    if (!*later) return status;
    *err = (tdm_error){0};
    return TDM_OK;
}

static void *read_all(void *ctx)
{
    enum { LATER_MS = 50 };
    connection *c = ctx;
    tdm_error err = {0};
    for (bool later = false;;) {
        pthread_mutex_lock(&c->lock);
        bool closing = c->closing, waits = wire_waits(&c->wire);
        pthread_mutex_unlock(&c->lock);
        if (closing) break;
        end_them(c, false, "given up");
        struct pollfd fds[] = {
            {.fd = later && !waits ? -1 : c->wire.fd, .events = (later ? 0 : POLLIN) | (waits ? POLLOUT : 0)},
            {.fd = c->woken, .events = POLLIN}};
        uint64_t n;
        if (poll(fds, 2, later ? LATER_MS : -1) < 0 && errno != EINTR) break;
        if (fds[1].revents & POLLIN && read(c->woken, &n, sizeof n) < 0) continue;
        tdm_status status = TDM_OK;
        if (fds[0].revents & POLLOUT) {
            pthread_mutex_lock(&c->lock);
            status = wire_flush(&c->wire, &err);
            pthread_mutex_unlock(&c->lock);
        }
        if (!status && (later || fds[0].revents & (POLLIN | POLLHUP | POLLERR))) status = receive(c, &later, &err);
        if (!status) continue;
        pthread_mutex_lock(&c->lock);
        c->gone = err;
        pthread_mutex_unlock(&c->lock);
        break;
    }
    end_them(c, true, err.code ? err.text : "given up"); /* tandem-net has ended or talks nonsense */
    return NULL;
}

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

static void wake(connection *c)
{
    uint64_t one = 1;
    while (write(c->woken, &one, sizeof one) < 0 && errno == EINTR) continue;
}

uint32_t connection_send(connection *c, struct span request, const connection_calls *calls)
{
    struct asked *a = calloc(1, sizeof *a);
    tdm_error err = {0};
    pthread_mutex_lock(&c->lock);
    if (++c->last_id == 0) c->last_id = 1;
    uint32_t id = c->last_id;
    if (c->gone.code)
        err = c->gone;
    else if (!a)
        error_set(&err, TDM_E_NOMEM, "no memory for a request");
    else
        wire_put(&c->wire, WIRE_REQUEST, id, request, &err);
    if (!err.code) {
        *a = (struct asked){.next = c->asked, .id = id, .calls = *calls};
        c->asked = a;
    }
    pthread_mutex_unlock(&c->lock);
    if (err.code) {
        free(a);
        calls->end(calls->ctx, err.text, 0, 0, 0);
    } else {
        wake(c);
    }
    return id;
}

bool connection_lacks_plain_http(connection *c)
{
    pthread_mutex_lock(&c->lock);
    bool lacks = c->overlay;
    pthread_mutex_unlock(&c->lock);
    return lacks;
}

void connection_cancel(connection *c, uint32_t id)
{
    pthread_mutex_lock(&c->lock);
    bool told = c->gone.code || !wire_put(&c->wire, WIRE_CANCEL, id, (struct span){"", 0}, NULL);
    for (struct asked *a = c->asked; a && !told; a = a->next)
        if (a->id == id) a->given_up = true;
    pthread_mutex_unlock(&c->lock);
    wake(c);
}

void connection_ready(connection *c, struct span request, uint32_t seconds)
{
    pthread_mutex_lock(&c->lock);
    if (!c->gone.code) wire_put(&c->wire, WIRE_READY, seconds, request, NULL);
    pthread_mutex_unlock(&c->lock);
    wake(c);
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

/* Starts the program with its end of the socket as standard input, no other descriptor of this program, and of the
 * environment what it needs. */
static tdm_status start(connection *c, int end, const char *key_env, tdm_error *err)
{
    char path[PATH_MAX];
    char *argv[] = {"tandem-net", NULL};
    char **environment = inherit_environment(false, key_env);
    bool found = program_find("tandem-net", path);
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    start_attributes(&attributes, 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, end, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    inherit_no_descriptors();
    int failed = !environment ? ENOMEM : !found ? ENOENT : 0;
    if (!failed) failed = posix_spawn(&c->child, path, &actions, &attributes, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    free(environment);
    if (!failed) return TDM_OK;
    errno = failed;
    c->child = 0;
    return error_errno(err, TDM_E_NOT_FOUND, "expected the program tandem-net beside tandem or on PATH");
}

static tdm_status introduce(connection *c, const connection_options *server, tdm_error *err)
{
    json_object *o = json_new_object();
    json_add_string(o, "url", server->url);
    if (server->key_file) json_add_string(o, "key_file", server->key_file);
    if (server->key_env) json_add_string(o, "key_env", server->key_env);
    if (server->plain_http) json_add_bool(o, "plain_http", true);
    return wire_tell(&c->wire, WIRE_SERVER, 0, o, err);
}

tdm_status connection_open(connection **out, const connection_options *server, tdm_error *err)
{
    connection *c = calloc(1, sizeof *c);
    int ends[2] = {-1, -1};
    *out = NULL;
    if (!c) return error_set(err, TDM_E_NOMEM, "no memory for a connection");
    c->wire.fd = c->woken = -1;
    pthread_mutex_init(&c->lock, NULL);
    tdm_status status = TDM_OK;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) ||
        (c->woken = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
        status = error_errno(err, TDM_E_IO, "a socket for tandem-net");
    if (!status) status = start(c, ends[1], server->key_env, err);
    if (ends[1] >= 0) close(ends[1]);
    if (!status)
        status = wire_open(&c->wire, ends[0], err);
    else if (ends[0] >= 0)
        close(ends[0]);
    if (!status) status = introduce(c, server, err);
    if (!status && pthread_create(&c->reader, NULL, read_all, c))
        status = error_set(err, TDM_E_NOMEM, "no thread for a connection");
    else if (!status)
        *out = c;
    if (status) {
        c->closing = true;
        connection_close(c);
    }
    return status;
}

void connection_close(connection *c)
{
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    bool reads = !c->closing;
    c->closing = true;
    pthread_mutex_unlock(&c->lock);
    if (reads) {
        wake(c);
        pthread_join(c->reader, NULL);
    }
    if (c->wire.fd >= 0) close(c->wire.fd); /* by which tandem-net ends */
    if (c->child) {
        while (waitpid(c->child, NULL, 0) < 0 && errno == EINTR) continue;
    }
    if (c->woken >= 0) close(c->woken);
    wire_free(&c->wire);
    pthread_mutex_destroy(&c->lock);
    free(c);
}
