/* Models on servers in the list of models: those that the configuration names, and those of the server that talks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "src/models/models.h"
#include "src/server/remote_model.h"
#include "src/server/server_alias.h"

static bool add(models_list *l, const options *o, const char *name, bool in_use)
{
    server_alias n;
    if (server_alias_find(&n, o, name, NULL)) return true; /* loading it says what is wrong */
    models_row *r = models_add_row(l);
    if (!r) return false;
    r->name = strdup(name);
    r->path = strdup(n.text);
    r->in_use = in_use;
    r->host = strdup(n.address.host);
    r->fit = MODELS_REMOTE;
    return r->name && r->path && r->host;
}

/* What the server offers, by the name that the conversation's model has. */
static bool add_offered(models_list *l, const options *o, const remote_model *server, const char *model)
{
    const server_info *f = remote_model_info(server);
    size_t n = strcspn(model, "#");
    for (int i = 0; i < f->n_models; i++) {
        char name[SERVER_ADDRESS_URL + SERVER_INFO_NAME];
        snprintf(name, sizeof name, "%.*s#%s", (int)n, model, f->models[i]);
        if (!add(l, o, name, !strcmp(f->models[i], f->model))) return false;
    }
    return true;
}

tdm_status models_add_servers(models_list *l, const options *o, const load_pair *current, const char *model,
                              tdm_error *err)
{
    bool good = true, talks = current && current->server && model;
    size_t n = talks ? strcspn(model, "#") : 0;
    for (int i = 0; good && i < o->n_servers; i++) {
        const char *name = o->servers[i].name;
        bool offers = talks && strlen(name) == n && !strncmp(name, model, n);
        if (!offers) good = add(l, o, name, false);
    }
    if (good && talks) good = add_offered(l, o, current->server, model);
    return good ? TDM_OK : error_set(err, TDM_E_NOMEM, "out of memory");
}
