/* The rows of the models on this computer, and deleting one from a made-up hub cache. */
#include "tests/check.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/json/json.h"
#include "engine/os/file.h"
#include "src/files/files.h"
#include "src/files/recent.h"
#include "src/hub/delete.h"
#include "src/models/load.h"
#include "src/models/models.h"

static char home[300], hub[330];

static void begin(const char *name)
{
    static const char *const variables[] = {"HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"};
    snprintf(home, sizeof home, "%s/%s", check_tmp(), name);
    snprintf(hub, sizeof hub, "%s/hub", home);
    for (size_t i = 0; i < 4; i++) setenv(variables[i], home, 1);
    unsetenv("HF_HOME");
    setenv("HF_HUB_CACHE", hub, 1);
    setenv("TANDEM_DATADIR", "assets", 1);
}

static const char *at(const char *format, ...)
{
    static char path[2][700];
    static int turn;
    va_list args;
    turn = !turn;
    int n = snprintf(path[turn], sizeof *path, "%s/", hub);
    va_start(args, format);
    vsnprintf(path[turn] + n, sizeof *path - (size_t)n, format, args);
    va_end(args);
    return path[turn];
}

static void make_folder_of(const char *path)
{
    char folder[700];
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    CHECK(file_make_folders(folder, 0700, NULL) == TDM_OK);
}

static void put(const char *path, const char *text)
{
    make_folder_of(path);
    FILE *f = fopen(path, "w");
    REQUIRE(f && fputs(text, f) >= 0 && !fclose(f));
}

static void lead(const char *path, const char *target)
{
    make_folder_of(path);
    CHECK(!symlink(target, path));
}

static bool is_there(const char *path)
{
    struct stat st;
    return !lstat(path, &st);
}

#define REPOSITORY "models--a--b-GGUF"

/* Two revisions: one file is the same in both, a split one and two others are in the newer alone. */
static void make_repository(void)
{
    static const char *const blobs[] = {"aa", "bb", "c1", "c2", "dd"};
    for (size_t i = 0; i < 5; i++) {
        char name[64];
        snprintf(name, sizeof name, REPOSITORY "/blobs/%s", blobs[i]);
        put(at("%s", name), "12345");
    }
    put(at(REPOSITORY "/refs/main"), "new");
    lead(at(REPOSITORY "/snapshots/old/b-Q4_K_M.gguf"), "../../blobs/aa");
    lead(at(REPOSITORY "/snapshots/new/b-Q4_K_M.gguf"), "../../blobs/aa");
    lead(at(REPOSITORY "/snapshots/new/b-Q8_0.gguf"), "../../blobs/bb");
    lead(at(REPOSITORY "/snapshots/new/sub/b-Q6_K-00001-of-00002.gguf"), "../../../blobs/c1");
    lead(at(REPOSITORY "/snapshots/new/sub/b-Q6_K-00002-of-00002.gguf"), "../../../blobs/c2");
    lead(at(REPOSITORY "/snapshots/new/README.md"), "../../blobs/dd");
}

static void check_deleted(const char *name, uint64_t bytes)
{
    uint64_t freed = 77;
    tdm_error err = {0};
    if (models_delete(at("%s", name), &freed, &err)) CHECK_FAIL("%s: %s", name, err.text);
    CHECK_INT(bytes, freed);
    CHECK(!is_there(at("%s", name)));
}

TEST(a_model_goes_and_what_others_use_stays)
{
    begin("delete");
    make_repository();
    check_deleted(REPOSITORY "/snapshots/new/b-Q8_0.gguf", 5);
    CHECK(!is_there(at(REPOSITORY "/blobs/bb")));
    CHECK(is_there(at(REPOSITORY "/blobs/aa")) && is_there(at(REPOSITORY "/snapshots/new/README.md")));
    check_deleted(REPOSITORY "/snapshots/new/b-Q4_K_M.gguf", 0); /* the older revision has it too */
    CHECK(is_there(at(REPOSITORY "/blobs/aa")) && is_there(at(REPOSITORY "/snapshots/old/b-Q4_K_M.gguf")));
    check_deleted(REPOSITORY "/snapshots/new/sub/b-Q6_K-00001-of-00002.gguf", 10); /* all parts, and their folder */
    CHECK(!is_there(at(REPOSITORY "/blobs/c1")) && !is_there(at(REPOSITORY "/blobs/c2")));
    CHECK(!is_there(at(REPOSITORY "/snapshots/new/sub")));
    CHECK(is_there(at(REPOSITORY "/refs/main")));
    check_deleted(REPOSITORY "/snapshots/new", 5);
    CHECK(!is_there(at(REPOSITORY "/refs/main"))); /* it named that revision */
    CHECK(is_there(at(REPOSITORY "/snapshots/old/b-Q4_K_M.gguf")) && is_there(at(REPOSITORY "/blobs/aa")));
    check_deleted(REPOSITORY "/snapshots/old/b-Q4_K_M.gguf", 5);
    CHECK(!is_there(at(REPOSITORY)));
}

