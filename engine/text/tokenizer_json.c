#include "engine/text/tokenizer_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/signature.h"
#include "engine/json/scan.h"
#include "engine/os/file.h"
#include "engine/text/added.h"
#include "engine/text/split/split.h"

#define FILE_MAX (256u << 20)
#define ID_MAX   (1 << 20)

struct entry {
    struct span text;
    tdm_id id;
    int32_t type;
    uint8_t flags;
};

/* A growing array. */
struct list {
    void *items;
    size_t count, room;
};

struct tokenizer_json {
    struct jsonscan json;
    char *name, *bytes;  /* of a file: malloc'ed; NULL otherwise */
    struct list entries; /* struct entry: the vocabulary and the added tokens, in the file's order */
    struct list merges;  /* struct span */
    char *joined;        /* merges given as pairs, written with a blank: never longer than their source */
    size_t joined_used;
    struct span expressions[SPLIT_STAGES];
    size_t expression_count;
    bool nfc, ignore_merges, byte_level;
    bool pieces, blanks; /* byte_fallback; U+2581 is written for blanks */
    bool words;          /* which begin with it */
    enum tokenizer_before before;
    struct span bos;
    struct span *tokens; /* by id, with types and flags */
    int32_t *types;
    uint8_t *flags;
    struct tokenizer_parts parts;
};

static void *list_add(struct tokenizer_json *d, struct list *list, size_t item)
{
    if (list->count == list->room) {
        size_t room = list->room ? list->room * 2 : 1024;
        void *larger = realloc(list->items, room * item);
        if (!larger) {
            if (!d->json.status)
                d->json.status = error_set(d->json.err, TDM_E_NOMEM, "%s: no memory for its lists", d->json.name);
            return NULL;
        }
        list->items = larger;
        list->room = room;
    }
    return (char *)list->items + item * list->count++;
}

static void refuse(struct tokenizer_json *d, const char *what, struct span found)
{
    if (d->json.status) return;
    d->json.status = error_set(d->json.err, TDM_E_UNSUPPORTED, "%s: %s \"%.*s\"", d->json.name, what,
                               (int)(found.length < 200 ? found.length : 200), found.bytes);
}

static tdm_id read_id(struct jsonscan *j)
{
    int64_t id = jsonscan_integer(j);
    if (!j->status && (id < 0 || id >= ID_MAX))
        j->status = error_set(j->err, TDM_E_FORMAT, "%s: expected ids from 0 to %d, found %lld", j->name, ID_MAX - 1,
                              (long long)id);
    return j->status ? 0 : (tdm_id)id;
}

static void read_vocabulary(struct tokenizer_json *d)
{
    struct jsonscan *j = &d->json;
    struct span text;
    jsonscan_object(j);
    while (jsonscan_member(j, &text)) {
        tdm_id id = read_id(j);
        struct entry *entry = list_add(d, &d->entries, sizeof *entry);
        if (!entry) return;
        *entry = (struct entry){text, id, TOKENIZER_NORMAL, 0};
    }
}

static struct span join(struct tokenizer_json *d, struct span left, struct span right)
{
    char *to = d->joined + d->joined_used;
    size_t n = left.length + 1 + right.length;
    memcpy(to, left.bytes, left.length);
    to[left.length] = ' ';
    memcpy(to + left.length + 1, right.bytes, right.length);
    d->joined_used += n;
    return (struct span){to, n};
}

static void read_merges(struct tokenizer_json *d)
{
    struct jsonscan *j = &d->json;
    if (jsonscan_null(j)) return;
    jsonscan_array(j);
    while (jsonscan_element(j)) {
        struct span merge;
        if (jsonscan_peek(j) == '[') {
            struct span part[2] = {{"", 0}, {"", 0}};
            int n = 0;
            jsonscan_array(j);
            while (jsonscan_element(j)) {
                struct span text = jsonscan_string(j);
                if (n < 2) part[n] = text;
                n++;
            }
            if (n != 2) jsonscan_fail(j, "a merge of two parts");
            if (j->status) return;
            if (!d->joined && !(d->joined = malloc((size_t)(j->end - j->begin)))) {
                j->status = error_set(j->err, TDM_E_NOMEM, "%s: no memory for its merges", j->name);
                return;
            }
            merge = join(d, part[0], part[1]);
        } else {
            merge = jsonscan_string(j);
        }
        struct span *slot = list_add(d, &d->merges, sizeof *slot);
        if (!slot) return;
        *slot = merge;
    }
}

