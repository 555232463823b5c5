/* Mixtures of experts: a file with gate and up fused gives the bits of one that has them apart, equal probabilities go
 * to the lowest id, and experts that are read when they are needed give the bits of those in memory, whatever the
 * budget; a file that shrinks meanwhile is an error, and no more than that. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/model/gguf/gguf.h"
#include "engine/os/atomic_file.h"
#include "engine/os/file.h"
#include "tests/check.h"
#include "tests/engine/forward/rig.h"

enum { TOKENS = 150, VOCAB = 512 };

static const char apart[] = "tests/goldens/gguf/tiny-d-q8_0.gguf";

/* ---- Files made of another ------------------------------------------------------------------------------------- */

struct change {
    bool fuse;           /* gate and up of experts */
    bool blind;          /* routers of zeros: all experts are equally probable */
    uint32_t only_first; /* the other experts' down matrices are zeros; 0: none is */
};

static bool named(const struct gguf_tensor *t, const char *end)
{
    size_t n = strlen(end);
    return t->name.length >= n && !memcmp(t->name.bytes + t->name.length - n, end, n);
}

static const struct gguf_tensor *up_of(const struct gguf_tensor *list, size_t n, const struct gguf_tensor *gate)
{
    char name[100];
    size_t layer = gate->name.length - strlen("ffn_gate_exps.weight");
    int length = snprintf(name, sizeof name, "%.*sffn_up_exps.weight", (int)layer, gate->name.bytes);
    for (size_t i = 0; i < n; i++)
        if (list[i].name.length == (size_t)length && !memcmp(list[i].name.bytes, name, (size_t)length)) return &list[i];
    return NULL;
}

static void declare(struct gguf_writer *w, const struct gguf_tensor *t, const struct change *change)
{
    char name[100];
    uint64_t shape[4];
    memcpy(shape, t->shape, sizeof shape);
    if (!change->fuse || !named(t, "ffn_gate_exps.weight")) {
        gguf_add_tensor(w, t->name, t->dims, shape, t->type);
        return;
    }
    size_t layer = t->name.length - strlen("ffn_gate_exps.weight");
    int length = snprintf(name, sizeof name, "%.*sffn_gate_up_exps.weight", (int)layer, t->name.bytes);
    shape[1] *= 2;
    gguf_add_tensor(w, (struct span){name, (size_t)length}, 3, shape, t->type);
}

static void put(struct gguf_writer *w, const struct gguf_tensor *list, size_t n, const struct gguf_tensor *t,
                const struct change *change)
{
    tdm_error err;
    uint8_t *copy = malloc(t->bytes);
    memcpy(copy, t->data, t->bytes);
    if (change->blind && named(t, "ffn_gate_inp.weight")) memset(copy, 0, t->bytes);
    uint64_t each = t->bytes / t->shape[2], keep = change->only_first * each;
    if (change->only_first && named(t, "ffn_down_exps.weight")) memset(copy + keep, 0, t->bytes - keep);
    if (!change->fuse || !named(t, "ffn_gate_exps.weight")) {
        CHECK(!gguf_write_data(w, copy, t->bytes, &err));
    } else {
        const struct gguf_tensor *up = up_of(list, n, t);
        for (uint64_t e = 0; up && e < t->shape[2]; e++) {
            CHECK(!gguf_write_data(w, copy + e * each, each, &err));
            CHECK(!gguf_write_data(w, up->data + e * each, each, &err));
        }
    }
    free(copy);
}

/* Writes what `from` becomes; out has room for 256 characters. False with a failed check. */
static bool make(char *out, const char *name, const char *from, struct change change)
{
    struct gguf *g;
    struct atomic_file *file;
    struct gguf_writer *w = gguf_writer_new();
    const struct gguf_key *keys;
    const struct gguf_tensor *list;
    tdm_error err;
    snprintf(out, 256, "%s/%s.gguf", check_tmp(), name);
    if (gguf_open(&g, from, &err) || atomic_file_new(&file, out, &err)) {
        CHECK_FAIL("%s", err.text);
        return false;
    }
    size_t n_keys = gguf_keys(g, &keys), n = gguf_tensors(g, &list);
    for (size_t i = 0; i < n_keys; i++) gguf_add_key(w, &keys[i]);
    for (size_t i = 0; i < n; i++)
        if (!change.fuse || !named(&list[i], "ffn_up_exps.weight")) declare(w, &list[i], &change);
    CHECK(!gguf_write_start(w, file, &err));
    for (size_t i = 0; i < n; i++)
        if (!change.fuse || !named(&list[i], "ffn_up_exps.weight")) put(w, list, n, &list[i], &change);
    CHECK(gguf_write_done(w));
    gguf_writer_free(w);
    gguf_close(g);
    if (atomic_file_commit(file, &err)) CHECK_FAIL("%s", err.text);
    return true;
}

