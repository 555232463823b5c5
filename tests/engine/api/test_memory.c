/* Peak memory of loading and running a model: 1.15 x the file and 64 MiB, beside states, for every kernel set; where
 * experts are read from the file, 1.2 x what is packed, since the head is mapped while it is packed. Each measurement
 * is a process of its own (VmHWM). TANDEM_LONG: the 0.8B's shape as well. */
#include "tests/check.h"

#include <sys/wait.h>
#include <unistd.h>

#include "engine/tandem.h"

#define BUILTIN "assets/tandem-demo-51m-q6_k.gguf"

enum { MEASURED, NO_SUCH_SET, FAILED };

struct peak {
    double peak, file, state; /* bytes */
};

static double peak_memory(void)
{
    char line[256];
    double kib = 0;
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof line, f) && sscanf(line, "VmHWM: %lf", &kib) != 1) {
    }
    if (f) fclose(f);
    return 1024 * kib;
}

static int measure(const char *path, const char *kernels, uint64_t experts, struct peak *out)
{
    tdm_model *m;
    tdm_machine *machine;
    tdm_sequence *s;
    tdm_error err = {0};
    if (tdm_model_open(&m, &(tdm_model_options){.path = path, .kernels = kernels, .expert_memory = experts}, &err))
        return err.code == TDM_E_ARG || err.code == TDM_E_UNSUPPORTED ? NO_SUCH_SET : FAILED;
    tdm_sequence_options o = {.unit = TDM_DECODE_UNIT, .kv = TDM_KV_F16, .context = 512, .dispatch = 32};
    if (tdm_machine_open(&machine, &(tdm_machine_options){0}, &err) || tdm_sequence_open(&s, m, machine, &o, &err))
        return FAILED;
    tdm_id ids[8];
    for (int i = 0; i < 8; i++) ids[i] = 100 + i;
    if (tdm_sequence_eval(s, ids, 8, true, NULL, &err)) return FAILED;
    tdm_model_info info;
    tdm_model_describe(m, &info);
    void *bytes;
    size_t n;
    *out = (struct peak){.peak = peak_memory(), .file = (double)(experts ? info.packed_bytes : info.file_bytes)};
    if (tdm_sequence_save(s, &bytes, &n, &err)) return FAILED;
    out->state = (double)n;
    return MEASURED;
}

static int measure_apart(const char *path, const char *kernels, uint64_t experts, struct peak *out)
{
    int ends[2], status = 0;
    if (pipe(ends)) return FAILED;
    pid_t child = fork();
    if (!child) {
        struct peak p = {0};
        int result = measure(path, kernels, experts, &p);
        _exit(write(ends[1], &p, sizeof p) == sizeof p ? result : FAILED);
    }
    close(ends[1]);
    bool whole = child > 0 && read(ends[0], out, sizeof *out) == sizeof *out;
    close(ends[0]);
    if (child > 0) waitpid(child, &status, 0);
    return whole && WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
}

/* experts: memory for a mixture's experts; then what counts is the size of what is packed. */
static void check_peaks(const char *path, uint64_t experts)
{
    static const char *const sets[] = {"reference", "scalar", "avx2", "avx512", "amx", "neon"};
    int measured = 0;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct peak p;
        int result = measure_apart(path, sets[i], experts, &p);
        if (result == FAILED) CHECK_FAIL("%s with %s kernels: failed", path, sets[i]);
        if (result != MEASURED) continue;
        measured++;
        double most = (experts ? 1.2 : 1.15) * p.file + 64 * 1048576.0 + p.state;
        if (p.peak > most)
            CHECK_FAIL("%s with %s kernels: expected at most %.1f MB, found %.1f", path, sets[i], 1e-6 * most,
                       1e-6 * p.peak);
    }
    CHECK(measured >= 3);
}

TEST(the_builtin_model_fits)
{
    if (check_slow()) SKIP("sanitizers and emulators take memory of their own");
    check_peaks(BUILTIN, 0);
}

static void check_converted(const char *from, const char *type, uint64_t experts)
{
    char path[400];
    tdm_error err = {0};
    snprintf(path, sizeof path, "%s/%s.gguf", check_tmp(), type);
    if (tdm_convert(&(tdm_model_options){.path = from, .builtin = BUILTIN}, path, type, &err))
        CHECK_FAIL("%s", err.text);
    check_peaks(path, experts);
    remove(path);
}

TEST(converted_models_fit)
{
    if (check_slow()) SKIP("sanitizers and emulators take memory of their own");
    const char *from = getenv("TANDEM_LONG") ? "synthetic:0.8b:bf16" : BUILTIN;
    check_converted(from, "bf16", 0);
    check_converted(from, "q8_0", 0);
}

/* A file of 1.7 GB, of whose experts a tenth may be in memory. */
TEST(experts_stay_within_their_memory)
{
    if (check_slow()) SKIP("sanitizers and emulators take memory of their own");
    if (!getenv("TANDEM_LONG")) SKIP("takes a minute: TANDEM_LONG");
    check_converted("synthetic:35b-a3b/2:bf16", "q4_0", 90 << 20);
}

TEST_MAIN(T(the_builtin_model_fits), T(converted_models_fit), T(experts_stay_within_their_memory))
