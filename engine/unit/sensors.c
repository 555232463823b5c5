#include "engine/unit/sensors.h"

#include "engine/unit/sysfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Energy counters move about once a millisecond: shorter windows than this would show their steps. */
static const int64_t min_window_ns = 250000000;

struct zone {
    char folder[64];
    char name[32];
    bool package, failed;
    int error;         /* errno of the failed reading */
    int64_t range_uj;  /* the counter runs from 0 to this */
    int64_t last_uj;
    double joules;     /* since sensors_open */
    int64_t window_ns; /* begin of the window of the next mean; 0: no reading yet */
    double window_joules;
    double watts;      /* of the last window; negative: none yet */
};

/* Of a CPU, in clock ticks since the machine started. */
struct ticks {
    double all, idle, stolen;
};

struct sensors {
    char root[256];
    struct ticks machine, core[SENSORS_CORES]; /* at the reading before; all 0: there was none */
    int zones;
    struct zone zone[SENSORS_ZONES];
};

static void set(struct sensor *s, double value)
{
    *s = (struct sensor){.valid = true, .value = value};
}

static void set_absent(struct sensor *s, const char *reason, const char *remedy)
{
    *s = (struct sensor){.valid = false};
    snprintf(s->reason, sizeof s->reason, "%s", reason);
    snprintf(s->remedy, sizeof s->remedy, "%s", remedy);
}

/* ---- RAPL: energy counters of the processor ------------------------------------------------------------------ */

#define POWERCAP "/sys/class/powercap"

struct sensors *sensors_open(const char *root)
{
    struct sensors *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    snprintf(s->root, sizeof s->root, "%s", root);
    char names[64][64];
    /* Also matches nothing of intel-rapl-mmio, which counts the same packages once more. AMD's counters have this name
     * too. */
    int n = sysfs_list(s->root, POWERCAP, "intel-rapl:", names, 64);
    for (int i = 0; i < n && s->zones < SENSORS_ZONES; i++) {
        struct zone *z = &s->zone[s->zones];
        char own[32], parent[32];
        if (!sysfs_text(s->root, own, sizeof own, POWERCAP "/%s/name", names[i])) continue;
        *z = (struct zone){.watts = -1, .package = !strncmp(own, "package", 7)};
        memcpy(z->folder, names[i], sizeof z->folder);
        /* intel-rapl:0:1 is a part of intel-rapl:0. */
        char *colon = strrchr(names[i], ':');
        if (colon != strchr(names[i], ':')) {
            *colon = 0;
            if (!sysfs_text(s->root, parent, sizeof parent, POWERCAP "/%s/name", names[i])) parent[0] = 0;
            snprintf(z->name, sizeof z->name, "%.15s/%.15s", parent, own);
            z->package = false;
        } else {
            snprintf(z->name, sizeof z->name, "%s", own);
        }
        if (!sysfs_number(s->root, &z->range_uj, POWERCAP "/%s/max_energy_range_uj", z->folder)) z->range_uj = 0;
        s->zones++;
    }
    return s;
}

void sensors_close(struct sensors *s)
{
    free(s);
}

static void zone_read(struct zone *z, const char *root, int64_t now_ns)
{
    int64_t uj;
    z->failed = !sysfs_number(root, &uj, POWERCAP "/%s/energy_uj", z->folder);
    if (z->failed) {
        z->error = errno;
        z->window_ns = 0;
        return;
    }
    if (!z->window_ns) {
        z->last_uj = uj;
        z->window_ns = now_ns;
        z->window_joules = z->joules;
        return;
    }
    int64_t used = uj - z->last_uj;
    if (used < 0) used += z->range_uj; /* the counter has begun again */
    if (used > 0) z->joules += (double)used / 1e6;
    z->last_uj = uj;
    if (now_ns - z->window_ns < min_window_ns) return;
    z->watts = (z->joules - z->window_joules) / ((double)(now_ns - z->window_ns) / 1e9);
    z->window_ns = now_ns;
    z->window_joules = z->joules;
}

