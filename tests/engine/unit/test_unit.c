#include "tests/check.h"

#include "engine/base/clock.h"
#include "engine/unit/unit.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- Two units on two CPUs ----------------------------------------------------------------------------------- */

static int cpus[2]; /* the first two CPUs that this process may use */
static int n_cpus;

static void find_cpus(void)
{
    cpu_set_t mask;
    sched_getaffinity(0, sizeof mask, &mask);
    n_cpus = 0;
    for (int i = 0; i < CPU_SETSIZE && n_cpus < 2; i++)
        if (CPU_ISSET(i, &mask)) cpus[n_cpus++] = i;
}

struct pair {
    struct machine *machine;
    struct unit *prefill, *decode;
};

static struct pair pair_open(int prefill_cpu, int decode_cpu)
{
    struct pair p = {0};
    tdm_error err = {0};
    CHECK_INT(TDM_OK, machine_open(&p.machine, &err));
    struct cores a = {1, {prefill_cpu}}, b = {1, {decode_cpu}};
    CHECK_INT(TDM_OK, unit_open(&p.prefill, p.machine, "prefill", UNIT_NATIVE, &a, &err));
    CHECK_INT(TDM_OK, unit_open(&p.decode, p.machine, "decode", UNIT_BLAS, &b, &err));
    return p;
}

static void pair_close(struct pair *p)
{
    unit_close(p->prefill);
    unit_close(p->decode);
    machine_close(p->machine);
}

static void pause_ms(int ms)
{
    nanosleep(&(struct timespec){0, ms * 1000000L}, NULL);
}

/* ---- A job that records where it ran ------------------------------------------------------------------------- */

struct ran {
    int jobs, team, cpu[8];
};

static void record_cpu(void *ctx, struct member *m)
{
    ((struct ran *)ctx)->cpu[m->index] = sched_getcpu();
}

static void record(void *ctx, struct team *team, struct activity_span *span)
{
    struct ran *r = ctx;
    r->jobs++;
    r->team = team->count;
    team_run(team, record_cpu, r);
    span->bytes += 100;
}

static struct ran call(struct unit *u)
{
    struct ran r = {0};
    unit_call(u, &(struct work){.fn = record, .ctx = &r, .kind = SPAN_DECODE, .tokens = 1});
    return r;
}

static int hands_of(struct unit *u)
{
    struct ran r = {0};
    unit_call(u, &(struct work){.fn = record, .ctx = &r, .kind = SPAN_CARRY, .on_borrowed_cores = true});
    return r.team;
}

TEST(a_call_runs_on_the_units_cores)
{
    struct pair p = pair_open(cpus[0], cpus[1]);
    machine_set_lending(p.machine, false);
    CHECK(!machine_lending(p.machine));
    CHECK_INT(2, machine_workers(p.machine));
    struct ran r = call(p.decode);
    CHECK_INT(1, r.jobs);
    CHECK_INT(1, r.team);
    CHECK_INT(cpus[1], r.cpu[0]);
    r = call(p.prefill);
    CHECK_INT(cpus[0], r.cpu[0]);
    struct activity_totals t = activity_total(unit_activity(p.decode), SPAN_DECODE);
    CHECK_INT(1, t.spans);
    CHECK_INT(1, t.tokens);
    CHECK_INT(100, t.bytes);
    CHECK(t.ns > 0);
    CHECK_INT(0, activity_total(unit_activity(p.decode), SPAN_LENT).spans);
    CHECK_INT(UNIT_BLAS, unit_kind(p.decode));
    pair_close(&p);
}

TEST(an_idle_unit_lends_its_core)
{
    struct pair p = pair_open(cpus[0], cpus[1]);
    for (int i = 0; i < 20; i++) {
        struct ran r = call(i % 2 ? p.prefill : p.decode);
        CHECK_INT(2, r.team);
        CHECK_INT(cpus[i % 2 ? 0 : 1], r.cpu[0]);
        CHECK_INT(cpus[i % 2 ? 1 : 0], r.cpu[1]);
    }
    machine_set_lending(p.machine, false);
    CHECK_INT(1, call(p.decode).team);
    machine_set_lending(p.machine, true);
    CHECK_INT(2, call(p.decode).team);
    pair_close(&p);
    p = pair_open(cpus[0], cpus[1]);
    call(p.decode);
    unit_quiesce(p.decode);
    unit_close(p.decode);
    p.decode = NULL; /* the lender has returned all; its ring tells */
    CHECK_INT(1, activity_total(unit_activity(p.prefill), SPAN_LENT).spans);
    pair_close(&p);
}

