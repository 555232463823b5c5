/* The program `tandem-pull`, which `tandem pull` runs: the one part of Tandem that opens connections. It says what it
 * takes and why, fetches it into the hub cache, and reads nothing that was written in a conversation.
 *
 *     tandem-pull OWNER/NAME[:TAG] [--no-vision] [--dry-run] [--json]
 *
 * Exit status: 0 all is there, 1 something failed, 2 wrong use. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "engine/base/memory.h"
#include "engine/json/write.h"
#include "engine/model/schema/schema.h"
#include "engine/os/start.h"
#include "src/cli/program.h"
#include "src/cli/subcommands.h"
#include "src/files/files.h"
#include "src/hub/environment.h"
#include "src/io/frames.h"
#include "src/io/number.h"
#include "src/io/output.h"
#include "src/net/confine.h"
#include "src/net/https.h"
#include "src/process/crash.h"
#include "src/process/interrupt.h"
#include "src/pull/choose.h"
#include "src/pull/download.h"
#include "src/pull/transfer.h"

enum { MAX_PAGES = 200, LONGEST_TOKEN = 4096 };

/* Left free on the disk, whatever is fetched. */
static const uint64_t disk_spare = 64 << 20;

typedef struct {
    struct hub_name name;
    char *endpoint;  /* without a slash at its end */
    char *token;     /* NULL: none */
    const char *hub; /* the cache */
    transfer *transfer;
    repository repository;
    choice choice;
    cache cache;
    uint64_t memory;
    bool no_vision, dry, json;
} pull;

/* ---- Before anything is asked ---------------------------------------------------------------------------------- */

/* *out stays NULL where nothing is left of the text. */
static tdm_status copy_trimmed(char **out, const char *text, const char *unwanted, tdm_error *err)
{
    *out = NULL;
    text += strspn(text, unwanted);
    size_t n = strlen(text);
    while (n && strchr(unwanted, text[n - 1])) n--;
    if (!n || (*out = strndup(text, n))) return TDM_OK;
    return error_set(err, TDM_E_NOMEM, "out of memory");
}

/* The token of the environment, else the one that a login has stored. */
static tdm_status find_token(char **out, tdm_error *err)
{
    static const char blanks[] = " \t\r\n";
    const char *given = hub_token(), *path = hub_token_file();
    char *text = NULL;
    size_t n;
    tdm_status status = copy_trimmed(out, given ? given : "", blanks, err);
    if (status || *out || !path || access(path, F_OK)) return status;
    status = files_read_text(path, LONGEST_TOKEN, &text, &n, err);
    if (!status) status = copy_trimmed(out, text, blanks, err);
    free(text);
    return status;
}

static tdm_status prepare(pull *p, const char *name, tdm_error *err)
{
    const char *endpoint = getenv("HF_ENDPOINT"), *offline = hub_offline();
    if (!hub_name_parse(&p->name, name))
        return error_set(err, TDM_E_ARG, "expected OWNER/NAME or OWNER/NAME:TAG, found '%.120s'", name);
    if (offline) return error_set(err, TDM_E_ARG, "%s is set: nothing is fetched", offline);
    tdm_status status =
        copy_trimmed(&p->endpoint, endpoint && endpoint[0] ? endpoint : "https://huggingface.co", "/ ", err);
    if (status) return status;
    if (!p->endpoint) return error_set(err, TDM_E_ARG, "HF_ENDPOINT: expected an address, found '%s'", endpoint);
    p->hub = hub_caches()[0];
    if (!p->hub) return error_set(err, TDM_E_IO, "no folder for the cache: set HOME or HF_HOME");
    p->memory = memory_total();
    status = find_token(&p->token, err);
    if (!status) status = cache_open(&p->cache, p->hub, p->name.repository, err);
    if (!status) status = transfer_open(&p->transfer, p->endpoint, p->token, err);
    return status;
}

/* From here on the kernel lets the program write only to the cache's folders: to those that exist, or to the folder in
 * which the first would be made. With --dry-run it may write nowhere. */
static tdm_status confine(const pull *p, tdm_error *err)
{
    const char *certificates[HTTPS_CERTIFICATES];
    char *folders[CACHE_FOLDERS + 1] = {NULL};
    if (!p->dry && !cache_folders(&p->cache, folders)) return error_set(err, TDM_E_NOMEM, "out of memory");
    https_certificates(certificates);
    confine_files((const char *const *)folders, certificates);
    for (char **at = folders; *at; at++) free(*at);
    return TDM_OK;
}

