/* Prompts of the library: what a file may hold, what is made of it, which file a name stands for. */
#include "tests/check.h"

#include <sys/stat.h>

#include "src/chat/prompts.h"

static tdm_error err;

static tdm_status parse(prompt_file *p, const char *text)
{
    return prompt_parse(p, "f.md", text, strlen(text), &err);
}

/* The message of a file's text with this input; static. */
static const char *composed(const char *text, const char *input, size_t most)
{
    static struct buffer out;
    prompt_file p;
    if (parse(&p, text)) return err.text;
    buffer_clear(&out);
    tdm_status status = prompt_compose(&p, input, strlen(input), most, &out, &err);
    prompt_free(&p);
    return status ? err.text : out.bytes;
}

TEST(settings_stand_between_the_fences)
{
    prompt_file p;
    REQUIRE(parse(&p, "\xef\xbb\xbf---\r\n# a comment\r\n description = two words \r\n\r\ntemp=0.5\nsystem = a = "
                      "b\nthink = on\n---\n"
                      "text\n") == TDM_OK);
    CHECK_STR("two words", p.description);
    CHECK_STR("0.5", options_text(&p.settings, OPTION_TEMP));
    CHECK_STR("a = b", options_text(&p.settings, OPTION_SYSTEM));
    CHECK_INT(1, options_int(&p.settings, OPTION_THINK, 0));
    CHECK(!options_given(&p.settings, OPTION_MODEL) && !options_given(&p.settings, OPTION_SEED));
    CHECK_INT(1, p.n);
    CHECK_INT(9, p.parts[0].line);
    prompt_free(&p);
    REQUIRE(parse(&p, "no fence\n---\ntemp = 1\n---\n") == TDM_OK); /* all of it is the text */
    CHECK(!options_given(&p.settings, OPTION_TEMP));
    prompt_free(&p);
}

TEST(the_input_takes_its_places)
{
    CHECK_STR("Say x and x.", composed("Say {{input}} and {{ input }}.\n", "x", 100));
    CHECK_STR("Say and .", composed("Say{{input}} and {{input}}.", "", 100));
    CHECK_STR("Say it.\n\nx y", composed("Say it.\n\n", "x y", 100));
    CHECK_STR("Say it.", composed("Say it. \n\n", "", 100));
    CHECK_STR("See notes.md and clipboard", composed("See {{file: ~/a b/notes.md }} and {{clipboard}}\n", "", 100));
    CHECK_STR("a {{input}} {{ b", composed("a \\{{input}} \\{{ b", "", 100));
    CHECK_STR("{ {input} }", composed("{ {input} }", "", 100));
    CHECK_STR("xx", composed("{{input}}{{input}}", "x", 2));
    CHECK_STR("the prompt and its input are longer than 2 bytes", composed("{{input}}{{input}}{{input}}", "x", 2));
    CHECK_STR("the prompt and its input are longer than 4 bytes", composed("a", "xyz", 4));
}

TEST(a_wrong_file_is_one_line)
{
    static const char *const cases[][2] = {
        {"", "f.md:1: expected a text, found the end of the file"},
        {"---\ntemp = 1\n---\n", "f.md:4: expected a text, found the end of the file"},
        {"---\ntemp = 1\n", "f.md:3: expected a line '---' that ends the settings, found the end of the file"},
        {"---\ntemp\n---\nx", "f.md:2: expected 'name = value', found 'temp'"},
        {"---\n\ntemp = hot\n---\nx", "f.md:3: temp: expected 0 to 100, found 'hot'"},
        {"---\nthink = maybe\n---\nx", "f.md:2: think: expected off, on, low, medium, high, xhigh, found 'maybe'"},
        {"---\ntemp =\n---\nx", "f.md:2: expected a value for temp, found none"},
        {"---\ntemp = 1\ntemp = 1\n---\nx", "f.md:3: expected each setting once, found 'temp' again"},
        {"---\ntemq = 1\n---\nx", "f.md:2: expected the name of a setting, found 'temq'; did you mean 'temp'?"},
        /* An option, but none of a prompt's. */
        {"---\nscript = a\n---\nx",
         "f.md:2: expected description, model, system, think, keep-thinking, max-tokens or an "
         "option of sampling, found 'script'"},
        {"a\n{{inptu}}",
         "f.md:2: expected {{input}}, {{clipboard}} or {{file:PATH}}, found '{{inptu}}'; \\{{ is two braces"},
        {"{{file:}}",
         "f.md:1: expected {{input}}, {{clipboard}} or {{file:PATH}}, found '{{file:}}'; \\{{ is two braces"},
        {"{{file:a\n}}", "f.md:1: expected }} behind '{{file:a', found none in this line"},
        {"a\nb\033[2J", "f.md:2: expected text, found the control character 0x1b"},
        {"a\rb", "f.md:1: expected text, found the control character 0x0d"},
        {"a\xc2\x9b", "f.md:1: expected text, found the control character 0x9b"},
        {"a\n\xff", "f.md:2: expected UTF-8, found the byte 0xff"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        prompt_file p;
        CHECK(parse(&p, cases[i][0]));
        CHECK_STR(cases[i][1], err.text);
    }
    prompt_file p;
    static char large[PROMPT_LARGEST + 1];
    memset(large, 'x', sizeof large);
    CHECK_INT(TDM_E_FORMAT, prompt_parse(&p, "f.md", large, sizeof large, &err));
    CHECK_STR("f.md:1: expected at most 65536 bytes, found 65537", err.text);
    CHECK_INT(TDM_E_FORMAT, prompt_parse(&p, "f.md", "a\0b", 3, &err));
    REQUIRE(prompt_parse(&p, "f.md", large, PROMPT_LARGEST, &err) == TDM_OK);
    prompt_free(&p);
}

static void put(const char *folder, const char *name, const char *text)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f)) CHECK_FAIL("%s", path);
}