/* ---- Logits ---------------------------------------------------------------------------------------------------- */

/* Of all positions, with the rig's team, in dispatches of 64 and the last 10 tokens one by one. */
static float *logits_of(struct rig *r)
{
    tdm_id ids[TOKENS];
    rig_ids(ids, TOKENS, VOCAB, 5);
    float *out = malloc((size_t)TOKENS * VOCAB * sizeof *out);
    struct state *s = rig_state(r);
    for (uint32_t i = 0, n; i < TOKENS; i += n) {
        n = i >= TOKENS - 10 ? 1 : TOKENS - 10 - i < 64 ? TOKENS - 10 - i : 64;
        rig_all_logits(r, s, ids + i, n, out + (size_t)i * VOCAB, NULL);
    }
    state_free(s);
    return out;
}

static float *logits_of_file(const char *path, const char *kernels)
{
    struct rig *r = rig_open(path, kernels, KV_F16, 2);
    if (!r) return calloc((size_t)TOKENS * VOCAB, sizeof(float));
    float *out = logits_of(r);
    rig_close(r);
    return out;
}

static bool same(const float *a, const float *b)
{
    return !memcmp(a, b, (size_t)TOKENS * VOCAB * sizeof *a);
}

static void check_fused(const char *path)
{
    const struct kernels *sets[8];
    int n = kernels_available(sets, 8);
    char fused[256], kept[256];
    snprintf(kept, sizeof kept, "%s", path);
    if (!make(fused, "fused", kept, (struct change){.fuse = true})) return;
    for (int i = 0; i < n; i++) {
        float *a = logits_of_file(kept, sets[i]->name), *b = logits_of_file(fused, sets[i]->name);
        if (!same(a, b)) CHECK_FAIL("%s, kernels %s: fused, it has other logits", kept, sets[i]->name);
        free(a);
        free(b);
    }
}

TEST(fused_and_apart_are_the_same)
{
    check_fused(apart);
    const char *path = check_shared("goldens/gguf/tiny-e-q8_0.gguf");
    if (path) check_fused(path);
}

TEST(ties_go_to_the_lowest_id)
{
    char blind[256], lowest[256], lower[256];
    REQUIRE(make(blind, "blind", apart, (struct change){.blind = true}));
    REQUIRE(make(lowest, "lowest", apart, (struct change){.blind = true, .only_first = 2}));
    REQUIRE(make(lower, "lower", apart, (struct change){.blind = true, .only_first = 1}));
    float *all = logits_of_file(blind, NULL), *two = logits_of_file(lowest, NULL), *one = logits_of_file(lower, NULL);
    CHECK(same(all, two));
    CHECK(!same(all, one));
    free(all);
    free(two);
    free(one);
}

/* ---- Budgets --------------------------------------------------------------------------------------------------- */

/* A rig whose experts are read when they are needed, and the source that they are read from. */
static struct rig *open_on_budget(const char *path, uint64_t budget, enum type quant, struct source **source,
                                  tdm_error *err)
{
    struct rig *r = calloc(1, sizeof *r);
    const struct kernels *set;
    const struct source_options how = {.quant = quant};
    const struct weights_options options = {.expert_bytes = budget, .lm_head = TYPE_COUNT};
    *source = NULL;
    if (!kernels_find(&set, NULL, err) && !team_open(&r->team, 2, NULL, err) && !source_open(source, path, &how, err) &&
        !weights_new(&r->weights, *source, set, r->team, &options, err)) {
        struct state_shape shape = state_shape_of(&r->weights->config);
        if (!pool_new(&r->pool, &shape, set, KV_F16, RIG_CONTEXT, err) &&
            !workspace_new(&r->workspace, r->weights, 64, 1, 2, RIG_CONTEXT, err))
            return r;
    }
    rig_close(r);
    source_close(*source);
    return NULL;
}

static void check_budgets(const char *path, enum type quant)
{
    static const uint32_t places[] = {2, 3, 9, 40, 63};
    struct source *source;
    tdm_error err = {0};
    struct rig *all = open_on_budget(path, 0, quant, &source, &err);
    REQUIRE(all);
    CHECK(experts_resident(all->weights->experts));
    float *expected = logits_of(all);
    uint64_t each = experts_all_bytes(all->weights->experts) / (8 * 8);
    rig_close(all);
    source_close(source);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct rig *r = open_on_budget(path, places[i] * each, quant, &source, &err);
        if (!r) CHECK_FAIL("%u experts in memory: %s", places[i], err.text);
        if (!r) continue;
        CHECK(!experts_resident(r->weights->experts) && experts_bytes(r->weights->experts) <= places[i] * each);
        float *found = logits_of(r);
        if (!same(expected, found)) CHECK_FAIL("%u experts in memory: other logits", places[i]);
        CHECK(experts_stats(r->weights->experts).loads > 0);
        free(found);
        rig_close(r);
        source_close(source);
    }
    free(expected);
    CHECK(!open_on_budget(path, each, quant, &source, &err));
    CHECK_INT(TDM_E_NOMEM, err.code);
    CHECK(!strncmp(err.text, "memory for experts: expected at least", 37));
}

