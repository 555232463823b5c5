#include "src/attach/attach.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clean.h"
#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "src/attach/capture.h"
#include "src/attach/kind.h"
#include "src/image/address.h"
#include "src/image/image.h"
#include "src/io/clip.h"
#include "src/io/output.h"
#include "ui/edit/path_word.h"

/* ---- One attachment --------------------------------------------------------------------------------------------- */

void attach_release(attachment *one)
{
    free(one->path);
    free(one->name);
    free(one->text);
    free(one->files);
    for (int i = 0; i < one->n_pictures; i++) tdm_picture_drop(one->pictures[i].seen);
    free(one->pictures);
    *one = (attachment){0};
}

tdm_status attach_text(attachment *out, attach_kind kind, const char *path, const char *name, const char *text,
                       size_t n, tdm_error *err)
{
    *out = (attachment){.kind = kind, .path = strdup(path), .name = strdup(name), .text = malloc(3 * n + 1),
                        .tokens = -1};
    if (!out->path || !out->name || !out->text) {
        attach_release(out);
        return error_set(err, TDM_E_NOMEM, "%s: no memory to attach it", path);
    }
    out->length = utf8_mend(text, n, out->text);
    out->text[out->length] = 0;
    return TDM_OK;
}

tdm_status attach_read(attachment *out, const char *path, bool (*stop)(void *ctx), void *ctx, char note[100],
                       tdm_error *err)
{
    attach_found found;
    tdm_status status = attach_find(&found, path, stop, ctx, err);
    snprintf(note, 100, "%s", found.left_out);
    const char *text = found.text.n ? found.text.bytes : "";
    if (!status) status = attach_text(out, ATTACH_FILE, path, found.name, text, found.text.n, err);
    if (!status) {
        out->pictures = found.pictures;
        out->n_pictures = found.n_pictures;
        found.pictures = NULL;
        found.n_pictures = 0;
        out->files = found.files.bytes;
        out->files_length = found.files.n;
        found.files = (struct buffer){0};
        out->mark = found.mark;
    }
    attach_found_free(&found);
    return status;
}

/* The name "$ git diff", or "$ make (status 2)"; and a note for the reader if the output is incomplete or the command
 * failed. */
static tdm_status take_output(attachment *out, const char *command, const capture *c, const char *note, tdm_error *err)
{
    enum { SHOWN = 60 };
    char name[SHOWN + 30], shown[SHOWN], *text;
    attach_name(shown, sizeof shown, command);
    if (c->exit && !c->cut && !c->late) snprintf(name, sizeof name, "$ %s (status %d)", shown, c->exit);
    else snprintf(name, sizeof name, "$ %s", shown);
    size_t end = c->text.n;
    while (end && c->text.bytes[end - 1] == '\n') end--;
    int n = asprintf(&text, "$ %s\n\n%.*s\n\n%s%s%s", command, (int)end, c->text.n ? c->text.bytes : "",
                     *note ? "(" : "", note, *note ? ")\n\n" : "");
    if (n < 0) return error_set(err, TDM_E_NOMEM, "out of memory");
    tdm_status status = attach_text(out, ATTACH_COMMAND, command, name, text, (size_t)n, err);
    free(text);
    return status;
}

tdm_status attach_run(attachment *out, const char *command, bool (*stop)(void *ctx), void *ctx, char note[100],
                      tdm_error *err)
{
    capture c;
    tdm_status status = capture_run(&c, command, stop, ctx, err);
    note[0] = 0;
    if (c.cut) snprintf(note, 100, "cut off after %d bytes", CAPTURE_BYTES);
    else if (c.late) snprintf(note, 100, "stopped after %d seconds", CAPTURE_SECONDS);
    else if (c.exit) snprintf(note, 100, "exit status %d", c.exit);
    if (!status) status = take_output(out, command, &c, note, err);
    if (!c.cut && !c.late) note[0] = 0; /* the name has the status */
    capture_free(&c);
    return status;
}

tdm_status attach_picture(attachment *out, attach_kind kind, const char *path, const picture *p, tdm_picture *seen,
                          tdm_error *err)
{
    tdm_status status = attach_text(out, kind, path, p->name, "", 0, err);
    if (status) return status;
    if (!(out->pictures = malloc(sizeof *out->pictures))) {
        attach_release(out);
        return error_set(err, TDM_E_NOMEM, "%s: no memory to attach it", path);
    }
    out->pictures[out->n_pictures++] = (attached_picture){p, tdm_picture_hold(seen), 0};
    return TDM_OK;
}

