/* What a template does with thinking, system messages and turns, found by rendering small conversations with it. A fact
 * stays unknown if the template refuses the conversation that would show it. */
#include "engine/text/template/inside.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"

/* Texts that stand for messages; no template spells them. */
#define ASKED   "Qzxasked"
#define ANSWER  "Qzxanswer"
#define THOUGHT "Qzxthought"
#define AGAIN   "Qzxagain"
#define STRANGE "qzxstrange"

static const tdm_message asked = {.role = TDM_USER, .text = ASKED, .length = sizeof ASKED - 1};
static const tdm_message again = {.role = TDM_USER, .text = AGAIN, .length = sizeof AGAIN - 1};
static const tdm_message told = {.role = TDM_SYSTEM, .text = THOUGHT, .length = sizeof THOUGHT - 1};
static const tdm_message answered = {
    .role = TDM_ASSISTANT, .text = ANSWER, .length = sizeof ANSWER - 1, .thinking = ""};
static const tdm_message thought = {.role = TDM_ASSISTANT,
                                    .text = ANSWER,
                                    .length = sizeof ANSWER - 1,
                                    .thinking = THOUGHT,
                                    .thinking_length = sizeof THOUGHT - 1};

/* Marks that open and close thinking, for templates that don't write it in a reply: those that the prompt of one has,
 * else those of which a vocabulary has both. */
static const struct {
    const char *opens, *closes;
} known_marks[] = {{"<think>", "</think>"},
                   {"[THINK]", "[/THINK]"},
                   {"<seed:think>", "</seed:think>"},
                   {"<|channel>thought", "<channel|>"}};
enum { KNOWN_MARKS = sizeof known_marks / sizeof *known_marks };

void traits_free(struct template_facts *facts)
{
    free(facts->opens);
    free(facts->closes);
    free(facts->behind);
    for (int i = 0; i < TEMPLATE_MARKS; i++) free(facts->channels.mark[i]);
    for (int i = 0; i < TEMPLATE_BARRED; i++) free(facts->barred[i]);
    free(facts->channels.answer);
    free(facts->open_ids.ids);
    free(facts->close_ids.ids);
    free(facts->user);
    free(facts->reply);
}

/* ---- Rendering --------------------------------------------------------------------------------------------------- */

/* The text of these messages; NULL: refused, or starved. */
static const char *text_of(struct template *t, const struct template_options *options, const tdm_message *messages,
                           size_t n, struct written *out)
{
    struct template_options o = *options;
    o.now = (struct jinja_time){2026, 1, 1, 0, 0, 0}; /* any: some ask for it */
    written_clear(out);
    tdm_status status = template_render(t, &o, messages, n, out, NULL);
    if (!status) status = written_add(out, (struct span){"", 1}, false, NULL);
    t->starved |= status == TDM_E_NOMEM;
    return status ? NULL : out->text;
}

static const char *reply_of(struct template *t, tdm_thinking think, struct written *out)
{
    return text_of(t, &(struct template_options){.think = think, .generation = true}, &asked, 1, out);
}

/* Both refused counts as the same. */
static bool differ(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) != 0 : a != b;
}

/* ---- Ways of thinking -------------------------------------------------------------------------------------------- */

static bool has_switch(const struct template *t)
{
    for (int i = 0; i < TEMPLATE_SWITCHES; i++)
        if (jinja_names(t->parsed, template_switches[i].name)) return true;
    return false;
}

/* An effort that a template knows: it accepts it, and either refuses a strange one or writes something else for it. One
 * that writes down whatever it is given is taken to know the usual ones. */
static bool knows_effort(struct template *t, tdm_thinking think, const char *effort, bool usual)
{
    struct written a = {0}, b = {0};
    t->effort[think] = effort;
    const char *with = reply_of(t, think, &a);
    t->effort[think] = STRANGE;
    const char *strange = reply_of(t, think, &b);
    bool known = with && (strange && strstr(strange, STRANGE) ? usual : differ(with, strange));
    t->effort[think] = NULL;
    written_free(&a);
    written_free(&b);
    return known;
}