static void expect_empty(struct tokenizer_json *d, const char *what)
{
    if (jsonscan_null(&d->json)) return;
    struct span text = jsonscan_string(&d->json);
    if (text.length) refuse(d, what, text);
}

/* A number that is zero in whatever form, or null. */
static void expect_zero(struct tokenizer_json *d, const char *what)
{
    struct jsonscan *j = &d->json;
    jsonscan_peek(j);
    const char *begin = j->at;
    if (jsonscan_null(j)) return;
    jsonscan_skip(j);
    struct span number = {begin, (size_t)(j->at - begin)};
    for (const char *c = begin; c < j->at && *c != 'e' && *c != 'E'; c++)
        if (*c != '0' && *c != '.' && *c != '-') {
            refuse(d, what, number);
            return;
        }
}

static void expect_false(struct tokenizer_json *d, const char *what)
{
    if (!jsonscan_null(&d->json) && jsonscan_boolean(&d->json)) refuse(d, what, (struct span){"true", 4});
}

static void read_model(struct tokenizer_json *d)
{
    struct jsonscan *j = &d->json;
    struct span key;
    jsonscan_object(j);
    while (jsonscan_member(j, &key)) {
        if (span_is(key, "type")) {
            struct span type = jsonscan_string(j);
            if (!span_is(type, "BPE")) refuse(d, "model.type: expected \"BPE\", found", type);
        } else if (span_is(key, "vocab")) {
            read_vocabulary(d);
        } else if (span_is(key, "merges")) {
            read_merges(d);
        } else if (span_is(key, "ignore_merges")) {
            d->ignore_merges = !jsonscan_null(j) && jsonscan_boolean(j);
        } else if (span_is(key, "dropout")) {
            expect_zero(d, "model.dropout: expected 0, found");
        } else if (span_is(key, "byte_fallback")) {
            d->pieces = !jsonscan_null(j) && jsonscan_boolean(j);
        } else if (span_is(key, "continuing_subword_prefix")) {
            expect_empty(d, "model.continuing_subword_prefix: expected none, found");
        } else if (span_is(key, "end_of_word_suffix")) {
            expect_empty(d, "model.end_of_word_suffix: expected none, found");
        } else {
            jsonscan_skip(j);
        }
    }
}

static void read_added(struct tokenizer_json *d)
{
    struct jsonscan *j = &d->json;
    if (jsonscan_null(j)) return;
    jsonscan_array(j);
    while (jsonscan_element(j)) {
        struct entry entry = {.type = TOKENIZER_USER_DEFINED, .id = -1};
        struct span key;
        jsonscan_object(j);
        while (jsonscan_member(j, &key)) {
            uint8_t flag = 0;
            if (span_is(key, "single_word")) flag = ADDED_SINGLE_WORD;
            if (span_is(key, "lstrip")) flag = ADDED_LSTRIP;
            if (span_is(key, "rstrip")) flag = ADDED_RSTRIP;
            if (span_is(key, "normalized")) flag = ADDED_NORMALIZED;
            if (flag)
                entry.flags |= !jsonscan_null(j) && jsonscan_boolean(j) ? flag : 0;
            else if (span_is(key, "id"))
                entry.id = read_id(j);
            else if (span_is(key, "content"))
                entry.text = jsonscan_string(j);
            else if (span_is(key, "special"))
                entry.type = !jsonscan_null(j) && jsonscan_boolean(j) ? TOKENIZER_CONTROL : TOKENIZER_USER_DEFINED;
            else
                jsonscan_skip(j);
        }
        if (entry.id < 0 || !entry.text.bytes) jsonscan_fail(j, "an added token with id and content");
        struct entry *slot = j->status ? NULL : list_add(d, &d->entries, sizeof *slot);
        if (!slot) return;
        *slot = entry;
    }
}

#define BLANK "\xE2\x96\x81"