static void finish(pull *p)
{
    choose_free(&p->choice);
    repository_free(&p->repository);
    transfer_close(p->transfer);
    cache_close(&p->cache);
    free(p->endpoint);
    free(p->token);
}

/* ---- What the hub says ----------------------------------------------------------------------------------------- */

typedef struct {
    struct buffer text;
    const char *what;
} answer;

static tdm_status answer_begin(void *ctx, uint64_t *from, tdm_error *err)
{
    answer *a = ctx;
    (void)err;
    *from = 0;
    buffer_clear(&a->text);
    return TDM_OK;
}

static tdm_status answer_head(void *ctx, const transfer_reply *reply, tdm_error *err)
{
    const answer *a = ctx;
    return reply->html ? transfer_page_came(a->what, err) : TDM_OK;
}

static tdm_status answer_body(void *ctx, const void *bytes, size_t n, tdm_error *err)
{
    answer *a = ctx;
    if (n > JSON_LIMIT - a->text.n)
        return error_set(err, TDM_E_FORMAT, "%s: expected at most %d bytes", a->what, JSON_LIMIT);
    return buffer_append(&a->text, bytes, n, err);
}

static void answer_again(void *ctx, const char *why, int seconds)
{
    (void)ctx;
    output_note("%s; again in %d s", why, seconds);
}

/* The line for a refusal. */
static tdm_status refused(const pull *p, long status, const char *message, tdm_error *err)
{
    const char *name = p->name.repository;
    switch (status) {
    case 401:
        if (p->token)
            return error_set(err, TDM_E_NOT_FOUND, "%s: not there, or your access token does not reach it", name);
        return error_set(err, TDM_E_NOT_FOUND, "%s: not there, or it needs an access token (HF_TOKEN)", name);
    case 403:
        return error_set(err, TDM_E_NOT_FOUND, "%s: access is restricted; its page says how to get it: %s/%s", name,
                         p->endpoint, name);
    case 404:
        return error_set(err, TDM_E_NOT_FOUND, "%s: not found at %s", name, p->endpoint);
    default:
        return error_set(err, TDM_E_IO, "%s: the server answers %ld%s%s", name, status, message[0] ? ": " : "",
                         message);
    }
}

typedef tdm_status (*take)(repository *r, const void *json, size_t n, const char *what, tdm_error *err);

/* Fetches one page and takes it apart; next: REPOSITORY_URL_ROOM bytes, "" after the last page. */
static tdm_status ask(pull *p, const char *url, const char *what, take its, char *next, tdm_error *err)
{
    answer got = {.what = what};
    transfer_sink sink = {
        .ctx = &got, .begin = answer_begin, .head = answer_head, .body = answer_body, .again = answer_again};
    transfer_reply reply;
    tdm_status status = transfer_get(p->transfer, url, &sink, &reply, err);
    if (!status && reply.status != 200) status = refused(p, reply.status, reply.message, err);
    if (!status && transfer_page_begins(got.text.bytes, got.text.n)) status = transfer_page_came(what, err);
    if (!status) status = its(&p->repository, got.text.bytes, got.text.n, what, err);
    if (!status) strcpy(next, reply.next);
    buffer_free(&got.text);
    return status;
}

static tdm_status look_up(pull *p, tdm_error *err)
{
    char *url = NULL, next[REPOSITORY_URL_ROOM] = "";
    tdm_status status = TDM_OK;
    if (asprintf(&url, "%s/api/models/%s/revision/main", p->endpoint, p->name.repository) < 0) url = NULL;
    status = url ? ask(p, url, "the hub's revision", repository_take_revision, next, err)
                 : error_set(err, TDM_E_NOMEM, "out of memory");
    free(url);
    if (status) return status;
    const char *of = p->repository.commit;
    if (asprintf(&url, "%s/api/models/%s/tree/%s?recursive=true", p->endpoint, p->name.repository, of) < 0)
        return error_set(err, TDM_E_NOMEM, "out of memory");
    status = ask(p, url, "the hub's list of files", repository_take_files, next, err);
    free(url);
    for (int pages = 1; !status && next[0]; pages++) {
        char at[REPOSITORY_URL_ROOM];
        strcpy(at, next);
        status = pages < MAX_PAGES ? ask(p, at, "the hub's list of files", repository_take_files, next, err)
                                   : error_set(err, TDM_E_FORMAT, "the hub's list of files has no end");
    }
    return status;
}

/* Which files are the model's. A damaged index counts for nothing where there is a whole file beside it, as when the
 * model is loaded. */
