#include "src/pull/repository.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/base/error.h"
#include "engine/base/size.h"
#include "engine/json/json.h"
#include "src/io/output.h"

enum { LONGEST_COMPONENT = 255 };

/* 2^53: beyond, JSON numbers are not exact. */
static const uint64_t most_bytes = (uint64_t)1 << 53;

/* ---- Names ----------------------------------------------------------------------------------------------------- */

static bool component_is_safe(const char *name, size_t n)
{
    return n && n <= LONGEST_COMPONENT && !(n == 1 && name[0] == '.') && !(n == 2 && !memcmp(name, "..", 2));
}

bool repository_path_is_safe(const char *path, size_t n)
{
    char shown[3 * REPOSITORY_LONGEST_PATH + 16];
    output_held held = {0};
    if (n > REPOSITORY_LONGEST_PATH || memchr(path, '\\', n) || memchr(path, '\n', n) || memchr(path, '\t', n))
        return false;
    /* A terminal can show the path unchanged. */
    if (output_harmless(&held, path, n, shown) != n || memcmp(shown, path, n)) return false;
    for (size_t from = 0;;) {
        const char *slash = memchr(path + from, '/', n - from);
        size_t end = slash ? (size_t)(slash - path) : n;
        if (!component_is_safe(path + from, end - from)) return false;
        if (!slash) return true;
        from = end + 1;
    }
}

/* `digits` hexadecimal digits in lower case, as file names have them. */
static bool is_digest(const char *text, size_t n, size_t digits)
{
    return n == digits && strspn(text, "0123456789abcdef") == n;
}

/* ---- Answers --------------------------------------------------------------------------------------------------- */

tdm_status repository_take_revision(repository *r, const void *json, size_t n, const char *what, tdm_error *err)
{
    struct json_object *o, *gguf = NULL, *config = NULL;
    const char *commit = "", *name = NULL;
    size_t length = 0;
    tdm_status status = json_parse_object(&o, what, json, n, err);
    if (!status) status = json_get_string(o, "sha", &commit, &length, NULL, what, err);
    if (!status && !is_digest(commit, length, sizeof r->commit - 1))
        status = error_set(err, TDM_E_FORMAT, "%s: field sha: expected a commit of 40 hexadecimal digits", what);
    if (!status) status = json_get_object(o, "gguf", &gguf, NULL, what, err);
    if (!status) status = json_get_object(o, "config", &config, NULL, what, err);
    if (!status && config) status = json_get_string(config, "model_type", &name, NULL, NULL, what, err);
    if (!status && gguf) status = json_get_string(gguf, "architecture", &name, NULL, NULL, what, err);
    if (!status) {
        memcpy(r->commit, commit, sizeof r->commit);
        strncpy(r->architecture, name ? name : "", sizeof r->architecture - 1);
    }
    json_free(o);
    return status;
}

/* Size and digest of a file. */
static tdm_status take_content(repository_file *f, struct json_object *o, const char *what, tdm_error *err)
{
    struct json_object *lfs = NULL;
    const char *digest = "";
    size_t length = 0;
    bool sized = false;
    tdm_status status = json_get_object(o, "lfs", &lfs, NULL, what, err);
    struct json_object *of = lfs ? lfs : o;
    f->large = lfs != NULL;
    if (!status) status = json_get_u64(of, "size", 0, most_bytes, &f->size, &sized, what, err);
    if (!status && !sized) status = error_set(err, TDM_E_FORMAT, "%s: a file without a size", what);
    if (!status) status = json_get_string(of, "oid", &digest, &length, NULL, what, err);
    if (!status && !is_digest(digest, length, f->large ? 64 : 40))
        status = error_set(err, TDM_E_FORMAT, "%s: field %s: expected %d hexadecimal digits", what,
                           f->large ? "lfs.oid" : "oid", f->large ? 64 : 40);
    if (!status) memcpy(f->digest, digest, length + 1);
    return status;
}

static tdm_status add_file(repository *r, const repository_file *file, const char *path, const char *what,
                           tdm_error *err)
{
    if (r->n + r->left_out >= REPOSITORY_MAX_FILES)
        return error_set(err, TDM_E_FORMAT, "%s: expected at most %d files", what, REPOSITORY_MAX_FILES);
    if (!path) {
        r->left_out++;
        return TDM_OK;
    }
    if (r->n == r->room) {
        size_t room = r->room ? r->room * 2 : 64;
        repository_file *larger = realloc(r->files, room * sizeof *larger);
        if (!larger) return error_set(err, TDM_E_NOMEM, "out of memory");
        r->files = larger;
        r->room = room;
    }
    r->files[r->n] = *file;
    if (!(r->files[r->n].path = strdup(path))) return error_set(err, TDM_E_NOMEM, "out of memory");
    r->n++;
    return TDM_OK;
}

static tdm_status take_entry(repository *r, struct json_object *o, const char *what, tdm_error *err)
{
    const char *type = "", *path = NULL;
    size_t length = 0;
    repository_file file = {0};
    if (!json_is(o, JSON_OBJECT))
        return error_set(err, TDM_E_FORMAT, "%s: expected a list of objects, found another value", what);
    tdm_status status = json_get_string(o, "type", &type, NULL, NULL, what, err);
    if (status || strcmp(type, "file")) return status;
    status = json_get_string(o, "path", &path, &length, NULL, what, err);
    if (!status && !path) status = error_set(err, TDM_E_FORMAT, "%s: a file without a path", what);
    if (status) return status;
    bool safe = strlen(path) == length && repository_path_is_safe(path, length);
    if (safe) status = take_content(&file, o, what, err);
    return status ? status : add_file(r, &file, safe ? path : NULL, what, err);
}

