#include "engine/text/template.h"

#include <string.h>

#include "engine/base/fnv.h"
#include "engine/base/size.h"
#include "engine/base/utf8.h"
#include "engine/text/unicode.h"

/* FNV-1a, 64 bits, of the template that the built-in model's files carry, without the newline at its end: servers that
 * tell a model's template may leave that out. */
#define BUILTIN_HASH 0x6F63D54059748984u

enum { MARK_START, MARK_END, MARK_THINK, MARK_THOUGHT, MARKS };

static const char *const marks[MARKS] = {"<|im_start|>", "<|im_end|>", "<think>", "</think>"};
static const char *const role_names[] = {[TDM_SYSTEM] = "system", [TDM_USER] = "user", [TDM_ASSISTANT] = "assistant"};

/* What Qwen3.8 says to the model of an effort. */
static const char *const effort_sentences[] = {
    [TDM_THINK_LOW] = "Reasoning effort is set to low. Keep your thinking brief and focused, moving directly to the "
                      "conclusion without unnecessary elaboration.",
    [TDM_THINK_XHIGH] = "Reasoning effort is set to xhigh. Please think carefully through the task, validate key "
                        "assumptions, consider plausible alternatives, and prioritize correctness, consistency, and "
                        "clarity in the final answer.",
};

/* More than the template's own text around one message, marks in it, and the longest sentence of an effort. */
#define AROUND       128
#define MARKS_AROUND 4
#define EFFORT       256

struct mark {
    size_t at;
    int kind;
};

/* A prompt in the making. Its size is bounded beforehand, so that writing needs no checks. */
struct rendering {
    char *text;
    size_t length;
    struct mark *marks; /* the template's own tokens, ascending */
    size_t mark_count;
};

static bool contains(struct span text, const char *what)
{
    return memmem(text.bytes, text.length, what, strlen(what));
}

struct template_form template_recognise(struct span text)
{
    struct template_form form = {TEMPLATE_QWEN35, true, false};
    while (text.length && text.bytes[text.length - 1] == '\n') text.length--;
    if (!text.length) return form;
    if (fnv_bytes(FNV_START, text.bytes, text.length) == BUILTIN_HASH)
        return (struct template_form){TEMPLATE_BUILTIN, false, false};
    form.can_think = contains(text, "enable_thinking");
    form.substituted = !form.can_think || !contains(text, marks[MARK_START]);
    if (form.substituted) return form;
    if (contains(text, "reasoning_effort"))
        form.kind = TEMPLATE_QWEN38;
    else if (contains(text, "preserve_thinking"))
        form.kind = TEMPLATE_QWEN36;
    return form;
}

static const char *const names[] = {[TEMPLATE_QWEN35] = "qwen3.5", [TEMPLATE_QWEN36] = "qwen3.6",
                                    [TEMPLATE_QWEN38] = "qwen3.8", [TEMPLATE_BUILTIN] = "built-in"};

const char *template_name(struct template_form form)
{
    return names[form.kind];
}

bool template_find(const char *name, struct template_form *out)
{
    for (int kind = 0; kind < (int)(sizeof names / sizeof *names); kind++) {
        if (strcmp(name, names[kind])) continue;
        *out = (struct template_form){(enum template_kind)kind, kind != TEMPLATE_BUILTIN, false};
        return true;
    }
    return false;
}

tdm_status template_check(struct template_form form, tdm_thinking think, tdm_keep_thinking keep, tdm_error *err)
{
    if (think && !form.can_think)
        return error_set(err, TDM_E_REFUSED, "this model has no thinking mode");
    if (think > TDM_THINK_ON && form.kind != TEMPLATE_QWEN38)
        return error_set(err, TDM_E_REFUSED,
                         "this model thinks or doesn't: expected on or off, its chat template knows no effort");
    if (keep == TDM_KEEP_ON && form.kind != TEMPLATE_QWEN36 && form.kind != TEMPLATE_QWEN38)
        return error_set(err, TDM_E_REFUSED, "this model's chat template can't keep the thinking of past turns");
    return TDM_OK;
}

bool template_keeps(struct template_form form, tdm_keep_thinking keep)
{
    return keep == TDM_KEEP_AUTO ? form.kind == TEMPLATE_QWEN38 : keep == TDM_KEEP_ON;
}

/* ---- Messages ------------------------------------------------------------------------------------------------ */

static struct span strip(struct span text)
{
    size_t begin = 0, end = text.length;
    unicode_strip(text.bytes, &begin, &end);
    return (struct span){text.bytes + begin, end - begin};
}

static struct span message_text(const tdm_message *message)
{
    return (struct span){message->length ? message->text : "", message->length};
}

