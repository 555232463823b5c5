#include "src/bench_host.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/kernel/ceiling.h"
#include "engine/tandem.h"
#include "engine/unit/sysfs.h"
#include "engine/unit/topology.h"

enum { READ_BYTES = 256 << 20 };

/* ---- The machine ------------------------------------------------------------------------------------------------- */

static void cpu_name(char *out, size_t room)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "re");
    snprintf(out, room, "unknown CPU");
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, "model name", 10)) continue;
        colon[strcspn(colon, "\n")] = 0;
        snprintf(out, room, "%s", colon + 2);
        break;
    }
    if (f) fclose(f);
}

static void append(char *out, size_t room, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void append(char *out, size_t room, const char *format, ...)
{
    size_t n = strlen(out);
    va_list args;
    va_start(args, format);
    vsnprintf(out + n, room - n, format, args);
    va_end(args);
}

static void add_caches(char *out, size_t room)
{
    for (int i = 0; i < 8; i++) {
        char type[32], size[32];
        int64_t level;
        if (!sysfs_number("", &level, "/sys/devices/system/cpu/cpu0/cache/index%d/level", i) ||
            !sysfs_text("", type, sizeof type, "/sys/devices/system/cpu/cpu0/cache/index%d/type", i) ||
            !sysfs_text("", size, sizeof size, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i))
            continue;
        if (strcmp(type, "Instruction")) append(out, room, ", L%d %s", (int)level, size);
    }
}

/* Processes of the same name but this one. */
static int other_tandems(void)
{
    static char names[4096][64];
    char comm[64], self[32];
    int count = 0, n = sysfs_list("", "/proc", "", names, 4096);
    snprintf(self, sizeof self, "%d", (int)getpid());
    for (int i = 0; i < n; i++) {
        if (names[i][0] < '0' || names[i][0] > '9' || !strcmp(names[i], self)) continue;
        if (sysfs_text("", comm, sizeof comm, "/proc/%s/comm", names[i]) && !strcmp(comm, "tandem")) count++;
    }
    return count;
}

static const char *power_source(void)
{
    char names[16][64], type[32];
    int64_t online;
    int n = sysfs_list("", "/sys/class/power_supply", "", names, 16);
    bool battery = false;
    for (int i = 0; i < n; i++) {
        if (!sysfs_text("", type, sizeof type, "/sys/class/power_supply/%s/type", names[i])) continue;
        if (!strcmp(type, "Mains") && sysfs_number("", &online, "/sys/class/power_supply/%s/online", names[i]) &&
            online)
            return "mains";
        if (!strcmp(type, "Battery")) battery = true;
    }
    return battery ? "battery" : "no battery";
}

void bench_host_moment(char *out, size_t room)
{
    double load[3] = {0};
    char governor[32] = "governor not told";
    tdm_sensors *s = tdm_sensors_open();
    tdm_sensor all[64];
    size_t n = s ? tdm_sensors_read(s, all, 64) : 0;
    out[0] = 0;
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(all[i].name, "frequency"))
            append(out, room, all[i].valid ? "%.0f MHz" : "frequency not told", all[i].value);
        if (!strcmp(all[i].unit, "name") && all[i].valid) snprintf(governor, sizeof governor, "%s", all[i].name);
    }
    tdm_sensors_close(s);
    if (getloadavg(load, 1) < 1) load[0] = 0;
    append(out, room, ", %s, %s, load average %.1f, other running Tandems: %d", governor, power_source(), load[0],
           other_tandems());
}

void bench_host_start(bench_host *h)
{
    static struct topology t;
    *h = (bench_host){0};
    char name[80];
    cpu_name(name, sizeof name);
    if (!topology_read(&t, "", NULL, NULL)) {
        topology_all(&t, &h->cores);
        snprintf(h->cpu, sizeof h->cpu, "%s: %d cores used of %d CPUs", name, h->cores.count, t.count);
    } else {
        snprintf(h->cpu, sizeof h->cpu, "%s", name);
    }
    add_caches(h->cpu, sizeof h->cpu);
    bench_host_moment(h->start, sizeof h->start);
}

tdm_status bench_host_ceilings(bench_host *h, const struct kernels *k, tdm_error *err)
{
    bench_reader r;
    tdm_status status = bench_reader_open(&r, h, k, 0, err);
    if (status) return status;
    for (int kind = 0; kind < PANEL_KINDS; kind++) {
        h->peak[kind] = ceiling_peak(r.team, k, (enum panel_kind)kind);
        h->matrix_peak[kind] = ceiling_matrix_peak(r.team, k, (enum panel_kind)kind);
    }
    h->read = bench_reader_speed(&r);
    bench_reader_close(&r);
    return TDM_OK;
}

/* ---- The read speed of the moment -------------------------------------------------------------------------------- */

tdm_status bench_reader_open(bench_reader *r, const bench_host *h, const struct kernels *k, int threads, tdm_error *err)
{
    *r = (bench_reader){.kernels = k, .bytes = READ_BYTES};
    int count = threads && threads < h->cores.count ? threads : h->cores.count;
    tdm_status status = team_open(&r->team, count ? count : 1, h->cores.count ? h->cores.cpu : NULL, err);
    if (status) return status;
    if ((r->memory = ceiling_memory(r->bytes))) return TDM_OK;
    bench_reader_close(r);
    return error_set(err, TDM_E_NOMEM, "bench: no memory to measure how fast it is read");
}

double bench_reader_speed(bench_reader *r)
{
    return ceiling_read(r->team, r->kernels, r->memory, r->bytes);
}

void bench_reader_close(bench_reader *r)
{
    if (r->team) team_close(r->team);
    free(r->memory);
    *r = (bench_reader){0};
}
