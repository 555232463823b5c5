/* Tables that are put into a Markdown file where its lines ask for them: what they ask for is there and nothing else
 * changes, again and again; what was not measured is refused with its line. */
#include "tests/check.h"

#include "src/bench/bench_fill.h"
#include "src/bench/bench_from.h"
#include "src/bench/bench_report.h"

static const char measured[] =
    "{\"suite\":\"s\",\"part\":\"p\",\"model\":\"m\",\"title\":\"t\",\"parameters\":[\"n\",\"who\"],"
    "\"measures\":[{\"name\":\"x_y\",\"unit\":\"ms\"},{\"name\":\"z\",\"unit\":\"\"}],\"notes\":[\"fast enough\"]}\n"
    "{\"suite\":\"s\",\"part\":\"p\",\"model\":\"m\",\"n\":74,\"who\":\"b\",\"measure\":\"x_y\",\"values\":[5]}\n"
    "{\"suite\":\"s\",\"part\":\"p\",\"model\":\"m\",\"n\":16,\"who\":\"a\",\"measure\":\"x_y\",\"values\":[1,2,3]}\n"
    "{\"suite\":\"s\",\"part\":\"p\",\"model\":\"m\",\"n\":16,\"who\":\"a\",\"measure\":\"z\",\"values\":[4]}\n"
    "{\"suite\":\"s\",\"part\":\"p\",\"model\":\"other\",\"title\":\"t\",\"parameters\":[\"n\",\"who\"],"
    "\"measures\":[{\"name\":\"x_y\",\"unit\":\"ms\"}],\"notes\":[]}\n"
    "{\"suite\":\"s\",\"part\":\"p\",\"model\":\"other\",\"n\":13,\"who\":\"a\",\"measure\":\"x_y\",\"values\":[148.75]}\n"
    "{\"suite\":\"before\",\"model\":\"m\",\"command\":\"tandem bench s\",\"machine\":{},\"ceilings\":{\"read_gbs\":9}}\n"
    "{\"suite\":\"s\",\"model\":\"m\",\"command\":\"tandem bench s\",\"machine\":{},\"ceilings\":{\"read_gbs\":20,"
    "\"int8_gops\":900},\"stolen\":0.123}\n"
    /* The model as another kernel set computes it, and what it shall reach. */
    "{\"suite\":\"s\",\"part\":\"p\",\"model\":\"m@k\",\"title\":\"t\",\"parameters\":[\"n\",\"who\"],"
    "\"measures\":[{\"name\":\"x_y\",\"unit\":\"ms\"},{\"name\":\"z\",\"unit\":\"\"}],\"notes\":[]}\n"
    "{\"suite\":\"s\",\"part\":\"p\",\"model\":\"m@k\",\"n\":16,\"who\":\"a\",\"measure\":\"x_y\",\"values\":[6,7,8]}\n"
    "{\"suite\":\"s\",\"part\":\"p\",\"model\":\"m@goal\",\"title\":\"t\",\"parameters\":[\"n\",\"who\"],"
    "\"measures\":[{\"name\":\"x_y\",\"unit\":\"ms\"}],\"notes\":[]}\n"
    "{\"suite\":\"s\",\"part\":\"p\",\"model\":\"m@goal\",\"n\":74,\"who\":\"b\",\"measure\":\"x_y\",\"values\":[4.125]}\n"
    "{\"suite\":\"s\",\"part\":\"q\",\"model\":\"no model\",\"title\":\"t\",\"parameters\":[\"n\"],"
    "\"measures\":[{\"name\":\"v\",\"unit\":\"\"}],\"notes\":[]}\n"
    "{\"suite\":\"s\",\"part\":\"q\",\"model\":\"no model\",\"n\":1,\"measure\":\"v\",\"values\":[1]}\n"
    "{\"suite\":\"s\",\"part\":\"q\",\"model\":\"no model\",\"n\":16,\"measure\":\"v\",\"values\":[2]}\n";

#define HEAD "before\n<!-- bench "
#define TAIL "old\n<!-- end -->\nafter\n"
#define COMMAND "\n_`tandem bench s`; memory was read at 20.0 GB/s; the host took 12 % of the CPU time_\n\n<!-- end -->\nafter\n"

static bench b;
static options o;
static tdm_error err;

static void open_bench(void)
{
    static char some[] = "some";
    b = (bench){.o = &o};
    o.values[OPTION_FILL].text = some; /* nothing is printed */
    o.values[OPTION_FILL].origin = FROM_COMMAND_LINE;
    if (bench_from_text(&b, "F", measured, strlen(measured), &err)) CHECK_FAIL("%s", err.text);
}

static void close_bench(void)
{
    for (int i = 0; i < b.n_tables; i++) bench_table_free(b.tables[i]);
    for (int i = 0; i < b.n_ran_on; i++) json_object_put(b.ran_on[i]);
    free(b.ran_on);
}

static void check_filled(const char *text, const char *expected)
{
    char *out = NULL, *again = NULL;
    if (bench_fill_text(&b, "F", text, &out, &err)) CHECK_FAIL("%s", err.text);
    CHECK_STR(expected, out);
    if (out && bench_fill_text(&b, "F", out, &again, &err)) CHECK_FAIL("%s", err.text);
    CHECK_STR(expected, again);
    free(out);
    free(again);
}

