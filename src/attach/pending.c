#include "src/attach/pending.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "src/attach/read.h"

static const char *const kinds[] = {[ATTACH_FILE] = "file", [ATTACH_COMMAND] = "command",
                                    [ATTACH_CLIPBOARD] = "clipboard"};

bool pending_any(const attachments *a)
{
    for (int i = 0; i < a->n; i++)
        if (!a->all[i].of_draft) return true;
    return false;
}

static char *copy_of(const char *bytes, size_t n)
{
    char *copy = malloc(n + 1);
    if (!copy) return NULL;
    if (n) memcpy(copy, bytes, n);
    copy[n] = 0;
    return copy;
}

/* Those that the program knows. False: no memory. */
static bool note_pictures(session_pending *p, const attachment *one)
{
    if (!one->n_pictures) return true;
    p->pictures = calloc((size_t)one->n_pictures, sizeof *p->pictures);
    for (int i = 0; p->pictures && i < one->n_pictures; i++)
        p->n_pictures += session_note(&p->pictures[p->n_pictures], one->pictures[i].seen, 0, one->pictures[i].at);
    return p->pictures;
}

tdm_status pending_keep(session *s, const attachments *a, tdm_error *err)
{
    session_pending *larger = realloc(s->pending, (size_t)(s->n_pending + a->n + 1) * sizeof *larger);
    if (!larger) return error_set(err, TDM_E_NOMEM, "out of memory");
    s->pending = larger;
    for (int i = 0; i < a->n && s->n_pending < SESSION_PENDING; i++) {
        const attachment *one = &a->all[i];
        if (one->of_draft) continue;
        session_pending *p = &s->pending[s->n_pending++];
        *p = (session_pending){.kind = strdup(kinds[one->kind]), .path = strdup(one->path), .name = strdup(one->name),
                               .text = copy_of(one->text, one->length), .length = one->length,
                               .files = copy_of(one->files, one->files_length), .files_length = one->files_length,
                               .mark = one->mark};
        if (!p->kind || !p->path || !p->name || !p->text || !p->files || !note_pictures(p, one))
            return error_set(err, TDM_E_NOMEM, "out of memory");
    }
    return TDM_OK;
}

/* Files of others are untrusted: a name is made harmless, paths end. */
static bool read_one(attachment *out, const session_pending *p, pending_picture *its, void *ctx)
{
    char name[100];
    attach_kind kind = ATTACH_FILE;
    while (kind <= ATTACH_CLIPBOARD && strcmp(kinds[kind], p->kind)) kind++;
    if (kind > ATTACH_CLIPBOARD) return false; /* of a later version */
    attach_name(name, sizeof name, p->name);
    if (attach_text(out, kind, p->path, name, p->text, p->length, NULL)) return false;
    out->pictures = p->n_pictures ? calloc((size_t)p->n_pictures, sizeof *out->pictures) : NULL;
    for (int i = 0; out->pictures && i < p->n_pictures; i++) {
        attached_picture *to = &out->pictures[out->n_pictures];
        to->at = p->pictures[i].at;
        out->n_pictures += its(ctx, &p->pictures[i], &to->picture, &to->seen);
    }
    if (p->n_pictures && !p->length && !out->n_pictures) { /* there is nothing left of it */
        attach_release(out);
        return false;
    }
    bool paths = kind == ATTACH_FILE && p->files_length && !p->files[p->files_length - 1];
    if (!paths || !(out->files = copy_of(p->files, p->files_length))) return true;
    out->files_length = p->files_length;
    out->mark = p->mark;
    return true;
}

void pending_bring(attachments *a, const session *s, const tdm_model *model, pending_picture *its, void *ctx)
{
    for (int i = 0; i < s->n_pending; i++) {
        attachment one;
        int place;
        if (!read_one(&one, &s->pending[i], its, ctx)) continue;
        if (!attach_add(a, &one, &place, NULL)) attach_count(&a->all[place], model, a->picture_tokens, NULL);
    }
}