/* The text of a pattern that is one of these kinds. */
static struct span read_pattern(struct tokenizer_json *d, const char *kind, const char *what)
{
    struct jsonscan *j = &d->json;
    struct span key, text = {0};
    jsonscan_object(j);
    while (jsonscan_member(j, &key)) {
        text = jsonscan_string(j);
        if (!span_is(key, kind)) refuse(d, what, key);
    }
    return text;
}

static void take_normalizer(struct tokenizer_json *d, struct span type, struct span pattern, struct span text)
{
    if (d->json.status || span_is(type, "Sequence")) return;
    if (span_is(type, "NFC")) {
        d->nfc = true;
    } else if (span_is(type, "Prepend")) {
        if (!span_is(text, BLANK) || d->blanks) refuse(d, "normalizer: expected \"" BLANK "\" first, found", text);
        d->before = TOKENIZER_BLANK;
    } else if (span_is(type, "Replace")) {
        if (!span_is(pattern, " ") || !span_is(text, BLANK))
            refuse(d, "normalizer: expected blanks to be replaced, found", pattern);
        d->blanks = true;
    } else {
        refuse(d, "normalizer: expected \"NFC\", found", type);
    }
}

/* NFC, or what writes U+2581 for blanks, or none; a Sequence may hold several. */
static void read_normalizer(struct tokenizer_json *d)
{
    struct jsonscan *j = &d->json;
    struct span key, type = {"", 0}, pattern = {"", 0}, text = {"", 0};
    if (jsonscan_null(j)) return;
    jsonscan_object(j);
    while (jsonscan_member(j, &key)) {
        if (span_is(key, "normalizers")) {
            if (j->depth > 2) jsonscan_fail(j, "one sequence of normalizers");
            jsonscan_array(j);
            while (jsonscan_element(j)) read_normalizer(d);
        } else if (span_is(key, "type")) {
            type = jsonscan_string(j);
        } else if (span_is(key, "pattern")) {
            pattern = read_pattern(d, "String", "normalizer: expected a pattern that is a String, found");
        } else if (span_is(key, "content") || span_is(key, "prepend")) {
            text = jsonscan_string(j);
        } else {
            jsonscan_skip(j);
        }
    }
    take_normalizer(d, type, pattern, text);
}

static void add_expression(struct tokenizer_json *d, struct span text)
{
    if (d->expression_count == SPLIT_STAGES)
        refuse(d, "pre_tokenizer: expected fewer patterns, found also", text);
    else
        d->expressions[d->expression_count++] = text;
}

/* What one pre-tokenizer says, in any order of its members. */
struct pre_tokenizer {
    struct span type, pattern, replacement, scheme;
    bool single, own; /* digits; ByteLevel's expression, unless it says no */
    bool literal;     /* the pattern is no expression */
    bool isolated, split;
};

static void read_split_pattern(struct tokenizer_json *d, struct pre_tokenizer *p)
{
    struct jsonscan *j = &d->json;
    struct span key;
    jsonscan_object(j);
    while (jsonscan_member(j, &key)) {
        p->pattern = jsonscan_string(j);
        p->literal = span_is(key, "String");
        if (!p->literal && !span_is(key, "Regex"))
            refuse(d, "pre_tokenizer: expected a pattern that is a Regex, found", key);
    }
}

/* It writes U+2581 for blanks, too. */
static void take_metaspace(struct tokenizer_json *d, const struct pre_tokenizer *p)
{
    if (!span_is(p->replacement, BLANK))
        refuse(d, "pre_tokenizer.replacement: expected \"" BLANK "\", found", p->replacement);
    d->blanks = true;
    d->words = p->split;
    if (span_is(p->scheme, "always"))
        d->before = TOKENIZER_MISSING;
    else if (span_is(p->scheme, "first"))
        d->before = TOKENIZER_MISSING_ONCE;
    else if (!span_is(p->scheme, "never"))
        refuse(d, "pre_tokenizer.prepend_scheme: not known:", p->scheme);
}

