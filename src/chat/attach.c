#include "src/chat/attach.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "src/chat/attach_read.h"
#include "src/chat/capture.h"
#include "src/cli/clip.h"
#include "src/cli/output.h"
#include "ui/edit/path_word.h"

/* ---- One attachment --------------------------------------------------------------------------------------------- */

void attach_release(attachment *one)
{
    free(one->path);
    free(one->name);
    free(one->text);
    free(one->files);
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
    out->length = output_valid(text, n, out->text);
    out->text[out->length] = 0;
    return TDM_OK;
}

tdm_status attach_read(attachment *out, const char *path, bool (*stop)(void *ctx), void *ctx, char note[100],
                       tdm_error *err)
{
    attach_found found;
    tdm_status status = attach_find(&found, path, stop, ctx, err);
    snprintf(note, 100, "%s", found.left_out);
    if (!status) status = attach_text(out, ATTACH_FILE, path, found.name, found.text.bytes, found.text.n, err);
    if (!status) {
        out->files = found.files.bytes;
        out->files_length = found.files.n;
        found.files = (struct buffer){0};
        out->mark = found.mark;
    }
    attach_found_free(&found);
    return status;
}

/* "$ git diff", or "$ make (status 2)"; and where it isn't there all, or failed, what a reader has to know. */
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
    if (!c.cut && !c.late) note[0] = 0; /* the name tells the status */
    capture_free(&c);
    return status;
}

tdm_status attach_count(attachment *one, const tdm_model *model, tdm_error *err)
{
    tdm_ids ids = {0};
    tdm_status status = tdm_tokenize(model, one->text, one->length, false, &ids, err);
    if (!status) one->tokens = ids.n < INT32_MAX ? (int)ids.n : INT32_MAX;
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
    if (at >= ATTACH_MOST)
        status = error_set(err, TDM_E_ARG, "%s: %d attachments are there, which is the most", one->path, ATTACH_MOST);
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
    tdm_status status = attach_count(one, model, err);
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
    if (memchr(bytes, 0, n)) status = error_set(err, TDM_E_FORMAT, "clipboard: zero bytes, expected a text");
    int length = status ? -1 : asprintf(&text, "clipboard:\n\n%.*s\n\n", (int)n, bytes);
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
        if (attach_count(&a->all[i], model, NULL)) a->all[i].tokens = -1;
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
    at += output_valid(text, n, joined + at);
    joined[at] = 0;
    *length = at;
    return joined;
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

void attach_words_free(char **words)
{
    for (char **each = words; each && *each; each++) free(*each);
    free(words);
}