TEST(tables)
{
    open_bench();
    check_filled(HEAD "s/p m -->\n" TAIL, HEAD "s/p m -->\n\n"
                                               "| n | who | x y ms | z | n |\n|---|---|---:|---:|---:|\n"
                                               "| 16 | a | 2.00 (1.00-3.00) | 4.00 | 1-3 |\n| 74 | b | 5.00 | - | 1 |\n" COMMAND);
    check_filled(HEAD "s/p m columns=z rows=16|a notes -->\n" TAIL,
                 HEAD "s/p m columns=z rows=16|a notes -->\n\n"
                      "| n | who | z | n |\n|---|---|---:|---:|\n| 16 | a | 4.00 | 1-3 |\n\n- fast enough\n" COMMAND);
    /* 13 stands beside 16, and is named; nothing stands beside 74. */
    check_filled(HEAD "s/p m columns=x_y beside=other -->\n" TAIL,
                 HEAD "s/p m columns=x_y beside=other -->\n\n"
                      "| n | who | x y ms | n | other: n | other: x y ms |\n|---|---|---:|---:|---:|---:|\n"
                      "| 16 | a | 2.00 (1.00-3.00) | 1-3 | 13 | 148.75 |\n| 74 | b | 5.00 | 1 | - | - |\n" COMMAND);
    /* Each model's own other set and goal; columns that nothing stands in are not there, nor the range. */
    check_filled(HEAD "s/p m columns=x_y beside=*@k,*@goal medians ceilings -->\n" TAIL,
                 HEAD "s/p m columns=x_y beside=*@k,*@goal medians ceilings -->\n\n"
                      "| n | who | x y ms | n | k: x y ms | k: n | goal: x y ms |\n|---|---|---:|---:|---:|---:|---:|\n"
                      "| 16 | a | 2.00 | 1-3 | 7.00 | 3 | - |\n| 74 | b | 5.00 | 1 | - | - | 4.125 |\n"
                      "\n_`tandem bench s`; memory was read at 20.0 GB/s; arithmetic on vector registers: int8 900 Gop/s; "
                      "the host took 12 % of the CPU time_\n\n"
                      "<!-- end -->\nafter\n");
    check_filled(HEAD "s/p m@k columns=x_y beside=*@goal optional -->\n" TAIL,
                 HEAD "s/p m@k columns=x_y beside=*@goal optional -->\n\n"
                      "| n | who | x y ms | n |\n|---|---|---:|---:|\n| 16 | a | 7.00 (6.00-8.00) | 3 |\n\n<!-- end -->\nafter\n");
    check_filled(HEAD "s/p m turned columns=x_y,none optional -->\n" TAIL,
                 HEAD "s/p m turned columns=x_y,none optional -->\n\n"
                      "| n | 16 | 74 |\n|---|---:|---:|\n| who | a | b |\n| x y ms | 2.00 (1.00-3.00) | 5.00 |\n"
                      "| n | 1-3 | 1 |\n" COMMAND);
    /* A table that lacks a measure. */
    check_filled(HEAD "s/p other,m columns=z rows=13,16 -->\n" TAIL,
                 HEAD "s/p other,m columns=z rows=13,16 -->\n\n"
                      "| model | n | who | z | n |\n|---|---|---|---:|---:|\n"
                      "| other | 13 | a | - | 1 |\n| m | 16 | a | 4.00 | 1-3 |\n" COMMAND);
    /* Rows by whole parameters; a blank in a model's name is written '_'. */
    check_filled(HEAD "s/q no_model rows=1 -->\n" TAIL, HEAD "s/q no_model rows=1 -->\n\n| n | v | n |\n|---|---:|---:|\n"
                                                             "| 1 | 1.00 | 1 |\n\n<!-- end -->\nafter\n");
    check_filled(HEAD "s/p m note=fast -->\n" TAIL, HEAD "s/p m note=fast -->\n\n**Fast enough**\n\n<!-- end -->\nafter\n");
    check_filled(HEAD "s/r m optional -->\n" TAIL, HEAD "s/r m optional -->\n\n_Not measured._\n\n<!-- end -->\nafter\n");
    check_filled(HEAD "s/p m note=slow optional -->\n" TAIL, HEAD "s/p m note=slow optional -->\n\n<!-- end -->\nafter\n");
    check_filled("nothing\nis asked", "nothing\nis asked");
    close_bench();
}

TEST(refuses)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {HEAD "s/p -->\n" TAIL, "F: line 2: expected a suite and a model"},
        {HEAD "s/p m colums=x -->\n" TAIL, "'colums=x' is not understood"},
        {HEAD "s/p m columns= -->\n" TAIL, "'columns=' is not understood"},
        {HEAD "s/p m\n" TAIL, "expected '-->'"},
        {HEAD "s/r m -->\n" TAIL, "nothing was measured of s r"},
        {HEAD "s/p n -->\n" TAIL, "with n"},
        {HEAD "s/p m columns=q -->\n" TAIL, "no measure 'q'"},
        {HEAD "s/p m rows=99 -->\n" TAIL, "no row"},
        {HEAD "s/p m beside=*@q -->\n" TAIL, "nothing is known of s p with *@q"},
        {HEAD "s/p m beside=q -->\n" TAIL, "nothing is known"},
        {HEAD "s/p m note=slow -->\n" TAIL, "begins with 'slow'"},
        {HEAD "s/p m -->\nold\n", "at the end"},
        {HEAD "s/p m -->\n" HEAD "s/p m -->\n" TAIL, "expected '<!-- end -->' before"},
    };
    open_bench();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *out = NULL;
        CHECK(bench_fill_text(&b, "F", cases[i].text, &out, &err) == TDM_E_FORMAT);
        CHECK(!out);
        if (!strstr(err.text, cases[i].why)) CHECK_FAIL("%s: '%s' without '%s'", cases[i].text, err.text, cases[i].why);
    }
    close_bench();
}

TEST_MAIN(T(tables), T(refuses))