static void find_efforts(struct template *t, bool switched)
{
    static const struct {
        tdm_thinking think;
        const char *effort;
        bool usual;
    } rows[] = {{TDM_THINK_LOW, "low", true},
                {TDM_THINK_MEDIUM, "medium", true},
                {TDM_THINK_HIGH, "high", true},
                {TDM_THINK_XHIGH, "xhigh", false},
                {TDM_THINK_XHIGH, "max", false}};
    static const char *const none[] = {"none", "no_think"};
    struct template_facts *f = &t->facts;
    const char **of = t->effort;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tdm_thinking think = rows[i].think;
        if (f->thinkings >> think & 1 || !knows_effort(t, think, rows[i].effort, rows[i].usual)) continue;
        of[think] = rows[i].effort;
        f->thinkings |= 1u << think;
    }
    for (size_t i = 0; i < sizeof none / sizeof *none && !switched && !of[TDM_THINK_OFF]; i++)
        if (knows_effort(t, TDM_THINK_OFF, none[i], false)) of[TDM_THINK_OFF] = none[i];
    if (f->thinkings == 1u << TDM_THINK_OFF && !of[TDM_THINK_OFF]) return;
    f->thinkings |= 1u << TDM_THINK_ON;
    of[TDM_THINK_ON] = of[TDM_THINK_MEDIUM];
    if (!switched && !of[TDM_THINK_ON]) of[TDM_THINK_ON] = of[TDM_THINK_HIGH] ? of[TDM_THINK_HIGH] : of[TDM_THINK_LOW];
}

static void find_thinkings(struct template *t)
{
    struct written a = {0}, b = {0};
    t->facts.thinkings = 1u << TDM_THINK_OFF;
    bool switched = has_switch(t) && differ(reply_of(t, TDM_THINK_OFF, &a), reply_of(t, TDM_THINK_ON, &b));
    if (jinja_names(t->parsed, TEMPLATE_EFFORT)) find_efforts(t, switched);
    if (switched) t->facts.thinkings |= 1u << TDM_THINK_ON;
    written_free(&a);
    written_free(&b);
}

/* Past turns are looked at as when the model thinks, if it can. */
static tdm_thinking most_thinking(const struct template *t)
{
    return t->facts.thinkings >> TDM_THINK_ON & 1 ? TDM_THINK_ON : TDM_THINK_OFF;
}

/* ---- Marks around thinking --------------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct span trimmed(struct span s)
{
    while (s.length && is_blank(s.bytes[0])) s.bytes++, s.length--;
    while (s.length && is_blank(s.bytes[s.length - 1])) s.length--;
    return s;
}

static size_t common(const char *a, const char *b)
{
    size_t n = 0;
    while (a && b && a[n] && a[n] == b[n]) n++;
    return n;
}

/* The first word of a text that looks like a mark: <...>. */
static struct span first_mark(struct span s)
{
    const char *end = s.length && s.bytes[0] == '<' ? memchr(s.bytes, '>', s.length) : NULL;
    return (struct span){s.bytes, end ? (size_t)(end + 1 - s.bytes) : 0};
}

/* The last word of a text that looks like a mark: <...> or [...]. */
static struct span last_mark(struct span s)
{
    size_t at = s.length;
    if (!at || (s.bytes[at - 1] != '>' && s.bytes[at - 1] != ']')) return (struct span){s.bytes, 0};
    char opens = s.bytes[at - 1] == '>' ? '<' : '[';
    while (at && s.bytes[at - 1] != opens) at--;
    return at ? (struct span){s.bytes + at - 1, s.length - at + 1} : (struct span){s.bytes, 0};
}

static tdm_status ids_of(const struct tokenizer *t, const char *text, tdm_ids *out, tdm_error *err)
{
    struct ids ids = {0};
    tdm_status status = t && text ? tokenizer_encode(t, text, strlen(text), TOKENIZE_ADDED, 0, &ids, err) : TDM_OK;
    if (!status) status = ids_list_append(out, ids.id, ids.count, err);
    ids_free(&ids);
    return status;
}