TEST(a_projector_goes_with_the_last_model)
{
    begin("projector");
    make_repository();
    put(at(REPOSITORY "/blobs/mm"), "1234567");
    lead(at(REPOSITORY "/snapshots/new/mmproj-F16.gguf"), "../../blobs/mm");
    check_deleted(REPOSITORY "/snapshots/new/b-Q8_0.gguf", 5);
    check_deleted(REPOSITORY "/snapshots/new/sub/b-Q6_K-00001-of-00002.gguf", 10);
    CHECK(is_there(at(REPOSITORY "/blobs/mm")));
    check_deleted(REPOSITORY "/snapshots/new/b-Q4_K_M.gguf", 7);
    CHECK(!is_there(at(REPOSITORY "/blobs/mm")) && !is_there(at(REPOSITORY "/snapshots/new/mmproj-F16.gguf")));
    CHECK(is_there(at(REPOSITORY "/snapshots/old/b-Q4_K_M.gguf")));
}

static void check_refused(const char *path, tdm_status status, const char *words)
{
    uint64_t freed;
    tdm_error err = {0};
    CHECK_INT(status, models_delete(path, &freed, &err));
    if (!strstr(err.text, words)) CHECK_FAIL("expected '%s' in '%s'", words, err.text);
}

TEST(nothing_outside_of_the_cache_is_touched)
{
    char outside[400];
    begin("outside");
    make_repository();
    snprintf(outside, sizeof outside, "%s/precious", home);
    put(outside, "mine");
    /* Links that lead elsewhere go without what they lead to. */
    lead(at(REPOSITORY "/snapshots/new/x-Q2_K.gguf"), outside);
    lead(at(REPOSITORY "/snapshots/new/x-Q3_K.gguf"), "../../blobs/../../../precious");
    lead(at(REPOSITORY "/snapshots/new/x-Q5_K.gguf"), "../../../precious");
    check_deleted(REPOSITORY "/snapshots/new/x-Q2_K.gguf", 0);
    check_deleted(REPOSITORY "/snapshots/new/x-Q3_K.gguf", 0);
    check_deleted(REPOSITORY "/snapshots/new/x-Q5_K.gguf", 0);
    CHECK(is_there(outside));
    /* A folder is not entered through a link. */
    char folder[400], file[420];
    snprintf(folder, sizeof folder, "%s/elsewhere", home);
    snprintf(file, sizeof file, "%s/e-Q8_0.gguf", folder);
    put(file, "mine");
    lead(at(REPOSITORY "/snapshots/new/link"), folder);
    check_refused(at(REPOSITORY "/snapshots/new/link/e-Q8_0.gguf"), TDM_E_NOT_FOUND, "not there");
    lead(at("models--c--d/snapshots"), folder);
    check_refused(at("models--c--d/snapshots/new/e-Q8_0.gguf"), TDM_E_IO, "its folder can't be opened");
    lead(at("models--e--f"), folder);
    check_refused(at("models--e--f/snapshots/new/e-Q8_0.gguf"), TDM_E_IO, "its folder can't be opened");
    check_refused(file, TDM_E_ARG, "expected a model of the hub's cache");
    check_refused(at(REPOSITORY "/snapshots/../../../precious"), TDM_E_ARG, "expected a model of the hub's cache");
    check_refused(at(REPOSITORY "/blobs/aa"), TDM_E_ARG, "expected a model of the hub's cache");
    CHECK(is_there(file) && is_there(outside));
    check_deleted(REPOSITORY "/snapshots/new", 20); /* what the older revision has stays */
    CHECK(is_there(file) && is_there(outside));
}