static void take_pre_tokenizer(struct tokenizer_json *d, const struct pre_tokenizer *p)
{
    if (d->json.status || span_is(p->type, "Sequence")) return;
    if (d->byte_level) refuse(d, "pre_tokenizer: expected nothing after ByteLevel, found", p->type);
    if (span_is(p->type, "ByteLevel")) {
        d->byte_level = true;
        if (p->own) add_expression(d, span_text(SPLIT_BYTE_LEVEL));
    } else if (span_is(p->type, "Digits")) {
        add_expression(d, p->single ? (struct span){"\\p{N}", 5} : (struct span){"\\p{N}+", 6});
    } else if (span_is(p->type, "Split")) {
        /* Where blanks have been replaced, a Split at blanks does nothing. */
        bool nothing = p->literal && d->blanks && span_is(p->pattern, " ");
        if (!p->pattern.bytes)
            jsonscan_fail(&d->json, "a Split with a pattern");
        else if (!nothing && p->literal)
            refuse(d, "pre_tokenizer: expected a pattern that is a Regex, found", p->pattern);
        else if (!nothing && !p->isolated)
            refuse(d, "pre_tokenizer: expected \"Isolated\", found another behavior of", p->pattern);
        else if (!nothing)
            add_expression(d, p->pattern);
    } else if (span_is(p->type, "Metaspace")) {
        take_metaspace(d, p);
    } else {
        refuse(d, "pre_tokenizer: expected Split, Digits and ByteLevel, found", p->type);
    }
}

/* Splits by regular expressions or digits, and a ByteLevel at their end; a Sequence holds several. */
static void read_pre_tokenizer(struct tokenizer_json *d)
{
    struct jsonscan *j = &d->json;
    struct pre_tokenizer p = {
        .type = {"", 0}, .replacement = {"", 0}, .scheme = {"always", 6}, .own = true, .isolated = true, .split = true};
    struct span key;
    if (jsonscan_null(j)) return;
    jsonscan_object(j);
    while (jsonscan_member(j, &key)) {
        if (span_is(key, "type")) {
            p.type = jsonscan_string(j);
        } else if (span_is(key, "pretokenizers")) {
            if (j->depth > 2) jsonscan_fail(j, "one sequence of pre-tokenizers");
            jsonscan_array(j);
            while (jsonscan_element(j)) read_pre_tokenizer(d);
        } else if (span_is(key, "pattern")) {
            read_split_pattern(d, &p);
        } else if (span_is(key, "behavior")) {
            struct span behavior = jsonscan_string(j);
            p.isolated = span_is(behavior, "Isolated");
            if (!p.isolated && !span_is(behavior, "MergedWithPrevious"))
                refuse(d, "pre_tokenizer: expected \"Isolated\", found", behavior);
        } else if (span_is(key, "replacement")) {
            p.replacement = jsonscan_string(j);
        } else if (span_is(key, "prepend_scheme")) {
            p.scheme = jsonscan_string(j);
        } else if (span_is(key, "split")) {
            p.split = jsonscan_null(j) || jsonscan_boolean(j);
        } else if (span_is(key, "invert")) {
            expect_false(d, "pre_tokenizer.invert: expected false, found");
        } else if (span_is(key, "add_prefix_space")) {
            expect_false(d, "pre_tokenizer.add_prefix_space: expected false, found");
        } else if (span_is(key, "use_regex")) {
            p.own = jsonscan_null(j) || jsonscan_boolean(j);
        } else if (span_is(key, "individual_digits")) {
            p.single = !jsonscan_null(j) && jsonscan_boolean(j);
        } else {
            jsonscan_skip(j);
        }
    }
    take_pre_tokenizer(d, &p);
}

/* The first part of a template for one text: a token that stands before it, or not. */
static void read_single(struct tokenizer_json *d)
{
    struct jsonscan *j = &d->json;
    struct span kind, key;
    bool first = true;
    if (jsonscan_null(j)) return;
    jsonscan_array(j);
    for (; jsonscan_element(j); first = false) {
        jsonscan_object(j);
        while (jsonscan_member(j, &kind)) {
            jsonscan_object(j);
            while (jsonscan_member(j, &key)) {
                if (first && span_is(kind, "SpecialToken") && span_is(key, "id"))
                    d->bos = jsonscan_string(j);
                else
                    jsonscan_skip(j);
            }
        }
    }
}