/* A picture of the clipboard, known by what it shows: a second one doesn't take its place. Takes the bytes over. */
static tdm_status pasted(attachment *out, char *bytes, size_t n, bool (*stop)(void *ctx), void *ctx, tdm_error *err)
{
    const picture *p;
    tdm_picture *seen;
    char path[PICTURE_KEY + 16];
    tdm_status status = picture_take(&p, &seen, bytes, n, "clipboard", stop, ctx, err);
    if (status) return status;
    snprintf(path, sizeof path, "clipboard %s", p->key);
    status = attach_picture(out, ATTACH_CLIPBOARD, path, p, seen, err);
    tdm_picture_drop(seen);
    return status;
}

tdm_status attach_paste(attachment *out, bool (*stop)(void *ctx), void *ctx, tdm_error *err)
{
    char *bytes;
    size_t n;
    tdm_status status = clip_paste_picture(IMAGE_BYTES, &bytes, &n, err);
    return status ? status : pasted(out, bytes, n, stop, ctx, err);
}

tdm_status attach_count(attachment *one, const tdm_model *model, uint32_t most_tokens, tdm_error *err)
{
    enum { MARKS = 2, SIDE = 32 }; /* before a picture and behind it; pixels of a token of an unknown model */
    tdm_model_info info;
    tdm_ids ids = {0};
    tdm_picture_fit fit;
    tdm_error inner;
    tdm_status status = tdm_tokenize(model, one->text, one->length, false, &ids, err);
    size_t tokens = ids.n;
    for (int i = 0; !status && i < one->n_pictures; i++) {
        const picture *p = one->pictures[i].picture;
        tdm_model_describe(model, &info);
        if (info.on_server)
            fit.tokens = (p->width + SIDE - 1) / SIDE * ((p->height + SIDE - 1) / SIDE);
        else if ((status = picture_fit(model, one->pictures[i].seen, most_tokens, &fit, &inner)))
            error_set(err, status, "%s: %s", p->name, inner.text);
        if (!status) tokens += fit.tokens + MARKS;
    }
    if (!status) one->tokens = tokens < INT32_MAX ? (int)tokens : INT32_MAX;
    tdm_ids_free(&ids);
    return status;
}

/* ---- All of them ------------------------------------------------------------------------------------------------ */

int attach_place(const attachments *a, const char *path)
{
    for (int i = 0; i < a->n; i++)
        if (!strcmp(a->all[i].path, path)) return i;
    return -1;
}

tdm_status attach_add(attachments *a, attachment *one, int *place, tdm_error *err)
{
    int at = attach_place(a, one->path);
    bool replaces = at >= 0 && a->all[at].kind == one->kind;
    size_t others = attach_length(a) - (replaces ? a->all[at].length : 0);
    tdm_status status = TDM_OK;
    if (!replaces) at = a->n;
    if (at >= ATTACH_MAX)
        status = error_set(err, TDM_E_ARG, "%s: %d attachments are there, which is the most", one->path, ATTACH_MAX);
    else if (others + one->length > 3 * (size_t)ATTACH_BYTES || (others && others + one->length > ATTACH_BYTES))
        status = error_set(err, TDM_E_FORMAT, "%s: %zu bytes beside what is attached, expected at most %d", one->path,
                           others + one->length, ATTACH_BYTES);
    else status = attach_reserve(a, !replaces, err);
    if (status) {
        attach_release(one);
        return status;
    }
    if (replaces) {
        one->of_draft &= a->all[at].of_draft;
        attach_release(&a->all[at]);
    } else {
        a->n++;
    }
    a->all[at] = *one;
    *one = (attachment){0};
    a->revision++;
    *place = at;
    return TDM_OK;
}

tdm_status attach_fits(const attachments *a, int place, int room, tdm_error *err)
{
    int others = 0, tokens = a->all[place].tokens;
    for (int i = 0; i < a->n; i++)
        if (i != place && a->all[i].tokens > 0) others += a->all[i].tokens;
    int left = room > others ? room - others : 0;
    if (tokens < left) return TDM_OK;
    return error_set(err, TDM_E_CONTEXT, "%s: %d tokens, but only %d are free%s", a->all[place].path, tokens, left,
                     others ? " beside what is attached" : "");
}

