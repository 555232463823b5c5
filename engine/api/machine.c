/* tdm_machine: the worker threads and the two units, by the options or by the topology; and the sensors. */
#include "engine/object/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/api/options.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/kernel/kernel.h"
#include "engine/unit/sensors.h"
#include "engine/unit/topology.h"

static const char *const kind_names[] = {
    [UNIT_NATIVE] = "native", [UNIT_BLAS] = "blas", [UNIT_BF16] = "amx-bf16", [UNIT_GPU] = "gpu"};

/* What a kind needs is looked for here, before a model is loaded for it. */
static tdm_status kind_of(const char *name, const char *option, enum unit_kind *out, tdm_error *err)
{
    const struct kernels *kernels;
    *out = UNIT_NATIVE;
    if (!name || !strcmp(name, kind_names[UNIT_NATIVE])) return TDM_OK;
    if (!strcmp(name, kind_names[UNIT_BLAS])) *out = UNIT_BLAS;
    else if (!strcmp(name, kind_names[UNIT_BF16])) *out = UNIT_BF16;
    else return error_set(err, TDM_E_ARG, "%s: expected native, blas or amx-bf16, found %s", option, name);
    tdm_status status = kernels_find(&kernels, name, err);
    if (status != TDM_E_UNSUPPORTED) return status;
    return error_set(err, TDM_E_UNSUPPORTED,
                     "%s amx-bf16: expected a CPU with a matrix unit (AMX), found none that programs may use", option);
}

static const char *const unit_names[TDM_UNITS] = {"prefill", "decode"};

struct plan {
    struct topology topology;
    struct cores cores[TDM_UNITS];
};

static bool names_gpu(const char *set)
{
    return set && !strncmp(set, "gpu", 3);
}

/* The first n of the usable cores, split again. */
static void limit_cores(struct plan *p, int threads)
{
    if (threads <= 0) return;
    if (p->topology.limit == 0 || threads < p->topology.limit) p->topology.limit = threads;
    topology_split(&p->topology, &p->cores[TDM_PREFILL_UNIT], &p->cores[TDM_DECODE_UNIT]);
}

/* All cores that the plan has: those of a unit whose fellow is on a GPU, and those that stand by for a GPU. */
static void join_cores(struct plan *p)
{
    struct cores *a = &p->cores[TDM_PREFILL_UNIT], *b = &p->cores[TDM_DECODE_UNIT];
    for (int i = 0; i < b->count; i++)
        if (!cores_contain(a, b->cpu[i])) a->cpu[a->count++] = b->cpu[i];
    *b = *a;
}

/* The GPU that the unit names. Both units may name the same one. One that computes something else than the cores is not
 * used: the unit has cores then. */
static tdm_status open_device(struct tdm_machine *m, int unit, const char *set, const tdm_machine_options *o,
                              tdm_error *err)
{
    if (!strcmp(set, "gpu")) set = "gpu:0";
    snprintf(m->names[unit], sizeof m->names[unit], "%s", set);
    for (int other = 0; other < unit; other++) {
        if (!m->device[other] || strcmp(m->names[other], m->names[unit])) continue;
        m->device[unit] = m->device[other];
        return TDM_OK;
    }
    tdm_status status = backend_gpu.open(&m->device[unit], set, err);
    if (status || !o->cache_folder || !backend_gpu.check) return status;
    status = backend_gpu.check(m->device[unit], o->cache_folder, o->progress, o->progress_ctx, err);
    if (status != TDM_E_UNSUPPORTED) return status;
    snprintf(m->refused[unit], sizeof m->refused[unit], "%.255s", err->text);
    backend_gpu.close(m->device[unit]);
    m->device[unit] = NULL;
    return TDM_OK;
}

static tdm_status open_devices(struct tdm_machine *m, const tdm_machine_options *o, tdm_error *err)
{
    const char *const sets[TDM_UNITS] = {o->prefill_unit, o->decode_unit};
    const char *const kinds[TDM_UNITS] = {o->prefill_kind, o->decode_kind};
    tdm_status status = TDM_OK;
    for (int u = 0; u < TDM_UNITS && status == TDM_OK; u++) {
        if (!names_gpu(sets[u])) continue;
        if (kinds[u] && strcmp(kinds[u], "native"))
            return error_set(err, TDM_E_ARG, "%s-kind: a unit on a GPU has none, found %s", unit_names[u], kinds[u]);
        status = open_device(m, u, sets[u], o, err);
    }
    return status;
}

