/* The pure parts of the input: slash rules, completion, what Enter and Ctrl-C mean, cleaning, the key table. */
#include "tests/check.h"

#include <sys/stat.h>
#include <unistd.h>

#include "ui/edit/complete.h"
#include "ui/edit/input_rules.h"
#include "ui/edit/slash.h"
#include "ui/keys/keys.h"

static const char *const names[] = {"help", "new", "quit", "regen", "sessions", "speculation", "?"};

static const char *slash(const char *draft, bool pasted)
{
    static char out[128];
    struct slash_result r = slash_parse(draft, pasted, names, sizeof names / sizeof *names);
    snprintf(out, sizeof out, "%s %s",
             r.kind == SLASH_TEXT      ? "text"
             : r.kind == SLASH_COMMAND ? names[r.index]
                                       : "unknown",
             r.kind == SLASH_UNKNOWN ? (r.nearest < 0 ? "-" : names[r.nearest]) : r.argument);
    return out;
}

TEST(slash_rules)
{
    CHECK_STR("help ", slash("/help", false));
    CHECK_STR("help me now", slash("/help  me now", false));
    CHECK_STR("help a\nb", slash("/help\na\nb", false));
    CHECK_STR("help ", slash("/HELP", false));
    CHECK_STR("? ", slash("/?", false));
    CHECK_STR("text ", slash("/etc/hosts says", false));
    CHECK_STR("text ", slash("//help", false));
    CHECK_STR("text ", slash(" /help", false));
    CHECK_STR("text ", slash("/help", true));
    CHECK_STR("text ", slash("", false));
    CHECK_STR("text ", slash("help", false));
    CHECK_STR("new a/b", slash("/new a/b", false));
    CHECK_STR("unknown help", slash("/hepl", false));
    CHECK_STR("unknown quit", slash("/quitt", false));
    CHECK_STR("unknown sessions", slash("/sess", false));
    CHECK_STR("unknown -", slash("/xyzzy", false));
    CHECK_STR("unknown -", slash("/nit", false)); /* two slips of three letters are another word */
    CHECK_STR("unknown new", slash("/ne", false));
    CHECK_STR("unknown new", slash("/now", false));
    CHECK_STR("unknown -", slash("/", false));
    CHECK(slash_may_be_command("/", 1, false));
    CHECK(slash_may_be_command("/any thing", 10, false));
    CHECK(!slash_may_be_command("/etc/hosts", 10, false));
    CHECK(slash_may_be_command("/etc/hosts", 4, false));
    CHECK(!slash_may_be_command("/help", 5, true));
    CHECK(!slash_may_be_command(" /help", 6, false));
    CHECK(!slash_may_be_command("", 0, false));
}

TEST(distance)
{
    CHECK_INT(0, slash_distance("abc", 3, "ABC", 3));
    CHECK_INT(1, slash_distance("abc", 3, "acb", 3));
    CHECK_INT(3, slash_distance("kitten", 6, "sitting", 7));
    CHECK_INT(3, slash_distance("", 0, "abc", 3));
    CHECK_INT(2, slash_distance("ab", 2, "ba1", 3));
    CHECK_INT(63, slash_distance("a", 1, "0123456789012345678901234567890123456789012345678901234567890123456789", 70));
}

static const char *command(void *context, size_t i, const char **help)
{
    (void)context;
    *help = NULL;
    return i < sizeof names / sizeof *names ? names[i] : i == 7 ? "attach" : NULL;
}

static enum complete_kind argument(void *context, const char *name, size_t index, const char *arguments,
                                   struct completion *out)
{
    (void)context, (void)arguments;
    if (!strcmp(name, "attach")) return COMPLETE_FILE;
    if (!strcmp(name, "sessions")) {
        completion_add(out, "My first talk", "2 turns");
        completion_add(out, "My second talk", "3 turns");
        return COMPLETE_LINE;
    }
    if (!strcmp(name, "export")) {
        completion_add(out, "\u00DCbung", NULL);
        return COMPLETE_WORD;
    }
    completion_add(out, index == 0 ? "zero" : index == 1 ? "one" : "more", NULL);
    return COMPLETE_WORD;
}

