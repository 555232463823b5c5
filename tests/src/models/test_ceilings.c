/* The file of the ceilings: what was written is read, nothing else is; and what a share is held against. */
#include "tests/check.h"

#include <unistd.h>

#include "src/models/ceilings_job.h"

static const char *const processor = "processor      Some \"CPU\"\ncores 2\nkernels avx2, prefill cpu:1, decode cpu:0";

static tdm_ceilings sample(void)
{
    tdm_ceilings c;
    for (int a = 0; a < TDM_ARITHMETICS; a++) {
        c.unit[TDM_PREFILL_UNIT].operations[a] = 100e9 * (a + 1);
        c.unit[TDM_DECODE_UNIT].operations[a] = 200e9 * (a + 1);
        c.all.operations[a] = 290e9 * (a + 1);
    }
    c.unit[TDM_PREFILL_UNIT].bytes = 8e9;
    c.unit[TDM_DECODE_UNIT].bytes = 12e9;
    c.all.bytes = 16e9;
    return c;
}

TEST(what_was_written_is_read)
{
    ceilings value = {true, sample(), 1795269600}, found;
    size_t n;
    char *text = ceilings_write(&value, processor, &n);
    REQUIRE(text && n == strlen(text));
    CHECK(ceilings_read(&found, processor, text, n));
    CHECK(found.known && !memcmp(&value.value, &found.value, sizeof value.value));
    CHECK_INT(1795269600, found.when);
    CHECK(!ceilings_read(&found, "another one", text, n));
    for (size_t cut = 0; cut + 1 < n; cut++)
        if (ceilings_read(&found, processor, text, cut)) CHECK_FAIL("cut at %zu of %zu: read", cut, n);
    free(text);
}

/* A unit that is a GPU. */
TEST(what_was_not_measured_is_kept_as_such)
{
    ceilings value = {true, sample(), 1795269600}, found;
    value.value.unit[TDM_DECODE_UNIT] = value.value.all = (tdm_ceiling){0};
    size_t n;
    char *text = ceilings_write(&value, processor, &n);
    REQUIRE(text);
    CHECK(ceilings_read(&found, processor, text, n));
    CHECK(!memcmp(&value.value, &found.value, sizeof value.value));
    free(text);
    value.value.all.bytes = 1; /* but not one speed alone */
    text = ceilings_write(&value, processor, &n);
    REQUIRE(text);
    CHECK(!ceilings_read(&found, processor, text, n));
    free(text);
}

TEST(nonsense_is_not_read)
{
    static const char *const wrong[] = {"0", "-1e9", "1e300", "null", "\"fast\"", "[]", "true"};
    ceilings value = {true, sample(), 1795269600}, found;
    size_t n;
    char *text = ceilings_write(&value, processor, &n), other[2000];
    REQUIRE(text);
    const char *number = strstr(text, "1.6e+10");
    REQUIRE(number);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(other, sizeof other, "%.*s%s%s", (int)(number - text), text, wrong[i], number + strlen("1.6e+10"));
        if (ceilings_read(&found, processor, other, strlen(other))) CHECK_FAIL("%s was read", wrong[i]);
    }
    snprintf(other, sizeof other, "%s", text);
    *strstr(other, "\"format\":1") = ' '; /* no JSON any more */
    CHECK(!ceilings_read(&found, processor, other, strlen(other)));
    snprintf(other, sizeof other, "%s", text);
    strstr(other, "\"format\":1")[9] = '2';
    CHECK(!ceilings_read(&found, processor, other, strlen(other)));
    free(text);
}

TEST(time_with_lent_cores_counts_against_all_cores)
{
    ceilings c = {.value = sample()};
    ceilings_time t = {.own_s = 2, .all_s = 1};
    CHECK_NEAR(0, ceilings_operations(&c, TDM_PREFILL_UNIT, TDM_INT8, t), 0);
    CHECK_NEAR(0, ceilings_bytes(&c, TDM_DECODE_UNIT, t), 0);
    c.known = true;
    CHECK_NEAR(2 * 300e9 + 870e9, ceilings_operations(&c, TDM_PREFILL_UNIT, TDM_INT8, t), 1);
    CHECK_NEAR(2 * 12e9 + 16e9, ceilings_bytes(&c, TDM_DECODE_UNIT, t), 1);
}

/* The kernel set of this machine: the others take several times as long to read memory under a sanitizer. */
static const char *fastest(void)
{
    const char *name = NULL;
    CHECK(tdm_kernels_name(NULL, &name, NULL) == TDM_OK);
    return name;
}

