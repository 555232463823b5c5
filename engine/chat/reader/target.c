#include "engine/chat/reader/target.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "engine/base/fnv.h"
#include "engine/text/incremental.h"
#include "engine/text/template/head.h"

/* What a head was made from: a node's text is constant once it is closed, so its number identifies it. */
struct key {
    uint64_t version; /* of the conversation */
    int64_t begun_s;
    int leaf, path_start;
    tdm_thinking think;
    tdm_keep_thinking keep;
    size_t thought; /* bytes of a reply's thinking, once it has ended */
    uint64_t pictures; /* a sum of the draft's pictures and of what stands before the last of them; 0: there are none */
    bool reply, thinks;
};

struct target_cache {
    const struct template *template;
    const struct tokenizer *tokenizer;
    struct incremental *growing; /* the prompt's text, and its ids */
    struct written text;     /* as it was made last */
    struct template_head head;
    struct key key; /* of the head */
    bool has_head;
    struct buffer merged;           /* the first message behind a system prompt that has no place of its own, */
    struct picture_list merged_pictures; /* with its pictures */
    struct ids placed;              /* the ids with those of pictures, where there are some */
    struct target_picture *pictures;
    size_t pictures_room;
    size_t system;                    /* bytes of that before the message, if it is the last; else 0 */
    tdm_message *messages;            /* the arrays below have `room` elements each */
    struct template_place *places[2]; /* of the messages in a whole prompt; in the head, but for the last */
    uint32_t *turns;
    int *path;
    size_t room;
    size_t *draft_ends;
    size_t draft_room;
};

tdm_status target_cache_new(struct target_cache **out, const struct tokenizer *tokenizer,
                            const struct template *template, tdm_error *err)
{
    struct target_cache *cache = calloc(1, sizeof *cache);
    if (!cache) return error_set(err, TDM_E_NOMEM, "no memory for the target");
    cache->template = template;
    cache->tokenizer = tokenizer;
    tdm_status status = incremental_new(&cache->growing, tokenizer, err);
    if (status) {
        free(cache);
        return status;
    }
    *out = cache;
    return TDM_OK;
}

void target_cache_free(struct target_cache *cache)
{
    if (!cache) return;
    incremental_free(cache->growing);
    written_free(&cache->text);
    head_free(&cache->head);
    buffer_free(&cache->merged);
    picture_list_free(&cache->merged_pictures);
    ids_free(&cache->placed);
    free(cache->pictures);
    free(cache->messages);
    free(cache->places[0]);
    free(cache->places[1]);
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
    if (!grow(&cache->messages, room, sizeof *cache->messages) ||
        !grow(&cache->places[0], room, sizeof **cache->places) ||
        !grow(&cache->places[1], room, sizeof **cache->places) || !grow(&cache->turns, room, sizeof *cache->turns) ||
        !grow(&cache->path, room, sizeof *cache->path))
        return error_set(err, TDM_E_NOMEM, "no memory for a conversation of %zu messages", need);
    cache->room = room;
    return TDM_OK;
}

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

static tdm_message message_of(const struct node *node)
{
    return (tdm_message){.role = node->role,
                         .text = node->text.bytes,
                         .length = node->text.n,
                         .thinking = node->thinking.n ? node->thinking.bytes : "",
                         .thinking_length = node->thinking.n,
                         .pictures = node->pictures.at,
                         .n_pictures = node->pictures.n};
}

/* The messages of the path that ends with `leaf` (0: nothing), the system prompt first. */
static size_t collect(struct target_cache *cache, const struct target_input *in, int leaf)
{
    const struct conversation *c = in->conversation;
    size_t n = 0;
    if (c->system.n && !template_facts(cache->template)->no_system)
        cache->messages[n++] = (tdm_message){.role = TDM_SYSTEM, .text = c->system.bytes, .length = c->system.n};
    int length = 0;
    for (int i = leaf; i > 0; i = c->nodes[i].parent) length++;
    int at = length;
    for (int i = leaf; i > 0; i = c->nodes[i].parent) cache->path[--at] = i;
    for (int i = in->path_start; i < length; i++) {
        int next = i + 1 < length ? cache->path[i + 1] : 0;
        /* A server refuses a message without a text, even of a reply that has thought: that turn is left out. */
        if (in->served && next && next != in->reply && conversation_has_no_text(c, next)) i++;
        else
            cache->messages[n++] = message_of(&c->nodes[cache->path[i]]);
    }
    return n;
}