static tdm_status look_at_index(pull *p, tdm_error *err)
{
    const repository_file *index = p->name.tag[0] ? NULL : choose_index(&p->repository);
    char *url, next[REPOSITORY_URL_ROOM] = "";
    if (!index) return TDM_OK;
    if (asprintf(&url, "%s/%s/resolve/%s/%s", p->endpoint, p->name.repository, p->repository.commit, index->path) < 0)
        return error_set(err, TDM_E_NOMEM, "out of memory");
    tdm_status status = ask(p, url, index->path, repository_take_index, next, err);
    free(url);
    if (status != TDM_E_FORMAT || !choose_whole(&p->repository)) return status;
    output_note("left out, since there is a %s: %s", choose_whole(&p->repository)->path, err->text);
    return TDM_OK;
}

/* Refuses a model that the engine can't run, before it is downloaded. */
static tdm_status check_architecture(const pull *p, tdm_error *err)
{
    const char *name = p->repository.architecture;
    const struct span word = span_text(name);
    char known[SCHEMA_NAMES_ROOM];
    if (!name[0] || schema_find(SCHEMA_GGUF, word) || schema_find(SCHEMA_HF, word) || schema_is_outer(word))
        return TDM_OK;
    schema_names(SCHEMA_GGUF, known, sizeof known);
    return error_set(err, TDM_E_UNSUPPORTED, "%s: its architecture is %s; Tandem runs %s", p->name.repository, name,
                     known);
}

/* ---- What is taken --------------------------------------------------------------------------------------------- */

/* The host's name in an address. */
static int host_of(const char *endpoint, const char **out)
{
    const char *colon = strstr(endpoint, "://");
    *out = colon ? colon + 3 : endpoint;
    return (int)strcspn(*out, "/");
}

static void say_plan(const pull *p, uint64_t missing, uint64_t free_bytes)
{
    char total[BYTES_ROOM], size[BYTES_ROOM], memory[BYTES_ROOM];
    const choice *c = &p->choice;
    const char *host;
    int host_length = host_of(p->endpoint, &host);
    output_print("%s from %.*s\n", p->name.repository, host_length, host);
    output_print("takes %s%s%s: %s\n", c->tag, c->tag[0] ? ", " : "", bytes_words(total, c->bytes), c->reason);
    for (size_t i = 0; i < c->n; i++)
        output_print("  %9s  %s\n", bytes_words(size, c->files[i]->size), c->files[i]->path);
    if (c->projector)
        output_print("it sees pictures with %s (%s); --no-vision leaves that out\n", c->projector->path,
                     bytes_words(size, c->projector->size));
    if (!c->fits)
        output_print("it may not fit: this computer has %s of memory, less 3 GB for the rest\n",
                     bytes_words(memory, p->memory));
    if (p->repository.left_out)
        output_print(p->repository.left_out == 1
                         ? "a file of the repository is left out: its name is not safe\n"
                         : "%zu files of the repository are left out: their names are not safe\n",
                     p->repository.left_out);
    output_print("into %s", p->hub);
    if (free_bytes != UINT64_MAX) output_print(", %s free", bytes_words(size, free_bytes));
    if (missing < c->bytes)
        output_print("; %s of it %s here already", bytes_words(size, c->bytes - missing),
                     missing ? "are" : "(all) are");
    output_print("\n");
    output_flush();
}

static tdm_status check_space(const pull *p, uint64_t missing, uint64_t free_bytes, tdm_error *err)
{
    char need[BYTES_ROOM], there[BYTES_ROOM];
    if (!missing || free_bytes == UINT64_MAX || (free_bytes > disk_spare && missing <= free_bytes - disk_spare))
        return TDM_OK;
    return error_set(err, TDM_E_IO,
                     "%s: the disk is too small: %s are needed, %s are free (HF_HUB_CACHE names another folder)",
                     p->hub, bytes_words(need, missing), bytes_words(there, free_bytes));
}

/* The same for a program. */
static void tell_plan(const pull *p, uint64_t missing, uint64_t free_bytes)
{
    const choice *c = &p->choice;
    json_object *o = json_new_object();
    const char *host;
    int host_length = host_of(p->endpoint, &host);
    json_add_string(o, "event", "plan");
    json_add_string(o, "repository", p->name.repository);
    json_add_string(o, "tag", c->tag);
    json_add_text(o, "host", host, (size_t)host_length);
    json_add_string(o, "reason", c->reason);
    json_add_int(o, "files", (int64_t)c->n);
    json_add_int(o, "bytes", (int64_t)c->bytes);
    if (c->projector) json_add_int(o, "projector_bytes", (int64_t)c->projector->size);
    json_add_int(o, "missing_bytes", (int64_t)missing);
    if (free_bytes != UINT64_MAX) json_add_int(o, "free_bytes", (int64_t)free_bytes);
    json_add_bool(o, "fits_memory", c->fits);
    json_add_string(o, "folder", p->hub);
    frames_print(o);
    output_flush();
}