/* The real thing; in the long form once more where nothing can be kept. */
TEST(a_machine_is_measured_and_remembered)
{
    tdm_machine *m;
    tdm_error err = {0}, unkept = {0};
    ceilings c, again;
    char path[300];
    snprintf(path, sizeof path, "%s/cache", check_tmp());
    setenv("XDG_CACHE_HOME", path, 1);
    REQUIRE(tdm_machine_open(&m, &(tdm_machine_options){.threads = 2}, &err) == TDM_OK);
    ceilings_recall(&c, m, fastest());
    CHECK(!c.known);
    REQUIRE(ceilings_measure(&c, m, fastest(), NULL, NULL, &unkept, &err) == TDM_OK);
    CHECK(c.known && c.when > 0);
    CHECK_INT(TDM_OK, unkept.code);
    const tdm_ceiling *each[] = {&c.value.unit[0], &c.value.unit[1], &c.value.all};
    for (int i = 0; i < 3; i++) {
        CHECK(each[i]->bytes > 0);
        for (int a = 0; a < TDM_ARITHMETICS; a++) CHECK(each[i]->operations[a] > 0);
    }
    ceilings_recall(&again, m, fastest());
    CHECK(again.known);
    CHECK_NEAR(c.value.all.bytes, again.value.all.bytes, 1e-5 * c.value.all.bytes);
    ceilings_recall(&again, m, "reference");
    CHECK(!again.known);
    char *text = ceilings_text(&c, m);
    REQUIRE(text);
    CHECK(!strncmp(text, "ceilings of PREFILL (cpu:", 25) && strstr(text, "\nDECODE  "));
    for (const char *line = strchr(text, '\n') + 1; *line; line += strcspn(line, "\n") + 1) /* of a small screen */
        if (strcspn(line, "\n") != 36) CHECK_FAIL("%.*s", (int)strcspn(line, "\n"), line);
    free(text);
    setenv("XDG_CACHE_HOME", "/proc", 1);
    if (getenv("TANDEM_LONG")) CHECK_INT(TDM_OK, ceilings_measure(&c, m, fastest(), NULL, NULL, &unkept, &err));
    if (getenv("TANDEM_LONG")) CHECK(c.known && unkept.code != TDM_OK);
    tdm_machine_close(m);
}

/* It ends as well where nothing can be kept. */
TEST(a_measurement_is_given_up_at_once_or_ends)
{
    tdm_machine *m;
    tdm_error err = {0};
    ceilings c = {0}, again;
    ceilings_job j = {0};
    int wake[2];
    char path[300], byte;
    snprintf(path, sizeof path, "%s/given-up", check_tmp());
    setenv("XDG_CACHE_HOME", path, 1);
    REQUIRE(pipe(wake) == 0 && tdm_machine_open(&m, &(tdm_machine_options){.threads = 2}, &err) == TDM_OK);
    CHECK(!ceilings_job_take(&j, &c));
    ceilings_job_begin(&j, m, fastest(), true, wake[1]);
    REQUIRE(j.task.running);
    task_cancel(&j.task);
    CHECK(read(wake[0], &byte, 1) == 1);
    CHECK(ceilings_job_take(&j, &c) && !c.known && !j.failed && !j.task.running);
    CHECK(access(path, F_OK) != 0); /* nothing of it is kept */
    setenv("XDG_CACHE_HOME", "/proc", 1);
    ceilings_job_begin(&j, m, fastest(), true, wake[1]);
    CHECK(read(wake[0], &byte, 1) == 1);
    CHECK(ceilings_job_take(&j, &c) && c.known && c.value.all.bytes > 0 && c.when > 0);
    ceilings_recall(&again, m, fastest());
    CHECK(!again.known);
    ceilings_job_begin(&j, m, "no such set", true, wake[1]);
    CHECK(read(wake[0], &byte, 1) == 1);
    CHECK(ceilings_job_take(&j, &c) && j.failed);
    ceilings_job_begin(&j, m, fastest(), true, wake[1]);
    task_end(&j.task);
    CHECK(!j.task.running);
    tdm_machine_close(m);
}

/* For a list of models: as it is known, or measured. */
TEST(how_fast_memory_is_read)
{
    tdm_machine *m;
    tdm_error err = {0};
    ceilings c = {0};
    ceilings_memory speed;
    REQUIRE(tdm_machine_open(&m, &(tdm_machine_options){.threads = 2}, &err) == TDM_OK);
    CHECK(ceilings_memory_of(&c).bytes_per_s == 0);
    CHECK_INT(TDM_OK, ceilings_memory_now(&speed, &c, m, &err));
    CHECK(speed.bytes_per_s > 1 && speed.when > 2);
    c = (ceilings){.known = true, .value.all.bytes = 1, .when = 2};
    CHECK_INT(TDM_OK, ceilings_memory_now(&speed, &c, m, &err));
    CHECK(speed.bytes_per_s == 1 && speed.when == 2);
    tdm_machine_close(m);
}

TEST_MAIN(T(what_was_written_is_read), T(what_was_not_measured_is_kept_as_such), T(nonsense_is_not_read),
          T(time_with_lent_cores_counts_against_all_cores),
          T(a_machine_is_measured_and_remembered), T(a_measurement_is_given_up_at_once_or_ends),
          T(how_fast_memory_is_read))
