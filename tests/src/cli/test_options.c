#include "tests/check.h"

#include "src/cli/options.h"
#include "src/cli/words.h"
#include "src/io/number.h"

static bool parse(options *o, tdm_error *err, const char *line)
{
    static char room[500];
    static char *argv[40];
    int argc = 0;
    snprintf(room, sizeof room, "%s", line);
    for (char *word = strtok(room, " "); word; word = strtok(NULL, " ")) argv[argc++] = word;
    return options_parse(o, argc, argv, err);
}

TEST(numbers_are_strict)
{
    int64_t i = 0;
    uint64_t u = 0;
    double r = 0;
    CHECK(number_int("-3", -5, 5, &i) && i == -3);
    CHECK(!number_int("3x", 0, 9, &i) && !number_int("", 0, 9, &i) && !number_int(" 3", 0, 9, &i));
    CHECK(!number_int("10", 0, 9, &i) && !number_int("99999999999999999999", 0, 9, &i) && !number_int("+3", 0, 9, &i));
    CHECK(number_whole("18446744073709551615", &u) && u == UINT64_MAX);
    CHECK(!number_whole("18446744073709551616", &u) && !number_whole("-1", &u));
    CHECK(number_real("0.5", 0, 1, &r) && r == 0.5);
    CHECK(!number_real("nan", 0, 1, &r) && !number_real("inf", 0, 1, &r) && !number_real("0x1", 0, 1, &r));
    CHECK(!number_real("1e999", 0, 1e300, &r) && !number_real("1.5", 0, 1, &r) && !number_real("", 0, 1, &r));
    CHECK(number_size("4G", &u) && u == (uint64_t)4 << 30);
    CHECK(number_size("7", &u) && u == 7);
    CHECK(!number_size("4GB", &u) && !number_size("99999999999T", &u) && !number_size("G", &u));
}

TEST(values_are_read)
{
    options o;
    tdm_error err;
    REQUIRE(parse(&o, &err, "tandem run -vc 4096 --temp=0.5 --stop a --stop b --seed 7 --pause auto -- -hello - x"));
    CHECK_INT(COMMAND_RUN, o.command);
    CHECK(options_flag(&o, OPTION_VERBOSE));
    CHECK_INT(4096, options_int(&o, OPTION_CONTEXT, 0));
    CHECK_NEAR(0.5, options_real(&o, OPTION_TEMP, 9), 0);
    CHECK_INT(2, o.values[OPTION_STOP].n);
    CHECK_STR("b", o.values[OPTION_STOP].list[1]);
    CHECK_INT(7, options_whole(&o, OPTION_SEED, 0));
    CHECK_INT(-1, options_int(&o, OPTION_PAUSE, -1));
    CHECK_INT(3, o.n_arguments);
    CHECK_STR("-hello", o.arguments[0]);
    CHECK(!options_given(&o, OPTION_TOP_K));
    options_free(&o);
    REQUIRE(parse(&o, &err, "tandem --resume --plain"));
    CHECK(o.command == COMMAND_CHAT && options_given(&o, OPTION_RESUME) && !options_text(&o, OPTION_RESUME));
    options_free(&o);
    CHECK(!parse(&o, &err, "tandem --resume="));
    CHECK_STR("--resume: '' is not allowed; expected a name, or nothing", err.text);
    options_free(&o);
    REQUIRE(parse(&o, &err, "tandem --resume garden --plain"));
    CHECK_STR("garden", options_text(&o, OPTION_RESUME));
    options_free(&o);
}

