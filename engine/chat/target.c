#include "engine/chat/target.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/buffer.h"
#include "engine/base/error.h"

/* What a cached message was made from: a node's text is constant once it is closed, so its number says it all. */
struct key {
    int node; /* 0: the system prompt */
    size_t length;
};

struct target_cache {
    struct template_form form;
    const struct tokenizer *tokenizer;
    struct growing *growing;      /* the text of the last message: a draft, or a reply that is being written */
    bool separable;               /* <|im_start|> is a token, so a message's ids don't depend on others */
    struct ids ids;               /* of the last target */
    struct key *keys;             /* of the first `closed` messages, whose ids stand at the beginning of `ids` */
    size_t closed;
    uint64_t version;             /* of the conversation when the messages were cached ... */
    tdm_thinking think;           /* ... and how they were rendered */
    bool keep;
    tdm_message *messages;        /* the arrays below have `room` elements each */
    struct template_place *places;
    uint32_t *turns;
    int *path;
    size_t room;
    size_t *draft_ends;
    size_t draft_room;
};

tdm_status target_cache_new(struct target_cache **out, const struct tokenizer *tokenizer, struct template_form form,
                            tdm_error *err)
{
    struct target_cache *cache = calloc(1, sizeof *cache);
    if (!cache) return error_set(err, TDM_E_NOMEM, "no memory for the target");
    cache->form = form;
    cache->tokenizer = tokenizer;
    tdm_status status = growing_new(&cache->growing, tokenizer, err);
    if (status) {
        free(cache);
        return status;
    }
    cache->separable = tokenizer_find(tokenizer, "<|im_start|>") >= 0;
    *out = cache;
    return TDM_OK;
}

void target_cache_free(struct target_cache *cache)
{
    if (!cache) return;
    ids_free(&cache->ids);
    growing_free(cache->growing);
    free(cache->keys);
    free(cache->messages);
    free(cache->places);
    free(cache->turns);
    free(cache->path);
    free(cache->draft_ends);
    free(cache);
}

static bool grow(void *array, size_t room, size_t size)
{
    void **at = array;
    void *grown = realloc(*at, room * size);
    if (grown) *at = grown;
    return grown != NULL;
}

static tdm_status make_room(struct target_cache *cache, size_t need, tdm_error *err)
{
    if (need <= cache->room) return TDM_OK;
    size_t room = 2 * need;
    if (!grow(&cache->keys, room, sizeof *cache->keys) || !grow(&cache->messages, room, sizeof *cache->messages) ||
        !grow(&cache->places, room, sizeof *cache->places) || !grow(&cache->turns, room, sizeof *cache->turns) ||
        !grow(&cache->path, room, sizeof *cache->path))
        return error_set(err, TDM_E_NOMEM, "no memory for a conversation of %zu messages", need);
    cache->room = room;
    return TDM_OK;
}

static tdm_message message_of(const struct node *node)
{
    return (tdm_message){.role = node->role, .text = node->text.bytes, .length = node->text.n,
                         .thinking = node->thinking.n ? node->thinking.bytes : "",
                         .thinking_length = node->thinking.n};
}

/* How many of the first n messages are in the cache as they are now. */
static size_t still_cached(const struct target_cache *cache, const struct key *keys, size_t n)
{
    size_t same = 0;
    while (same < cache->closed && same < n && cache->keys[same].node == keys[same].node &&
           cache->keys[same].length == keys[same].length)
        same++;
    return same;
}

static bool is_blank(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strchr(" \t\r\n\v\f", text[i])) return false;
    return true;
}

/* Appends what a stopped reply has so far: the ids as they came, or those of the text of a reply loaded from a file. */
static tdm_status append_reply(struct target_cache *cache, const struct node *node, tdm_error *err)
{
    size_t end = cache->ids.count ? cache->ids.end[cache->ids.count - 1] : 0;
    if (node->reply.n == 0) {
        const struct tokenizer *t = cache->tokenizer;
        const struct buffer *thinking = &node->thinking, *text = &node->text;
        tdm_status status = TDM_OK;
        if (node->think) {
            status = tokenizer_encode(t, thinking->bytes, thinking->n, 0, end, &cache->ids, err);
            if (status == TDM_OK && text->n)
                status = tokenizer_encode(t, "</think>\n\n", 10, TOKENIZE_ADDED, end, &cache->ids, err);
        }
        if (status == TDM_OK && text->n) status = tokenizer_encode(t, text->bytes, text->n, 0, end, &cache->ids, err);
        return status;
    }
    for (size_t i = 0; i < node->reply.n; i++) {
        tdm_status status = ids_push(&cache->ids, node->reply.ids[i], end, err);
        if (status) return status;
    }
    return TDM_OK;
}

/* The messages and keys of the path that ends with `leaf` (0: nothing), the system prompt first. */
static tdm_status collect(struct target_cache *cache, const struct target_input *in, int leaf, struct key *keys,
                          size_t *n)
{
    const struct conversation *c = in->conversation;
    *n = 0;
    if (c->system.n) {
        cache->messages[0] = (tdm_message){.role = TDM_SYSTEM, .text = c->system.bytes, .length = c->system.n};
        keys[(*n)++] = (struct key){0, c->system.n};
    }
    int length = 0;
    for (int i = leaf; i > 0; i = c->nodes[i].parent) length++;
    int at = length;
    for (int i = leaf; i > 0; i = c->nodes[i].parent) cache->path[--at] = i;
    for (int i = in->path_start; i < length; i++) {
        const struct node *node = &c->nodes[cache->path[i]];
        cache->messages[*n] = message_of(node);
        keys[(*n)++] = (struct key){cache->path[i], node->text.n};
    }
    return TDM_OK;
}

