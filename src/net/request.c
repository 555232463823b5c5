#include "src/net/request.h"

#include <curl/curl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/json/write.h"
#include "engine/os/path.h"
#include "src/files/files.h"
#include "src/net/address.h"
#include "src/net/header.h"
#include "src/net/https.h"
#include "src/net/stream.h"

enum {
    MAX_REQUESTS = 16,
    MAX_BODY = 16 << 20,    /* of an answer that is no stream */
    MAX_REFUSAL = 64 << 10, /* of a failure's page: enough for what the server has to say */
    MAX_HEAD = 256 << 10,   /* libcurl older than 8.3 has no limit of its own */
    MAX_QUEUED = 4 << 20,   /* bytes that the chat has not taken: then the server is made to wait */
    CONNECT_SECONDS = 20,
    LONGEST_KEY = 4096,
    LONGEST_PATH = 1000,
    LONGEST_CODING = 40,
    MAX_OPEN = 64,
    LOOK_MS = 1000, /* how often connections are serviced while something is typed */
    PROBE_S = 5,
};

/* libcurl uses no connection again that has rested for 118 s. */
#define RESTS_NS INT64_C(100000000000)

/* After these TLS is in doubt. */
#define UNANSWERED_NS INT64_C(1500000000)

/* The id of requests that the chat did not ask for, and of which it gets no answer. */
#define UNASKED 0

typedef struct request {
    struct request *next;
    server *server;
    uint32_t id;
    CURL *curl;
    char *body; /* what is sent */
    bool stream, headed, cancelled, refused, paused;
    bool overlay; /* refused, since the server is on an overlay network */
    bool probe;   /* asks an https server by plain http, whether that is what it speaks */
    bool probed;  /* by such a request */
    uint32_t waiting; /* of a probe: the id of a request whose end waits for it, to be told with `why`; UNASKED: none */
    tdm_error why;
    int fd;       /* that was opened for it last; -1: it goes through a connection that stood */
    bool told;       /* the answer is a reply's stream, passed on value by value, whatever type the server gives it */
    int64_t began_ns;
    int retry_after; /* seconds; -1: not said */
    size_t got, head; /* bytes of the body, and before it */
    stream values;
    tdm_error error; /* code TDM_OK: none */
    char reason[CURL_ERROR_SIZE];
} request;

struct server {
    wire *wire;
    CURLM *multi;
    char *url; /* no slash at its end */
    bool secure;
    bool overlay; /* plain http may go to overlay networks, too */
    struct curl_slist *headers;
    request *requests;
    int open[MAX_OPEN]; /* sockets of connections, in use or not */
    int n_open;
    int64_t used_ns; /* when a request last ended */
    struct buffer ready; /* by which a connection is made ready ... */
    int64_t ready_until_ns;
    bool keeps_none; /* ... but not with a server that closes each */
    bool shares;     /* HTTP/2: a connection in use takes more requests */
    tdm_error error; /* why no request can be made; code TDM_OK: none */
};

/* ---- Telling ---------------------------------------------------------------------------------------------------- */

/* If the chat's end is gone, the main loop finds that out by reading as well. */
static tdm_status give_data(request *r, struct span bytes, tdm_error *err)
{
    return r->id == UNASKED ? TDM_OK : wire_put(r->server->wire, WIRE_DATA, r->id, bytes, err);
}

/* Takes over o. Without memory this program ends: the chat sees the closed pipe, and its requests fail. */
static void tell(server *s, wire_kind kind, uint32_t id, json_object *o)
{
    if (id == UNASKED)
        json_free(o);
    else if (wire_tell(s->wire, kind, id, o, NULL) == TDM_E_NOMEM)
        _exit(1);
}

static double milliseconds(CURL *curl, CURLINFO what)
{
    curl_off_t us = 0;
    curl_easy_getinfo(curl, what, &us);
    return (double)us / 1000;
}

static void tell_end(server *s, uint32_t id, CURL *curl, const char *error, bool overlay)
{
    json_object *o = json_new_object();
    if (error) json_add_string(o, "error", error);
    if (overlay) json_add_bool(o, "overlay", true);
    if (curl) {
        json_add_real(o, "connect_ms", milliseconds(curl, CURLINFO_CONNECT_TIME_T));
        json_add_real(o, "first_ms", milliseconds(curl, CURLINFO_STARTTRANSFER_TIME_T));
        json_add_real(o, "total_ms", milliseconds(curl, CURLINFO_TOTAL_TIME_T));
    }
    tell(s, WIRE_END, id, o);
}