/* What stands before a text; a Sequence may hold it. */
static void read_post_processor(struct tokenizer_json *d)
{
    struct jsonscan *j = &d->json;
    struct span key;
    if (jsonscan_null(j)) return;
    jsonscan_object(j);
    while (jsonscan_member(j, &key)) {
        if (span_is(key, "processors")) {
            if (j->depth > 2) jsonscan_fail(j, "one sequence of post-processors");
            jsonscan_array(j);
            while (jsonscan_element(j)) read_post_processor(d);
        } else if (span_is(key, "single") && jsonscan_peek(j) == '[') {
            read_single(d);
        } else {
            jsonscan_skip(j);
        }
    }
}

static void read_document(struct tokenizer_json *d)
{
    struct jsonscan *j = &d->json;
    struct span key;
    jsonscan_object(j);
    while (jsonscan_member(j, &key)) {
        if (span_is(key, "model"))
            read_model(d);
        else if (span_is(key, "added_tokens"))
            read_added(d);
        else if (span_is(key, "normalizer"))
            read_normalizer(d);
        else if (span_is(key, "pre_tokenizer"))
            read_pre_tokenizer(d);
        else if (span_is(key, "post_processor"))
            read_post_processor(d);
        else
            jsonscan_skip(j);
    }
    jsonscan_finish(j);
}

/* Puts the entry in its id's place. An added token may repeat one of the vocabulary with the same text. */
static tdm_status place(struct tokenizer_json *d, const struct entry *entry, tdm_error *err)
{
    struct span *slot = &d->tokens[entry->id];
    const char *name = d->json.name;
    bool same = slot->bytes && slot->length == entry->text.length &&
                !memcmp(slot->bytes, entry->text.bytes, entry->text.length);
    bool again = slot->bytes && (entry->type == TOKENIZER_NORMAL) == (d->types[entry->id] == TOKENIZER_NORMAL);
    if (again && !(same && entry->type == d->types[entry->id] && entry->flags == d->flags[entry->id]))
        return error_set(err, TDM_E_FORMAT, "%s: two tokens have the id %d", name, (int)entry->id);
    if (slot->bytes && !same)
        return error_set(err, TDM_E_FORMAT,
                         "%s: added token %d: expected \"%.*s\" as in the vocabulary, found \"%.*s\"", name,
                         (int)entry->id, (int)(slot->length < 60 ? slot->length : 60), slot->bytes,
                         (int)(entry->text.length < 60 ? entry->text.length : 60), entry->text.bytes);
    if (slot->bytes && entry->type == TOKENIZER_NORMAL) return TDM_OK;
    *slot = entry->text;
    d->types[entry->id] = entry->type;
    d->flags[entry->id] = entry->flags;
    return TDM_OK;
}

/* Puts the entries in the order of their ids. */
static tdm_status arrange(struct tokenizer_json *d, tdm_error *err)
{
    const struct entry *entries = d->entries.items;
    size_t count = 0;
    for (size_t i = 0; i < d->entries.count; i++)
        if ((size_t)entries[i].id >= count) count = (size_t)entries[i].id + 1;
    if (count && d->pieces && (!d->blanks || d->nfc || d->byte_level || d->expression_count))
        return error_set(err, TDM_E_UNSUPPORTED,
                         "%s: model.byte_fallback: expected U+2581 for blanks and no other rule, found %s",
                         d->json.name,
                         !d->blanks ? "blanks"
                         : d->nfc   ? "NFC"
                                    : "a pre_tokenizer");
    if (d->blanks && !d->pieces)
        return error_set(err, TDM_E_UNSUPPORTED, "%s: expected byte_fallback where U+2581 stands for blanks",
                         d->json.name);
    if (!count || (!d->pieces && (!d->expression_count || !d->byte_level)))
        return error_set(err, TDM_E_UNSUPPORTED,
                         "%s: expected a vocabulary and a pre_tokenizer of Split and ByteLevel, found %s", d->json.name,
                         !count                 ? "no token"
                         : !d->expression_count ? "no pattern to split by"
                                                : "no ByteLevel");
    d->tokens = calloc(count, sizeof *d->tokens);
    d->types = calloc(count, sizeof *d->types);
    d->flags = calloc(count, 1);
    if (!d->tokens || !d->types || !d->flags)
        return error_set(err, TDM_E_NOMEM, "%s: no memory for %zu tokens", d->json.name, count);
    tdm_status status = TDM_OK;
    for (size_t i = 0; i < d->entries.count && !status; i++) status = place(d, &entries[i], err);
    d->parts = (struct tokenizer_parts){
        .name = d->json.name,
        .tokens = d->tokens,
        .token_count = count,
        .types = d->types,
        .added_flags = d->flags,
        .merges = d->merges.items,
        .merge_count = d->merges.count,
        .bos = d->bos,
        .pieces = d->pieces,
        .words = d->words,
        .before = d->before,
        .expressions = d->expressions,
        .expression_count = d->expression_count,
        .keep_form = !d->nfc,
        .ignore_merges = d->ignore_merges,
    };
    return status;
}