TEST(a_core_that_is_not_ours_is_refused)
{
    struct machine *m;
    struct unit *u;
    tdm_error err = {0};
    REQUIRE(machine_open(&m, &err) == TDM_OK);
    struct cores none = {0}, far = {2, {cpus[0], 1023}};
    CHECK_INT(TDM_E_ARG, unit_open(&u, m, "u", UNIT_NATIVE, &none, &err));
    CHECK_STR("a unit without cores", err.text);
    CHECK_INT(TDM_E_ARG, unit_open(&u, m, "u", UNIT_NATIVE, &far, &err));
    CHECK_STR("CPU 1023: not one that this process may use", err.text);
    struct cores one = {1, {cpus[0]}};
    REQUIRE(unit_open(&u, m, "u", UNIT_NATIVE, &one, &err) == TDM_OK);
    CHECK_INT(cpus[0], call(u).cpu[0]);
    unit_close(u);
    machine_close(m);
}

static struct unit *open_gpu(struct machine *m)
{
    struct unit *u;
    tdm_error err;
    struct cores both = {2, {cpus[0], cpus[1]}};
    CHECK_INT(TDM_OK, unit_open(&u, m, "gpu", UNIT_GPU, &both, &err));
    return u;
}

TEST(a_gpu_neither_borrows_cores_nor_lends_any)
{
    struct pair p = pair_open(cpus[0], cpus[1]);
    struct unit *gpu = open_gpu(p.machine), *other = open_gpu(p.machine);
    struct unit_now now;
    CHECK_INT(4, machine_workers(p.machine));
    CHECK_INT(2, machine_cores(p.machine));
    for (int i = 0; i < 20; i++) {
        CHECK_INT(1, call(i % 2 ? gpu : other).team);
        CHECK_INT(2, call(p.prefill).team); /* with the decode unit's core, as ever */
    }
    unit_now(gpu, &now);
    CHECK(now.cores.count == 0 && now.lent == 0);
    CHECK_INT(0, activity_total(unit_activity(gpu), SPAN_LENT).spans);
    unit_set_offloaded(gpu, false); /* those that stood by */
    CHECK_INT(2, call(gpu).team); /* the driver stands for the first one */
    CHECK_INT(1, call(other).team);
    unit_now(gpu, &now);
    CHECK_INT(1, now.cores.count);
    unit_set_offloaded(gpu, true);
    CHECK_INT(1, call(gpu).team);
    unit_close(gpu);
    unit_close(other);
    pair_close(&p);
}

static void hold(void *ctx, struct team *team, struct activity_span *span)
{
    _Atomic int *stage = ctx;
    (void)team;
    (void)span;
    *stage = 1;
    while (*stage == 1) pause_ms(1);
}

static void *call_hold(void *ctx)
{
    struct unit *u = ((void **)ctx)[0];
    unit_call(u, &(struct work){.fn = hold, .ctx = ((void **)ctx)[1], .kind = SPAN_DECODE});
    return NULL;
}

/* Memory is moved for a GPU by cores that rest, and by none of a unit that works. */
TEST(a_gpu_has_hands)
{
    struct pair p = pair_open(cpus[0], cpus[1]);
    struct unit *gpu = open_gpu(p.machine);
    CHECK_INT(2, hands_of(gpu)); /* its driver, and the second core that stands by */
    CHECK_INT(1, call(gpu).team);
    CHECK_INT(2, call(p.prefill).team); /* which has its fellow's core again */
    machine_set_lending(p.machine, false);
    _Atomic int stage = 0;
    void *ctx[] = {p.decode, &stage};
    pthread_t thread;
    REQUIRE(!pthread_create(&thread, NULL, call_hold, ctx));
    while (!stage) pause_ms(1);
    CHECK_INT(1, hands_of(gpu));
    stage = 2;
    pthread_join(thread, NULL);
    CHECK_INT(2, hands_of(gpu));
    unit_close(gpu);
    pair_close(&p);
}

/* ---- Sources ------------------------------------------------------------------------------------------------- */

