#include "src/slash/slashes.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "src/cli/docs.h"
#include "src/io/number.h"
#include "src/slash/command.h"
#include "ui/edit/slash.h"

const slash slash_table[SLASH_COUNT] = {
#define BOTH(f) f
#define EACH(f, g) g
#define SCREEN(f) NULL
#define X(id, name, aliases, argument, arguments, completion, offer, functions, help)                                  \
    [SLASH_##id] = {name, aliases, ARG_##argument, arguments, COMPLETE_##completion, offer, functions, help},
    SLASH_LIST(X)
#undef X
#undef SCREEN
#undef EACH
#undef BOTH
};

/* Whether the words, separated by `separator`, hold the given one. */
static bool words_hold(const char *words, char separator, const char *word, size_t length)
{
    while (*words) {
        const char *end = strchr(words, separator);
        size_t n = end ? (size_t)(end - words) : strlen(words);
        if (n == length && !memcmp(words, word, n)) return true;
        words += n + (end != NULL);
    }
    return false;
}

slash_id slashes_find(const char *name, size_t length)
{
    if (!length) return SLASH_COUNT;
    for (slash_id id = 0; id < SLASH_COUNT; id++) {
        const slash *s = &slash_table[id];
        if (strlen(s->name) == length && !memcmp(s->name, name, length)) return id;
        if (words_hold(s->aliases, ' ', name, length)) return id;
    }
    return SLASH_COUNT;
}

/* The second names, taken apart once: slash_table holds them as one text each. */
enum { MAX_NAMES = 3 * SLASH_COUNT, LONGEST_ALIASES = 512 };

const char *const *slashes_names(size_t *n)
{
    static const char *names[MAX_NAMES];
    static char aliases[LONGEST_ALIASES];
    static size_t count;
    if (!count) {
        size_t at = 0;
        for (slash_id id = 0; id < SLASH_COUNT; id++) names[count++] = slash_table[id].name;
        for (slash_id id = 0; id < SLASH_COUNT; id++) {
            for (const char *word = slash_table[id].aliases; *word;) {
                size_t length = strcspn(word, " ");
                memcpy(aliases + at, word, length);
                names[count++] = aliases + at;
                at += length + 1;
                word += length + (word[length] == ' ');
            }
        }
    }
    *n = count;
    return names;
}

enum { MAX_NUMBER = 1000000 };

static tdm_status check_argument(slash_call *call, tdm_error *err)
{
    const slash *s = &slash_table[call->id];
    int64_t number = 0;
    switch (s->argument) {
    case ARG_NONE:
        if (call->argument) return error_set(err, TDM_E_ARG, "/%s takes no argument", s->name);
        break;
    case ARG_NUMBER:
        if (call->argument && !number_int(call->argument, 1, MAX_NUMBER, &number))
            return error_set(err, TDM_E_ARG, "/%s: expected a number, found '%s'", s->name, call->argument);
        call->number = (long)number;
        break;
    case ARG_CHOICE:
        if (call->argument && !words_hold(s->arguments, '|', call->argument, strlen(call->argument)))
            return error_set(err, TDM_E_ARG, "/%s: expected %s, found '%s'", s->name, s->arguments, call->argument);
        break;
    case ARG_WORDS:
        if (!call->argument) return error_set(err, TDM_E_ARG, "/%s needs %s", s->name, s->arguments);
        break;
    case ARG_TEXT:
        break;
    }
    return TDM_OK;
}

tdm_status slashes_parse(slash_call *out, bool *command, const char *draft, bool pasted, tdm_error *err)
{
    size_t n;
    const char *const *names = slashes_names(&n);
    struct slash_result r = slash_parse(draft, pasted, names, n);
    *out = (slash_call){.id = SLASH_COUNT};
    *command = r.kind != SLASH_TEXT;
    int shown = r.word_length < 40 ? (int)r.word_length : 40;
    if (r.kind == SLASH_TEXT) return TDM_OK;
    if (r.kind == SLASH_UNKNOWN && r.nearest >= 0)
        return error_set(err, TDM_E_NOT_FOUND, "unknown command /%.*s; did you mean /%s?", shown, r.word,
                         names[r.nearest]);
    if (r.kind == SLASH_UNKNOWN)
        return error_set(err, TDM_E_NOT_FOUND, "unknown command /%.*s; /help lists them, // sends it as text", shown,
                         r.word);
    out->id = slashes_find(names[r.index], strlen(names[r.index]));
    size_t length = strlen(r.argument);
    while (length && isspace((unsigned char)r.argument[length - 1])) length--;
    if (length && !(out->argument = strndup(r.argument, length))) return error_set(err, TDM_E_NOMEM, "out of memory");
    tdm_status status = check_argument(out, err);
    if (status) slashes_free(out);
    return status;
}

void slashes_man(FILE *out)
{
    for (slash_id id = 0; id < SLASH_COUNT; id++) {
        const slash *s = &slash_table[id];
        fputs(".TP\n\\fB/", out);
        docs_roff(out, s->name);
        fputs("\\fR", out);
        if (s->arguments[0]) fputs(" ", out);
        docs_roff(out, s->arguments);
        fputc('\n', out);
        docs_roff(out, s->help);
        if (s->aliases[0]) fprintf(out, " (also: %s)", s->aliases);
        fputs(".\n", out);
    }
}

void slashes_free(slash_call *call)
{
    free(call->argument);
    call->argument = NULL;
}