static void tell_head(request *r)
{
    long status = 0;
    if (r->headed) return;
    r->headed = true;
    curl_easy_getinfo(r->curl, CURLINFO_RESPONSE_CODE, &status);
    r->refused = status != 200;
    r->told = r->stream && !r->refused;
    json_object *o = json_new_object();
    json_add_int(o, "status", status);
    if (r->retry_after >= 0) json_add_int(o, "retry_after_s", r->retry_after);
    tell(r->server, WIRE_HEAD, r->id, o);
}

/* ---- What libcurl calls ----------------------------------------------------------------------------------------- */

static tdm_status on_value(void *ctx, struct span value, tdm_error *err)
{
    request *r = ctx;
    return give_data(r, value, err);
}

static size_t on_body(char *bytes, size_t one, size_t n, void *ctx)
{
    request *r = ctx;
    (void)one;
    if (r->server->wire->out.n > MAX_QUEUED) {
        r->paused = true;
        return CURL_WRITEFUNC_PAUSE;
    }
    tell_head(r);
    if (r->told) return stream_read(&r->values, bytes, n, on_value, r, &r->error) ? 0 : n;
    size_t most = r->refused ? MAX_REFUSAL : MAX_BODY;
    if (r->got + n <= most) {
        if (give_data(r, (struct span){bytes, n}, &r->error)) return 0;
    } else if (!r->refused) {
        error_set(&r->error, TDM_E_FORMAT, "the server's answer has more than %d MiB", MAX_BODY >> 20);
        return 0;
    }
    r->got += n;
    return r->refused && r->got > MAX_BODY ? 0 : n;
}

static size_t on_header(char *line, size_t one, size_t n, void *ctx)
{
    request *r = ctx;
    struct span value;
    (void)one;
    if ((r->head += n) > MAX_HEAD) {
        error_set(&r->error, TDM_E_FORMAT, "the server's head has more than %d KiB", MAX_HEAD >> 10);
        return 0;
    }
    if (header_value(line, n, "Retry-After", &value)) r->retry_after = header_seconds(value);
    if (header_value(line, n, "Content-Encoding", &value) && value.length && !span_is(value, "identity")) {
        error_set(&r->error, TDM_E_FORMAT, "expected an answer as it is, found one that is compressed (%.*s)",
                  (int)(value.length < LONGEST_CODING ? value.length : LONGEST_CODING), value.bytes);
        return 0;
    }
    return n;
}

static bool is_plain(const request *r)
{
    return !r->server->secure || r->probe;
}

static curl_socket_t on_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *address)
{
    request *r = ctx;
    (void)purpose;
    address_reach reach = is_plain(r) ? address_reach_of(&address->addr) : ADDRESS_PRIVATE;
    r->overlay = reach == ADDRESS_OVERLAY && !r->server->overlay;
    if (reach == ADDRESS_PUBLIC || r->overlay) {
        error_set(&r->error, TDM_E_REFUSED, "%s",
                  r->overlay ? "plain http to another computer on an overlay network: nothing was sent"
                             : "plain http goes to this computer and private networks only; expected https for this "
                               "server");
        return CURL_SOCKET_BAD;
    }
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    r->fd = fd;
    if (fd >= 0 && r->server->n_open < MAX_OPEN) r->server->open[r->server->n_open++] = fd;
    return fd;
}

static int on_close(void *ctx, curl_socket_t fd)
{
    server *s = ctx;
    for (int i = 0; i < s->n_open; i++)
        if (s->open[i] == fd) s->open[i] = s->open[--s->n_open];
    return close(fd);
}

/* ---- One request ------------------------------------------------------------------------------------------------ */

static void request_free(request *r)
{
    if (r->curl) curl_multi_remove_handle(r->server->multi, r->curl);
    curl_easy_cleanup(r->curl);
    stream_free(&r->values);
    free(r->body);
    free(r);
}

static void unlink_request(request *r)
{
    for (request **at = &r->server->requests; *at; at = &(*at)->next) {
        if (*at != r) continue;
        *at = r->next;
        return;
    }
}