TEST(any_budget_gives_the_same)
{
    check_budgets(apart, TYPE_F32);
    check_budgets("tests/goldens/tiny-d", TYPE_Q8_0); /* which quantises at each miss */
    char fused[256];
    if (make(fused, "fused", apart, (struct change){.fuse = true})) check_budgets(fused, TYPE_F32);
}

/* Two passes at the same time on few places: neither waits for the other for ever, both are right. */
struct other {
    struct rig rig;
    float *logits;
};

static void *evaluate(void *ctx)
{
    struct other *o = ctx;
    o->logits = logits_of(&o->rig);
    return NULL;
}

TEST(two_passes_share_few_places)
{
    struct source *source;
    tdm_error err = {0};
    float *expected = logits_of_file(apart, NULL);
    struct rig *all = open_on_budget(apart, 0, TYPE_F32, &source, &err);
    REQUIRE(all);
    uint64_t each = experts_all_bytes(all->weights->experts) / (8 * 8);
    rig_close(all);
    source_close(source);
    struct rig *r = open_on_budget(apart, 3 * each, TYPE_F32, &source, &err);
    REQUIRE(r);
    struct other other = {.rig = *r};
    pthread_t thread;
    REQUIRE(!team_open(&other.rig.team, 2, NULL, &err));
    REQUIRE(!workspace_new(&other.rig.workspace, r->weights, 64, 1, 2, RIG_CONTEXT, &err));
    other.rig.pool = rig_pool(r, KV_F16);
    REQUIRE(!pthread_create(&thread, NULL, evaluate, &other));
    float *found = logits_of(r);
    pthread_join(thread, NULL);
    CHECK(same(expected, found));
    CHECK(same(expected, other.logits));
    free(expected);
    free(found);
    free(other.logits);
    workspace_free(other.rig.workspace);
    pool_free(other.rig.pool);
    team_close(other.rig.team);
    rig_close(r);
    source_close(source);
}

/* ---- Files that shrink ----------------------------------------------------------------------------------------- */

/* A file of the test's own: what it holds, so that it can be made whole again. */
struct shrinking {
    char path[512];
    unsigned char *bytes;
    size_t n;
};

