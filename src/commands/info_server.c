#include "src/commands/info.h"

#include <string.h>

#include "engine/json/write.h"
#include "src/io/frames.h"
#include "src/io/output.h"
#include "src/models/load.h"
#include "src/server/server_info.h"
#include "src/server/server_alias.h"

static void print_text(const server_address *p, const server_info *f)
{
    output_print("%-18s %s\n", "server", p->host);
    output_print("%-18s %s", "kind", dialect_name(f->kind));
    if (f->version[0]) output_print(" %s", f->version);
    output_print("\n%-18s %s\n", "model", f->model);
    for (int i = 0; i < f->n_models; i++)
        if (strcmp(f->models[i], f->model)) output_print("%-18s %s\n", "it also offers", f->models[i]);
    if (f->context) output_print("%-18s %d tokens\n", "context", f->context);
    if (f->slots) output_print("%-18s %d\n", "conversations kept", f->slots);
    output_print("%-18s %.1f ms\n", "round trip", f->round_trip_ms);
}

static void print_json(const server_address *p, const server_info *f)
{
    json_object *o = json_new_object(), *models = json_new_array();
    json_add_string(o, "server", p->host);
    json_add_string(o, "kind", dialect_name(f->kind));
    json_add_string(o, "version", f->version);
    json_add_string(o, "model", f->model);
    for (int i = 0; i < f->n_models; i++) json_append_string(models, f->models[i]);
    json_add(o, "models", models);
    json_add_int(o, "context", f->context);
    json_add_int(o, "slots", f->slots);
    json_add_real(o, "round_trip_ms", f->round_trip_ms);
    frames_print(o);
}

int info_server(const options *o, const char *address)
{
    tdm_error err = {0};
    server_alias n;
    server_info f = {0};
    connection *c = NULL;
    tdm_status status = server_alias_find(&n, o, address, &err);
    connection_options to = {.url = n.address.url, .key_file = n.key_file, .key_env = n.key_env};
    if (!status) status = connection_open(&c, &to, &err);
    if (!status) status = server_info_ask(&f, c, n.kind, n.address.model[0] ? n.address.model : NULL, NULL, &err);
    connection_close(c);
    if (status) return load_failed(&err);
    if (options_flag(o, OPTION_JSON))
        print_json(&n.address, &f);
    else
        print_text(&n.address, &f);
    server_info_free(&f);
    return 0;
}