static bool starts_with(struct span text, const char *what)
{
    size_t n = strlen(what);
    return text.length >= n && !memcmp(text.bytes, what, n);
}

static bool ends_with(struct span text, const char *what)
{
    size_t n = strlen(what);
    return text.length >= n && !memcmp(text.bytes + text.length - n, what, n);
}

/* What stands before the first, and after the last, occurrence of `what`; false: there is none. */
static bool split_around(struct span text, const char *what, struct span *before, struct span *after)
{
    size_t n = strlen(what);
    const char *first = memmem(text.bytes, text.length, what, n), *end = text.bytes + text.length;
    if (!first) return false;
    const char *last = first, *next;
    while ((next = memmem(last + n, (size_t)(end - last) - n, what, n))) last = next;
    *before = (struct span){text.bytes, (size_t)(first - text.bytes)};
    *after = (struct span){last + n, (size_t)(end - last) - n};
    return true;
}

static struct span strip_breaks(struct span text, bool left, bool right)
{
    while (right && text.length && text.bytes[text.length - 1] == '\n') text.length--;
    while (left && text.length && text.bytes[0] == '\n') text.bytes++, text.length--;
    return text;
}

static struct span message_thinking(const tdm_message *message)
{
    return message->thinking ? strip((struct span){message->thinking, message->thinking_length}) : (struct span){"", 0};
}

/* The answer and the thinking of an assistant message. */
static void take_apart(const tdm_message *message, enum template_kind kind, struct span *answer, struct span *thinking)
{
    struct span before, after, unused;
    *answer = strip(message_text(message));
    *thinking = message_thinking(message);
    if (!message->thinking && kind != TEMPLATE_QWEN38 && split_around(*answer, marks[MARK_THOUGHT], &before, &after)) {
        *answer = strip_breaks(after, true, false);
        before = strip_breaks(before, false, true);
        if (split_around(before, marks[MARK_THINK], &unused, &after)) before = after;
        *thinking = strip(strip_breaks(before, true, false));
    }
}

static bool is_query(const tdm_message *message)
{
    struct span text = strip(message_text(message));
    return message->role == TDM_USER && !(starts_with(text, "<tool_response>") && ends_with(text, "</tool_response>"));
}

/* The index of the last user message, -1 without one: assistant messages after it keep their thinking. It is n for an
 * open form, where all of them count as past. */
static tdm_status find_query(const struct template_options *options, const tdm_message *messages, size_t n,
                             ptrdiff_t *query, tdm_error *err)
{
    bool strict = options->form.kind != TEMPLATE_BUILTIN;
    tdm_status status = template_check(options->form, options->think, options->keep ? TDM_KEEP_ON : TDM_KEEP_OFF, err);
    if (status) return status;
    if (strict && !n) return error_set(err, TDM_E_REFUSED, "the chat template refuses: no messages");
    *query = -1;
    for (size_t i = n; i-- > 0 && *query < 0;)
        if (strict ? is_query(&messages[i]) || (options->open && i == n - 1 && messages[i].role == TDM_USER)
                   : messages[i].role == TDM_USER)
            *query = (ptrdiff_t)i;
    if (strict && *query < 0) return error_set(err, TDM_E_REFUSED, "the chat template refuses: no user message");
    for (size_t i = 0; i < n; i++) {
        if ((unsigned)messages[i].role > TDM_ASSISTANT)
            return error_set(err, TDM_E_REFUSED, "the chat template refuses: message %zu has an unknown role", i + 1);
        if (strict && i > 0 && messages[i].role == TDM_SYSTEM)
            return error_set(err, TDM_E_REFUSED,
                             "the chat template refuses: message %zu is a system message, which must come first",
                             i + 1);
    }
    if (options->open) {
        if (!n || messages[n - 1].role == TDM_SYSTEM || options->generation)
            return error_set(err, TDM_E_ARG, "an open message is the last, of user or assistant");
        *query = (ptrdiff_t)n;
    }
    return TDM_OK;
}

/* ---- Rendering ----------------------------------------------------------------------------------------------- */

static void write_bytes(struct rendering *r, const char *bytes, size_t n)
{
    memcpy(r->text + r->length, bytes, n);
    r->length += n;
}

static void write_text(struct rendering *r, const char *text)
{
    write_bytes(r, text, strlen(text));
}

static void write_mark(struct rendering *r, int kind)
{
    r->marks[r->mark_count++] = (struct mark){r->length, kind};
    write_text(r, marks[kind]);
}

static void write_opening(struct rendering *r, tdm_role role)
{
    write_mark(r, MARK_START);
    write_text(r, role_names[role]);
    write_text(r, "\n");
}