TEST(a_lock_that_is_held_keeps_all)
{
    begin("locked");
    make_repository();
    put(at(".locks/" REPOSITORY "/c2.lock"), "");
    int lock = open(at(".locks/" REPOSITORY "/c2.lock"), O_RDWR | O_CLOEXEC);
    CHECK(lock >= 0 && !flock(lock, LOCK_EX));
    check_refused(at(REPOSITORY "/snapshots/new/sub/b-Q6_K-00001-of-00002.gguf"), TDM_E_BUSY,
                  "another program is fetching it");
    CHECK(is_there(at(REPOSITORY "/blobs/c1")) &&
          is_there(at(REPOSITORY "/snapshots/new/sub/b-Q6_K-00001-of-00002.gguf")));
    close(lock);
    check_deleted(REPOSITORY "/snapshots/new/sub/b-Q6_K-00001-of-00002.gguf", 10);
}

static const models_row *row_of(const models_list *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (!strcmp(l->rows[i].name, name)) return &l->rows[i];
    return NULL;
}

static void check_verdict(const models_list *l, const char *name, const char *expected)
{
    char text[120];
    const models_row *r = row_of(l, name);
    if (!r)
        CHECK_FAIL("there is no row %s", name);
    else
        CHECK_STR(expected, models_verdict(r, text, sizeof text));
}

TEST(rows)
{
    options o;
    char *argv[] = {(char *)"tandem", (char *)"models"}, path[400];
    models_list l;
    char *demo = realpath("assets/tandem-demo-51m-q6_k.gguf", NULL);
    begin("rows");
    REQUIRE(options_parse(&o, 2, argv, NULL));
    put(at("models--a--demo-GGUF/refs/main"), "r");
    put(at("models--a--demo-GGUF/snapshots/r/demo-Q8_0.gguf"), "no model");
    put(at("models--a--demo-GGUF/snapshots/r/mmproj-F16.gguf"), "x");
    recent_add("tests/goldens/tiny-a");
    snprintf(path, sizeof path, "%s/tandem/config", home);
    put(path, "# mine\n");
    CHECK(models_set_default("a/demo-GGUF:Q8_0", NULL) == TDM_OK);
    REQUIRE(models_find(&l, &o, NULL) == TDM_OK);
    CHECK_INT(3, l.n);
    for (size_t i = 0; i < l.n; i++) models_describe(&l.rows[i], &o, NULL, NULL);
    models_judge(&l, (ceilings_memory){.bytes_per_s = 1e9, .when = 1795269600},
                 &(models_current){.path = demo});
    const models_row *builtin = row_of(&l, LOAD_BUILTIN), *hubs = row_of(&l, "a/demo-GGUF:Q8_0");
    REQUIRE(builtin && hubs);
    CHECK(builtin->builtin && builtin->in_use && !builtin->in_hub && builtin == &l.rows[l.n - 1]);
    CHECK_STR("q6_k", builtin->type);
    CHECK(builtin->disk_bytes > 40000000 && builtin->needs_bytes > builtin->disk_bytes);
    CHECK(builtin->tps > 1e9 / (double)builtin->token_bytes * 0.999 &&
          builtin->tps < 1e9 / (double)builtin->token_bytes * 1.001);
    CHECK(hubs->in_hub && hubs->is_default && hubs->fit == MODELS_REFUSED && hubs->reason);
    check_verdict(&l, LOAD_BUILTIN, "in use");
    check_verdict(&l, "a/demo-GGUF:Q8_0", "not for Tandem, default");
    char *text = models_text(&l);
    CHECK(text && strstr(text, "it is read at 1.0 GB/s (measured "));
    free(text);
    models_judge(&l, (ceilings_memory){0}, NULL);
    CHECK(row_of(&l, LOAD_BUILTIN)->tps == 0);
    text = models_text(&l);
    CHECK(text && strstr(text, "how fast it is read is not measured yet"));
    free(text);
    models_free(&l);
    options_free(&o);
    free(demo);
}

/* Each name of the list is one that -m takes. */
TEST(files_of_the_same_name_are_listed_by_their_paths)
{
    options o;
    char *argv[] = {(char *)"tandem", (char *)"models"};
    models_list l;
    begin("twins");
    REQUIRE(options_parse(&o, 2, argv, NULL));
    put(at("models--a--twins/refs/main"), "r");
    put(at("models--a--twins/snapshots/r/x/m-Q8_0.gguf"), "one");
    put(at("models--a--twins/snapshots/r/y/m-Q8_0.gguf"), "two");
    REQUIRE(models_find(&l, &o, NULL) == TDM_OK);
    const models_row *x = row_of(&l, at("models--a--twins/snapshots/r/x/m-Q8_0.gguf"));
    CHECK(x && x->in_hub && row_of(&l, at("models--a--twins/snapshots/r/y/m-Q8_0.gguf")));
    models_free(&l);
    options_free(&o);
}