static const char *complete(const char *line, bool ignore_case, const char *home)
{
    static const struct completer completer = {.command = command, .argument = argument};
    static char out[1024];
    struct completion c;
    bool any = complete_line(&completer, line, strlen(line), ignore_case, home, &c);
    snprintf(out, sizeof out, "%zu/%zu:", c.start, completion_common(&c));
    for (size_t i = 0; i < c.count; i++) {
        strcat(out, c.names[i]);
        if (c.notes[i]) strcat(strcat(out, "="), c.notes[i]);
        strcat(out, ",");
    }
    CHECK(any == (c.count > 0));
    completion_free(&c);
    return out;
}

TEST(completion)
{
    CHECK_STR("1/4:quit,", complete("/q", false, NULL));
    CHECK_STR("1/1:sessions,speculation,", complete("/s", false, NULL));
    CHECK_STR("0/0:", complete("s", false, NULL));
    CHECK_STR("0/0:", complete("/usr/l", false, NULL));
    CHECK_STR("1/0:", complete("/S", false, NULL));
    CHECK_STR("1/1:sessions,speculation,", complete("/S", true, NULL));
    CHECK_STR("5/4:zero,", complete("/new ", false, NULL));
    CHECK_STR("7/3:one,", complete("/new x o", false, NULL));
    CHECK_STR("7/0:", complete("/new x x", false, NULL));
    CHECK_STR("8/6:\u00DCbung,", complete("/export u\u0308b", true, NULL)); /* in either form and case */
    CHECK_STR("8/6:\u00DCbung,", complete("/export U\u0308", false, NULL));
    CHECK_STR("8/0:", complete("/export u\u0308", false, NULL));
    CHECK_STR("10/13:My first talk=2 turns,", complete("/sessions My f", false, NULL));
}

TEST(file_names)
{
    char folder[300], line[700];
    snprintf(folder, sizeof folder, "%s/files", check_tmp());
    mkdir(folder, 0700);
    static const char *const files[] = {"alpha.txt", "alpha two.txt", ".hidden", "bad\nname", "bad\377"};
    for (size_t i = 0; i < 5; i++) {
        snprintf(line, sizeof line, "%s/%s", folder, files[i]);
        FILE *f = fopen(line, "w");
        REQUIRE(f);
        fclose(f);
    }
    snprintf(line, sizeof line, "%s/sub", folder);
    mkdir(line, 0700);
    snprintf(line, sizeof line, "/attach %s/a", folder);
    const char *found = complete(line, false, NULL);
    CHECK(strstr(found, "/alpha two.txt,") && strstr(found, "/alpha.txt,"));
    CHECK_STR("8/6:~/sub/,", complete("/attach ~/su", false, folder));
    CHECK_STR("8/9:~/.hidden,", complete("/attach ~/.", false, folder));
    CHECK_STR("8/15:~/alpha two.txt,", complete("/attach ~/alpha t", false, folder)); /* blanks belong to the name */
    CHECK_STR("8/2:~/alpha two.txt,~/alpha.txt,~/sub/,", complete("/attach ~/", false, folder));
    CHECK_STR("8/0:", complete("/attach /no/such/folder/x", false, NULL));
}

static const int64_t MS = 1000000;

TEST(enter)
{
    struct input_situation s = {0};
    CHECK_INT(INPUT_ENTER_SEND, input_rule_enter(&s, 0));
    s.draft_empty = true;
    CHECK_INT(INPUT_ENTER_NOTHING, input_rule_enter(&s, 0));
    s.replying = true;
    CHECK_INT(INPUT_ENTER_NOTHING, input_rule_enter(&s, 0));
    s.draft_empty = false;
    CHECK_INT(INPUT_ENTER_QUEUE, input_rule_enter(&s, 0));
    s.queued = true;
    s.queued_ns = 1000 * MS;
    CHECK_INT(INPUT_ENTER_JOIN, input_rule_enter(&s, 1001 * MS));
    s.draft_empty = true;
    CHECK_INT(INPUT_ENTER_NOTHING, input_rule_enter(&s, 1499 * MS));
    CHECK_INT(INPUT_ENTER_CUT, input_rule_enter(&s, 1500 * MS));
    CHECK_INT(INPUT_ENTER_CUT, input_rule_send_now(&s));
    s.queued = false;
    CHECK_INT(INPUT_ENTER_NOTHING, input_rule_send_now(&s));
    s.draft_empty = s.replying = false;
    CHECK_INT(INPUT_ENTER_SEND, input_rule_send_now(&s));
}