static void write_thinking(struct rendering *r, struct span thinking)
{
    write_mark(r, MARK_THINK);
    write_text(r, "\n");
    write_bytes(r, thinking.bytes, thinking.length);
    write_text(r, "\n");
    write_mark(r, MARK_THOUGHT);
    write_text(r, "\n\n");
}

/* The stable part of a growing text as it will be rendered: without the white space before it, and ending before any
 * at its end (an incomplete character may become some), which goes if the text ends there. The line break that the
 * template writes before it stays a token of its own, since what remains never begins with white space. */
static tdm_status stable_part(const struct tokenizer *t, struct growing *g, struct span *text, tdm_error *err)
{
    size_t n = text->length - utf8_incomplete(text->bytes, text->length), length = 0;
    struct span limit = strip((struct span){text->bytes, n});
    if (limit.length) n -= (size_t)(limit.bytes - text->bytes);
    tdm_status status = g ? growing_set(g, limit.bytes, limit.length ? n : 0, limit.length, err) : TDM_OK;
    if (status == TDM_OK && g)
        status = growing_stable(g, &length, err);
    else if (status == TDM_OK && limit.length)
        status = tokenizer_stable_prefix(t, limit.bytes, n, limit.length, &length, err);
    *text = (struct span){limit.bytes, length};
    return status;
}

/* The text of the last message, if it is kept. Not a closed reply's: white space may stand before that. */
static struct growing *growing_of(const struct template_options *options, const tdm_message *last)
{
    return options->open || last->role != TDM_ASSISTANT ? options->growing : NULL;
}

/* What is said of the effort at the head of the system turn, or NULL. */
static const char *effort_sentence(const struct template_options *options)
{
    if (options->form.kind != TEMPLATE_QWEN38 ||
        (size_t)options->think >= sizeof effort_sentences / sizeof *effort_sentences)
        return NULL;
    return effort_sentences[options->think];
}

/* last: of the prompt. */
static tdm_status write_message(struct rendering *r, const struct template_options *options, const tdm_message *message,
                                bool last, bool past, const struct tokenizer *t, struct template_place *place,
                                tdm_error *err)
{
    bool open = options->open && last;
    struct growing *g = last ? growing_of(options, message) : NULL;
    struct span text = message_text(message), thinking = {"", 0};
    const char *source = text.bytes;
    const char *sentence = message->role == TDM_SYSTEM ? effort_sentence(options) : NULL;
    tdm_status status = TDM_OK;
    if (message->role == TDM_ASSISTANT && options->form.kind != TEMPLATE_BUILTIN) thinking = message_thinking(message);
    if (open)
        status = stable_part(t, g, &text, err);
    else if (message->role == TDM_ASSISTANT && options->form.kind != TEMPLATE_BUILTIN)
        take_apart(message, options->form.kind, &text, &thinking);
    else
        text = strip(text);
    if (!open && g) status = growing_set(g, text.bytes, text.length, text.length, err);
    if (status) return status;

    *place = (struct template_place){.start = r->length, .begin = r->length, .end = r->length};
    if (message->role == TDM_SYSTEM && options->form.kind == TEMPLATE_QWEN38 && !text.length && !sentence)
        return TDM_OK;
    write_opening(r, message->role);
    if (message->role == TDM_ASSISTANT && (!past || options->keep)) write_thinking(r, thinking);
    if (sentence) write_text(r, sentence);
    if (sentence && text.length) write_text(r, "\n\n");
    place->begin = r->length;
    write_bytes(r, text.bytes, text.length);
    place->end = r->length;
    place->source = (size_t)(text.bytes - source);
    if (!open) {
        write_mark(r, MARK_END);
        write_text(r, "\n");
    }
    return TDM_OK;
}

static void rendering_free(struct rendering *r)
{
    free(r->text);
    free(r->marks);
}