static bool is_same(struct span a, struct span b)
{
    return a.length == b.length && !memcmp(a.bytes, b.bytes, a.length);
}

/* Thinking that is opened by a name between two marks, and closed by another mark and, at last, another name between
 * the same two, is a message of a channel, and so is the answer. */
static tdm_status find_channels(struct template *t, struct span opens, struct span closes, tdm_error *err)
{
    struct template_channels *c = &t->facts.channels;
    struct span mark[TEMPLATE_MARKS] = {first_mark(opens), last_mark(opens), first_mark(closes)};
    size_t before = mark[MARK_NAME].length, behind = mark[MARK_TEXT].length;
    if (!before || opens.length <= before + behind || !mark[MARK_END].length ||
        !is_same(mark[MARK_TEXT], last_mark(closes)))
        return TDM_OK;
    struct span name = {closes.bytes, closes.length - behind};
    size_t at = span_find_last(name, mark[MARK_NAME]);
    if (at == SIZE_MAX || at < mark[MARK_END].length || at + before == name.length) return TDM_OK;
    c->answer = strndup(name.bytes + at + before, name.length - at - before);
    bool kept = c->answer;
    for (int i = 0; i < TEMPLATE_MARKS; i++) {
        c->mark[i] = strndup(mark[i].bytes, mark[i].length);
        kept = kept && c->mark[i];
        c->id[i] = c->mark[i] && t->tokenizer ? tokenizer_find(t->tokenizer, c->mark[i]) : -1;
    }
    return kept ? TDM_OK : error_set(err, TDM_E_NOMEM, "no memory for a chat template");
}

static tdm_status keep_barred(struct template_facts *f, struct span s, tdm_error *err)
{
    int n = 0;
    while (f->barred[n]) n++;
    for (; s.length; s.bytes++, s.length--) {
        struct span mark = first_mark(s);
        bool bar = mark.length && memchr(mark.bytes, '|', mark.length), there = false;
        for (int i = 0; i < n; i++) there |= is_same(mark, span_text(f->barred[i]));
        if (!bar || there || n == TEMPLATE_BARRED) continue;
        f->barred[n] = strndup(mark.bytes, mark.length);
        if (!f->barred[n++]) return error_set(err, TDM_E_NOMEM, "no memory for a chat template");
    }
    return TDM_OK;
}

static tdm_status keep_marks(struct template *t, struct span opens, struct span closes, struct span behind,
                             tdm_error *err)
{
    struct template_facts *f = &t->facts;
    f->opens = strndup(opens.bytes, opens.length);
    f->closes = strndup(closes.bytes, closes.length);
    f->behind = strndup(behind.bytes, behind.length);
    if (!f->opens || !f->closes || !f->behind) return error_set(err, TDM_E_NOMEM, "no memory for a chat template");
    tdm_status status = ids_of(t->tokenizer, f->opens, &f->open_ids, err);
    if (!status) status = ids_of(t->tokenizer, f->closes, &f->close_ids, err);
    if (!status) status = find_channels(t, opens, closes, err);
    if (!status) status = keep_barred(f, opens, err);
    return status ? status : keep_barred(f, closes, err);
}

/* A reply with its thinking at the end of a prompt. The opening mark is what comes to the beginning of a reply, or,
 * where prompts have it there already, their last mark. */