TEST(interrupt)
{
    struct input_situation s = {.top_open = true, .replying = true, .queued = true};
    struct input_presses p = {0};
    int64_t t = 10000 * MS;
    CHECK_INT(INPUT_INTERRUPT_CLOSE, input_rule_interrupt(&s, &p, t));
    s.top_open = false;
    CHECK_INT(INPUT_INTERRUPT_STOP, input_rule_interrupt(&s, &p, t));
    s.replying = false;
    CHECK_INT(INPUT_INTERRUPT_NOTHING, input_rule_interrupt(&s, &p, t + 399 * MS));
    CHECK_INT(INPUT_INTERRUPT_TAKE_BACK, input_rule_interrupt(&s, &p, t + 400 * MS));
    s.queued = false;
    CHECK_INT(INPUT_INTERRUPT_CLEAR, input_rule_interrupt(&s, &p, t + 410 * MS));
    s.draft_empty = true;
    CHECK_INT(INPUT_INTERRUPT_ASK, input_rule_interrupt(&s, &p, t + 1000 * MS));
    CHECK_INT(INPUT_INTERRUPT_ASK, input_rule_interrupt(&s, &p, t + 3000 * MS));
    CHECK_INT(INPUT_INTERRUPT_QUIT, input_rule_interrupt(&s, &p, t + 4999 * MS));
    CHECK_INT(INPUT_INTERRUPT_ASK, input_rule_interrupt(&s, &p, t + 5000 * MS));
    s.replying = true; /* something else in between takes the question back */
    CHECK_INT(INPUT_INTERRUPT_STOP, input_rule_interrupt(&s, &p, t + 5100 * MS));
    s.replying = false;
    CHECK_INT(INPUT_INTERRUPT_ASK, input_rule_interrupt(&s, &p, t + 5600 * MS));
}

TEST(key_table)
{
    size_t n, menu = 0;
    const struct key_row *rows = keys_table(&n);
    for (size_t i = 0; i < n; i++) {
        const char *key;
        menu += (size_t)keys_in_menu(&rows[i], &key);
        CHECK(rows[i].shown && rows[i].help);
        for (size_t j = 0; j < i; j++) { /* no key has two owners */
            if (rows[i].context != rows[j].context) continue;
            CHECK(rows[i].code == KEYCODE_NONE || rows[i].code != rows[j].code || rows[i].mods != rows[j].mods);
            if (!rows[i].sequence || !rows[j].sequence) continue;
            if (rows[i].context == KEYS_CHAT) CHECK(strcmp(rows[i].sequence, rows[j].sequence) != 0);
            else CHECK(!strpbrk(rows[i].sequence, rows[j].sequence));
        }
    }
    CHECK_INT(24, menu); /* b / m v f + - i l t r y c o s p a w k g 1-8 ? Enter ^E */
    CHECK(keys_find_byte(KEYS_BROWSE, 'q')->action == ACTION_BACK);
    CHECK(keys_find_byte(KEYS_BROWSE, 27)->action == ACTION_BACK);
    CHECK(!keys_find_byte(KEYS_BROWSE, 'x') && !keys_find_byte(KEYS_BROWSE, 0));
    CHECK(keys_find_code(KEYS_CHAT, KEYCODE_F1, 0)->action == ACTION_KEYS);
    CHECK(keys_find_action(KEYS_CHAT, ACTION_MONITOR) != NULL);
}

TEST_MAIN(T(slash_rules), T(distance), T(completion), T(file_names), T(enter), T(interrupt), T(key_table))
