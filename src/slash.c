#include "src/slash.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "src/nearest.h"
#include "src/number.h"

const slash slash_table[SLASH_COUNT] = {
#define X(id, name, aliases, argument, arguments, low, high, owner, help)                                             \
    [SLASH_##id] = {name, aliases, ARG_##argument, arguments, low, high, BY_##owner, help},
    SLASH_LIST(X)
#undef X
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

slash_id slash_find(const char *name, size_t length)
{
    if (!length) return SLASH_COUNT;
    for (slash_id id = 0; id < SLASH_COUNT; id++) {
        const slash *s = &slash_table[id];
        if (strlen(s->name) == length && !memcmp(s->name, name, length)) return id;
        if (words_hold(s->aliases, ' ', name, length)) return id;
    }
    return SLASH_COUNT;
}

static size_t word_length(const char *text, size_t length)
{
    size_t n = 0;
    while (n < length && !isspace((unsigned char)text[n])) n++;
    return n;
}

bool slash_is_command(const char *text, size_t length)
{
    if (!length || text[0] != '/') return false;
    return !memchr(text + 1, '/', word_length(text, length) - 1);
}

const char *slash_message(const char *text, size_t *length)
{
    if (*length >= 2 && text[0] == '/' && text[1] == '/') {
        (*length)--;
        return text + 1;
    }
    return text;
}

static tdm_status unknown(const char *name, size_t length, tdm_error *err)
{
    char given[64];
    nearest best = {0};
    snprintf(given, sizeof given, "%.*s", (int)(length < sizeof given ? length : sizeof given - 1), name);
    for (slash_id id = 0; id < SLASH_COUNT; id++) nearest_offer(&best, given, slash_table[id].name);
    if (best.name)
        return error_set(err, TDM_E_NOT_FOUND, "unknown command /%s; did you mean /%s?", given, best.name);
    return error_set(err, TDM_E_NOT_FOUND, "unknown command /%s; /help lists them, // sends it as text", given);
}

static tdm_status check_argument(slash_call *call, tdm_error *err)
{
    const slash *s = &slash_table[call->id];
    int64_t number = 0;
    switch (s->argument) {
    case ARG_NONE:
        if (call->argument) return error_set(err, TDM_E_ARG, "/%s takes no argument", s->name);
        break;
    case ARG_NUMBER:
        if (call->argument && !number_int(call->argument, s->low, s->high, &number))
            return error_set(err, TDM_E_ARG, "/%s: expected a number, found '%s'", s->name, call->argument);
        call->number = (long)number;
        break;
    case ARG_CHOICE:
        if (call->argument && !words_hold(s->arguments, '|', call->argument, strlen(call->argument)))
            return error_set(err, TDM_E_ARG, "/%s: expected %s, found '%s'", s->name, s->arguments, call->argument);
        break;
    case ARG_WORDS:
    case ARG_FILE:
        if (!call->argument) return error_set(err, TDM_E_ARG, "/%s needs %s", s->name, s->arguments);
        break;
    default: break;
    }
    return TDM_OK;
}

tdm_status slash_parse(slash_call *out, const char *text, size_t length, tdm_error *err)
{
    *out = (slash_call){.id = SLASH_COUNT};
    size_t n = word_length(text, length);
    if (!n || text[0] != '/') return error_set(err, TDM_E_ARG, "not a command");
    out->id = slash_find(text + 1, n - 1);
    if (out->id == SLASH_COUNT) return unknown(text + 1, n - 1, err);
    while (n < length && isspace((unsigned char)text[n])) n++;
    while (length > n && isspace((unsigned char)text[length - 1])) length--;
    if (length > n && !(out->argument = strndup(text + n, length - n)))
        return error_set(err, TDM_E_NOMEM, "out of memory");
    tdm_status status = check_argument(out, err);
    if (status) slash_free(out);
    return status;
}

void slash_free(slash_call *call)
{
    free(call->argument);
    call->argument = NULL;
}
