#include "src/server/server_alias.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/error.h"
#include "src/server/dialect.h"

/* The server of that name, whatever model follows; NULL: there is none. */
static const struct server_named *find(const options *o, const char *model)
{
    char name[SERVERS_NAME];
    size_t n = strcspn(model, "#");
    if (n >= sizeof name) return NULL;
    memcpy(name, model, n);
    name[n] = 0;
    return servers_find(o->servers, o->n_servers, name);
}

bool server_alias_is_server(const options *o, const char *model)
{
    return model && (server_address_is_meant(model) || find(o, model));
}

tdm_status server_alias_find(server_alias *out, const options *o, const char *model, tdm_error *err)
{
    tdm_error why;
    const struct server_named *s = find(o, model);
    const char *hash = s ? strchr(model, '#') : NULL, *its = hash ? hash + 1 : s ? s->model : "";
    *out = (server_alias){.kind = -1};
    snprintf(out->text, sizeof out->text, "%s", s ? s->url : model);
    if (its[0]) {
        size_t n = strcspn(out->text, "#");
        snprintf(out->text + n, sizeof out->text - n, "#%s", its);
    }
    tdm_status status = server_address_parse(&out->address, out->text, &why);
    if (status && s) return error_set(err, status, "server.%s.url: %s", s->name, why.text);
    if (status) return error_set(err, status, "%s", why.text);
    if (!s) return TDM_OK;
    if (s->kind[0]) out->kind = dialect_find(s->kind);
    if (s->key_file[0]) out->key_file = s->key_file;
    if (s->key_env[0]) out->key_env = s->key_env;
    out->drafts = s->drafts == SERVERS_YES;
    out->plain_http = s->plain_http == SERVERS_YES;
    return TDM_OK;
}