TEST(wrong_use_is_one_line)
{
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"tandem rnu", "unknown command 'rnu'; did you mean 'run'?"},
        {"tandem run --tmep 1", "run: unknown option '--tmep'; did you mean '--temp'?"},
        {"tandem run --temp", "--temp needs a value (X)"},
        {"tandem run --temp hot", "--temp: 'hot' is not allowed; expected 0 to 100"},
        {"tandem chat --pipeline both", "--pipeline: 'both' is not allowed; expected single, slots, sequential-solo, "
                                        "sequential, batch-solo, batch, tandem; did you mean 'batch'?"},
        {"tandem hlep", "unknown command 'hlep'; did you mean 'help'?"},
        {"tandem help rnu", "unknown command 'rnu'; did you mean 'run'?"},
        {"tandem info --hlep", "info: unknown option '--hlep'; did you mean '--help'?"},
        {"tandem --verison", "chat: unknown option '--verison'; did you mean '--version'?"},
        {"tandem --completion-bsah", "chat: unknown option '--completion-bsah'; did you mean '--completion-bash'?"},
        {"tandem -model x", "chat: unknown option '-model'; did you mean '--model'?"},
        {"tandem info -verison", "info: unknown option '-verison'; did you mean '--version'?"},
        {"tandem --kv q8", "--kv: 'q8' is not allowed; expected f32, f16, q8_0; did you mean 'q8_0'?"},
        {"tandem --follow=steam",
         "--follow: 'steam' is not allowed; expected auto, top, stream; did you mean 'stream'?"},
        {"tandem --motion no", "--motion: 'no' is not allowed; expected off, on"},
        {"tandem --plain=of", "--plain: 'of' is not allowed; expected on or off; did you mean 'off'?"},
        {"tandem -t atuo", "--threads: 'atuo' is not allowed; expected 1 to 4096, or auto; did you mean 'auto'?"},
        {"tandem run -n 0", "--max-tokens: '0' is not allowed; expected 1 to 1048576"},
        {"tandem info -x", "info: unknown option '-x'; 'tandem info --help' lists them"},
        {"tandem chat --think=maybe", "--think: 'maybe' is not allowed; expected off, on, low, medium, high, xhigh"},
        {"tandem eval --ids", "--ids needs a value (N,N,...)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        options o;
        tdm_error err = {0};
        CHECK(!parse(&o, &err, cases[i].line));
        CHECK_STR(cases[i].message, err.text);
        options_free(&o);
    }
}

TEST(the_file_gives_way_to_the_command_line)
{
    options o;
    tdm_error err = {0};
    char path[200];
    snprintf(path, sizeof path, "%s/config", check_tmp());
    FILE *f = fopen(path, "w");
    REQUIRE(f);
    fputs("# mine\n\ntemp = 0.25\ntop-k=5\n  system =  You are brief. \nthink = on\n", f);
    fclose(f);
    REQUIRE(parse(&o, &err, "tandem run --temp 1 hello"));
    REQUIRE(options_read_file(&o, path, &err));
    CHECK_NEAR(1, options_real(&o, OPTION_TEMP, 9), 0);
    CHECK_INT(FROM_COMMAND_LINE, o.values[OPTION_TEMP].origin);
    CHECK_INT(5, options_int(&o, OPTION_TOP_K, 0));
    CHECK_STR("You are brief.", options_text(&o, OPTION_SYSTEM));
    CHECK(options_flag(&o, OPTION_THINK));
    options_free(&o);

    static const char *const wrong[] = {"tmep = 1\n", "temp\n", "temp = hot\n", "ids = 1\n", "top-k = 5 5\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        f = fopen(path, "w");
        REQUIRE(f);
        fputs(wrong[i], f);
        fclose(f);
        REQUIRE(parse(&o, &err, "tandem run --temp 1"));
        err.text[0] = 0;
        CHECK(!options_read_file(&o, path, &err));
        CHECK(strstr(err.text, "config:1: "));
        options_free(&o);
    }
    REQUIRE(parse(&o, &err, "tandem run"));
    CHECK(options_read_file(&o, "/nonexistent/config", &err));
    options_free(&o);
}

/* What other systems' editors write: UTF-8 with a mark is read, UTF-16 is not taken for an empty file. */
TEST(marks_and_zero_bytes_in_the_file)
{
    static const char marked[] = "\357\273\277temp = 0.25\r\ntop-k = 5\r\n", wide[] = "\377\376#\0\n\0t\0";
    options o;
    tdm_error err = {0};
    char path[200];
    snprintf(path, sizeof path, "%s/config", check_tmp());
    FILE *f = fopen(path, "w");
    REQUIRE(f && fputs(marked, f) >= 0 && !fclose(f));
    REQUIRE(parse(&o, &err, "tandem run"));
    CHECK(options_read_file(&o, path, &err));
    CHECK_STR("0.25", options_text(&o, OPTION_TEMP));
    CHECK_INT(5, options_int(&o, OPTION_TOP_K, 0));
    options_free(&o);

    f = fopen(path, "w");
    REQUIRE(f && fwrite(wide, 1, sizeof wide - 1, f) == sizeof wide - 1 && !fclose(f));
    REQUIRE(parse(&o, &err, "tandem run"));
    CHECK(!options_read_file(&o, path, &err));
    CHECK(strstr(err.text, "config:1: expected text in UTF-8, found a zero byte"));
    options_free(&o);
}