/* A template that takes no system prompt has it before the first message of the user. */
static tdm_status merge_system(struct target_cache *cache, const struct conversation *c, size_t n, tdm_error *err)
{
    size_t i = 0;
    cache->system = 0;
    if (!c->system.n || !template_facts(cache->template)->no_system) return TDM_OK;
    while (i < n && cache->messages[i].role != TDM_USER) i++;
    if (i == n) return TDM_OK;
    tdm_message *m = &cache->messages[i];
    buffer_clear(&cache->merged);
    tdm_status status = buffer_append(&cache->merged, c->system.bytes, c->system.n, err);
    if (!status) status = buffer_append(&cache->merged, "\n\n", 2, err);
    picture_list_free(&cache->merged_pictures);
    if (!status)
        status = picture_list_append(&cache->merged_pictures, cache->merged.n, m->pictures, m->n_pictures, err);
    m->pictures = cache->merged_pictures.at;
    if (i == n - 1) cache->system = cache->merged.n;
    if (!status) status = buffer_append(&cache->merged, m->text, m->length, err);
    m->text = cache->merged.bytes;
    m->length = cache->merged.n;
    return status;
}

/* The last message's place without the system prompt that was put before it. */
static void leave_system_out(const struct target_cache *cache, struct template_place *place)
{
    size_t rest = cache->system > place->source ? cache->system - place->source : 0;
    if (!cache->system) return;
    place->begin = rest < place->end - place->begin ? place->begin + rest : place->end;
    place->source = place->source > cache->system ? place->source - cache->system : 0;
}

/* ---- Texts ------------------------------------------------------------------------------------------------------- */

/* The head for the last of these messages. */
static tdm_status update_head(struct target_cache *cache, const struct key *key, const struct template_options *options,
                              size_t n, tdm_error *err)
{
    if (cache->has_head && !memcmp(&cache->key, key, sizeof *key)) return TDM_OK;
    cache->has_head = false;
    tdm_status status = head_make(&cache->head, cache->template, options, cache->messages, n, key->thinks, err);
    if (status) return status;
    template_places(cache->template, &cache->head.text, cache->messages, n - 1, cache->places[1]);
    cache->key = *key;
    cache->has_head = true;
    return TDM_OK;
}

/* The prompt's beginning, while its last message grows: the ids of its stable part. */
static tdm_status make_open(struct target_cache *cache, const struct key *key, const struct template_options *options,
                            size_t n, struct template_place *place, struct ids **ids, tdm_error *err)
{
    size_t limit, length;
    tdm_status status = update_head(cache, key, options, n, err);
    if (!status)
        status =
            head_grow(&cache->head, cache->template, options, cache->messages, n, &cache->text, place, &limit, err);
    if (!status) status = incremental_set(cache->growing, &cache->text, cache->head.cut, limit, err);
    if (!status) status = incremental_stable(cache->growing, &length, err);
    return status ? status : incremental_encode(cache->growing, length, ids, err);
}

static tdm_status make_whole(struct target_cache *cache, const struct template_options *options, size_t n,
                             struct template_place *place, struct ids **ids, tdm_error *err)
{
    struct written *text = &cache->text;
    tdm_status status = template_render(cache->template, options, cache->messages, n, text, err);
    if (status) return status;
    template_places(cache->template, text, cache->messages, n, cache->places[0]);
    *place = cache->places[0][n - 1];
    status = incremental_set(cache->growing, text, 0, text->n, err);
    return status ? status : incremental_encode(cache->growing, text->n, ids, err);
}