tdm_status repository_take_files(repository *r, const void *json, size_t n, const char *what, tdm_error *err)
{
    struct json_object *list;
    tdm_status status = json_parse_array(&list, what, json, n, err);
    for (size_t i = 0; !status && i < json_length(list); i++) status = take_entry(r, json_at(list, i), what, err);
    json_free(list);
    return status;
}

static tdm_status add_weights(repository_index *index, const char *path, size_t n, const char *what, tdm_error *err)
{
    for (size_t i = index->n; i-- > 0;) /* tensors of a file come in runs */
        if (!strcmp(index->paths[i], path)) return TDM_OK;
    static const char suffix[] = ".safetensors";
    size_t end = sizeof suffix - 1;
    if (strlen(path) != n || n <= end || strcmp(path + n - end, suffix) || !repository_path_is_safe(path, n))
        return error_set(err, TDM_E_FORMAT, "%s: field weight_map: expected names of safetensors files, found '%.60s'",
                         what, path);
    if (index->n == REPOSITORY_MAX_WEIGHTS)
        return error_set(err, TDM_E_FORMAT, "%s: expected at most %d files", what, REPOSITORY_MAX_WEIGHTS);
    char **larger = realloc(index->paths, (index->n + 1) * sizeof *larger);
    if (!larger) return error_set(err, TDM_E_NOMEM, "out of memory");
    index->paths = larger;
    if (!(larger[index->n] = strdup(path))) return error_set(err, TDM_E_NOMEM, "out of memory");
    index->n++;
    return TDM_OK;
}

static void index_free(repository_index *index)
{
    for (size_t i = 0; i < index->n; i++) free(index->paths[i]);
    free(index->paths);
    *index = (repository_index){0};
}

static tdm_status take_weight_map(repository_index *index, struct json_object *map, const char *what, tdm_error *err)
{
    tdm_status status = TDM_OK;
    for (struct json_walk m = json_walk(map); !status && json_next(&m);) {
        struct span file = json_span_of(m.value);
        if (!file.bytes)
            return error_set(err, TDM_E_FORMAT, "%s: field weight_map: expected names of safetensors files", what);
        status = add_weights(index, file.bytes, file.length, what, err);
    }
    return status;
}

tdm_status repository_take_index(repository *r, const void *json, size_t n, const char *what, tdm_error *err)
{
    struct json_object *o, *map = NULL;
    repository_index index = {0};
    tdm_status status = json_parse_object(&o, what, json, n, err);
    if (!status) status = json_get_object(o, "weight_map", &map, NULL, what, err);
    if (!status && map) status = take_weight_map(&index, map, what, err);
    if (!status && !index.n) status = error_set(err, TDM_E_FORMAT, "%s: field weight_map: it names no file", what);
    json_free(o);
    if (status) {
        index_free(&index);
        return status;
    }
    index_free(&r->index);
    r->index = index;
    return TDM_OK;
}

void repository_free(repository *r)
{
    index_free(&r->index);
    for (size_t i = 0; i < r->n; i++) free(r->files[i].path);
    free(r->files);
    *r = (repository){0};
}

const repository_file *repository_find(const repository *r, const char *path)
{
    for (size_t i = 0; i < r->n; i++)
        if (!strcmp(r->files[i].path, path)) return &r->files[i];
    return NULL;
}

/* ---- Link: <https://.../tree/main?cursor=X>; rel="next", ... --------------------------------------------------- */

typedef struct {
    const char *at, *end;
} cursor;

static void skip_blanks(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t')) c->at++;
}

static bool take_char(cursor *c, char wanted)
{
    skip_blanks(c);
    if (c->at == c->end || *c->at != wanted) return false;
    c->at++;
    return true;
}

/* Up to one of the characters; what was passed. */
static cursor take_until(cursor *c, const char *ends)
{
    cursor taken = {c->at, c->at};
    while (c->at < c->end && !(*c->at && strchr(ends, *c->at))) c->at++;
    taken.end = c->at;
    return taken;
}

/* A parameter's value: a word, or a text in quotes (backslashes are left in: a rel has none). */
static cursor take_value(cursor *c)
{
    if (!take_char(c, '"')) return take_until(c, ";, \t");
    cursor value = {c->at, c->at};
    while (c->at < c->end && *c->at != '"') c->at += *c->at == '\\' && c->at + 1 < c->end ? 2 : 1;
    value.end = c->at;
    take_char(c, '"');
    return value;
}

/* Whether one of the words is "next". */
static bool names_next(cursor words)
{
    while (words.at < words.end) {
        skip_blanks(&words);
        cursor word = take_until(&words, " \t");
        if (word.end - word.at == 4 && !strncasecmp(word.at, "next", 4)) return true;
    }
    return false;
}

bool repository_next_page(const char *link, size_t n, char out[REPOSITORY_URL_ROOM])
{
    cursor c = {link, link + n};
    while (c.at < c.end) {
        if (!take_char(&c, '<')) return false;
        cursor target = take_until(&c, ">");
        bool next = false;
        if (!take_char(&c, '>')) return false;
        while (take_char(&c, ';')) {
            skip_blanks(&c);
            cursor name = take_until(&c, "=;, \t");
            if (!take_char(&c, '=')) continue;
            skip_blanks(&c);
            cursor value = take_value(&c);
            if (name.end - name.at == 3 && !strncasecmp(name.at, "rel", 3) && names_next(value)) next = true;
        }
        size_t length = (size_t)(target.end - target.at);
        if (next && length < REPOSITORY_URL_ROOM && !memchr(target.at, 0, length)) {
            memcpy(out, target.at, length);
            out[length] = 0;
            return length > 0;
        }
        if (!take_char(&c, ',')) return false;
    }
    return false;
}
