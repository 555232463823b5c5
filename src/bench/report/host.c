#include "src/bench/report/host.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/kernel/ceiling.h"
#include "engine/os/pages.h"
#include "engine/tandem.h"
#include "engine/unit/sysfs.h"
#include "engine/unit/topology.h"
#include "src/bench/report/stats.h"

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
        if (strcmp(type, "Instruction")) append(out, room, "%sL%d %s", out[0] ? ", " : "", (int)level, size);
    }
}

/* Processes but this one that use the cores as it does: conversations and benches. */
static int other_tandems(void)
{
    static char names[4096][64];
    char comm[64], self[32];
    int count = 0, n = sysfs_list("", "/proc", "", names, 4096);
    snprintf(self, sizeof self, "%d", (int)getpid());
    for (int i = 0; i < n; i++) {
        if (names[i][0] < '0' || names[i][0] > '9' || !strcmp(names[i], self)) continue;
        if (!sysfs_text("", comm, sizeof comm, "/proc/%s/comm", names[i])) continue;
        count += !strcmp(comm, "tandem") || !strcmp(comm, "tandem-bench");
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

/* The first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal. */
static void cpu_time(bench_moment *m)
{
    enum { IDLE = 3, IOWAIT = 4, STEAL = 7, FIELDS = 8 };
    double ticks[FIELDS];
    FILE *f = fopen("/proc/stat", "re");
    int n = f ? fscanf(f, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", ticks, ticks + 1, ticks + 2, ticks + IDLE,
                       ticks + IOWAIT, ticks + 5, ticks + 6, ticks + STEAL)
              : 0;
    if (f) fclose(f);
    if (n != FIELDS) return;
    m->stolen = ticks[STEAL];
    for (int i = 0; i < FIELDS; i++) m->wanted += i == IDLE || i == IOWAIT ? 0 : ticks[i];
}

double bench_moment_stolen(const bench_moment *from, const bench_moment *to)
{
    double wanted = to->wanted - from->wanted, stolen = to->stolen - from->stolen;
    return wanted > 0 && stolen >= 0 && stolen <= wanted ? stolen / wanted : -1;
}

void bench_host_now(bench_moment *m)
{
    *m = (bench_moment){.power = power_source(), .others = other_tandems()};
    tdm_sensors *s = tdm_sensors_open();
    tdm_sensor all[64];
    size_t n = s ? tdm_sensors_read(s, all, 64) : 0;
    for (size_t i = 0; i < n; i++) {
        if (!all[i].valid) continue;
        if (!strcmp(all[i].name, "frequency")) m->mhz = all[i].value;
        if (!strcmp(all[i].unit, "name")) snprintf(m->governor, sizeof m->governor, "%.31s", all[i].name);
    }
    tdm_sensors_close(s);
    if (getloadavg(&m->load, 1) < 1) m->load = 0;
    cpu_time(m);
}

char *bench_moment_text(const bench_moment *m, char *out, size_t room)
{
    char mhz[32];
    out[0] = 0;
    if (m->mhz > 0)
        append(out, room, "%s MHz", bench_number(m->mhz, mhz));
    else
        append(out, room, "frequency not told");
    append(out, room, ", %s%s, %s, load average %.1f, other running Tandems: %d",
           m->governor[0] ? "" : "governor not told", m->governor, m->power, m->load, m->others);
    return out;
}

char *bench_host_text(const bench_host *h, char *out, size_t room)
{
    snprintf(out, room, "%s: %d cores used of %d CPUs%s%s", h->cpu, h->cores.count, h->cpus, h->caches[0] ? ", " : "",
             h->caches);
    return out;
}

void bench_host_start(bench_host *h)
{
    static struct topology t;
    *h = (bench_host){0};
    cpu_name(h->cpu, sizeof h->cpu);
    if (!topology_read(&t, "", NULL, NULL)) {
        topology_all(&t, &h->cores);
        h->cpus = t.count;
    }
    add_caches(h->caches, sizeof h->caches);
    bench_host_now(&h->start);
}

tdm_status bench_host_ceilings(bench_host *h, const struct kernels *k, tdm_error *err)
{
    bench_reader r;
    tdm_status status = bench_reader_open(&r, h, k, 0, BENCH_READ_MIB, err);
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

tdm_status bench_reader_open(bench_reader *r, const bench_host *h, const struct kernels *k, int threads, int mib,
                             tdm_error *err)
{
    *r = (bench_reader){.kernels = k, .bytes = (size_t)mib << 20};
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
    pages_unmap(r->memory, r->bytes);
    *r = (bench_reader){0};
}