static void set_options(request *r, const char *url, bool post, size_t body, long silent_s)
{
    CURL *curl = r->curl;
    server *s = r->server;
    https_prepare(curl, "tandem-net/" TDM_VERSION, is_plain(r), !is_plain(r));
    https_limit(curl, CONNECT_SECONDS, silent_s);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    if (is_plain(r)) curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, r->reason);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, r);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, r);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, on_socket);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, r);
    curl_easy_setopt(curl, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    curl_easy_setopt(curl, CURLOPT_CLOSESOCKETDATA, s);
    curl_easy_setopt(curl, CURLOPT_PRIVATE, r);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, s->headers);
    if (post) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, r->body);
    }
}

/* The parts of a request's frame. */
static tdm_status begin(request *r, struct span bytes, tdm_error *err)
{
    server *s = r->server;
    if (s->error.code) {
        *err = s->error;
        return s->error.code;
    }
    const char *end = memchr(bytes.bytes, '\n', bytes.length);
    size_t line = end ? (size_t)(end - bytes.bytes) : bytes.length, body = end ? bytes.length - line - 1 : 0;
    json_object *o = NULL;
    tdm_status status = json_parse(&o, "the request", bytes.bytes, line, JSON_UTF8, err);
    if (status) return status;
    const char *method = json_text(o, "method", NULL), *path = json_text(o, "path", NULL);
    char *url = NULL;
    if (!method || !path || path[0] != '/' || strlen(path) > LONGEST_PATH || strpbrk(path, " \r\n\t"))
        status = error_set(err, TDM_E_ARG, "expected a request with a method and a path");
    else if (asprintf(&url, "%s%s", s->url, path) < 0 || !(r->body = malloc(body + 1)) || !(r->curl = curl_easy_init()))
        status = error_set(err, TDM_E_NOMEM, "no memory for a request");
    if (!status) {
        memcpy(r->body, end ? end + 1 : "", body);
        r->body[body] = 0;
        r->stream = json_flag(o, "stream", false);
        if (r->stream) s->ready_until_ns = 0; /* the reply that was awaited */
        set_options(r, url, !strcmp(method, "POST"), body, (long)json_int(o, "silent_s", 60));
        if (curl_multi_add_handle(s->multi, r->curl)) status = error_set(err, TDM_E_NOMEM, "no memory for a request");
    }
    free(url);
    json_free(o);
    return status;
}

void server_request(server *s, uint32_t id, struct span bytes)
{
    tdm_error err = {0};
    int running = 0;
    for (request *r = s->requests; r; r = r->next) running++;
    request *r = running < MAX_REQUESTS ? calloc(1, sizeof *r) : NULL;
    if (!r) {
        tell_end(s, id, NULL, running < MAX_REQUESTS ? "no memory for a request" : "too many requests at once", false);
        return;
    }
    *r = (request){.next = s->requests, .server = s, .id = id, .began_ns = clock_ns(), .retry_after = -1, .fd = -1};
    s->requests = r;
    if (begin(r, bytes, &err)) {
        tell_end(s, id, NULL, err.text, false);
        unlink_request(r);
        request_free(r);
    }
}

void server_cancel(server *s, uint32_t id)
{
    for (request *r = s->requests; r; r = r->next) {
        if (r->waiting == id && r->waiting != UNASKED) {
            r->waiting = UNASKED;
            tell_end(s, id, NULL, "given up", false);
            return;
        }
        if (r->id != id) continue;
        tell_end(s, id, r->curl, "given up", false);
        unlink_request(r);
        request_free(r); /* closes the connection, by which the server learns of it */
        return;
    }
}

/* Connections that neither have a request nor were closed by the other end, as far as that is known. */
static int waiting_connections(const server *s)
{
    int n = 0;
    struct pollfd fds[MAX_OPEN];
    for (int i = 0; i < s->n_open; i++) fds[i] = (struct pollfd){.fd = s->open[i], .events = POLLRDHUP};
    if (poll(fds, (nfds_t)s->n_open, 0) < 0) return 0;
    for (int i = 0; i < s->n_open; i++) n += !fds[i].revents;
    for (const request *r = s->requests; r && !s->shares; r = r->next) n--;
    return s->requests || clock_ns() - s->used_ns < RESTS_NS ? n : 0;
}

