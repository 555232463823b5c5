#include "tests/check.h"

#include "engine/base/clock.h"
#include "engine/base/slice.h"
#include "engine/thread/team.h"
#include "engine/thread/wait.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

enum { ITEMS = 1000, MAX_THREADS = 8 };

struct table {
    uint32_t items, chunk;
    int phases;
    uint32_t *hits;  /* [phases][items], written without atomics: the barrier must order them */
    int seen[MAX_THREADS];
    bool wrong;
};

/* Each phase adds one to each item that the phase before it completed; a claim given twice or never, or a barrier
 * that lets somebody through early, leaves a wrong count. */
static void count_phases(void *ctx, struct member *m)
{
    struct table *t = ctx;
    t->seen[m->index]++;
    for (int p = 0; p < t->phases; p++) {
        uint32_t begin, end;
        while (p % 3 == 2 ? member_share(m, t->items, t->chunk, &begin, &end)
                          : member_claim(m, t->items, t->chunk, &begin, &end)) {
            if (begin >= end || end > t->items || end - begin > t->chunk) t->wrong = true;
            for (uint32_t i = begin; i < end; i++) {
                /* reads what another member wrote in the phase before */
                uint32_t before = p ? t->hits[(p - 1) * t->items + (t->items - 1 - i)] : 0;
                t->hits[p * t->items + i] += before + 1;
            }
        }
        member_barrier(m);
    }
}

static void check_counts(struct team *team, uint32_t items, uint32_t chunk, int phases)
{
    struct table t = {.items = items, .chunk = chunk, .phases = phases};
    t.hits = calloc((size_t)phases * (items ? items : 1), sizeof *t.hits);
    team_run(team, count_phases, &t);
    bool exact = true;
    for (int p = 0; p < phases; p++)
        for (uint32_t i = 0; i < items; i++) exact &= t.hits[p * items + i] == (uint32_t)p + 1;
    CHECK(exact);
    CHECK(!t.wrong);
    for (int i = 0; i < team->count; i++) CHECK_INT(1, t.seen[i]);
    free(t.hits);
}

TEST(solo_runs_inline)
{
    struct team t;
    team_solo(&t);
    CHECK_INT(1, t.count);
    check_counts(&t, ITEMS, 7, 5);
    check_counts(&t, 0, 1, 3);
}

TEST(claims_are_exact)
{
    for (int n = 1; n <= MAX_THREADS; n++) {
        struct team *t;
        tdm_error err;
        REQUIRE(team_open(&t, n, NULL, &err) == TDM_OK);
        check_counts(t, ITEMS, 1, 4);
        check_counts(t, ITEMS, 64, 4);
        check_counts(t, 3, 64, 4);
        check_counts(t, 0, 5, 4);
        team_close(t);
    }
}

TEST(runs_follow_each_other_at_once)
{
    for (int n = 2; n <= MAX_THREADS; n += 3) {
        struct team *t;
        REQUIRE(team_open(&t, n, NULL, NULL) == TDM_OK);
        for (int i = 0; i < 200; i++) check_counts(t, 13, 2, 1 + i % 3);
        team_close(t);
    }
}

TEST(claims_near_the_end_of_the_range)
{
    struct team t;
    team_solo(&t);
    struct member *m = &t.members[0];
    m->team = &t;
    m->count = 1;
    uint32_t begin, end;
    CHECK(member_claim(m, UINT32_MAX, UINT32_MAX - 1, &begin, &end));
    CHECK_INT(0, begin);
    CHECK(member_claim(m, UINT32_MAX, UINT32_MAX - 1, &begin, &end));
    CHECK_INT(UINT32_MAX - 1, begin);
    CHECK_INT(UINT32_MAX, end);
    CHECK(!member_claim(m, UINT32_MAX, UINT32_MAX - 1, &begin, &end));
}

static void sleep_in_turn(void *ctx, struct member *m)
{
    int *total = ctx;
    for (int i = 0; i < m->count; i++) {
        /* Longer than the spin: the others fall asleep at the barrier and have to be woken. */
        if (i == m->index) {
            nanosleep(&(struct timespec){0, 4 * WAIT_SPIN_NS}, NULL);
            ++*total;
        }
        member_barrier(m);
    }
}

