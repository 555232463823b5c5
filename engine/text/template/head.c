#include "engine/text/template/head.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "engine/text/template/inside.h"
#include "engine/text/unicode.h"

/* Two texts that have nothing in common, with what a template might change in them. */
#define INNER " a\t\n\n\n  b\r\n<x>&\"'\\n{{ c }}\\ \xc3\xa9 1.0 "
static const char one[] = "Qzx" INNER "q";
static const char two[] = "Zxq" INNER "z";
static const char blanks[] = "\n \t\n "; /* what a template takes off the beginning, it may take off in part */

static const tdm_message another = {.role = TDM_USER, .text = "Qzx", .length = 3};

/* The prompt with another text in the last message's place, and a user's behind an assistant's. */
static tdm_status render(const struct template *t, const struct template_options *options, const tdm_message *messages,
                         size_t n, tdm_message last, struct written *out, tdm_error *err)
{
    struct template_options o = *options;
    tdm_message *all = malloc((n + 1) * sizeof *all);
    if (!all) return error_set(err, TDM_E_NOMEM, "no memory for a prompt of %zu messages", n);
    memcpy(all, messages, (n - 1) * sizeof *all);
    all[n - 1] = last;
    if (last.role == TDM_ASSISTANT) all[n++] = another;
    o.generation = true; /* as in the prompt that it becomes */
    tdm_status status = template_render(t, &o, all, n, out, err);
    free(all);
    return status;
}

/* The last message with this text in the place that grows. */
static tdm_message with(const tdm_message *last, bool thinks, const char *text, size_t n)
{
    tdm_message m = *last;
    m.text = text;
    m.length = n;
    if (thinks) {
        m.thinking = text;
        m.thinking_length = n;
    }
    return m;
}

static bool begins(const struct written *w, size_t at, const char *text, size_t n)
{
    return w->n - at >= n && !memcmp(w->text + at, text, n) && written_is_data(w, at, at + n);
}

/* ---- Where the tokenizer splits ---------------------------------------------------------------------------------- */

enum { TAIL = 200 }; /* bytes of the head that are looked at */

/* The ids of text[0..n) where `more` follows, if they end there. */
static tdm_status split(const struct tokenizer *t, struct written *w, size_t n, unsigned flags, const char *more,
                        struct ids *ids, bool *splits, tdm_error *err)
{
    written_cut(w, n);
    ids->count = 0;
    tdm_status status = written_add(w, span_text(more), true, err);
    if (!status) status = tokenizer_encode(t, w->text, w->n, flags, 0, ids, err);
    ids->count = template_count(ids, n);
    *splits = ids->count && ids->end[ids->count - 1] == n;
    return status;
}

/* Characters of all kinds that a message may begin with; the last ones where white space may stand there. */
static const char *const beginnings[] = {"a",
                                         "the",
                                         "A",
                                         "I'm",
                                         "1",
                                         "42",
                                         ".",
                                         "...",
                                         "!",
                                         "'s",
                                         "\"",
                                         "(",
                                         "<",
                                         "<|",
                                         "[",
                                         "{",
                                         "-",
                                         "_",
                                         "/",
                                         "#",
                                         "*",
                                         "\xc3\xa9",
                                         "e\xcc\x81",
                                         "\xcc\x81",
                                         "\xe4\xbd\xa0",
                                         "\xe3\x81\x82",
                                         "\xd9\x84",
                                         "\xe0\xa4\x95",
                                         "\xe1\x84\x80",
                                         "\xf0\x9f\x91\xa9",
                                         "\xe2\x80\x9c",
                                         "\xff",
                                         " ",
                                         "  x",
                                         "\n",
                                         "\n\nx",
                                         "\t",
                                         "\r\n",
                                         "\xc2\xa0"};
enum { BEGINNINGS = sizeof beginnings / sizeof *beginnings, BLANK_ONES = 7 };

/* The ids of the head's end are those of any prompt that begins with it, if no beginning of a message changes them. */
static tdm_status find_cut(struct template_head *head, const struct tokenizer *t, tdm_error *err)
{
    const struct written *text = &head->text;
    size_t begin = 0, first, end;
    unsigned flags = TOKENIZE_BEGIN;
    tdm_id id;
    if (text->n > TAIL) {
        begin = utf8_before(text->text, text->n - TAIL);
        flags = 0;
    }
    while (tokenizer_next_written(t, text->text, text->ends, text->n_ends, begin, &id, &first, &end)) {
        begin = end;
        flags = TOKENIZE_AFTER;
    }
    if (begin == text->n) return TDM_OK; /* an added token splits */
    struct written w = {0};
    struct ids ids = {0}, kept = {0};
    size_t n = text->n - begin;
    int most = head->strips ? BEGINNINGS - BLANK_ONES : BEGINNINGS;
    bool all;
    tdm_status status = written_add(&w, (struct span){text->text + begin, n}, true, err);
    if (!status) status = split(t, &w, n, flags, beginnings[0], &kept, &all, err);
    for (int i = 1; i < most && !status && all; i++) {
        status = split(t, &w, n, flags, beginnings[i], &ids, &all, err);
        all = all && ids.count == kept.count && !memcmp(ids.id, kept.id, ids.count * sizeof *ids.id);
    }
    if (!status && all) head->cut = text->n;
    written_free(&w);
    ids_free(&ids);
    ids_free(&kept);
    return status;
}

