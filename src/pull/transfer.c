#include "src/pull/transfer.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/base/error.h"
#include "engine/os/starving.h"
#include "src/net/https.h"
#include "src/process/interrupt.h"
#include "src/pull/head.h"

enum {
    MAX_REDIRECTS = 10,
    MAX_FAILURES = 6,     /* in a row, none of which brought anything */
    LONGEST_WAIT = 300,   /* seconds that a server may ask for */
    CONNECT_SECONDS = 30, /* then a connection counts as cut */
    SILENT_SECONDS = 60,
    MAX_DROPPED = 1 << 20, /* bytes of a failure's page */
};

struct transfer {
    CURL *curl;
    CURLU *endpoint;
    struct curl_slist *with_token; /* NULL: no token */
    bool reached;                  /* a server has answered before */
    char reason[CURL_ERROR_SIZE];
    /* of the attempt under way: */
    const transfer_sink *sink;
    head head;
    bool headed; /* the sink has seen the head */
    size_t dropped;
    tdm_status status; /* the sink's failure, which *err explains */
    tdm_error *err;
};

static size_t on_header(char *line, size_t one, size_t n, void *ctx)
{
    transfer *t = ctx;
    (void)one;
    head_take(&t->head, line, n);
    return n;
}

/* ---- Bodies ---------------------------------------------------------------------------------------------------- */

static bool is_content(long status)
{
    return status == 200 || status == 206;
}

/* What the head alone doesn't tell: curl knows which of its lines count. */
static void take_framing(transfer *t)
{
    curl_off_t length = -1;
    long version = 0;
    transfer_reply *r = t->head.reply;
    curl_easy_getinfo(t->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    curl_easy_getinfo(t->curl, CURLINFO_HTTP_VERSION, &version);
    r->length = length;
    r->framed |= version >= CURL_HTTP_VERSION_2_0;
}

static bool give_head(transfer *t)
{
    if (t->headed) return true;
    t->headed = true;
    take_framing(t);
    t->status = t->sink->head(t->sink->ctx, t->head.reply, t->err);
    return !t->status;
}

static size_t take_body(transfer *t, const char *bytes, size_t n)
{
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &t->head.reply->status);
    if (!is_content(t->head.reply->status)) return (t->dropped += n) < MAX_DROPPED ? n : 0;
    if (!give_head(t)) return 0;
    t->status = t->sink->body(t->sink->ctx, bytes, n, t->err);
    return t->status ? 0 : n;
}

/* libcurl calls these: what is done in them is ours. */
static size_t on_body(char *bytes, size_t one, size_t n, void *ctx)
{
    (void)one;
    bool was = starving_watch(false);
    size_t taken = take_body(ctx, bytes, n);
    starving_watch(was);
    return taken;
}

static int on_progress(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    transfer *t = ctx;
    (void)a, (void)b, (void)c, (void)d;
    bool was = starving_watch(false);
    if (t->sink->tick) t->sink->tick(t->sink->ctx);
    starving_watch(was);
    return interrupt_seen();
}

/* ---- Addresses ------------------------------------------------------------------------------------------------- */

static char *part_of(CURLU *url, CURLUPart which)
{
    char *text = NULL;
    return curl_url_get(url, which, &text, CURLU_DEFAULT_PORT) ? NULL : text;
}

static bool same_part(CURLU *a, CURLU *b, CURLUPart which)
{
    char *x = part_of(a, which), *y = part_of(b, which);
    bool same = x && y && !strcasecmp(x, y);
    curl_free(x);
    curl_free(y);
    return same;
}

static bool has_scheme(CURLU *url, const char *name)
{
    char *scheme = part_of(url, CURLUPART_SCHEME);
    bool is = scheme && !strcasecmp(scheme, name);
    curl_free(scheme);
    return is;
}

static bool is_this_computer(CURLU *url)
{
    char *host = part_of(url, CURLUPART_HOST);
    bool is = host && (!strcmp(host, "127.0.0.1") || !strcmp(host, "[::1]") || !strcasecmp(host, "localhost"));
    curl_free(host);
    return is;
}