/* A source with a number of jobs to give, each lasting until `hold` is off. */
struct source {
    struct unit *unit;
    _Atomic int left, begun, ended, asked;
    _Atomic int team; /* of the newest job */
    _Atomic bool hold;
    _Atomic int holding; /* counts while a job is held */
    int cpu;
    struct source *other; /* woken at the end of each job, with one more job to give */
    _Atomic int64_t again_ns; /* when idle: ask again after this time; 0: when woken */
};

static void source_member(void *ctx, struct member *m)
{
    (void)ctx;
    member_barrier(m);
}

static void source_job(void *ctx, struct team *team, struct activity_span *span)
{
    (void)span;
    struct source *s = ctx;
    s->cpu = sched_getcpu();
    atomic_store(&s->team, team->count);
    atomic_fetch_add(&s->begun, 1);
    do {
        team_run(team, source_member, NULL);
        if (!atomic_load(&s->hold)) break;
        atomic_fetch_add(&s->holding, 1);
        sched_yield();
    } while (atomic_load(&s->hold));
    if (s->other) {
        atomic_fetch_add(&s->other->left, 1);
        unit_wake(s->other->unit);
    }
    atomic_fetch_add(&s->ended, 1);
}

static int64_t source_next(void *ctx, int64_t now_ns, struct work *work)
{
    struct source *s = ctx;
    atomic_fetch_add(&s->asked, 1);
    if (atomic_load(&s->left) == 0) {
        int64_t again = atomic_load(&s->again_ns);
        return again ? now_ns + again : UNIT_IDLE;
    }
    atomic_fetch_sub(&s->left, 1);
    *work = (struct work){.fn = source_job, .ctx = s, .kind = SPAN_HISTORY, .tokens = 32};
    return UNIT_WORK;
}

static void wait_for(_Atomic int *value, int at_least)
{
    while (atomic_load(value) < at_least) sched_yield();
}

/* Returns with a job of this busy source held that has both cores. */
static void hold_both_cores(struct source *s)
{
    for (;;) {
        atomic_store(&s->hold, true);
        wait_for(&s->holding, atomic_load(&s->holding) + 1);
        if (atomic_load(&s->team) == 2) return;
        atomic_store(&s->hold, false); /* the other unit was asking as this job began */
        pause_ms(1);
    }
}

TEST(a_lent_core_is_back_at_the_next_boundary)
{
    struct pair p = pair_open(cpus[0], cpus[1]);
    struct source prefill = {.unit = p.prefill, .left = 1000000}, decode = {.unit = p.decode, .hold = true};
    unit_set_source(p.decode, source_next, &decode);
    unit_set_source(p.prefill, source_next, &prefill);
    hold_both_cores(&prefill);
    struct unit_now now;
    unit_now(p.decode, &now);
    CHECK_INT(1, now.lent);
    CHECK(!now.working);
    unit_now(p.prefill, &now);
    CHECK(now.working);
    CHECK_INT(2, now.team);
    CHECK_INT(1, now.borrowed);
    struct activity_span open[2];
    REQUIRE(activity_open_spans(unit_activity(p.decode), open) == 1);
    CHECK_INT(SPAN_LENT, open[0].kind);
    REQUIRE(activity_open_spans(unit_activity(p.prefill), open) == 1);
    CHECK_INT(SPAN_HISTORY, open[0].kind);

    /* Its driver is in the other unit's job: work that arrives now waits for the end of exactly that job. */
    atomic_store(&decode.left, 1);
    unit_wake(p.decode);
    pause_ms(5);
    CHECK_INT(0, atomic_load(&decode.begun));
    int before = atomic_load(&prefill.ended);
    atomic_store(&prefill.hold, false);
    wait_for(&decode.begun, 1); /* it holds now */
    wait_for(&prefill.ended, before + 2);
    CHECK_INT(1, atomic_load(&prefill.team));
    int ended = atomic_load(&prefill.ended);
    wait_for(&prefill.ended, ended + 20);
    CHECK_INT(1, atomic_load(&prefill.team));
    CHECK_INT(1, atomic_load(&decode.team));
    /* And when it has nothing more to do, the core helps again. */
    atomic_store(&decode.hold, false);
    wait_for(&decode.ended, 1);
    while (atomic_load(&prefill.team) != 2) sched_yield();
    unit_set_source(p.prefill, NULL, NULL);
    CHECK(activity_total(unit_activity(p.decode), SPAN_LENT).spans >= 1);
    pair_close(&p);
}