/* What fits is told by what is free; a mixture needs memory for some of its experts alone. */
TEST(what_fits)
{
    models_row rows[] = {{.name = (char *)"small",
                          .path = (char *)"/1",
                          .type = (char *)"q8_0",
                          .needs_bytes = 1000,
                          .token_bytes = 500},
                         {.name = (char *)"large",
                          .path = (char *)"/2",
                          .type = (char *)"q8_0",
                          .needs_bytes = UINT64_C(1) << 60,
                          .token_bytes = 500},
                         {.name = (char *)"mixture",
                          .path = (char *)"/3",
                          .type = (char *)"q8_0",
                          .needs_bytes = UINT64_C(1) << 60,
                          .expert_bytes = (UINT64_C(1) << 60) - 1000,
                          .token_bytes = 500}};
    models_list l = {.rows = rows, .n = 3};
    models_judge(&l, (ceilings_memory){.bytes_per_s = 5000}, NULL);
    if (!l.memory_free) SKIP("the free memory is not known");
    CHECK_INT(MODELS_FITS, rows[0].fit);
    CHECK(rows[0].tps == 10);
    CHECK_INT(MODELS_TOO_LARGE, rows[1].fit);
    CHECK_INT(l.memory_free > (UINT64_C(1) << 30) + 1000 ? MODELS_FROM_DISK : MODELS_TOO_LARGE, rows[2].fit);
    CHECK(rows[2].fit != MODELS_FROM_DISK || rows[2].tps == 0);
    check_verdict(&l, "large", "too large");
    rows[0].is_default = true;
    check_verdict(&l, "small", "fits, default");
    rows[0].table_bytes = 4700000000;
    check_verdict(&l, "small", "fits, 4.7 GB stay on disk, default");
    rows[0].table_bytes = 0;
    rows[0].in_use = true;
    check_verdict(&l, "small", "in use, default");
    rows[2].fit = MODELS_FROM_DISK;
    rows[2].in_use = true;
    check_verdict(&l, "mixture", "from disk, in use");
}

/* What a model on a server takes there is not known, which is not the same as nothing. */
TEST(models_on_servers)
{
    models_row row = {.name = (char *)"big",
                      .path = (char *)"http://10.0.0.1:8080",
                      .type = (char *)"",
                      .host = (char *)"10.0.0.1",
                      .fit = MODELS_REMOTE};
    models_list l = {.rows = &row, .n = 1};
    char *text = models_text(&l), *line = text ? strstr(text, "\nbig ") : NULL;
    CHECK(line && strstr(line, "        -        -          -  on a server\n"));
    free(text);
}

TEST(json_lines)
{
    models_row rows[] = {
        {.name = (char *)"a\"\n\xff",
         .path = (char *)"/x",
         .type = (char *)"q4_k",
         .disk_bytes = 5,
         .needs_bytes = 7,
         .token_bytes = 3,
         .tps = 12.5,
         .is_default = true},
        {.name = (char *)"b", .path = (char *)"/y", .type = (char *)"", .reason = (char *)"no", .fit = MODELS_REFUSED}};
    models_list l = {.rows = rows, .n = 2};
    char *text = models_json(&l), *second = text ? strchr(text, '\n') : NULL;
    REQUIRE(second);
    CHECK_STR(
        "{\"name\":\"b\",\"path\":\"/y\",\"type\":null,\"disk_bytes\":null,\"needs_bytes\":null,\"token_bytes\":null,"
        "\"fits\":null,\"expected_tps\":null,\"sees\":false,\"default\":false,\"error\":\"no\"}\n",
        second + 1);
    *second = 0;
    json_object *o;
    REQUIRE(json_parse(&o, "row", text, strlen(text), JSON_UTF8, NULL) == TDM_OK);
    CHECK_STR("a\"\n\xef\xbf\xbd", json_text(o, "name", NULL));
    CHECK_STR("yes", json_text(o, "fits", NULL));
    CHECK_INT(7, json_int(o, "needs_bytes", 0));
    CHECK(json_real(o, "expected_tps", 0) == 12.5);
    json_free(o);
    free(text);
}

TEST_MAIN(T(a_model_goes_and_what_others_use_stays), T(nothing_outside_of_the_cache_is_touched),
          T(a_projector_goes_with_the_last_model), T(a_lock_that_is_held_keeps_all), T(rows),
          T(files_of_the_same_name_are_listed_by_their_paths), T(what_fits), T(models_on_servers), T(json_lines))