/* The address that `text` means on the page at `url`. */
static tdm_status go_to(CURLU *url, const char *text, tdm_error *err)
{
    bool secure = has_scheme(url, "https");
    CURLUcode code = curl_url_set(url, CURLUPART_URL, text, CURLU_DISALLOW_USER);
    if (code == CURLUE_OUT_OF_MEMORY) return error_set(err, TDM_E_NOMEM, "out of memory");
    if (code || !(has_scheme(url, "https") || has_scheme(url, "http")))
        return error_set(err, TDM_E_FORMAT, "expected an address of http or https, found %.200s", text);
    if (secure && !has_scheme(url, "https"))
        return error_set(err, TDM_E_FORMAT, "the server leads from https to http: %.200s", text);
    return TDM_OK;
}

/* ---- Attempts -------------------------------------------------------------------------------------------------- */

typedef enum { ATTEMPT_DONE, ATTEMPT_CUT, ATTEMPT_FAILED } attempt_end;

static bool is_cut(CURLcode code)
{
    switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return true;
    default:
        return false;
    }
}

/* One request, without redirects. */
static attempt_end request(transfer *t, CURLU *url, uint64_t from, tdm_error *err)
{
    char range[40];
    free(t->head.location);
    t->head.location = NULL;
    t->head.own = same_part(url, t->endpoint, CURLUPART_SCHEME) && same_part(url, t->endpoint, CURLUPART_HOST) &&
             same_part(url, t->endpoint, CURLUPART_PORT);
    t->head.after = -1;
    t->dropped = 0;
    t->reason[0] = 0;
    t->head.reply->ranged = t->head.reply->html = t->head.reply->framed = false;
    snprintf(range, sizeof range, "%llu-", (unsigned long long)from);
    curl_easy_setopt(t->curl, CURLOPT_RANGE, from ? range : NULL);
    curl_easy_setopt(t->curl, CURLOPT_CURLU, url);
    bool token = t->head.own && (has_scheme(url, "https") || is_this_computer(url));
    curl_easy_setopt(t->curl, CURLOPT_HTTPHEADER, token ? t->with_token : NULL);
    starving_watch(true);
    CURLcode code = curl_easy_perform(t->curl);
    starving_watch(false);
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &t->head.reply->status);
    if (t->status) return ATTEMPT_FAILED;
    if (interrupt_seen()) {
        error_set(err, TDM_E_CANCELLED, "interrupted");
        return ATTEMPT_FAILED;
    }
    if (t->head.reply->status) t->reached = true;
    if (!code || (t->dropped && !is_content(t->head.reply->status))) return ATTEMPT_DONE;
    char *host = part_of(url, CURLUPART_HOST);
    const char *reason = t->reason[0] ? t->reason : curl_easy_strerror(code);
    if (code == CURLE_PARTIAL_FILE) reason = "the connection was cut";
    error_set(err, TDM_E_IO, "%s: %s", host ? host : "?", reason);
    curl_free(host);
    /* A server that has never answered is not likely to do so in a moment. */
    return is_cut(code) && t->reached ? ATTEMPT_CUT : ATTEMPT_FAILED;
}