TEST(sleepers_are_woken)
{
    struct team *t;
    REQUIRE(team_open(&t, 4, NULL, NULL) == TDM_OK);
    int total = 0;
    for (int i = 0; i < 20; i++) {
        team_run(t, sleep_in_turn, &total);
        if (i % 4 == 0) nanosleep(&(struct timespec){0, 4 * WAIT_SPIN_NS}, NULL); /* and asleep between runs */
    }
    CHECK_INT(80, total);
    team_close(t);
}

static void where(void *ctx, struct member *m)
{
    ((int *)ctx)[m->index] = sched_getcpu();
}

TEST(members_are_pinned)
{
    cpu_set_t before, after;
    sched_getaffinity(0, sizeof before, &before);
    int cpus[2], n = 0;
    for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
        if (CPU_ISSET(i, &before)) cpus[n++] = i;
    if (n < 2) SKIP("one CPU");
    struct team *t;
    tdm_error err = {0};
    for (int round = 0; round < 2; round++) {
        REQUIRE(team_open(&t, 2, cpus, &err) == TDM_OK);
        int at[2] = {-1, -1};
        team_run(t, where, at);
        CHECK_INT(cpus[0], at[0]);
        CHECK_INT(cpus[1], at[1]);
        team_close(t);
        sched_getaffinity(0, sizeof after, &after);
        CHECK(CPU_EQUAL(&before, &after));
        int swap = cpus[0];
        cpus[0] = cpus[1], cpus[1] = swap;
    }
    cpus[1] = 1023;
    CHECK_INT(TDM_E_ARG, team_open(&t, 2, cpus, &err));
    CHECK_STR("CPU 1023: not one that this process may use", err.text);
    cpus[1] = 1024;
    CHECK_INT(TDM_E_ARG, team_open(&t, 2, cpus, &err));
    CHECK_STR("CPU 1024: expected 0 to 1023", err.text);
    CHECK_INT(TDM_E_ARG, team_open(&t, 0, NULL, &err));
}

TEST(an_idle_team_uses_no_cpu)
{
    struct team *t;
    REQUIRE(team_open(&t, 4, NULL, NULL) == TDM_OK);
    int at[4];
    team_run(t, where, at);
    nanosleep(&(struct timespec){0, 20 * 1000000}, NULL); /* past the spin */
    clock_t begin = clock();
    nanosleep(&(struct timespec){0, 200 * 1000000}, NULL);
    /* A spinning member would have used 200 ms of process time; a sleeping one uses none. */
    CHECK((double)(clock() - begin) / CLOCKS_PER_SEC < 0.1);
    team_close(t);
}

static int policy_now(void)
{
    return sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
}

static void policy(void *ctx, struct member *m)
{
    ((int *)ctx)[m->index] = policy_now();
}

static void *ask_for_work(void *policy_after)
{
    slice_for_work();
    *(int *)policy_after = policy_now();
    return NULL;
}

/* Its workers give way to who wakes, and the thread that opened it does not. */
TEST(workers_are_batch_threads)
{
    pthread_t thread;
    int known = -1, at[2] = {-1, -1}, mine = policy_now();
    REQUIRE(!pthread_create(&thread, NULL, ask_for_work, &known));
    pthread_join(thread, NULL);
    if (known != SCHED_BATCH) SKIP("the system knows no slices");
    struct team *t;
    REQUIRE(team_open(&t, 2, NULL, NULL) == TDM_OK);
    team_run(t, policy, at);
    CHECK_INT(mine, at[0]);
    CHECK_INT(SCHED_BATCH, at[1]);
    slice_for_answers();
    CHECK_INT(mine, policy_now());
    team_close(t);
}

TEST_MAIN(T(solo_runs_inline), T(claims_are_exact), T(runs_follow_each_other_at_once),
          T(claims_near_the_end_of_the_range), T(sleepers_are_woken), T(members_are_pinned),
          T(an_idle_team_uses_no_cpu), T(workers_are_batch_threads))