static void zone_fail(struct sensor *out, const struct zone *z)
{
    if (z->error == EACCES || z->error == EPERM) {
        set_absent(out, "RAPL is readable by root only", "sudo chmod a+r " POWERCAP "/intel-rapl:*/energy_uj");
    } else {
        char reason[96];
        snprintf(reason, sizeof reason, "RAPL zone %.24s can't be read: %.40s", z->name, strerror(z->error));
        set_absent(out, reason, "");
    }
}

/* Why there are no zones at all. */
static void no_rapl(struct sensor *out, const char *root)
{
    char info[8192];
    if (!sysfs_text(root, info, sizeof info, "/proc/cpuinfo")) info[0] = 0;
    if (!strstr(info, "GenuineIntel") && !strstr(info, "AuthenticAMD") && !strstr(info, "HygonGenuine"))
        set_absent(out, "this processor has no energy counters that Linux shows", "");
    else if (strstr(info, " hypervisor"))
        set_absent(out, "a virtual machine without the processor's energy counters", "");
    else
        set_absent(out, "the kernel's RAPL driver is not loaded", "sudo modprobe intel_rapl_msr");
}

static void read_power(struct sensors *s, int64_t now_ns, struct sensors_now *out)
{
    const struct zone *failed = NULL;
    int packages = 0, measured = 0;
    double joules = 0, watts = 0;
    out->zones = s->zones;
    for (int i = 0; i < s->zones; i++) {
        struct zone *z = &s->zone[i];
        struct sensor_zone *o = &out->zone[i];
        zone_read(z, s->root, now_ns);
        memcpy(o->name, z->name, sizeof o->name);
        o->package = z->package;
        o->joules = z->joules;
        if (z->failed)
            zone_fail(&o->watts, z);
        else if (z->watts < 0)
            set_absent(&o->watts, "needs a second reading", "");
        else
            set(&o->watts, z->watts);
        if (!z->package) continue;
        packages++;
        if (z->failed) failed = z;
        joules += z->joules;
        if (z->watts >= 0) {
            measured++;
            watts += z->watts;
        }
    }
    if (failed) {
        zone_fail(&out->joules, failed);
        zone_fail(&out->watts, failed);
    } else if (packages == 0) {
        no_rapl(&out->joules, s->root);
        no_rapl(&out->watts, s->root);
    } else {
        set(&out->joules, joules);
        if (measured == packages)
            set(&out->watts, watts);
        else
            set_absent(&out->watts, "needs a second reading", "");
    }
}

/* ---- Batteries ----------------------------------------------------------------------------------------------- */

/* Batteries of mice and keyboards have the scope Device. */
static bool is_battery(const char *root, const char *name)
{
    char text[32];
    return sysfs_text(root, text, sizeof text, "/sys/class/power_supply/%s/type", name) && !strcmp(text, "Battery") &&
           !(sysfs_text(root, text, sizeof text, "/sys/class/power_supply/%s/scope", name) && !strcmp(text, "Device"));
}

static bool discharges(const char *root, const char *name)
{
    char text[32];
    return sysfs_text(root, text, sizeof text, "/sys/class/power_supply/%s/status", name) &&
           !strcmp(text, "Discharging");
}

bool sensors_on_battery(const char *root)
{
    char names[16][64];
    int n = sysfs_list(root, "/sys/class/power_supply", "", names, 16);
    for (int i = 0; i < n; i++)
        if (is_battery(root, names[i]) && discharges(root, names[i])) return true;
    return false;
}

static void read_battery(struct sensors *s, struct sensors_now *out)
{
    char names[16][64];
    int n = sysfs_list(s->root, "/sys/class/power_supply", "", names, 16), batteries = 0;
    bool known = false;
    double watts = 0;
    int64_t fullest = -1, charge;
    for (int i = 0; i < n; i++) {
        const char *b = names[i];
        int64_t power, current, voltage;
        if (!is_battery(s->root, b)) continue;
        batteries++;
        bool told = sysfs_number(s->root, &charge, "/sys/class/power_supply/%s/capacity", b);
        if (told && charge > fullest && charge <= 100) fullest = charge;
        if (!discharges(s->root, b)) continue;
        out->discharging = true;
        if (sysfs_number(s->root, &power, "/sys/class/power_supply/%s/power_now", b)) {
            watts += (double)llabs(power) / 1e6;
            known = true;
        } else if (sysfs_number(s->root, &current, "/sys/class/power_supply/%s/current_now", b) &&
                   sysfs_number(s->root, &voltage, "/sys/class/power_supply/%s/voltage_now", b)) {
            watts += (double)llabs(current) / 1e6 * ((double)voltage / 1e6); /* microamperes, microvolts */
            known = true;
        }
    }
    if (known)
        set(&out->battery_watts, watts);
    else if (out->discharging)
        set_absent(&out->battery_watts, "the battery does not tell its power", "");
    else
        set_absent(&out->battery_watts, batteries ? "on mains" : "no battery", "");
    if (fullest >= 0)
        set(&out->battery, (double)fullest);
    else
        set_absent(&out->battery, batteries ? "the battery does not tell its charge" : "no battery", "");
}

