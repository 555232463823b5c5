#include "src/commands/info_server.h"

#include <string.h>

#include "src/chat/load.h"
#include "src/cli/jsonio.h"
#include "src/cli/output.h"
#include "src/server/facts.h"
#include "src/server/named.h"

static void print_text(const place *p, const facts *f)
{
    output_print("%-18s %s\n%-18s %s", "server", p->host, "kind", dialect_name(f->kind));
    if (f->version[0]) output_print(" %s", f->version);
    output_print("\n%-18s %s\n", "model", f->model);
    for (int i = 0; i < f->n_models; i++)
        if (strcmp(f->models[i], f->model)) output_print("%-18s %s\n", "it also offers", f->models[i]);
    if (f->context) output_print("%-18s %d tokens\n", "context", f->context);
    if (f->slots) output_print("%-18s %d\n", "conversations kept", f->slots);
    output_print("%-18s %.1f ms\n", "round trip", f->round_trip_ms);
}

static void print_json(const place *p, const facts *f)
{
    json_object *o = jsonio_object(), *models = jsonio_array();
    jsonio_add_string(o, "server", p->host);
    jsonio_add_string(o, "kind", dialect_name(f->kind));
    jsonio_add_string(o, "version", f->version);
    jsonio_add_string(o, "model", f->model);
    for (int i = 0; i < f->n_models; i++) jsonio_append_string(models, f->models[i]);
    jsonio_add(o, "models", models);
    jsonio_add_int(o, "context", f->context);
    jsonio_add_int(o, "slots", f->slots);
    jsonio_add_real(o, "round_trip_ms", f->round_trip_ms);
    jsonio_print(o);
}

int info_server(const options *o, const char *address)
{
    tdm_error err = {0};
    named n;
    facts f = {0};
    connection *c = NULL;
    tdm_status status = named_find(&n, o, address, &err);
    connection_options to = {.url = n.place.url, .key_file = n.key_file, .key_env = n.key_env};
    if (!status) status = connection_open(&c, &to, &err);
    if (!status) status = facts_ask(&f, c, n.kind, n.place.model[0] ? n.place.model : NULL, NULL, &err);
    connection_close(c);
    if (status) return load_failed(&err);
    if (options_flag(o, OPTION_JSON))
        print_json(&n.place, &f);
    else
        print_text(&n.place, &f);
    facts_free(&f);
    return 0;
}