TEST(the_users_own_goes_before_the_others)
{
    char config[300], data[300], own[320], other[320], path[400];
    prompts_entry *all;
    prompt_file p;
    int n;
    snprintf(config, sizeof config, "%s/config", check_tmp());
    snprintf(data, sizeof data, "%s/data", check_tmp());
    snprintf(own, sizeof own, "%s/tandem/prompts", config);
    snprintf(other, sizeof other, "%s/prompts", data);
    snprintf(path, sizeof path, "%s/tandem", config);
    REQUIRE(!mkdir(config, 0700) && !mkdir(path, 0700) && !mkdir(own, 0700) && !mkdir(data, 0700) &&
            !mkdir(other, 0700));
    setenv("XDG_CONFIG_HOME", config, 1);
    setenv("TANDEM_DATADIR", data, 1);
    put(own, "same.md", "mine\nmore");
    put(other, "same.md", "---\ndescription = theirs\n---\nx");
    put(other, "other.md", "---\ndescription = the other\n---\nx");
    put(own, "wrong.md", "---\n");
    put(own, "two words.md", "x");
    put(own, "no-prompt.txt", "x");
    put(own, "\033[2J.md", "x");
    put(own, ".md", "x");
    REQUIRE(prompts_list(&all, &n, &err) == TDM_OK);
    REQUIRE(n == 3);
    CHECK_STR("other", all[0].name);
    CHECK_STR("the other", all[0].words);
    CHECK_STR("same", all[1].name);
    CHECK_STR("mine", all[1].words);
    CHECK(all[1].own && !all[0].own);
    CHECK(strstr(all[2].words, "wrong.md:2: expected a line '---'"));
    prompts_list_free(all, n);
    REQUIRE(prompts_read(&p, "same", &err) == TDM_OK);
    CHECK_INT(9, (int)p.parts[0].n);
    prompt_free(&p);
    CHECK_INT(TDM_E_FORMAT, prompts_read(&p, "wrong", &err)); /* and is not passed over */
    CHECK_INT(TDM_E_NOT_FOUND, prompts_read(&p, "othre", &err));
    CHECK_STR("there is no prompt 'othre'; did you mean 'other'?", err.text);
    static const char *const bad[] = {"", ".", "..", "../same", "a/b", "a b", "a\nb", "a\xff", "\xc2\x9b"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CHECK_INT(TDM_E_ARG, prompts_read(&p, bad[i], &err));
}

TEST(files_and_clipboard_become_attachments)
{
    tdm_model *m;
    attachments a = {0};
    prompt_file p;
    char text[700], path[300];
    REQUIRE(tdm_model_open(&m, &(tdm_model_options){.path = "tests/goldens/tiny-a"}, &err) == TDM_OK);
    setenv("HOME", check_tmp(), 1);
    put(check_tmp(), "one.txt", "first");
    REQUIRE(parse(&p, "{{file:~/one.txt}} {{file:~/one.txt}}") == TDM_OK);
    REQUIRE(prompts_attach(&p, &a, m, 1000, &err) == TDM_OK);
    CHECK_INT(1, a.n);
    CHECK_STR("one.txt:\n\nfirst\n\n", a.all[0].text);
    prompt_free(&p);
    /* One that fails takes those with it that came with it. */
    put(check_tmp(), "two.txt", "second");
    snprintf(text, sizeof text, "{{file:%s/two.txt}} {{file:/no/such/file}}", check_tmp());
    REQUIRE(parse(&p, text) == TDM_OK);
    CHECK_INT(TDM_E_IO, prompts_attach(&p, &a, m, 1000, &err));
    CHECK_INT(1, a.n);
    prompt_free(&p);
    /* A script in place of the helper program. */
    snprintf(path, sizeof path, "%s/wl-paste", check_tmp());
    put(check_tmp(), "wl-paste", "#!/bin/sh\nprintf copied\n");
    chmod(path, 0700);
    setenv("PATH", check_tmp(), 1);
    setenv("WAYLAND_DISPLAY", "wayland-0", 1);
    REQUIRE(parse(&p, "{{clipboard}}") == TDM_OK);
    REQUIRE(prompts_attach(&p, &a, m, 1000, &err) == TDM_OK);
    REQUIRE(a.n == 2);
    CHECK_STR("clipboard:\n\ncopied\n\n", a.all[1].text);
    prompt_free(&p);
    attach_clear(&a);
    tdm_model_close(m);
}

TEST_MAIN(T(settings_stand_between_the_fences), T(the_input_takes_its_places), T(a_wrong_file_is_one_line),
          T(the_users_own_goes_before_the_others), T(files_and_clipboard_become_attachments))