/* Every file, then its link; refs/main comes last, so that it never names what isn't there. */
static tdm_status fetch(pull *p, progress *bar, const uint64_t *present, tdm_error *err)
{
    char *url = NULL;
    digest *digests = digest_new();
    const char *commit = p->repository.commit;
    if (asprintf(&url, "%s/%s/resolve/%s", p->endpoint, p->name.repository, commit) < 0) url = NULL;
    tdm_status status = url && digests ? cache_make(&p->cache, err) : error_set(err, TDM_E_NOMEM, "out of memory");
    if (!status) status = confine(p, err); /* again: now these folders are there */
    download d = {p->transfer, &p->cache, digests, bar, url};
    for (size_t i = 0; !status && i < p->choice.n; i++) {
        long denied = 0;
        status = download_file(&d, p->choice.files[i], present[i], &denied, err);
        if (denied) status = refused(p, denied, "", err);
        if (!status) status = cache_link(&p->cache, commit, p->choice.files[i]->path, p->choice.files[i]->digest, err);
    }
    if (!status) status = cache_set_main(&p->cache, commit, err);
    digest_free(digests);
    free(url);
    return status;
}

static tdm_status take_all(pull *p, tdm_error *err)
{
    uint64_t done = 0, *present = calloc(p->choice.n + 1, sizeof *present);
    if (!present) return error_set(err, TDM_E_NOMEM, "out of memory");
    for (size_t i = 0; i < p->choice.n; i++) {
        const repository_file *f = p->choice.files[i];
        done += present[i] = cache_present(&p->cache, f->digest, f->size);
    }
    uint64_t missing = p->choice.bytes - done, free_bytes = cache_free_space(&p->cache);
    (p->json ? tell_plan : say_plan)(p, missing, free_bytes);
    tdm_status status = check_space(p, missing, free_bytes, err);
    if (!status && !p->dry) {
        progress bar;
        progress_begin(&bar, p->choice.bytes, done, p->json);
        status = fetch(p, &bar, present, err);
        progress_end(&bar);
    }
    free(present);
    if (status || p->dry) return status;
    char name[HUB_REPOSITORY_ROOM + HUB_TAG_ROOM];
    snprintf(name, sizeof name, "%s%s%s", p->name.repository, p->choice.tag[0] ? ":" : "", p->choice.tag);
    if (p->json) progress_event("done", name);
    else output_print("done: tandem -m %s\n", name);
    return status;
}

static int run(const char *name, const options *o)
{
    pull p = {.no_vision = options_flag(o, OPTION_NO_VISION),
              .dry = options_flag(o, OPTION_DRY_RUN),
              .json = options_flag(o, OPTION_JSON)};
    tdm_error err = {0};
    interrupt_catch();
    crash_catch();
    tdm_status status = prepare(&p, name, &err);
    if (!status) status = confine(&p, &err);
    if (!status) status = look_up(&p, &err);
    if (!status) status = check_architecture(&p, &err);
    if (!status) status = look_at_index(&p, &err);
    if (!status) status = choose(&p.choice, &p.repository, &(choice_wish){p.name.tag, p.memory, !p.no_vision}, &err);
    if (!status) status = take_all(&p, &err);
    finish(&p);
    output_flush();
    if (status && p.json) progress_event(status == TDM_E_CANCELLED ? "stopped" : "error", err.text);
    if (status == TDM_E_CANCELLED)
        output_note("tandem pull: interrupted; the same command goes on from here");
    else if (status)
        output_note("tandem pull: %s", err.text);
    return status == TDM_E_ARG ? 2 : status ? 1 : 0;
}

static int pull_main(options *o)
{
    if (o->n_arguments != 1) return subcommands_usage(o, "expected OWNER/NAME[:TAG]; 'tandem pull --help' explains");
    return run(o->arguments[0], o);
}

int main(int argc, char **argv)
{
    start_standard();
    confine_process();
    return program_main_of(COMMAND_PULL, pull_main, argc, argv);
}