const struct tokenizer_parts *tokenizer_json_parts(const struct tokenizer_json *t)
{
    return &t->parts;
}

void tokenizer_json_close(struct tokenizer_json *t)
{
    if (!t) return;
    jsonscan_close(&t->json);
    free(t->entries.items);
    free(t->merges.items);
    free(t->joined);
    free(t->tokens);
    free(t->types);
    free(t->flags);
    free(t->name);
    free(t->bytes);
    free(t);
}

tdm_status tokenizer_json_open_memory(struct tokenizer_json **out, const char *name, const char *bytes, size_t n,
                                      tdm_error *err)
{
    *out = NULL;
    struct tokenizer_json *d = calloc(1, sizeof *d);
    if (!d) return error_set(err, TDM_E_NOMEM, "%s: no memory", name);
    jsonscan_open(&d->json, name, bytes, n, err);
    read_document(d);
    tdm_status status = d->json.status;
    if (!status) status = arrange(d, err);
    d->json.err = NULL; /* the caller's, for this call */
    if (status)
        tokenizer_json_close(d);
    else
        *out = d;
    return status;
}

/* The bytes of a file, malloc'ed. */
static tdm_status read_file(char **out, size_t *n, const char *path, tdm_error *err)
{
    int fd;
    struct stat st;
    if (file_open_needed(path, &fd, err)) return TDM_E_IO;
    FILE *file = fdopen(fd, "rb");
    if (!file || fstat(fd, &st)) {
        tdm_status status = error_errno(err, TDM_E_IO, "%s", path);
        if (file) fclose(file);
        else close(fd);
        return status;
    }
    tdm_status status = TDM_OK;
    char *bytes = NULL;
    if (st.st_size > FILE_MAX)
        status = error_set(err, TDM_E_FORMAT, "%s: expected a file of at most %u MiB", path, FILE_MAX >> 20);
    else if (!(bytes = malloc((size_t)st.st_size + 1)))
        status = error_set(err, TDM_E_NOMEM, "%s: no memory for %lld bytes", path, (long long)st.st_size);
    else if ((*n = fread(bytes, 1, (size_t)st.st_size, file)) < (size_t)st.st_size && ferror(file))
        status = error_errno(err, TDM_E_IO, "%s", path);
    fclose(file);
    if (status)
        free(bytes);
    else
        *out = bytes;
    return status;
}

tdm_status tokenizer_json_open(struct tokenizer_json **out, const char *path, tdm_error *err)
{
    *out = NULL;
    size_t n = 0;
    char *bytes = NULL, *name = strdup(path);
    tdm_status status = name ? read_file(&bytes, &n, path, err) : error_set(err, TDM_E_NOMEM, "%s: no memory", path);
    if (!status) status = tokenizer_json_open_memory(out, name, bytes, n, err);
    char found[SIGNATURE_ROOM];
    if (status == TDM_E_FORMAT && bytes && signature_of_bytes(found, bytes, n))
        error_set(err, status, "%s: expected JSON, found %s", path, found);
    if (status) {
        free(name);
        free(bytes);
        return status;
    }
    (*out)->name = name;
    (*out)->bytes = bytes;
    return TDM_OK;
}

tdm_status tokenizer_load_json(struct tokenizer **out, const char *path, const struct marks *marks, tdm_error *err)
{
    *out = NULL;
    struct tokenizer_json *json;
    tdm_status status = tokenizer_json_open(&json, path, err);
    if (!status) {
        struct tokenizer_parts parts = json->parts;
        parts.marks = marks;
        status = tokenizer_load_parts(out, &parts, err);
    }
    tokenizer_json_close(json);
    return status;
}