/* A theme may be named before its lines come, and on the command line, which is read before the file. */
TEST(own_themes)
{
    static const struct {
        const char *line, *file, *said; /* NULL: it is taken */
    } cases[] = {
        {"tandem", "theme = sand\ntheme.sand.draft = 208\n", NULL},
        {"tandem --theme sand", "theme.sand.draft = 208\n", NULL},
        {"tandem run", "theme = sand\ntheme.sand.draft = 208\n", NULL},
        {"tandem --theme dark", "", NULL},
        {"tandem", "theme = sand\n", "config: theme: 'sand' is not allowed; expected auto, dark, light, mono or one"},
        {"tandem", "theme = sand\ntheme.snad.draft = 208\n",
         "expected auto, dark, light, mono, snad; did you mean 'snad'?"},
        {"tandem --theme sand", "theme = dark\n", "--theme: 'sand' is not allowed"},
        {"tandem", "\ntheme.sand.drft = 208\n", "config:2: theme.sand.drft: found the role 'drft', expected one of"},
        {"tandem", "theme.sand.draft = 256\n", "config:1: theme.sand.draft: found '256', expected 0 to 255"},
    };
    char path[200];
    snprintf(path, sizeof path, "%s/config", check_tmp());
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        options o;
        tdm_error err = {0};
        FILE *f = fopen(path, "w");
        REQUIRE(f);
        fputs(cases[i].file, f);
        fclose(f);
        REQUIRE(parse(&o, &err, cases[i].line));
        bool taken = options_read_file(&o, path, &err);
        if (taken != !cases[i].said || (!taken && !strstr(err.text, cases[i].said)))
            CHECK_FAIL("%zu: %d, '%s'", i, taken, err.text);
        CHECK(!option_set(&o, OPTION_THEME, "gone", FROM_CONVERSATION, &err));
        CHECK(option_set(&o, OPTION_THEME, "mono", FROM_CONVERSATION, &err));
        CHECK_INT(i < 3, option_set(&o, OPTION_THEME, "sand", FROM_CONVERSATION, &err));
        options_free(&o);
    }
}

TEST(names_are_unique_within_a_command)
{
    for (command_id c = 0; c < COMMAND_COUNT; c++)
        for (option_id a = 0; a < OPTION_COUNT; a++)
            for (option_id b = a + 1; b < OPTION_COUNT; b++) {
                if (!option_belongs(a, c) || !option_belongs(b, c)) continue;
                if (!strcmp(option_table[a].name, option_table[b].name)) CHECK_FAIL("%s twice", option_table[a].name);
                if (option_table[a].letter && option_table[a].letter == option_table[b].letter)
                    CHECK_FAIL("-%c twice", option_table[a].letter);
            }
}

TEST(nearest_names)
{
    nearest best = {0};
    nearest_offer(&best, "xyzzy", "temp");
    CHECK(!best.name);
    nearest_offer(&best, "tmep", "trace");
    nearest_offer(&best, "tmep", "temp");
    nearest_offer(&best, "tmep", "stop");
    CHECK_STR("temp", best.name);
    best = (nearest){0};
    nearest_offer(&best, "foo", "zoom"); /* two slips of three letters are another word */
    CHECK(!best.name);
    nearest_offer(&best, "spec", "speculation");
    CHECK_STR("speculation", best.name);
}

TEST_MAIN(T(numbers_are_strict), T(own_themes), T(values_are_read), T(wrong_use_is_one_line),
          T(the_file_gives_way_to_the_command_line), T(marks_and_zero_bytes_in_the_file),
          T(names_are_unique_within_a_command), T(nearest_names))