static atomic_int slow_asked, slow_may_answer;

static int64_t next_slowly(void *ctx, int64_t now_ns, struct work *work)
{
    (void)ctx;
    (void)now_ns;
    (void)work;
    atomic_fetch_add(&slow_asked, 1);
    while (!atomic_load(&slow_may_answer)) sched_yield();
    return UNIT_IDLE;
}

static void *answer_soon(void *ctx)
{
    (void)ctx;
    pause_ms(5);
    atomic_store(&slow_may_answer, 1);
    return NULL;
}

/* The first token after a hand-over begins while the unit that handed over is still in its source. */
TEST(a_job_waits_for_the_answer_of_another_source)
{
    struct pair p = pair_open(cpus[0], cpus[1]);
    unit_set_source(p.prefill, next_slowly, NULL);
    wait_for(&slow_asked, 1);
    pthread_t thread;
    pthread_create(&thread, NULL, answer_soon, NULL);
    CHECK_INT(2, call(p.decode).team);
    CHECK(atomic_load(&slow_may_answer));
    pthread_join(thread, NULL);
    unit_set_source(p.prefill, NULL, NULL);
    pair_close(&p);
}

TEST(lending_in_a_row_is_one_span)
{
    struct pair p = pair_open(cpus[0], cpus[1]);
    struct source decode = {.unit = p.decode, .left = 500};
    unit_set_source(p.decode, source_next, &decode);
    wait_for(&decode.ended, 500);
    while (activity_total(unit_activity(p.prefill), SPAN_LENT).spans == 0) sched_yield();
    CHECK_INT(1, activity_total(unit_activity(p.prefill), SPAN_LENT).spans);
    CHECK_INT(500, activity_total(unit_activity(p.decode), SPAN_HISTORY).spans);
    CHECK_INT(500 * 32, activity_total(unit_activity(p.decode), SPAN_HISTORY).tokens);
    CHECK_INT(2, atomic_load(&decode.team));
    pair_close(&p);
}

TEST(on_one_core_units_take_turns)
{
    struct pair p = pair_open(cpus[0], cpus[0]);
    CHECK_INT(1, machine_workers(p.machine));
    struct source a = {.unit = p.prefill, .left = 400, .hold = true}, b = {.unit = p.decode, .left = 400};
    unit_set_source(p.prefill, source_next, &a);
    wait_for(&a.begun, 1);
    unit_set_source(p.decode, source_next, &b); /* both have work from here on */
    atomic_store(&a.hold, false);
    for (;;) {
        int x = atomic_load(&a.ended), y = atomic_load(&b.ended), x2 = atomic_load(&a.ended);
        /* y was read between two readings of x: it is within one of some value in between. */
        if (y < x - 1 || y > x2 + 1) CHECK_FAIL("a %d..%d, b %d", x, x2, y);
        if (x == 400 && y == 400) break;
        sched_yield();
    }
    CHECK_INT(1, atomic_load(&a.team));
    CHECK_INT(cpus[0], a.cpu);
    CHECK_INT(cpus[0], b.cpu);
    CHECK_INT(0, activity_total(unit_activity(p.prefill), SPAN_LENT).spans);
    pair_close(&p);
}

TEST(wakes_are_never_lost)
{
    for (int shared = 0; shared < 2; shared++) {
        for (int lending = 0; lending < 2; lending++) {
            struct pair p = pair_open(cpus[0], cpus[shared ? 0 : 1]);
            machine_set_lending(p.machine, lending);
            struct source a = {.unit = p.prefill}, b = {.unit = p.decode, .other = &a};
            a.other = &b;
            unit_set_source(p.prefill, source_next, &a);
            unit_set_source(p.decode, source_next, &b);
            atomic_store(&a.left, 1);
            unit_wake(p.prefill);
            wait_for(&b.ended, 1500); /* hangs if a wake is lost */
            unit_quiesce(p.prefill);
            unit_quiesce(p.decode);
            int more = atomic_load(&a.begun) - atomic_load(&b.begun);
            CHECK(more == 0 || more == 1);
            unit_resume(p.decode);
            unit_resume(p.prefill);
            unit_set_source(p.prefill, NULL, NULL);
            unit_set_source(p.decode, NULL, NULL);
            pair_close(&p);
        }
    }
}