static tdm_status open_unit(struct tdm_machine *m, struct plan *plan, int u, const char *set, const char *kind,
                            tdm_error *err)
{
    static const char *const kind_options[TDM_UNITS] = {"prefill-kind", "decode-kind"};
    enum unit_kind k;
    tdm_status status = kind_of(kind, kind_options[u], &k, err);
    if (status == TDM_OK && m->device[u])
        k = UNIT_GPU;
    else if (status == TDM_OK && set && !names_gpu(set))
        status = cores_parse(&plan->cores[u], set, err);
    if (status == TDM_OK) status = unit_open(&m->units[u], m->machine, unit_names[u], k, &plan->cores[u], err);
    if (status == TDM_OK && k != UNIT_GPU) cores_format(&plan->cores[u], m->names[u], sizeof m->names[u]);
    return status;
}

static tdm_status open_machine(tdm_machine **out, const tdm_machine_options *o, tdm_error *err)
{
    const char *const sets[TDM_UNITS] = {o->prefill_unit, o->decode_unit};
    const char *const kinds[TDM_UNITS] = {o->prefill_kind, o->decode_kind};
    struct plan *plan = calloc(1, sizeof *plan);
    struct tdm_machine *m = calloc(1, sizeof *m);
    if (m) pthread_mutex_init(&m->serving, NULL);
    tdm_status status = plan && m ? TDM_OK : error_set(err, TDM_E_NOMEM, "no memory for the machine");
    if (status == TDM_OK) status = open_devices(m, o, err);
    if (status == TDM_OK) status = topology_read(&plan->topology, "", NULL, err);
    if (status == TDM_OK) {
        topology_split(&plan->topology, &plan->cores[TDM_PREFILL_UNIT], &plan->cores[TDM_DECODE_UNIT]);
        limit_cores(plan, o->threads);
        if (m->device[TDM_PREFILL_UNIT] || m->device[TDM_DECODE_UNIT]) join_cores(plan);
        status = machine_open(&m->machine, err);
    }
    for (int u = 0; status == TDM_OK && u < TDM_UNITS; u++)
        status = open_unit(m, plan, u, sets[u], kinds[u], err);
    free(plan);
    if (status) {
        tdm_machine_close(m);
        return status;
    }
    machine_set_lending(m->machine, !o->no_lending);
    *out = m;
    return TDM_OK;
}

TDM_API tdm_status tdm_machine_open_sized(tdm_machine **out, const tdm_machine_options *options, size_t size,
                                          tdm_error *err)
{
    tdm_machine_options own = {0};
    *out = NULL;
    tdm_status status = options_take(&own, sizeof own, options, size, err);
    return status ? status : open_machine(out, &own, err);
}

TDM_API void tdm_machine_close(tdm_machine *m)
{
    if (!m) return;
    for (int u = 0; u < TDM_UNITS; u++)
        if (m->units[u]) unit_close(m->units[u]);
    if (m->machine) machine_close(m->machine);
    if (m->device[1] && m->device[1] != m->device[0]) m->device[1]->backend->close(m->device[1]);
    if (m->device[0]) m->device[0]->backend->close(m->device[0]);
    pthread_mutex_destroy(&m->serving);
    free(m);
}

static void set_sources(struct tdm_machine *m)
{
    const struct machine_client *c = m->client;
    for (int u = 0; u < TDM_UNITS; u++) {
        unit_set_source(m->units[u], c ? c->next[u] : NULL, c ? c->ctx : NULL);
        bool on_device = m->device[u] && !(c && c->on_cores[u]);
        unit_set_offloaded(m->units[u], on_device || (c && c->server));
    }
}

void machine_serve(struct tdm_machine *m, struct machine_client *c)
{
    pthread_mutex_lock(&m->serving);
    c->before = m->client;
    m->client = c;
    set_sources(m);
    pthread_mutex_unlock(&m->serving);
}

void machine_leave(struct tdm_machine *m, struct machine_client *c)
{
    pthread_mutex_lock(&m->serving);
    bool served = m->client == c;
    struct machine_client **at = &m->client;
    while (*at && *at != c) at = &(*at)->before;
    if (*at) *at = c->before;
    if (served) set_sources(m);
    pthread_mutex_unlock(&m->serving);
}

TDM_API void tdm_machine_set_lending(tdm_machine *m, bool on)
{
    machine_set_lending(m->machine, on);
}

TDM_API int tdm_machine_cores(const tdm_machine *m)
{
    return machine_cores(m->machine);
}

TDM_API const char *tdm_machine_kind(const tdm_machine *m, int unit)
{
    return kind_names[unit_kind(m->units[unit])];
}

/* The host of the chat that is served, if a server does its work. */
static bool is_a_servers(const tdm_machine *m, char *host, size_t room)
{
    struct tdm_machine *own = (struct tdm_machine *)m;
    pthread_mutex_lock(&own->serving);
    const char *server = m->client ? m->client->server : NULL;
    if (server) snprintf(host, room, "%s", server);
    pthread_mutex_unlock(&own->serving);
    return server;
}