/* ---- Pictures ---------------------------------------------------------------------------------------------------- */

static tdm_status place_picture(struct target_cache *cache, const struct target_input *in, tdm_picture *picture,
                                size_t end, struct target *out, tdm_error *err)
{
    struct pads *pads;
    tdm_status status = vision_pads(in->vision, in->reads, picture, in->picture_tokens, &pads, err);
    if (status) return status;
    if (out->n_pictures == cache->pictures_room) {
        size_t room = cache->pictures_room ? 2 * cache->pictures_room : 8;
        if (!grow(&cache->pictures, room, sizeof *cache->pictures))
            return error_set(err, TDM_E_NOMEM, "no memory for %zu pictures", room);
        cache->pictures_room = room;
    }
    cache->pictures[out->n_pictures++] = (struct target_picture){pads, picture, (uint32_t)cache->placed.count};
    out->pictures = cache->pictures;
    for (uint32_t cell = 0; cell < pads->tokens && !status; cell++)
        status = ids_push(&cache->placed, pads->first - (tdm_id)cell, end, err);
    return status;
}

/* The ids with those of the messages' pictures in the places of pads, which are the template's in the same order.
 * Unless the prompt is whole, the last ones may not have come yet. */
static tdm_status place_pictures(struct target_cache *cache, const struct target_input *in, size_t n, bool whole,
                                 struct ids **ids, struct target *out, tdm_error *err)
{
    const struct ids *from = *ids;
    size_t message = 0, next = 0;
    while (message < n && !cache->messages[message].n_pictures) message++;
    if (message == n) return TDM_OK;
    if (!in->vision && in->served) return TDM_OK;
    if (!in->vision) return error_set(err, TDM_E_UNSUPPORTED, "the model sees no pictures");
    cache->placed.count = 0;
    tdm_status status = TDM_OK;
    for (size_t i = 0; i < from->count && !status; i++) {
        if (from->id[i] != in->vision->pad || message == n) {
            status = ids_push(&cache->placed, from->id[i], from->end[i], err);
            continue;
        }
        const tdm_message *m = &cache->messages[message];
        status = place_picture(cache, in, m->pictures[next].picture, from->end[i], out, err);
        if (++next < m->n_pictures) continue;
        next = 0;
        do message++;
        while (message < n && !cache->messages[message].n_pictures);
    }
    if (!status && whole && message < n)
        return error_set(err, TDM_E_REFUSED, "the model's chat template has no place for a picture");
    *ids = &cache->placed;
    return status;
}

/* ---- A reply to be continued ------------------------------------------------------------------------------------- */

/* A stretch of its own, the template's or the model's. */
static tdm_status append_text(struct target_cache *cache, struct ids *ids, const char *text, size_t n, bool data,
                              tdm_error *err)
{
    const struct tokenizer *t = cache->tokenizer;
    size_t end = cache->text.n;
    bool after = ids->count && tokenizer_is_added(t, ids->id[ids->count - 1]);
    unsigned flags = (data ? 0 : TOKENIZE_ADDED) | (after ? TOKENIZE_AFTER : 0);
    tdm_status status = written_add(&cache->text, (struct span){text, n}, data, err);
    return n && !status ? tokenizer_encode(t, text, n, flags, end, ids, err) : status;
}