/* t is needed for open messages only. *generation: where the opening of the reply begins, or the end. */
static tdm_status render(struct rendering *r, const struct tokenizer *t, const struct template_options *options,
                         const tdm_message *messages, size_t n, struct template_place *places, size_t *generation,
                         tdm_error *err)
{
    *r = (struct rendering){0};
    ptrdiff_t query = -1;
    tdm_status status = find_query(options, messages, n, &query, err);
    if (status) return status;
    uint64_t room = AROUND + EFFORT + 1, mark_room = 0;
    bool fits = size_mul(n + 2, MARKS_AROUND * sizeof *r->marks, &mark_room);
    for (size_t i = 0; i < n; i++)
        fits = fits && size_add(room, messages[i].length, &room) &&
               size_add(room, messages[i].thinking_length, &room) && size_add(room, AROUND, &room);
    r->text = fits ? malloc(room) : NULL;
    r->marks = fits ? malloc(mark_room) : NULL;
    if (!r->text || !r->marks) {
        rendering_free(r);
        return error_set(err, TDM_E_NOMEM, "no memory for a prompt of %zu messages", n);
    }
    const char *sentence = effort_sentence(options);
    if (sentence && messages[0].role != TDM_SYSTEM) {
        write_opening(r, TDM_SYSTEM);
        write_text(r, sentence);
        write_mark(r, MARK_END);
        write_text(r, "\n");
    }
    for (size_t i = 0; i < n && !status; i++) {
        struct template_place unused;
        status = write_message(r, options, &messages[i], i == n - 1, (ptrdiff_t)i <= query, t,
                               places ? &places[i] : &unused, err);
    }
    *generation = r->length;
    if (options->generation) {
        write_opening(r, TDM_ASSISTANT);
        if (!options->think) {
            write_thinking(r, (struct span){"", 0});
        } else {
            write_mark(r, MARK_THINK);
            write_text(r, "\n");
        }
    }
    r->text[r->length] = 0;
    if (status) rendering_free(r);
    return status;
}

tdm_status template_render(const struct template_options *options, const tdm_message *messages, size_t n, char **text,
                           size_t *length, struct template_place *places, tdm_error *err)
{
    *text = NULL;
    assert_always(!options->open);
    struct rendering r;
    size_t generation;
    tdm_status status = render(&r, NULL, options, messages, n, places, &generation, err);
    if (status) return status;
    free(r.marks);
    *text = r.text;
    *length = r.length;
    return TDM_OK;
}

/* The text between two tokens. Where it is the last message (last not NULL), the ids of its text come from g: before it
 * stands a line break, which is a token of its own, since the text does not begin with white space. */
static tdm_status encode_between(const struct rendering *r, const struct tokenizer *t, const struct growing *g,
                                 const struct template_place *last, size_t begin, size_t end, struct ids *out,
                                 tdm_error *err)
{
    tdm_status status = TDM_OK;
    if (last && last->begin >= begin && last->end <= end && last->end > last->begin) {
        status = tokenizer_encode(t, r->text + begin, last->begin - begin, 0, begin, out, err);
        if (!status) status = growing_encode(g, last->end - last->begin, last->begin, out, err);
        begin = last->end;
    }
    return status ? status : tokenizer_encode(t, r->text + begin, end - begin, 0, begin, out, err);
}

tdm_status template_encode(const struct tokenizer *t, const struct template_options *options,
                           const tdm_message *messages, size_t n, size_t first, struct ids *out,
                           struct template_place *places, tdm_error *err)
{
    tdm_id mark_ids[MARKS];
    for (int k = 0; k < MARKS; k++) mark_ids[k] = tokenizer_find(t, marks[k]);
    if (first > n) return error_set(err, TDM_E_ARG, "expected a message from 0 to %zu, found %zu", n, first);
    if (first > 0 && mark_ids[MARK_START] < 0)
        return error_set(err, TDM_E_UNSUPPORTED, "the vocabulary has no token %s", marks[MARK_START]);
    struct template_place *own = places ? NULL : malloc((n + 1) * sizeof *own);
    if (!places && !own) return error_set(err, TDM_E_NOMEM, "no memory for a prompt of %zu messages", n);
    if (!places) places = own;

    struct rendering r;
    size_t generation;
    tdm_status status = render(&r, t, options, messages, n, places, &generation, err);
    if (!status) {
        size_t at = first == 0 ? 0 : first < n ? places[first].start : generation;
        /* The last message's text is a stretch of its own only between two tokens. */
        const struct growing *g = n ? growing_of(options, &messages[n - 1]) : NULL;
        bool apart = g && mark_ids[MARK_START] >= 0 && mark_ids[MARK_END] >= 0;
        const struct template_place *last = apart ? &places[n - 1] : NULL;
        for (size_t i = 0; i < r.mark_count && !status; i++) {
            const struct mark *mark = &r.marks[i];
            if (mark->at < at || mark_ids[mark->kind] < 0) continue;
            status = encode_between(&r, t, g, last, at, mark->at, out, err);
            at = mark->at + strlen(marks[mark->kind]);
            if (!status) status = ids_push(out, mark_ids[mark->kind], at, err);
        }
        if (!status) status = encode_between(&r, t, g, last, at, r.length, out, err);
        rendering_free(&r);
    }
    free(own);
    return status;
}

/* ---- Places -------------------------------------------------------------------------------------------------- */

size_t template_count(const struct ids *ids, size_t end)
{
    size_t low = 0, high = ids->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ids->end[middle] <= end)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t template_read(const struct template_place *place, size_t end)
{
    if (end <= place->begin) return 0;
    return place->source + (end < place->end ? end : place->end) - place->begin;
}