tdm_status attach_take(attachments *a, attachment *one, const tdm_model *model, int room, int *place, tdm_error *err)
{
    tdm_status status = attach_count(one, model, a->picture_tokens, err);
    int others = attach_tokens(a), at = attach_place(a, one->path);
    if (at >= 0) others -= a->all[at].tokens > 0 ? a->all[at].tokens : 0;
    if (!status) {
        attachment both[] = {*one, {.tokens = others}};
        status = attach_fits(&(attachments){.all = both, .n = 2}, 0, room, err);
    }
    if (!status) return attach_add(a, one, place, err);
    attach_release(one);
    return status;
}

tdm_status attach_file(attachments *a, const char *path, const tdm_model *model, int room, int *place, tdm_error *err)
{
    attachment one;
    char note[100];
    tdm_status status = attach_read(&one, path, NULL, NULL, note, err);
    return status ? status : attach_take(a, &one, model, room, place, err);
}

tdm_status attach_clipboard(attachments *a, const tdm_model *model, int room, tdm_error *err)
{
    char *bytes, *text;
    size_t n;
    int place;
    attachment one;
    tdm_status status = clip_paste(ATTACH_BYTES, &bytes, &n, err);
    if (status) return status;
    if (n && picture_is(bytes, n)) {
        status = pasted(&one, bytes, n, NULL, NULL, err);
        return status ? status : attach_take(a, &one, model, room, &place, err);
    }
    char why[KIND_ROOM];
    if (kind_refused(bytes, n, why)) status = error_set(err, TDM_E_FORMAT, "clipboard: %s", why);
    char *clean = status ? NULL : clean_text(bytes, n, NULL);
    int length = clean ? asprintf(&text, "clipboard:\n\n%s\n\n", clean) : -1;
    free(clean);
    free(bytes);
    if (status) return status;
    if (length < 0) return error_set(err, TDM_E_NOMEM, "out of memory");
    status = attach_text(&one, ATTACH_CLIPBOARD, "clipboard", "clipboard", text, (size_t)length, err);
    free(text);
    return status ? status : attach_take(a, &one, model, room, &place, err);
}

void attach_remove(attachments *a, int place)
{
    attach_release(&a->all[place]);
    memmove(a->all + place, a->all + place + 1, (size_t)(--a->n - place) * sizeof *a->all);
    a->revision++;
}

tdm_status attach_reserve(attachments *a, int more, tdm_error *err)
{
    attachment *larger = more ? realloc(a->all, ((size_t)a->n + (size_t)more) * sizeof *larger) : a->all;
    if (more && !larger) return error_set(err, TDM_E_NOMEM, "out of memory");
    a->all = larger;
    return TDM_OK;
}

void attach_append(attachments *a, attachments *more)
{
    if (more->n) memcpy(a->all + a->n, more->all, (size_t)more->n * sizeof *a->all);
    a->n += more->n;
    a->revision += more->n > 0;
    free(more->all);
    *more = (attachments){.revision = more->revision + 1};
}

void attach_clear(attachments *a)
{
    while (a->n) attach_remove(a, a->n - 1);
    free(a->all);
    a->all = NULL;
}

bool attach_look(attachments *a)
{
    bool other = false;
    for (int i = 0; i < a->n; i++) {
        attachment *one = &a->all[i];
        bool changed = one->files && attach_mark(one->files, one->files_length) != one->mark;
        other |= changed != one->changed;
        one->changed = changed;
    }
    return other;
}

void attach_recount(attachments *a, const tdm_model *model)
{
    for (int i = 0; i < a->n; i++)
        if (attach_count(&a->all[i], model, a->picture_tokens, NULL)) a->all[i].tokens = -1;
}

int attach_tokens(const attachments *a)
{
    int tokens = 0;
    for (int i = 0; i < a->n; i++)
        if (a->all[i].tokens > 0) tokens += a->all[i].tokens;
    return tokens;
}

size_t attach_length(const attachments *a)
{
    size_t length = 0;
    for (int i = 0; i < a->n; i++) length += a->all[i].length;
    return length;
}

size_t attach_join(const attachments *a, char *out)
{
    size_t at = 0;
    for (int i = 0; i < a->n; i++) {
        memcpy(out + at, a->all[i].text, a->all[i].length);
        at += a->all[i].length;
    }
    return at;
}

char *attach_compose(const attachments *a, const char *text, size_t n, size_t *length)
{
    char *joined = malloc(attach_length(a) + 3 * n + 1);
    if (!joined) return NULL;
    size_t at = attach_join(a, joined);
    at += utf8_mend(text, n, joined + at);
    joined[at] = 0;
    *length = at;
    return joined;
}