static void make_ready(server *s)
{
    for (const request *r = s->requests; r; r = r->next)
        if (r->id == UNASKED) return;
    if (!s->keeps_none && waiting_connections(s) < 1)
        server_request(s, UNASKED, (struct span){s->ready.bytes, s->ready.n});
}

void server_ready(server *s, uint32_t seconds, struct span bytes)
{
    int64_t until = clock_ns() + (int64_t)seconds * 1000000000;
    buffer_clear(&s->ready);
    if (buffer_append(&s->ready, bytes.bytes, bytes.length, NULL)) return;
    if (until > s->ready_until_ns) s->ready_until_ns = until;
    make_ready(s);
}

static bool leads_to_another_host(CURL *curl, tdm_error *err)
{
    long status = 0;
    char *to = NULL;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    if (status < 300 || status > 399) return false;
    curl_easy_getinfo(curl, CURLINFO_REDIRECT_URL, &to);
    error_set(err, TDM_E_REFUSED, "the server leads to %.200s, which was not named: nothing was sent there",
              to ? to : "nowhere");
    return true;
}

/* curl's own line names port and milliseconds, but not what to do. The caller names the host. */
static void nobody_answers(CURL *curl, tdm_error *err)
{
    long why = 0;
    curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &why);
    const char *reason = why ? strerror((int)why) : "no connection";
    error_set(err, TDM_E_IO, "no server answers there (%s); is it running?", reason);
}

/* What a TLS library says of bytes that are none of TLS: another name in each. */
static bool is_no_tls(const request *r, CURLcode code)
{
    static const char *const words[] = {"wrong version", "http request", "packet"};
    bool is = false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) is |= strcasestr(r->reason, words[i]) != NULL;
    return code == CURLE_SSL_CONNECT_ERROR && is;
}

static void speaks_plain(tdm_error *err)
{
    error_set(err, TDM_E_IO, "the server speaks plain http there, not https: expected http:// before its name");
}

static bool probe(server *s, uint32_t waiting, const char *why);
static void end_probe(request *r);

static void end_request(request *r, CURLcode code)
{
    if (r->probe) {
        end_probe(r);
        return;
    }
    /* Of several addresses of a name one may have been refused beside the one that answered. */
    tdm_error err = code ? r->error : (tdm_error){0};
    if (!err.code && is_no_tls(r, code)) speaks_plain(&err);
    if (!err.code && !code) leads_to_another_host(r->curl, &err);
    if (!err.code && code == CURLE_PARTIAL_FILE) error_set(&err, TDM_E_IO, "the connection was cut");
    if (!err.code && code == CURLE_OPERATION_TIMEDOUT && r->headed)
        error_set(&err, TDM_E_IO, "the server has fallen silent");
    if (!err.code && code == CURLE_COULDNT_CONNECT) nobody_answers(r->curl, &err);
    if (!err.code && code) error_set(&err, TDM_E_IO, "%s", r->reason[0] ? r->reason : curl_easy_strerror(code));
    if (!code) tell_head(r);
    if (!code && r->told && stream_end(&r->values, on_value, r, &err)) code = CURLE_WRITE_ERROR;
    server *s = r->server;
    bool doubtful = code == CURLE_SSL_CONNECT_ERROR && !is_no_tls(r, code) && r->id != UNASKED;
    if (doubtful && probe(s, r->id, err.text)) {
        unlink_request(r);
        request_free(r);
        return;
    }
    long version = 0;
    curl_easy_getinfo(r->curl, CURLINFO_HTTP_VERSION, &version);
    if (!code) s->shares = version >= CURL_HTTP_VERSION_2_0;
    bool made_ready = r->id == UNASKED && !code;
    s->used_ns = clock_ns();
    tell_end(s, r->id, r->curl, err.code ? err.text : NULL, err.code && r->overlay);
    unlink_request(r);
    request_free(r);
    if (made_ready) s->keeps_none = waiting_connections(s) < 1;
}

/* ---- Plain http behind https ------------------------------------------------------------------------------------- */