static bool make_whole(const struct shrinking *f)
{
    int fd = open(f->path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    bool good = fd >= 0 && file_write_all(fd, f->bytes, f->n);
    if (fd >= 0) close(fd);
    return good;
}

static bool copy_file(struct shrinking *f, const char *from, const char *name)
{
    struct stat st;
    int fd = open(from, O_RDONLY);
    snprintf(f->path, sizeof f->path, "%s/%s", check_tmp(), name);
    bool good = fd >= 0 && !fstat(fd, &st) && (f->bytes = malloc((size_t)st.st_size));
    f->n = good ? (size_t)st.st_size : 0;
    good = good && read(fd, f->bytes, f->n) == (ssize_t)f->n && make_whole(f);
    if (fd >= 0) close(fd);
    return good;
}

/* What a pass says of tokens that need experts which the file lacks. Its state is broken, or as it was. */
static tdm_status evaluate_shrunk(struct rig *r, tdm_error *err)
{
    tdm_id ids[TOKENS];
    tdm_status status = TDM_OK;
    rig_ids(ids, TOKENS, VOCAB, 5);
    struct state *s = rig_state(r);
    for (uint32_t i = 0, n; i < TOKENS && !status; i += n) {
        n = TOKENS - i < 30 ? TOKENS - i : 30;
        struct forward_run run = {.state = s, .tokens = ids + i, .n = n, .logits = LOGITS_LAST};
        status = forward(r->team, r->weights, r->workspace, &run, 1, NULL, NULL, err);
        CHECK(!status == !s->broken);
    }
    state_free(s);
    return status;
}

static void check_shrinking(struct shrinking *f, const char *model, enum type quant, const float *expected)
{
    struct source *source;
    tdm_error err = {0};
    struct rig *r = open_on_budget(model, UINT64_C(1) << 18, quant, &source, &err);
    if (!r) CHECK_FAIL("%s", err.text);
    REQUIRE(r && !experts_resident(r->weights->experts));
    for (size_t left = f->n / 2; left; left /= 16) {
        char line[800];
        REQUIRE(!truncate(f->path, (off_t)left));
        CHECK_INT(TDM_E_IO, evaluate_shrunk(r, &err));
        snprintf(line, sizeof line, "%s shrank while it was in use: expected %zu bytes, found %zu", f->path, f->n,
                 left);
        CHECK_STR(line, err.text);
    }
    REQUIRE(make_whole(f));
    float *found = logits_of(r);
    CHECK(same(expected, found));
    free(found);
    rig_close(r);
    source_close(source);
}

TEST(experts_of_a_file_that_shrinks_are_an_error)
{
    struct shrinking f = {0};
    float *expected = logits_of_file(apart, NULL);
    REQUIRE(copy_file(&f, apart, "shrinks.gguf"));
    check_shrinking(&f, f.path, TYPE_F32, expected);
    free(expected);
    free(f.bytes);
}

TEST(and_so_are_those_of_a_folder)
{
    struct shrinking f = {0}, config = {0};
    struct source *source;
    tdm_error err = {0};
    REQUIRE(copy_file(&config, "tests/goldens/tiny-d/config.json", "config.json"));
    free(config.bytes);
    REQUIRE(copy_file(&config, "tests/goldens/tiny-d/tokenizer.json", "tokenizer.json"));
    free(config.bytes);
    REQUIRE(copy_file(&f, "tests/goldens/tiny-d/model.safetensors", "model.safetensors"));
    struct rig *r = open_on_budget(check_tmp(), 0, TYPE_Q8_0, &source, &err);
    REQUIRE(r);
    float *expected = logits_of(r);
    rig_close(r);
    source_close(source);
    check_shrinking(&f, check_tmp(), TYPE_Q8_0, expected); /* which quantises at each miss */
    free(expected);
    free(f.bytes);
}

static void *evaluate_other(void *ctx)
{
    struct other *o = ctx;
    tdm_error err = {0};
    for (int i = 0; i < 10; i++) CHECK_INT(TDM_E_IO, evaluate_shrunk(&o->rig, &err));
    return NULL;
}

TEST(two_passes_see_a_file_shrink)
{
    struct shrinking f = {0};
    struct source *source;
    tdm_error err = {0};
    REQUIRE(copy_file(&f, apart, "two.gguf"));
    struct rig *r = open_on_budget(f.path, UINT64_C(1) << 17, TYPE_F32, &source, &err);
    REQUIRE(r);
    struct other other = {.rig = *r};
    pthread_t thread;
    REQUIRE(!team_open(&other.rig.team, 2, NULL, &err));
    REQUIRE(!workspace_new(&other.rig.workspace, r->weights, 64, 1, 2, RIG_CONTEXT, &err));
    other.rig.pool = rig_pool(r, KV_F16);
    REQUIRE(!truncate(f.path, (off_t)f.n / 8));
    REQUIRE(!pthread_create(&thread, NULL, evaluate_other, &other));
    for (int i = 0; i < 10; i++) CHECK_INT(TDM_E_IO, evaluate_shrunk(r, &err));
    pthread_join(thread, NULL);
    REQUIRE(make_whole(&f));
    float *expected = logits_of_file(apart, NULL), *found = logits_of(r);
    CHECK(same(expected, found));
    free(expected);
    free(found);
    free(f.bytes);
    workspace_free(other.rig.workspace);
    pool_free(other.rig.pool);
    team_close(other.rig.team);
    rig_close(r);
    source_close(source);
}

TEST(a_file_that_shrinks_while_experts_are_loaded_is_an_error)
{
    struct shrinking f = {0};
    struct rig r = {0};
    struct source *source;
    const struct kernels *set;
    const struct weights_options options = {.lm_head = TYPE_COUNT};
    tdm_error err = {0};
    REQUIRE(copy_file(&f, apart, "loads.gguf"));
    REQUIRE(!kernels_find(&set, NULL, &err) && !team_open(&r.team, 2, NULL, &err));
    REQUIRE(!source_open(&source, f.path, NULL, &err));
    REQUIRE(!truncate(f.path, (off_t)f.n - 1)); /* the last page has zeros then, and no signal tells */
    CHECK_INT(TDM_E_IO, weights_new(&r.weights, source, set, r.team, &options, &err));
    CHECK(strstr(err.text, "loads.gguf shrank while it was in use: expected "));
    team_close(r.team);
    source_close(source);
    free(f.bytes);
}

TEST_MAIN(T(experts_of_a_file_that_shrinks_are_an_error), T(and_so_are_those_of_a_folder),
          T(two_passes_see_a_file_shrink), T(a_file_that_shrinks_while_experts_are_loaded_is_an_error),
          T(fused_and_apart_are_the_same), T(ties_go_to_the_lowest_id), T(any_budget_gives_the_same),
          T(two_passes_share_few_places))