static bool is_redirect(long status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/* One attempt: a request and those that it is redirected to. */
static attempt_end attempt(transfer *t, const char *address, uint64_t from, tdm_error *err)
{
    CURLU *url = curl_url_dup(t->endpoint);
    attempt_end end = ATTEMPT_FAILED;
    t->status = TDM_OK;
    t->headed = t->head.linked = false;
    *t->head.reply = (transfer_reply){0};
    if (!url) {
        error_set(err, TDM_E_NOMEM, "out of memory");
    } else if (!go_to(url, address, err)) {
        for (int hop = 0;; hop++) {
            end = request(t, url, from, err);
            if (end != ATTEMPT_DONE || !is_redirect(t->head.reply->status)) break;
            end = ATTEMPT_FAILED;
            if (!t->head.location || hop == MAX_REDIRECTS) {
                error_set(err, TDM_E_FORMAT, "%s",
                          t->head.location ? "too many redirects" : "a redirect that leads nowhere");
                break;
            }
            if (go_to(url, t->head.location, err)) break;
        }
    }
    curl_url_cleanup(url);
    if (end == ATTEMPT_DONE && is_content(t->head.reply->status) && !give_head(t)) end = ATTEMPT_FAILED;
    if (end != ATTEMPT_DONE || !is_content(t->head.reply->status) || !t->sink->complete ||
        t->sink->complete(t->sink->ctx))
        return end;
    if (t->sink->short_body && t->sink->short_body(t->sink->ctx, t->head.reply, err)) return ATTEMPT_FAILED;
    error_set(err, TDM_E_IO, "the connection was cut");
    return ATTEMPT_CUT;
}

static bool is_busy(long status)
{
    return status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

tdm_status transfer_get(transfer *t, const char *url, const transfer_sink *sink, transfer_reply *reply, tdm_error *err)
{
    tdm_error own;
    if (!err) err = &own;
    t->sink = sink;
    t->head.reply = reply;
    t->err = err;
    uint64_t best = 0;
    for (int failures = 0;;) {
        uint64_t from = 0;
        tdm_status status = sink->begin(sink->ctx, &from, err);
        if (status) return status;
        if (from > best) best = from, failures = 0;
        attempt_end end = attempt(t, url, from, err);
        if (end == ATTEMPT_FAILED) return err->code;
        if (end == ATTEMPT_DONE && !is_busy(reply->status)) return TDM_OK;
        if (end == ATTEMPT_DONE)
            error_set(err, TDM_E_IO, "the server answers %ld%s", reply->status,
                      reply->status == 429 ? ": too many requests" : "");
        int seconds = end == ATTEMPT_DONE && t->head.after >= 0 ? (t->head.after ? t->head.after : 1) : 1 << failures;
        if (seconds > LONGEST_WAIT)
            return error_set(err, TDM_E_IO, "the server answers %ld and asks to be left alone for %d s", reply->status,
                             seconds);
        if (++failures == MAX_FAILURES) return err->code;
        sink->again(sink->ctx, err->text, seconds);
        if (!interrupt_pause(seconds * 1000)) return error_set(err, TDM_E_CANCELLED, "interrupted");
    }
}

/* ---- Opening --------------------------------------------------------------------------------------------------- */

static tdm_status take_token(transfer *t, const char *token, tdm_error *err)
{
    char *line;
    for (const char *c = token; *c; c++)
        if (*c <= ' ' || *c > '~')
            return error_set(err, TDM_E_ARG, "the access token holds more than letters and digits");
    if (asprintf(&line, "Authorization: Bearer %s", token) < 0) return error_set(err, TDM_E_NOMEM, "out of memory");
    t->with_token = curl_slist_append(NULL, line);
    free(line);
    return t->with_token ? TDM_OK : error_set(err, TDM_E_NOMEM, "out of memory");
}

static void set_options(transfer *t)
{
    CURL *curl = t->curl;
    https_prepare(curl, "tandem-pull/" TDM_VERSION, true, true);
    https_limit(curl, CONNECT_SECONDS, SILENT_SECONDS);
    curl_easy_setopt(curl, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, t->reason);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, t);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
}

static bool begin(transfer *t)
{
    starving_watch(true);
    bool able = !curl_global_init(CURL_GLOBAL_DEFAULT) && (t->curl = curl_easy_init()) && (t->endpoint = curl_url());
    starving_watch(false);
    return able;
}

tdm_status transfer_open(transfer **out, const char *endpoint, const char *token, tdm_error *err)
{
    transfer *t = calloc(1, sizeof *t);
    tdm_status status = TDM_OK;
    *out = NULL;
    if (!t || !begin(t)) {
        status = error_set(err, TDM_E_NOMEM, "libcurl can't begin");
    } else {
        status = go_to(t->endpoint, endpoint, err);
        if (!status && token) status = take_token(t, token, err);
    }
    if (status) {
        transfer_close(t);
        return status;
    }
    set_options(t);
    *out = t;
    return TDM_OK;
}

void transfer_close(transfer *t)
{
    if (!t) return;
    curl_slist_free_all(t->with_token);
    curl_url_cleanup(t->endpoint);
    curl_easy_cleanup(t->curl);
    free(t->head.location);
    free(t);
}

/* ---- Web pages ------------------------------------------------------------------------------------------------- */

bool transfer_page_begins(const void *bytes, size_t n)
{
    static const char *const openings[] = {"<!doctype html", "<html", "<head"};
    const char *at = bytes, *end = at + n;
    if (n >= 3 && !memcmp(at, "\357\273\277", 3)) at += 3;
    while (at < end && *at && strchr(" \t\r\n", *at)) at++;
    for (size_t i = 0; i < sizeof openings / sizeof *openings; i++) {
        size_t length = strlen(openings[i]);
        if ((size_t)(end - at) >= length && !strncasecmp(at, openings[i], length)) return true;
    }
    return false;
}

tdm_status transfer_page_came(const char *what, tdm_error *err)
{
    return error_set(err, TDM_E_IO, "%s: a web page came: sign-in or proxy?", what);
}