/* Appends what a stopped reply has so far: the ids as they came, or those of the text of a reply loaded from a file. */
static tdm_status append_reply(struct target_cache *cache, const struct node *node, struct ids *ids, tdm_error *err)
{
    const struct template_facts *f = template_facts(cache->template);
    const struct buffer *thinking = &node->thinking, *text = &node->text;
    size_t end = ids->count ? ids->end[ids->count - 1] : 0;
    tdm_status status = TDM_OK;
    for (size_t i = 0; i < node->reply.n && !status; i++) status = ids_push(ids, node->reply.ids[i], end, err);
    if (node->reply.n || status) return status;
    bool opened = f->opening[node->think] == OPENING_THINKS;
    bool thought = f->opens && (thinking->n || opened);
    if (thought && !opened) status = append_text(cache, ids, f->opens, strlen(f->opens), false, err);
    if (thought && !status) status = append_text(cache, ids, thinking->bytes, thinking->n, true, err);
    if (thought && !status && text->n) {
        status = append_text(cache, ids, f->closes, strlen(f->closes), false, err);
        if (!status) status = append_text(cache, ids, f->behind, strlen(f->behind), false, err);
    }
    return status ? status : append_text(cache, ids, text->bytes, text->n, true, err);
}

/* ---- The target -------------------------------------------------------------------------------------------------- */

static void fill_turns(struct target_cache *cache, const struct template_place *places, const struct ids *ids, size_t n,
                       struct target *out)
{
    for (size_t i = 0; i < n; i++)
        if (cache->messages[i].role == TDM_USER && places[i].found)
            cache->turns[out->n_turns++] = (uint32_t)template_count(ids, places[i].begin);
    out->turns = cache->turns;
}

static tdm_status fill_draft(struct target_cache *cache, const struct template_place *place, const struct ids *ids,
                             struct target *out, tdm_error *err)
{
    out->history = (uint32_t)template_count(ids, place->begin);
    out->draft = (uint32_t)template_count(ids, place->end);
    if (out->draft < out->history) out->draft = out->history;
    cache->turns[out->n_turns++] = out->history;
    size_t n = out->draft - out->history;
    if (n > cache->draft_room) {
        if (!grow(&cache->draft_ends, 2 * n, sizeof *cache->draft_ends))
            return error_set(err, TDM_E_NOMEM, "no memory for a draft of %zu tokens", n);
        cache->draft_room = 2 * n;
    }
    for (size_t i = 0; i < n; i++) cache->draft_ends[i] = template_read(place, ids->end[out->history + i]);
    out->draft_ends = cache->draft_ends;
    return TDM_OK;
}

/* What the prompt is to be of. */
struct wanted {
    bool reply; /* a past turn that grows */
    bool complete;
    bool thinks; /* the reply has begun to think, and has no text yet */
    size_t n;    /* messages */
    tdm_thinking think;
};

/* The last message that is there before what is typed or answered; of a growing reply that itself. */
static int leaf_of(const struct target_input *in)
{
    const struct conversation *c = in->conversation;
    if (in->reply) return in->reply;
    if (in->sent) return in->sent;
    return in->resumed ? c->nodes[in->resumed].parent : conversation_answered(c, c->leaf);
}

static tdm_status make_messages(struct target_cache *cache, const struct target_input *in, struct wanted *w,
                                tdm_error *err)
{
    const struct conversation *c = in->conversation;
    bool answering = in->sent || in->resumed, drafting = !in->reply && !answering;
    int leaf = leaf_of(in);
    tdm_status status = make_room(cache, (size_t)c->n + 3, err);
    if (status) return status;
    size_t n = collect(cache, in, leaf);
    bool shown = in->level >= TDM_SPEC_DRAFT && !in->draft_held;
    if (drafting)
        cache->messages[n++] = (tdm_message){.role = TDM_USER,
                                             .text = in->draft,
                                             .length = shown ? in->draft_length : 0,
                                             .pictures = in->pictures ? in->pictures->at : NULL,
                                             .n_pictures = shown && in->pictures ? in->pictures->n : 0};
    if (n == 0 || cache->messages[n - 1].role == TDM_SYSTEM)
        return error_set(err, TDM_E_REFUSED, "the prompt has no message");
    const tdm_message *last = &cache->messages[n - 1];
    const struct node *reply = &c->nodes[in->reply];
    bool words = last->n_pictures || !span_is_blank((struct span){last->text, last->length});
    *w = (struct wanted){
        .reply = in->reply,
        .complete = answering || (in->closed && drafting && words),
        .thinks = in->reply && !reply->text.n && (reply->think || reply->thinking.n),
        .n = n,
        .think = in->resumed ? c->nodes[in->resumed].think : in->think,
    };
    return merge_system(cache, c, n, err);
}