TEST(a_source_is_asked_at_its_time)
{
    struct pair p = pair_open(cpus[0], cpus[1]);
    struct source s = {.unit = p.prefill, .again_ns = 2000000};
    int64_t begin = clock_ns();
    unit_set_source(p.prefill, source_next, &s);
    wait_for(&s.asked, 6);
    CHECK(clock_ns() - begin >= 5 * 2000000);
    /* Not before its time when nobody wakes it, at once when somebody does. */
    atomic_store(&s.again_ns, 3600 * (int64_t)1000000000);
    unit_wake(p.prefill);
    unit_quiesce(p.prefill);
    unit_resume(p.prefill);
    wait_for(&s.asked, 7);
    unit_quiesce(p.prefill);
    int asked = atomic_load(&s.asked);
    unit_resume(p.prefill); /* asks once more */
    wait_for(&s.asked, asked + 1);
    pause_ms(10);
    CHECK_INT(asked + 1, atomic_load(&s.asked));
    pair_close(&p);
}

TEST(the_time_passes_while_the_core_is_lent)
{
    struct pair p = pair_open(cpus[0], cpus[1]);
    struct source decode = {.unit = p.decode, .again_ns = 3000000}, prefill = {.unit = p.prefill, .left = 1000000};
    unit_set_source(p.decode, source_next, &decode);
    unit_set_source(p.prefill, source_next, &prefill);
    hold_both_cores(&prefill);
    int asked = atomic_load(&decode.asked);
    pause_ms(10);
    CHECK_INT(asked, atomic_load(&decode.asked)); /* lent: its time waits for the boundary */
    atomic_store(&prefill.hold, false);
    wait_for(&decode.asked, asked + 3);
    pair_close(&p);
}

TEST(a_quiet_unit_still_takes_calls)
{
    struct pair p = pair_open(cpus[0], cpus[1]);
    struct source s = {.unit = p.prefill, .left = 1000000};
    unit_set_source(p.prefill, source_next, &s);
    wait_for(&s.ended, 10);
    unit_quiesce(p.prefill);
    int begun = atomic_load(&s.begun);
    CHECK_INT(begun, atomic_load(&s.ended));
    CHECK_INT(1, call(p.prefill).jobs);
    unit_wake(p.prefill);
    pause_ms(5);
    CHECK_INT(begun, atomic_load(&s.begun));
    unit_resume(p.prefill);
    wait_for(&s.ended, begun + 10);
    CHECK_INT(1, call(p.prefill).jobs); /* between two jobs of a busy source */
    pair_close(&p);                     /* ends it in the middle */
}

TEST(two_machines_live_side_by_side)
{
    struct pair p = pair_open(cpus[0], cpus[0]), q = pair_open(cpus[1], cpus[1]);
    CHECK_INT(cpus[0], call(p.decode).cpu[0]);
    CHECK_INT(cpus[1], call(q.decode).cpu[0]);
    pair_close(&p);
    CHECK_INT(cpus[1], call(q.prefill).cpu[0]);
    pair_close(&q);
}

/* ---- Everything at once -------------------------------------------------------------------------------------- */

struct claims {
    uint32_t hits[257];
};

static void claim_all(void *ctx, struct member *m)
{
    struct claims *c = ctx;
    uint32_t begin, end;
    for (int phase = 0; phase < 3; phase++) {
        while (member_claim(m, 257, 16, &begin, &end))
            for (uint32_t i = begin; i < end; i++) c->hits[i]++;
        member_barrier(m);
    }
}

static void claims_job(void *ctx, struct team *team, struct activity_span *span)
{
    (void)span;
    team_run(team, claim_all, ctx);
    team_run(team, claim_all, ctx);
}

static void *caller(void *ctx)
{
    struct unit **units = ctx;
    long wrong = 0;
    for (int i = 0; i < 150; i++) {
        struct claims c = {{0}};
        unit_call(units[i % 2], &(struct work){.fn = claims_job, .ctx = &c, .kind = SPAN_PROMPT, .tokens = 1});
        for (int k = 0; k < 257; k++) wrong += c.hits[k] != 6;
    }
    return (void *)wrong;
}