static tdm_status read_marks(struct template *t, const char *text, const char *opening, const char *other, bool *found,
                             tdm_error *err)
{
    const char *at = strstr(text, THOUGHT), *end = at ? strstr(at, ANSWER) : NULL;
    *found = end;
    if (!end) return TDM_OK;
    size_t begun = common(text, opening), same = common(text, other);
    const char *message = strstr(text, ASKED);
    if (same < begun) begun = same;
    if (!message || text + begun < message + sizeof ASKED - 1) begun = (size_t)(at - text); /* useless marks */
    struct span opens = {text + begun, begun < (size_t)(at - text) ? (size_t)(at - text) - begun : 0};
    opens = trimmed(opens);
    if (!opens.length) opens = last_mark(trimmed((struct span){text, (size_t)(at - text)}));
    at += sizeof THOUGHT - 1;
    struct span between = {at, (size_t)(end - at)}, closes = trimmed(between);
    struct span behind = {closes.bytes + closes.length, (size_t)(end - closes.bytes) - closes.length};
    *found = opens.length && closes.length;
    return *found ? keep_marks(t, opens, closes, behind, err) : TDM_OK;
}

static tdm_status find_marks(struct template *t, tdm_error *err)
{
    static const char *const names[] = {NULL, "thinking", "reasoning", "thought"};
    const tdm_message messages[] = {asked, thought};
    struct template_options o = {.think = most_thinking(t)};
    struct written text = {0}, opening = {0}, other = {0};
    const char *first = reply_of(t, o.think, &opening), *second = reply_of(t, TDM_THINK_OFF, &other);
    tdm_status status = TDM_OK;
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && !found && !status; i++) {
        t->thought = names[i];
        const char *with = text_of(t, &o, messages, 2, &text);
        if (with && first && second) status = read_marks(t, with, first, second, &found, err);
    }
    if (!found) t->thought = NULL;
    for (size_t i = 0; i < 2 * KNOWN_MARKS && !found && !status; i++) {
        const char *opens = known_marks[i % KNOWN_MARKS].opens, *closes = known_marks[i % KNOWN_MARKS].closes;
        if (i < KNOWN_MARKS)
            found = (first && strstr(first, opens)) || (second && strstr(second, opens));
        else if (t->tokenizer)
            found = tokenizer_find(t->tokenizer, opens) >= 0 && tokenizer_find(t->tokenizer, closes) >= 0;
        if (found) status = keep_marks(t, span_text(opens), span_text(closes), (struct span){"\n\n", 2}, err);
    }
    written_free(&text);
    written_free(&opening);
    written_free(&other);
    return status;
}

static const char *find_last(const char *text, const char *what)
{
    size_t at = span_find_last(span_text(text), span_text(what));
    return at == SIZE_MAX ? NULL : text + at;
}

/* Which part of thinking stands at the end of a reply's prompt, behind the message. */
static enum template_opening opening_of(struct template *t, tdm_thinking think)
{
    const struct template_facts *f = &t->facts;
    struct written out = {0};
    const char *text = f->opens ? reply_of(t, think, &out) : NULL;
    const char *tail = text ? find_last(text, ASKED) : NULL;
    enum template_opening opening = OPENING_FREE;
    if (tail) {
        const char *opens = find_last(tail, f->opens), *closes = find_last(tail, f->closes);
        if (closes && (!opens || closes > opens))
            opening = OPENING_ANSWERS;
        else if (opens && !trimmed(span_text(opens + strlen(f->opens))).length)
            opening = OPENING_THINKS;
    }
    written_free(&out);
    return opening;
}

static void find_openings(struct template *t)
{
    struct template_facts *f = &t->facts;
    for (int k = 0; k < TDM_THINKINGS; k++)
        if (f->thinkings >> k & 1) f->opening[k] = opening_of(t, (tdm_thinking)k);
    struct written off = {0}, on = {0};
    f->always_thinks =
        f->opening[TDM_THINK_OFF] == OPENING_THINKS ||
        (f->thinkings >> TDM_THINK_ON & 1 && !differ(reply_of(t, TDM_THINK_OFF, &off), reply_of(t, TDM_THINK_ON, &on)));
    written_free(&off);
    written_free(&on);
    if (f->always_thinks && !(f->thinkings >> TDM_THINK_ON & 1)) {
        f->thinkings |= 1u << TDM_THINK_ON;
        f->opening[TDM_THINK_ON] = OPENING_THINKS;
    }
}