size_t attach_pictures_n(const attachments *a)
{
    size_t n = 0;
    for (int i = 0; i < a->n; i++) n += (size_t)a->all[i].n_pictures;
    return n;
}

tdm_placed_picture *attach_pictures(const attachments *a, size_t from, size_t *n)
{
    size_t all = attach_pictures_n(a);
    tdm_placed_picture *out = all ? calloc(all, sizeof *out) : NULL;
    *n = 0;
    for (int i = 0; out && i < a->n; i++) {
        for (int k = 0; k < a->all[i].n_pictures; k++)
            out[(*n)++] = (tdm_placed_picture){a->all[i].pictures[k].seen, from + a->all[i].pictures[k].at};
        from += a->all[i].length;
    }
    return out;
}

/* ---- Words ------------------------------------------------------------------------------------------------------ */

char **attach_words(const char *argument)
{
    size_t length = strlen(argument), n = 0;
    char **words = calloc(length / 2 + 3, sizeof *words);
    bool folder, whole = words && attach_exists(argument, &folder);
    struct path_word w;
    if (whole) words[n++] = strdup(argument);
    for (size_t at = 0; words && !whole && path_word_argument(argument, length, &at, &w);)
        if (w.last > w.first) words[n++] = path_word_read(argument, &w);
    for (size_t i = 0; i < n; i++) {
        if (words[i]) continue;
        attach_words_free(words); /* what stands behind the gap is lost with the memory that lacks */
        return NULL;
    }
    return words;
}

/* The path that these bytes are, malloc'ed, if a file is there; NULL: none is. */
static char *dropped_path(const char *text, size_t n)
{
    static const char *const begins[] = {"/", "~/", "./", "../"};
    bool folder = false, path = false;
    char *out = address_path(text, n);
    if (!out && n < PATH_MAX) out = strndup(text, n);
    for (size_t i = 0; out && i < sizeof begins / sizeof *begins; i++)
        path |= !strncmp(out, begins[i], strlen(begins[i]));
    if (out && path && attach_exists(out, &folder) && !folder) return out;
    free(out);
    return NULL;
}

/* All lines of the text, or none. */
static size_t dropped_lines(const char *text, size_t n, char **out, size_t room)
{
    size_t count = 0;
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t length = end ? (size_t)(end - text) - at : n - at, next = at + length + 1;
        while (length && strchr(" \t\r", text[at + length - 1])) length--;
        if (length && (count == room || !(out[count] = dropped_path(text + at, length)))) {
            while (count) free(out[--count]);
            return 0;
        }
        count += length > 0;
        at = next;
    }
    return count;
}

/* The next word as a shell reads it, with quotes and backslashes, without them in out (room for all of the text). */
static size_t shell_word(const char *text, size_t n, size_t *at, char *out)
{
    char quote = 0;
    size_t length = 0;
    while (*at < n && strchr(" \t\r\n", text[*at])) ++*at;
    for (; *at < n && (quote || !strchr(" \t\r\n", text[*at])); ++*at) {
        char c = text[*at];
        if (c == quote || (!quote && (c == '\'' || c == '"')))
            quote = quote ? 0 : c;
        else if (c == '\\' && quote != '\'' && *at + 1 < n)
            out[length++] = text[++*at];
        else
            out[length++] = c;
    }
    out[length] = 0;
    return length;
}

/* The same of words, as terminals write what is dropped. */
static size_t dropped_words(const char *text, size_t n, char **out, size_t room)
{
    size_t count = 0, at = 0, length;
    char *word = malloc(n + 1);
    while (word && (length = shell_word(text, n, &at, word))) {
        if (count < room && (out[count] = dropped_path(word, length))) {
            count++;
            continue;
        }
        while (count) free(out[--count]);
        break;
    }
    free(word);
    return count;
}

char **attach_dropped(const char *text, size_t n)
{
    enum { LONGEST = 1 << 16 };
    if (!n || n > LONGEST || memchr(text, 0, n)) return NULL;
    char **paths = calloc(ATTACH_MAX + 1, sizeof *paths), *ended = strndup(text, n);
    size_t count = paths && ended ? dropped_lines(ended, n, paths, ATTACH_MAX) : 0;
    if (!count && paths && ended) count = dropped_words(ended, n, paths, ATTACH_MAX);
    free(ended);
    if (count) return paths;
    free(paths);
    return NULL;
}

void attach_words_free(char **words)
{
    for (char **each = words; each && *each; each++) free(*each);
    free(words);
}