/* Connected, and the other end has not answered the first words of TLS. */
static bool is_unanswered(const request *r)
{
    struct sockaddr_storage other;
    socklen_t n = sizeof other;
    return !r->headed && r->fd >= 0 && milliseconds(r->curl, CURLINFO_APPCONNECT_TIME_T) <= 0 &&
           !getpeername(r->fd, (struct sockaddr *)&other, &n);
}

static void end_probe(request *r)
{
    server *s = r->server;
    uint32_t waiting = r->waiting;
    long status = 0;
    tdm_error err = r->why;
    curl_easy_getinfo(r->curl, CURLINFO_RESPONSE_CODE, &status);
    unlink_request(r);
    request_free(r);
    if (status) speaks_plain(&err);
    if (waiting != UNASKED) tell_end(s, waiting, NULL, err.text, false);
    if (!status) return;
    for (request *at = s->requests, *next; at; at = next) {
        next = at->next;
        if (!is_unanswered(at)) continue;
        tell_end(s, at->id, at->curl, err.text, false);
        unlink_request(at);
        request_free(at);
    }
}

/* Begins a request for a page without content, to nowhere but a private network. False: it could not begin. */
static bool probe(server *s, uint32_t waiting, const char *why)
{
    request *r = calloc(1, sizeof *r);
    char *url = NULL;
    if (!r) return false;
    *r = (request){.next = s->requests, .server = s, .id = UNASKED, .retry_after = -1, .fd = -1, .probe = true};
    r->waiting = waiting;
    error_set(&r->why, TDM_E_IO, "%s", why);
    s->requests = r;
    if (asprintf(&url, "http://%s/", s->url + strlen("https://")) < 0) url = NULL;
    bool begun = url && (r->curl = curl_easy_init());
    if (begun) {
        set_options(r, url, false, 0, PROBE_S);
        curl_easy_setopt(r->curl, CURLOPT_HTTPHEADER, NULL); /* nor with the key */
        curl_easy_setopt(r->curl, CURLOPT_TIMEOUT, (long)PROBE_S);
        begun = !curl_multi_add_handle(s->multi, r->curl);
    }
    free(url);
    if (begun) return true;
    unlink_request(r);
    request_free(r);
    return false;
}

/* A server of plain http that waits for more of a request which it can't read would be waited for until the time to
 * connect is over. True: there are requests to look after. */
static bool look_for_plain(server *s)
{
    bool waits = false, due = false;
    for (request *r = s->requests; r && s->secure; r = r->next) {
        if (r->probe || r->probed || r->headed) continue;
        waits = true;
        if (!is_unanswered(r) || clock_ns() - r->began_ns < UNANSWERED_NS) continue;
        r->probed = due = true;
    }
    if (due) probe(s, UNASKED, "");
    return waits;
}

/* ---- The server ------------------------------------------------------------------------------------------------- */

/* The key's line without white space at its ends, malloc'ed; NULL: none was named. */
static tdm_status read_key(json_object *o, char **key, tdm_error *err)
{
    const char *file = json_text(o, "key_file", NULL), *variable = json_text(o, "key_env", NULL);
    char *text = NULL;
    size_t n;
    *key = NULL;
    if (!file && !variable) return TDM_OK;
    if (file) {
        char *path = path_read(file, strlen(file), getenv("HOME"));
        tdm_status status = path ? files_read_text(path, LONGEST_KEY, &text, &n, err)
                                 : error_set(err, TDM_E_NOMEM, "no memory for a key");
        free(path);
        if (status) return status;
    } else if (!getenv(variable)) {
        return error_set(err, TDM_E_NOT_FOUND, "expected the server's key in $%s, which is not set", variable);
    } else if (!(text = strdup(getenv(variable)))) {
        return error_set(err, TDM_E_NOMEM, "no memory for a key");
    }
    char *from = text + strspn(text, " \t\r\n"), *end = from + strlen(from);
    while (end > from && strchr(" \t\r\n", end[-1])) *--end = 0;
    bool good = from < end;
    for (const char *c = from; c < end; c++) good &= *c > ' ' && *c <= '~';
    if (good) *key = strdup(from);
    free(text);
    return *key   ? TDM_OK
           : good ? error_set(err, TDM_E_NOMEM, "no memory for a key")
                  : error_set(err, TDM_E_FORMAT, "expected one word as the server's key in %s%s", file ? "" : "$",
                              file ? file : variable);
}