/* ---- Temperature --------------------------------------------------------------------------------------------- */

static bool is_cpu_chip(const char *name)
{
    static const char *const chips[] = {"coretemp", "k10temp", "zenpower", "cpu_thermal", "cpu-thermal", "soc_thermal",
                                        "cpu"};
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++)
        if (!strcmp(name, chips[i])) return true;
    return false;
}

static void read_temperature(struct sensors *s, struct sensors_now *out)
{
    char chips[64][64], names[64][64], text[64];
    int64_t millis, hottest = INT64_MIN;
    int n = sysfs_list(s->root, "/sys/class/hwmon", "hwmon", chips, 64);
    for (int i = 0; i < n; i++) {
        char folder[128];
        snprintf(folder, sizeof folder, "/sys/class/hwmon/%.63s", chips[i]);
        if (!sysfs_text(s->root, text, sizeof text, "%s/name", folder) || !is_cpu_chip(text)) continue;
        int files = sysfs_list(s->root, folder, "temp", names, 64);
        bool has_die = false; /* k10temp: Tctl is Tdie with an offset for fans */
        for (int pass = 0; pass < 2; pass++) {
            for (int k = 0; k < files; k++) {
                char *suffix = strstr(names[k], "_input");
                if (!suffix) continue;
                int stem = (int)(suffix - names[k]);
                if (!sysfs_text(s->root, text, sizeof text, "%s/%.*s_label", folder, stem, names[k])) text[0] = 0;
                if (pass == 0) {
                    has_die |= !strcmp(text, "Tdie");
                } else if (!(has_die && !strcmp(text, "Tctl")) &&
                           sysfs_number(s->root, &millis, "%s/%s", folder, names[k]) && millis > hottest) {
                    hottest = millis;
                }
            }
        }
    }
    if (hottest == INT64_MIN) {
        n = sysfs_list(s->root, "/sys/class/thermal", "thermal_zone", names, 64);
        for (int i = 0; i < n; i++)
            if (sysfs_text(s->root, text, sizeof text, "/sys/class/thermal/%s/type", names[i]) &&
                (!strcmp(text, "x86_pkg_temp") || !strncmp(text, "cpu", 3)) &&
                sysfs_number(s->root, &millis, "/sys/class/thermal/%s/temp", names[i]) && millis > hottest)
                hottest = millis;
    }
    if (hottest != INT64_MIN)
        set(&out->celsius, (double)hottest / 1000);
    else
        set_absent(&out->celsius, "no temperature sensor of the processor (a virtual machine, or no driver)", "");
}

/* ---- Cores ------------------------------------------------------------------------------------------------------ */

/* The fields of a line of /proc/stat behind its name: user nice system idle iowait irq softirq steal. */
static bool read_ticks(const char *line, struct ticks *out)
{
    double t[8];
    if (sscanf(line, "%lf %lf %lf %lf %lf %lf %lf %lf", t, t + 1, t + 2, t + 3, t + 4, t + 5, t + 6, t + 7) != 8)
        return false;
    *out = (struct ticks){.idle = t[3] + t[4], .stolen = t[7]};
    for (int i = 0; i < 8; i++) out->all += t[i];
    return true;
}

static double percent_since(double before, double now, const struct ticks *then, const struct ticks *t)
{
    double all = t->all - then->all, part = now - before;
    return then->all > 0 && all > 0 && part > 0 ? part < all ? 100 * part / all : 100 : 0;
}

