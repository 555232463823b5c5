#include "src/cli/servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "src/io/address_text.h"

static bool is_word(const char *text, size_t n)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    return n > 0 && strspn(text, allowed) >= n;
}

static bool is_url(const char *value)
{
    size_t scheme = address_text_scheme(value);
    return (scheme ? value[scheme] != 0 : address_text_is_bare(value)) && !strpbrk(value, " \t@");
}

/* A member that is yes or no. */
static bool is_choice(const char *member)
{
    return !strcmp(member, "drafts") || !strcmp(member, "plain-http");
}

/* What was expected of a member's value; NULL: the value is valid. */
static const char *expected(const char *member, const char *value)
{
    if (!strcmp(member, "url")) return is_url(value) ? NULL : "http://HOST:PORT or https://HOST";
    if (!strcmp(member, "kind")) {
        static const char *const kinds[] = {"llama-server", "vllm", "sglang", "openai"};
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            if (!strcmp(value, kinds[i])) return NULL;
        return "llama-server, vllm, sglang or openai";
    }
    if (is_choice(member)) return !strcmp(value, "yes") || !strcmp(value, "no") ? NULL : "yes or no";
    if (!strcmp(member, "key-env"))
        return is_word(value, strlen(value)) ? NULL : "the name of a variable that holds the key";
    return value[0] ? NULL : "a text";
}

static char *member_of(struct server_named *s, const char *member, size_t *room)
{
    *room = SERVERS_TEXT;
    if (!strcmp(member, "url")) return s->url;
    if (!strcmp(member, "model")) return s->model;
    if (!strcmp(member, "key-file")) return s->key_file;
    if (!strcmp(member, "key-env")) return s->key_env;
    *room = SERVERS_KIND;
    return !strcmp(member, "kind") ? s->kind : NULL;
}

static servers_choice *choice_of(struct server_named *s, const char *member)
{
    return !strcmp(member, "drafts") ? &s->drafts : &s->plain_http;
}

static struct server_named *find(struct server_named *all, int n, const char *name, size_t length)
{
    for (int i = 0; i < n; i++)
        if (strlen(all[i].name) == length && !memcmp(all[i].name, name, length)) return &all[i];
    return NULL;
}

/* The one of that name, made where there is none; NULL: err tells. */
static struct server_named *server_of(struct server_named **all, int *n, const char *name, size_t length,
                                      tdm_error *err)
{
    struct server_named *s = find(*all, *n, name, length);
    if (s) return s;
    struct server_named *larger = *n < SERVERS_MAX ? realloc(*all, ((size_t)*n + 1) * sizeof *larger) : NULL;
    if (!larger) {
        if (*n < SERVERS_MAX)
            error_set(err, TDM_E_NOMEM, "out of memory");
        else
            error_set(err, TDM_E_FORMAT, "expected at most %d servers, found one more", SERVERS_MAX);
        return NULL;
    }
    *all = larger;
    s = &larger[(*n)++];
    *s = (struct server_named){0};
    memcpy(s->name, name, length);
    return s;
}

tdm_status servers_set(struct server_named **all, int *n, const char *setting, const char *value, tdm_error *err)
{
    struct server_named trial = {0};
    const char *dot = strrchr(setting, '.'), *member = dot ? dot + 1 : "";
    size_t length = dot ? (size_t)(dot - setting) : 0, room;
    bool choice = is_choice(member);
    if (!dot || (!choice && !member_of(&trial, member, &room)))
        return error_set(err, TDM_E_FORMAT,
                         "expected server.NAME.url, .model, .kind, .key-file, .key-env, .drafts or .plain-http, found "
                         "'server.%.60s'",
                         setting);
    if (!is_word(setting, length) || length >= SERVERS_NAME || (length == 7 && !memcmp(setting, "builtin", 7)))
        return error_set(err, TDM_E_FORMAT,
                         "expected a name of letters, digits, - and _ (%d at most; not builtin), found '%.*s'",
                         SERVERS_NAME - 1, (int)(length < 40 ? length : 40), setting);
    const char *wanted = expected(member, value);
    if (wanted) return error_set(err, TDM_E_FORMAT, "expected %s, found '%.100s'", wanted, value);
    if (!choice && strlen(value) >= room)
        return error_set(err, TDM_E_FORMAT, "expected at most %zu characters", room - 1);
    struct server_named *s = server_of(all, n, setting, length, err);
    if (!s) return err ? err->code : TDM_E_NOMEM;
    if (!choice)
        strcpy(member_of(s, member, &room), value);
    else
        *choice_of(s, member) = !strcmp(value, "yes") ? SERVERS_YES : SERVERS_NO;
    return TDM_OK;
}

tdm_status servers_check(const struct server_named *all, int n, tdm_error *err)
{
    for (int i = 0; i < n; i++) {
        const struct server_named *s = &all[i];
        if (!s->url[0]) return error_set(err, TDM_E_FORMAT, "server.%s has no server.%s.url", s->name, s->name);
        if (s->key_file[0] && s->key_env[0])
            return error_set(err, TDM_E_FORMAT, "expected server.%s.key-file or server.%s.key-env, found both", s->name,
                             s->name);
    }
    return TDM_OK;
}

const struct server_named *servers_find(const struct server_named *all, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(all[i].name, name)) return &all[i];
    return NULL;
}

bool servers_line(const struct server_named *s, int i, const char **setting, const char **value)
{
    static const char *const choices[] = {[SERVERS_UNSAID] = "", [SERVERS_NO] = "no", [SERVERS_YES] = "yes"};
    const struct {
        const char *setting, *value;
    } lines[] = {{"url", s->url},
                 {"model", s->model},
                 {"kind", s->kind},
                 {"key-file", s->key_file},
                 {"key-env", s->key_env},
                 {"drafts", choices[s->drafts]},
                 {"plain-http", choices[s->plain_http]}};
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
        if (!lines[k].value[0] || i-- > 0) continue;
        *setting = lines[k].setting;
        *value = lines[k].value;
        return true;
    }
    return false;
}