static tdm_status add_header(server *s, const char *line, tdm_error *err)
{
    struct curl_slist *more = curl_slist_append(s->headers, line);
    if (!more) return error_set(err, TDM_E_NOMEM, "no memory for a request");
    s->headers = more;
    return TDM_OK;
}

static tdm_status take_url(server *s, const char *text, tdm_error *err)
{
    CURLU *url = curl_url();
    char *scheme = NULL, *fragment = NULL;
    bool good = url && text && !curl_url_set(url, CURLUPART_URL, text, CURLU_DISALLOW_USER) &&
                !curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) &&
                (!strcmp(scheme, "http") || !strcmp(scheme, "https")) &&
                curl_url_get(url, CURLUPART_FRAGMENT, &fragment, 0) && !strchr(text, '?');
    s->secure = good && !strcmp(scheme, "https");
    curl_free(scheme);
    curl_free(fragment);
    curl_url_cleanup(url);
    if (!good)
        return error_set(err, TDM_E_ARG, "expected http://HOST:PORT or https://HOST, found %.200s", text ? text : "");
    if (!(s->url = strdup(text))) return error_set(err, TDM_E_NOMEM, "no memory for an address");
    for (size_t n = strlen(s->url); n && s->url[n - 1] == '/'; n--) s->url[n - 1] = 0;
    return TDM_OK;
}

static tdm_status take_server(server *s, json_object *o, tdm_error *err)
{
    char *key = NULL, *line = NULL;
    tdm_status status = take_url(s, json_text(o, "url", NULL), err);
    s->overlay = json_flag(o, "plain_http", false);
    if (!status) status = read_key(o, &key, err);
    if (!status) status = add_header(s, "Content-Type: application/json", err);
    if (!status) status = add_header(s, "Expect:", err); /* no round trip before a body */
    if (!status && key) {
        status = asprintf(&line, "Authorization: Bearer %s", key) < 0
                     ? error_set(err, TDM_E_NOMEM, "no memory for a key")
                     : add_header(s, line, err);
        free(line);
    }
    free(key);
    return status;
}

server *server_open(wire *w, json_object *o)
{
    server *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->wire = w;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) || !(s->multi = curl_multi_init()))
        error_set(&s->error, TDM_E_NOMEM, "libcurl can't begin"); /* requests fail with this line */
    else
        take_server(s, o, &s->error);
    return s;
}

void server_close(server *s)
{
    if (!s) return;
    while (s->requests) {
        request *r = s->requests;
        s->requests = r->next;
        request_free(r);
    }
    curl_multi_cleanup(s->multi);
    curl_slist_free_all(s->headers);
    buffer_free(&s->ready);
    free(s->url);
    free(s);
}

static void resume_paused(server *s)
{
    for (request *r = s->requests; r; r = r->next) {
        if (!r->paused) continue;
        r->paused = false;
        curl_easy_pause(r->curl, CURLPAUSE_CONT);
    }
}

bool server_run(server *s, wire *w)
{
    if (!s->multi) {
        poll(&(struct pollfd){.fd = w->fd, .events = POLLIN | (wire_waits(w) ? POLLOUT : 0)}, 1, -1);
        return !wire_flush(w, NULL);
    }
    struct curl_waitfd chat = {.fd = w->fd, .events = CURL_WAIT_POLLIN | (wire_waits(w) ? CURL_WAIT_POLLOUT : 0)};
    int running, left;
    if (curl_multi_perform(s->multi, &running)) return false;
    for (CURLMsg *m; (m = curl_multi_info_read(s->multi, &left));) {
        request *r = NULL;
        CURLcode code = m->data.result;
        if (m->msg != CURLMSG_DONE) continue;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&r);
        end_request(r, code);
    }
    if (wire_waits(w)) chat.events |= CURL_WAIT_POLLOUT;
    bool typing = clock_ns() < s->ready_until_ns, doubts = look_for_plain(s);
    if (curl_multi_poll(s->multi, &chat, 1, typing || doubts ? LOOK_MS : 60000, NULL)) return false;
    if (typing) make_ready(s);
    if (wire_waits(w)) wire_flush(w, NULL);
    if (w->out.n <= MAX_QUEUED / 2) resume_paused(s);
    return true;
}