/* ---- Past turns -------------------------------------------------------------------------------------------------- */

/* Whether the thinking of a past turn is written. */
static bool keeps(struct template *t, tdm_keep_thinking keep)
{
    const tdm_message messages[] = {asked, thought, again};
    struct template_options o = {.think = most_thinking(t), .keep = keep, .generation = true};
    struct written out = {0};
    const char *text = text_of(t, &o, messages, 3, &out);
    bool there = text && strstr(text, THOUGHT);
    written_free(&out);
    return there;
}

/* The text that opens the turn of `second`: what `text` has between `first` and `second`, without the beginning that it
 * shares with `ended`, another prompt that ends behind `first`. The last places count, since templates may show
 * examples. */
static char *opening_between(const char *text, const char *first, const char *second, const char *ended)
{
    const char *from = text ? find_last(text, first) : NULL, *end = ended ? find_last(ended, first) : NULL;
    if (from) from += strlen(first);
    const char *to = from ? strstr(from, second) : NULL;
    if (!to) return strdup("");
    size_t closed = end ? common(end + strlen(first), from) : 0, gap = (size_t)(to - from);
    return strndup(from + closed, gap > closed ? gap - closed : 0);
}

/* The token that stands behind an answer at the end of a prompt. */
static tdm_id stop_behind(struct template *t, const char *text)
{
    const char *answer = text ? find_last(text, ANSWER) : NULL;
    if (!answer || !t->tokenizer) return -1;
    answer += sizeof ANSWER - 1;
    struct span rest = trimmed(span_text(answer));
    size_t n = tokenizer_spells_added(t->tokenizer, rest.bytes, rest.length);
    char *mark = n ? strndup(rest.bytes, n) : NULL;
    t->starved |= n && !mark;
    tdm_id id = mark ? tokenizer_find(t->tokenizer, mark) : -1;
    free(mark);
    return id;
}

static tdm_status find_turns(struct template *t, tdm_error *err)
{
    const tdm_message messages[] = {asked, answered, again};
    struct template_options o = {.think = TDM_THINK_OFF};
    struct written of[3] = {{0}};
    const char *one = text_of(t, &o, messages, 1, &of[0]), *two = text_of(t, &o, messages, 2, &of[1]),
               *all = text_of(t, &o, messages, 3, &of[2]);
    t->facts.user = opening_between(all, ANSWER, AGAIN, two);
    t->facts.reply = opening_between(all, ASKED, ANSWER, one);
    t->facts.stop = stop_behind(t, two);
    for (int i = 0; i < 3; i++) written_free(&of[i]);
    if (t->facts.user && t->facts.reply) return TDM_OK;
    return error_set(err, TDM_E_NOMEM, "no memory for a chat template");
}

static bool takes_system(struct template *t)
{
    const tdm_message messages[] = {told, asked};
    struct template_options o = {.generation = true};
    struct written out = {0};
    const char *text = text_of(t, &o, messages, 2, &out);
    bool there = text && strstr(text, THOUGHT);
    written_free(&out);
    return there;
}

tdm_status traits_find(struct template *t, tdm_error *err)
{
    struct template_facts *f = &t->facts;
    struct written out = {0};
    t->empty_tools = !reply_of(t, TDM_THINK_OFF, &out);
    if (t->empty_tools) t->empty_tools = reply_of(t, TDM_THINK_OFF, &out);
    written_free(&out);
    find_thinkings(t);
    tdm_status status = find_marks(t, err);
    if (status) return status;
    find_openings(t);
    f->keeps = keeps(t, TDM_KEEP_AUTO);
    f->can_keep = f->keeps || keeps(t, TDM_KEEP_ON);
    f->can_drop = !f->keeps || !keeps(t, TDM_KEEP_OFF);
    f->no_system = !takes_system(t);
    status = find_turns(t, err);
    return !status && t->starved ? error_set(err, TDM_E_NOMEM, "no memory for a chat template") : status;
}