TDM_API void tdm_unit_describe(const tdm_machine *m, int unit, tdm_unit_info *out)
{
    struct unit *u = m->units[unit];
    struct unit_now now;
    unit_now(u, &now);
    *out = (tdm_unit_info){.name = m->names[unit], .kind = tdm_machine_kind(m, unit), .cores = now.cores.count};
    snprintf(out->refused, sizeof out->refused, "%s", m->refused[unit]);
    if (is_a_servers(m, out->server, sizeof out->server)) {
        out->name = out->kind = "server";
    } else if (m->device[unit]) {
        struct backend_about about;
        m->device[unit]->backend->about(m->device[unit], &about);
        snprintf(out->device, sizeof out->device, "%s", about.name);
        snprintf(out->device_driver, sizeof out->device_driver, "%s", about.driver);
        snprintf(out->device_pci, sizeof out->device_pci, "%s", about.pci);
        out->device_software = about.software;
        out->device_lost = m->device[unit]->backend->lost(m->device[unit]);
        out->device_memory = about.memory;
        out->device_used = about.used;
        out->shares_device = m->device[0] == m->device[1];
    }
    for (int k = 0; k < TDM_SPAN_KINDS; k++) {
        struct activity_totals t = activity_total(unit_activity(u), (enum span_kind)k);
        out->total[k].spans = t.spans;
        out->total[k].tokens = t.tokens;
        out->total[k].ns = t.ns;
        out->total[k].bytes = t.bytes;
    }
}

static tdm_span public_span(const struct activity_span *s)
{
    return (tdm_span){s->start_ns, s->end_ns, (tdm_span_kind)s->kind, s->tokens, s->bytes, s->first, s->ids_hash};
}

TDM_API size_t tdm_unit_spans(const tdm_machine *m, int unit, int64_t since_ns, tdm_span *out, size_t room)
{
    const struct activity *a = unit_activity(m->units[unit]);
    struct activity_span some[256], open[2];
    size_t n_open = activity_open_spans(a, open), n = 0, got;
    size_t finished = room > n_open ? room - n_open : 0;
    uint64_t head = activity_head(a), at = head > finished ? head - finished : 0;
    if (head - at > ACTIVITY_SPANS) at = head - ACTIVITY_SPANS;
    while (n < finished) {
        size_t want = finished - n < 256 ? finished - n : 256;
        got = activity_read(a, &at, some, want, NULL);
        if (got == 0) break;
        for (size_t i = 0; i < got; i++)
            if (some[i].end_ns > since_ns) out[n++] = public_span(&some[i]);
    }
    for (size_t i = 0; i < n_open && n < room; i++) out[n++] = public_span(&open[i]);
    return n;
}

struct tdm_sensors {
    struct sensors *sensors;
};

TDM_API tdm_sensors *tdm_sensors_open(void)
{
    struct tdm_sensors *s = calloc(1, sizeof *s);
    if (s && !(s->sensors = sensors_open(""))) {
        free(s);
        return NULL;
    }
    return s;
}

TDM_API void tdm_sensors_close(tdm_sensors *s)
{
    if (!s) return;
    sensors_close(s->sensors);
    free(s);
}

static tdm_sensor public_sensor(const char *name, const char *unit, const struct sensor *s)
{
    tdm_sensor out = {.valid = s->valid, .value = s->value};
    snprintf(out.name, sizeof out.name, "%s", name);
    snprintf(out.unit, sizeof out.unit, "%s", unit);
    if (!s->valid) {
        snprintf(out.reason, sizeof out.reason, "%s", s->reason);
        snprintf(out.remedy, sizeof out.remedy, "%s", s->remedy);
    }
    return out;
}

TDM_API size_t tdm_sensors_read(tdm_sensors *s, tdm_sensor *out, size_t room)
{
    struct sensors_now now;
    sensors_read(s->sensors, clock_ns(), &now);
    const struct { const char *name, *unit; const struct sensor *sensor; } rows[] = {
        {"power", "W", &now.watts},         {"energy", "J", &now.joules},    {"battery", "W", &now.battery_watts},
        {"temperature", "C", &now.celsius}, {"frequency", "MHz", &now.mhz},  {"load", "", &now.load},
        {"memory free", "B", &now.memory_free}, {"memory", "B", &now.memory_total}};
    size_t n = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && n < room; i++)
        out[n++] = public_sensor(rows[i].name, rows[i].unit, rows[i].sensor);
    if (n < room) out[n++] = public_sensor(now.governor.valid ? now.governor_name : "governor", "name", &now.governor);
    for (int i = 0; i < now.zones && n < room; i++)
        out[n++] = public_sensor(now.zone[i].name, "W", &now.zone[i].watts);
    return n;
}
