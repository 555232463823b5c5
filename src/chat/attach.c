#include "src/chat/attach.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "src/cli/clip.h"
#include "src/cli/files.h"
#include "src/cli/output.h"

enum { LARGEST_FILE = 16 << 20 };

static void release(attachment *one)
{
    free(one->path);
    free(one->text);
    *one = (attachment){0};
}

/* Bytes as they go before a message. */
static tdm_status take_text(attachment *one, const char *bytes, size_t n, tdm_error *err)
{
    char *composed = NULL;
    if (memchr(bytes, 0, n)) return error_set(err, TDM_E_FORMAT, "%s: not a text (it holds zero bytes)", one->path);
    int length = asprintf(&composed, "%s:\n\n%.*s\n\n", one->name, (int)n, bytes);
    if (length >= 0 && (one->text = malloc(3 * (size_t)length + 1))) {
        one->length = output_valid(composed, (size_t)length, one->text);
        one->text[one->length] = 0;
    }
    if (length >= 0) free(composed);
    return one->text ? TDM_OK : error_set(err, TDM_E_NOMEM, "%s: no memory to attach it", one->path);
}

static tdm_status count_tokens(attachment *one, const tdm_model *model, int room, int others, tdm_error *err)
{
    tdm_ids ids = {0};
    tdm_status status = tdm_tokenize(model, one->text, one->length, false, &ids, err);
    size_t tokens = ids.n;
    tdm_ids_free(&ids);
    if (status) return status;
    int left = room > others ? room - others : 0;
    if (tokens >= (size_t)left)
        return error_set(err, TDM_E_CONTEXT, "%s: %zu tokens, but only %d are free%s", one->path, tokens, left,
                         others ? " beside what is attached" : "");
    one->tokens = (int)tokens;
    return TDM_OK;
}

static tdm_status attach_bytes(attachments *a, const char *path, const char *bytes, size_t n, const tdm_model *model,
                               int room, int *place, tdm_error *err)
{
    attachment one = {.path = strdup(path)};
    int at = 0;
    while (at < a->n && strcmp(a->all[at].path, path)) at++;
    if (at >= ATTACH_MOST) {
        free(one.path);
        return error_set(err, TDM_E_ARG, "%s: %d files are attached, which is the most", path, ATTACH_MOST);
    }
    if (!one.path || attach_reserve(a, at == a->n, err)) {
        free(one.path);
        return error_set(err, TDM_E_NOMEM, "out of memory");
    }
    const char *slash = strrchr(one.path, '/');
    one.name = slash ? slash + 1 : one.path;
    int others = attach_tokens(a) - (at < a->n ? a->all[at].tokens : 0);
    tdm_status status = take_text(&one, bytes, n, err);
    if (!status) status = count_tokens(&one, model, room, others, err);
    if (status) {
        release(&one);
        return status;
    }
    if (at < a->n) release(&a->all[at]);
    else a->n++;
    a->all[at] = one;
    *place = at;
    return TDM_OK;
}

tdm_status attach_file(attachments *a, const char *path, const tdm_model *model, int room, int *place, tdm_error *err)
{
    char *bytes;
    size_t n;
    tdm_status status = files_read(path, LARGEST_FILE, &bytes, &n, err);
    if (status) return status;
    status = attach_bytes(a, path, bytes, n, model, room, place, err);
    free(bytes);
    return status;
}

tdm_status attach_clipboard(attachments *a, const tdm_model *model, int room, tdm_error *err)
{
    char *bytes;
    size_t n;
    int place;
    tdm_status status = clip_paste(LARGEST_FILE, &bytes, &n, err);
    if (status) return status;
    status = attach_bytes(a, "clipboard", bytes, n, model, room, &place, err);
    free(bytes);
    return status;
}

void attach_remove(attachments *a, int place)
{
    release(&a->all[place]);
    memmove(a->all + place, a->all + place + 1, (size_t)(--a->n - place) * sizeof *a->all);
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
    free(more->all);
    *more = (attachments){0};
}

void attach_clear(attachments *a)
{
    while (a->n) attach_remove(a, a->n - 1);
    free(a->all);
    a->all = NULL;
}

int attach_tokens(const attachments *a)
{
    int tokens = 0;
    for (int i = 0; i < a->n; i++) tokens += a->all[i].tokens;
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