/* ---- Heads ------------------------------------------------------------------------------------------------------- */

tdm_status head_make(struct template_head *head, const struct template *t, const struct template_options *options,
                     const tdm_message *messages, size_t n, bool thinks, tdm_error *err)
{
    char second[sizeof blanks + sizeof two];
    snprintf(second, sizeof second, "%s%s", blanks, two);
    const tdm_message *last = &messages[n - 1];
    size_t fixed = template_fixed(last);
    char *grown = malloc(fixed + sizeof second);
    struct written a = {0}, b = {0};
    written_clear(&head->text);
    head->cut = 0;
    head->thinks = thinks;
    if (!grown) return error_set(err, TDM_E_NOMEM, "no memory for a prompt");
    if (fixed) memcpy(grown, last->text, fixed);
    memcpy(grown + fixed, one, sizeof one);
    tdm_status status = render(t, options, messages, n, with(last, thinks, grown, fixed + sizeof one - 1), &a, err);
    memcpy(grown + fixed, second, strlen(second));
    if (!status) status = render(t, options, messages, n, with(last, thinks, grown, fixed + strlen(second)), &b, err);
    if (!status) {
        size_t same = written_common(&a, &b);
        bool stripped = begins(&b, same, two, sizeof two - 1), whole = begins(&b, same, second, strlen(second));
        head->copies = begins(&a, same, one, sizeof one - 1) && (stripped || whole);
        head->strips = stripped;
        status = written_add_part(&head->text, &a, 0, same, err);
    }
    if (!status && head->copies && t->tokenizer) status = find_cut(head, t->tokenizer, err);
    written_free(&a);
    written_free(&b);
    free(grown);
    return status;
}

void head_free(struct template_head *head)
{
    written_free(&head->text);
}

/* What two continuations of the message have in common. */
static tdm_status render_both(const struct template *t, const struct template_options *options,
                              const tdm_message *messages, size_t n, struct written *out, tdm_error *err)
{
    const tdm_message *last = &messages[n - 1];
    char *texts[2] = {malloc(last->length + 2), malloc(last->length + 2)};
    struct written other = {0};
    tdm_status status = texts[0] && texts[1] ? TDM_OK : error_set(err, TDM_E_NOMEM, "no memory for a prompt");
    for (int i = 0; i < 2 && !status; i++) {
        if (last->length) memcpy(texts[i], last->text, last->length);
        memcpy(texts[i] + last->length, i ? "z." : "q,", 2);
        status = render(t, options, messages, n, with(last, false, texts[i], last->length + 2), i ? &other : out, err);
    }
    if (!status) written_cut(out, written_common(out, &other));
    written_free(&other);
    free(texts[0]);
    free(texts[1]);
    return status;
}

tdm_status head_grow(const struct template_head *head, const struct template *t, const struct template_options *options,
                     const tdm_message *messages, size_t n, struct written *out, struct template_place *place,
                     size_t *limit, tdm_error *err)
{
    const tdm_message *last = &messages[n - 1];
    size_t fixed = template_fixed(last), from = head->text.n, begin = 0, end = last->length - fixed;
    const char *text = last->length ? last->text + fixed : "";
    tdm_status status = TDM_OK;
    written_clear(out);
    *place = (struct template_place){.found = true, .begin = from, .end = from};
    if (head->thinks || head->copies) status = written_add_part(out, &head->text, 0, from, err);
    if (!head->thinks && head->copies) {
        if (end) end -= utf8_incomplete(text, end);
        size_t whole = end;
        if (end) unicode_strip(text, &begin, &end);
        if (begin == end) whole = begin = end = 0;
        if (!head->strips) begin = 0;
        if (!status) status = written_add(out, (struct span){text + begin, whole - begin}, true, err);
        place->source = fixed + begin;
        place->end = from + whole - begin;
        *limit = from + end - begin;
    } else if (!head->thinks) {
        if (!status) status = render_both(t, options, messages, n, out, err);
        begin = 0;
        end = out->n;
        if (end) unicode_strip(out->text, &begin, &end);
        *limit = end;
        place->end = out->n > from ? out->n : from;
    } else {
        *limit = out->n;
    }
    return status;
}