static uint64_t pictures_sum(const tdm_message *m)
{
    uint64_t sum = m->n_pictures ? fnv_bytes(FNV_START, m->text, template_fixed(m)) : 0;
    for (size_t i = 0; i < m->n_pictures; i++)
        sum = fnv_step(fnv_step(sum, m->pictures[i].picture->hash[0]), m->pictures[i].at);
    return sum;
}

static struct key key_of(const struct target_input *in, const struct wanted *w, const tdm_message *last)
{
    const struct conversation *c = in->conversation;
    struct key key;
    memset(&key, 0, sizeof key); /* it is compared as bytes */
    key.version = c->version;
    key.begun_s = c->begun_s;
    key.leaf = in->reply ? in->reply : conversation_answered(c, c->leaf);
    key.path_start = in->path_start;
    key.think = w->think;
    key.keep = in->keep;
    key.reply = w->reply;
    key.thinks = w->thinks;
    key.pictures = pictures_sum(last);
    key.thought = w->reply && !w->thinks ? c->nodes[in->reply].thinking.n : 0;
    return key;
}

tdm_status target_make(struct target_cache *cache, const struct target_input *in, struct target *out, tdm_error *err)
{
    bool answering = in->sent || in->resumed;
    struct wanted w = {0};
    struct template_place place;
    struct ids *ids;
    *out = (struct target){0};
    if (!answering && (in->level == TDM_SPEC_OFF || (in->reply && in->level < TDM_SPEC_HISTORY))) return TDM_OK;
    tdm_status status = make_messages(cache, in, &w, err);
    if (status) return status;
    if (!(template_facts(cache->template)->thinkings >> w.think & 1)) w.think = TDM_THINK_OFF;
    struct template_options options = {
        .think = w.think, .keep = in->keep, .generation = true, .now = template_time(in->conversation->begun_s)};
    struct key key = key_of(in, &w, &cache->messages[w.n - 1]);
    status = w.complete ? make_whole(cache, &options, w.n, &place, &ids, err)
                        : make_open(cache, &key, &options, w.n, &place, &ids, err);
    if (!status) status = place_pictures(cache, in, w.n, w.complete, &ids, out, err);
    if (status) return status;
    leave_system_out(cache, &place);
    fill_turns(cache, cache->places[!w.complete], ids, w.n - 1, out);
    if (w.reply)
        out->history = out->draft = (uint32_t)ids->count;
    else
        status = fill_draft(cache, &place, ids, out, err);
    out->complete = w.complete;
    const tdm_message *last = &cache->messages[w.n - 1];
    size_t turn = template_turn(cache->template, &cache->text, last, place.begin);
    size_t text = turn + strlen(template_facts(cache->template)->user);
    out->opening = (uint32_t)template_count(ids, turn);
    out->typed = last->n_pictures && !w.reply ? (uint32_t)template_count(ids, text) : out->history;
    out->n = (uint32_t)ids->count;
    if (in->resumed && !status) status = append_reply(cache, &in->conversation->nodes[in->resumed], ids, err);
    out->ids = ids->id;
    out->ends = ids->end;
    out->text = &cache->text;
    out->messages = cache->messages;
    out->n_messages = w.n;
    out->reply = (uint32_t)ids->count - out->n;
    if (in->apart)
        out->reply_prefix = out->reply;
    else
        out->n = (uint32_t)ids->count;
    if (status) *out = (struct target){0};
    return status;
}

uint32_t target_common_prefix(const struct target *t, const tdm_id *ids, uint32_t n)
{
    uint32_t most = n < t->n ? n : t->n, i = 0;
    while (i < most && ids[i] == t->ids[i]) i++;
    return i;
}