TEST(stress)
{
    struct pair p = pair_open(cpus[0], cpus[1]);
    struct source a = {.unit = p.prefill, .left = 1}, b = {.unit = p.decode, .other = &a, .again_ns = 300000};
    a.other = &b;
    a.again_ns = 100000;
    unit_set_source(p.prefill, source_next, &a);
    unit_set_source(p.decode, source_next, &b);
    unit_wake(p.prefill);
    struct unit *units[3] = {p.prefill, p.decode, p.prefill};
    pthread_t thread[3];
    pthread_create(&thread[0], NULL, caller, units);
    pthread_create(&thread[1], NULL, caller, units + 1);
    pthread_create(&thread[2], NULL, caller, units);
    for (int i = 0; i < 150; i++) {
        struct unit *u = units[i % 2];
        if (i % 5 == 0) machine_set_lending(p.machine, i % 10);
        if (i % 11 == 0) unit_quiesce(u);
        unit_wake(u);
        struct unit_now now;
        unit_now(u, &now);
        CHECK(now.team <= 2 && now.lent <= now.cores.count);
        if (i % 11 == 0) unit_resume(u);
    }
    for (int i = 0; i < 3; i++) {
        void *wrong;
        pthread_join(thread[i], &wrong);
        CHECK(!wrong);
    }
    unit_set_source(p.prefill, NULL, NULL);
    unit_set_source(p.decode, NULL, NULL);
    CHECK_INT(450, activity_total(unit_activity(p.prefill), SPAN_PROMPT).spans +
                       activity_total(unit_activity(p.decode), SPAN_PROMPT).spans);
    pair_close(&p);
}

/* ---- Rules --------------------------------------------------------------------------------------------------- */

static void call_within(void *ctx, struct team *team, struct activity_span *span)
{
    (void)team;
    (void)span;
    call(ctx);
}

static void say_nothing(const char *line)
{
    (void)line;
}

TEST(a_call_within_a_job_is_a_bug)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        tdm_set_panic_hook(say_nothing);
        signal(SIGABRT, SIG_DFL);
        struct pair p = pair_open(cpus[0], cpus[0]);
        unit_call(p.prefill, &(struct work){.fn = call_within, .ctx = p.decode, .kind = SPAN_NONE});
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

TEST(idle_units_use_no_cpu)
{
    struct pair p = pair_open(cpus[0], cpus[n_cpus - 1]);
    call(p.prefill);
    call(p.decode);
    pause_ms(20);
    clock_t begin = clock();
    pause_ms(200);
    CHECK((double)(clock() - begin) / CLOCKS_PER_SEC < 0.1); /* a spinning worker would have used 0.2 s */
    pair_close(&p);
}

static const struct check_test one_cpu[] = {T(a_core_that_is_not_ours_is_refused), T(on_one_core_units_take_turns),
                                            T(a_call_within_a_job_is_a_bug), T(idle_units_use_no_cpu)};
static const struct check_test two_cpus[] = {T(a_core_that_is_not_ours_is_refused),
                                             T(on_one_core_units_take_turns),
                                             T(a_call_within_a_job_is_a_bug),
                                             T(idle_units_use_no_cpu),
                                             T(a_call_runs_on_the_units_cores),
                                             T(an_idle_unit_lends_its_core),
                                             T(a_gpu_neither_borrows_cores_nor_lends_any),
                                             T(a_gpu_has_hands),
                                             T(a_lent_core_is_back_at_the_next_boundary),
                                             T(a_job_waits_for_the_answer_of_another_source),
                                             T(lending_in_a_row_is_one_span),
                                             T(wakes_are_never_lost),
                                             T(a_source_is_asked_at_its_time),
                                             T(the_time_passes_while_the_core_is_lent),
                                             T(a_quiet_unit_still_takes_calls),
                                             T(two_machines_live_side_by_side),
                                             T(stress)};

int main(int argc, char **argv)
{
    find_cpus();
    if (n_cpus > 1) return check_main(argc, argv, two_cpus, (int)(sizeof two_cpus / sizeof *two_cpus));
    printf("skip tests of two cores: this process may use one CPU\n");
    return check_main(argc, argv, one_cpu, (int)(sizeof one_cpu / sizeof *one_cpu));
}