static void fill_turns(struct target_cache *cache, size_t n, struct target *out)
{
    for (size_t i = 0; i < n; i++)
        if (cache->messages[i].role == TDM_USER)
            cache->turns[out->n_turns++] = (uint32_t)template_count(&cache->ids, cache->places[i].begin);
    out->turns = cache->turns;
}

static tdm_status fill_draft(struct target_cache *cache, const struct template_place *place, struct target *out,
                             tdm_error *err)
{
    size_t n = out->draft - out->history;
    if (n > cache->draft_room) {
        if (!grow(&cache->draft_ends, 2 * n, sizeof *cache->draft_ends))
            return error_set(err, TDM_E_NOMEM, "no memory for a draft of %zu tokens", n);
        cache->draft_room = 2 * n;
    }
    for (size_t i = 0; i < n; i++)
        cache->draft_ends[i] = template_read(place, cache->ids.end[out->history + i]);
    out->draft_ends = cache->draft_ends;
    return TDM_OK;
}

tdm_status target_make(struct target_cache *cache, const struct target_input *in, struct target *out, tdm_error *err)
{
    const struct conversation *c = in->conversation;
    *out = (struct target){0};
    bool answering = in->sent || in->resumed;
    if (!answering && (in->level == TDM_SPEC_OFF || (in->reply && in->level < TDM_SPEC_HISTORY))) return TDM_OK;
    tdm_thinking think = in->resumed ? c->nodes[in->resumed].think : in->think;
    if (!cache->form.can_think) think = TDM_THINK_OFF;
    if (c->version != cache->version || think != cache->think || in->keep != cache->keep) {
        cache->closed = 0;
        cache->version = c->version;
        cache->think = think;
        cache->keep = in->keep;
    }

    /* The path, then the message that is growing or to be answered. */
    int leaf = in->reply ? in->reply : in->sent ? in->sent : in->resumed ? c->nodes[in->resumed].parent : c->leaf;
    tdm_status status = make_room(cache, (size_t)c->n + 3, err);
    if (status) return status;
    struct key keys_now[64], *keys = keys_now;
    struct key *many = NULL;
    if ((size_t)c->n + 3 > sizeof keys_now / sizeof *keys_now) {
        keys = many = malloc(((size_t)c->n + 3) * sizeof *keys);
        if (!many) return error_set(err, TDM_E_NOMEM, "no memory for the target");
    }
    size_t n;
    collect(cache, in, leaf, keys, &n);
    bool drafting = !in->reply && !answering;
    if (drafting) {
        bool shown = in->level >= TDM_SPEC_DRAFT && !in->draft_held;
        cache->messages[n] = (tdm_message){.role = TDM_USER, .text = in->draft, .length = shown ? in->draft_length : 0};
        keys[n++] = (struct key){-1, 0};
    }
    out->complete = answering || (in->closed && drafting && cache->messages[n - 1].length > 0 &&
                                  !is_blank(cache->messages[n - 1].text, cache->messages[n - 1].length));

    struct template_options options = {.form = cache->form, .think = think, .keep = in->keep,
                                       .generation = out->complete, .open = !out->complete,
                                       .growing = cache->growing};
    /* A think block is rendered whole: until it has ended, all that is known of its turn is how it opens. */
    if (in->reply && in->keep && c->nodes[in->reply].think && !c->nodes[in->reply].text.n) {
        n--;
        options.open = false;
        options.generation = think != TDM_THINK_OFF;
    }
    /* The last message is made anew: it may have been open, or an earlier draft. */
    size_t first = cache->separable ? still_cached(cache, keys, n - 1) : 0;
    cache->ids.count = first ? template_count(&cache->ids, cache->places[first].start) : 0;
    cache->closed = 0; /* until this has gone well */
    status = template_encode(cache->tokenizer, &options, cache->messages, n, first, &cache->ids, cache->places, err);
    if (status) goto out;
    memcpy(cache->keys, keys, n * sizeof *keys);
    cache->closed = n - 1;

    const struct template_place *last = &cache->places[n - 1];
    out->opening = (uint32_t)template_count(&cache->ids, last->start);
    fill_turns(cache, n, out);
    if (in->reply) {
        out->history = out->draft = (uint32_t)cache->ids.count;
    } else {
        out->history = (uint32_t)template_count(&cache->ids, last->begin);
        out->draft = (uint32_t)template_count(&cache->ids, last->end);
        if (out->draft < out->history) out->draft = out->history;
        status = fill_draft(cache, last, out, err);
        if (status) goto out;
    }
    out->n = (uint32_t)cache->ids.count;
    if (in->resumed) status = append_reply(cache, &c->nodes[in->resumed], err);
    out->ids = cache->ids.id;
    out->reply = (uint32_t)cache->ids.count - out->n;
    if (in->apart)
        out->own = out->reply;
    else
        out->n = (uint32_t)cache->ids.count;
out:
    free(many);
    if (status) *out = (struct target){0};
    return status;
}

uint32_t target_common_prefix(const struct target *t, const tdm_id *ids, uint32_t n)
{
    uint32_t most = n < t->n ? n : t->n, i = 0;
    while (i < most && ids[i] == t->ids[i]) i++;
    return i;
}