static void read_core(struct sensors *s, int cpu, const char *fields, struct sensors_now *out)
{
    struct ticks now, *then = &s->core[out->cores];
    int64_t khz;
    if (!read_ticks(fields, &now)) return;
    struct sensor_core *c = &out->core[out->cores++];
    *c = (struct sensor_core){.cpu = cpu};
    c->busy = percent_since(then->all - then->idle, now.all - now.idle, then, &now);
    if (sysfs_number(s->root, &khz, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", cpu))
        c->mhz = (double)khz / 1000;
    *then = now;
}

static void read_cores(struct sensors *s, struct sensors_now *out)
{
    enum { EACH = 128 }; /* bytes of a line, at most; what the file has behind the CPUs isn't needed */
    static const size_t size = (SENSORS_CORES + 1) * EACH;
    struct ticks now;
    char *text = malloc(size);
    bool known = text && sysfs_text(s->root, text, size, "/proc/stat") && !strncmp(text, "cpu ", 4) &&
                 read_ticks(text + 4, &now);
    if (known && s->machine.all > 0)
        set(&out->steal, percent_since(s->machine.stolen, now.stolen, &s->machine, &now));
    else
        set_absent(&out->steal, known ? "needs a second reading" : "/proc/stat does not tell", "");
    if (known) s->machine = now;
    char *line = known ? strchr(text, '\n') : NULL, *end;
    for (; line && out->cores < SENSORS_CORES; line = strchr(line, '\n')) {
        if (strncmp(++line, "cpu", 3)) break;
        long cpu = strtol(line + 3, &end, 10);
        if (end == line + 3 || cpu < 0 || cpu > INT32_MAX) break;
        read_core(s, (int)cpu, end, out);
    }
    free(text);
}

/* ---- Frequency, load, memory --------------------------------------------------------------------------------- */

static void read_frequency(struct sensors *s, struct sensors_now *out)
{
    char names[1024][64];
    int n = sysfs_list(s->root, "/sys/devices/system/cpu", "cpu", names, 1024), cpus = 0;
    double sum = 0;
    bool governor = false;
    for (int i = 0; i < n; i++) {
        int64_t khz;
        if (names[i][3] < '0' || names[i][3] > '9') continue; /* cpufreq, cpuidle */
        if (sysfs_number(s->root, &khz, "/sys/devices/system/cpu/%s/cpufreq/scaling_cur_freq", names[i])) {
            sum += (double)khz / 1000;
            cpus++;
        }
        if (!governor)
            governor = sysfs_text(s->root, out->governor_name, sizeof out->governor_name,
                                  "/sys/devices/system/cpu/%s/cpufreq/scaling_governor", names[i]);
    }
    const char *absent = "the frequency is not governed here (a virtual machine, or no driver)";
    if (cpus)
        set(&out->mhz, sum / cpus);
    else
        set_absent(&out->mhz, absent, "");
    if (governor)
        set(&out->governor, 0);
    else
        set_absent(&out->governor, absent, "");
}

static void read_system(struct sensors *s, struct sensors_now *out)
{
    char text[8192];
    double load;
    if (sysfs_text(s->root, text, sizeof text, "/proc/loadavg") && sscanf(text, "%lf", &load) == 1)
        set(&out->load, load);
    else
        set_absent(&out->load, "/proc/loadavg can't be read", "");
    if (!sysfs_text(s->root, text, sizeof text, "/proc/meminfo")) text[0] = 0;
    const struct {
        const char *key;
        struct sensor *to;
    } fields[] = {{"MemAvailable:", &out->memory_free}, {"MemTotal:", &out->memory_total}};
    for (int i = 0; i < 2; i++) {
        const char *at = strstr(text, fields[i].key);
        long long kb;
        if (at && sscanf(at + strlen(fields[i].key), "%lld", &kb) == 1)
            set(fields[i].to, (double)kb * 1024);
        else
            set_absent(fields[i].to, "/proc/meminfo does not tell", "");
    }
}

void sensors_read(struct sensors *s, int64_t now_ns, struct sensors_now *out)
{
    memset(out, 0, sizeof *out);
    out->at_ns = now_ns;
    read_power(s, now_ns, out);
    read_battery(s, out);
    read_temperature(s, out);
    read_frequency(s, out);
    read_cores(s, out);
    read_system(s, out);
}
