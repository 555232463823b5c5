#include "engine/os/atomic_file.h"
#include "tests/check.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/files/files.h"
#include "src/session/session.h"
#include "src/session/store.h"

#define HEAD "{\"format\":\"tandem session\",\"version\":1,"

static const char *small = HEAD
    "\"name\":\"dogs\",\"created\":5,\"changed\":9,\"model\":{\"name\":\"demo\",\"fingerprint\":\"00000000000000ff\"},"
    "\"system\":\"Be "
    "brief.\",\"settings\":{\"temp\":\"0.5\",\"think\":\"off\",\"later\":\"x\"},\"leaf\":4,\"messages\":["
    "{\"id\":1,\"parent\":0,\"role\":\"user\",\"text\":\"My dog is Bruno.\",\"time\":6},"
    "{\"id\":2,\"parent\":1,\"role\":\"assistant\",\"text\":\"Fine.\",\"thinking\":\"hm\",\"finish\":\"stopped\","
    "\"time\":7},"
    "{\"id\":3,\"parent\":1,\"role\":\"assistant\",\"text\":\"Good.\",\"finish\":\"repeats\",\"time\":8},"
    "{\"id\":4,\"parent\":3,\"role\":\"user\",\"text\":\"What\\u0000 next?\",\"time\":9}]}";

static tdm_status parse(session *s, const char *text, tdm_error *err)
{
    return session_parse(s, "file", text, strlen(text), err);
}

TEST(a_session_is_read_and_written)
{
    session s, again;
    tdm_error err = {0};
    REQUIRE(!parse(&s, small, &err));
    size_t n;
    char *text = session_format(&s, &n);
    REQUIRE(text);
    REQUIRE(!session_parse(&again, "again", text, n, &err));
    CHECK_STR("dogs", again.name);
    CHECK_STR("Be brief.", again.system);
    CHECK_INT(255, again.fingerprint);
    CHECK_STR("0.5", again.settings[OPTION_TEMP]);
    CHECK_INT(4, again.n);
    CHECK_INT(4, again.leaf);
    CHECK_INT(TDM_FINISH_STOPPED, again.nodes[1].finish);
    CHECK_INT(TDM_FINISH_REPEATS, again.nodes[2].finish);
    CHECK_STR("hm", again.nodes[1].thinking);
    CHECK(!again.nodes[1].current && again.nodes[2].current && again.nodes[3].current);
    CHECK_INT(11, again.nodes[3].length);
    CHECK(!memcmp(again.nodes[3].text, "What\0 next?", 11));
    CHECK_INT(2, session_turns(&again));
    size_t m;
    char *second = session_format(&again, &m);
    CHECK(m == n && !memcmp(text, second, n));
    free(text);
    free(second);
    session_free(&s);
    session_free(&again);
}

/* As older versions saved them: the questions behind turns without a text follow what was answered. */
TEST(turns_without_text_are_branches)
{
#define TURN(id, parent, role, text) "{\"id\":" id ",\"parent\":" parent ",\"role\":\"" role "\",\"text\":\"" text "\"}"
    static const char text[] =
        HEAD "\"leaf\":9,\"messages\":[" TURN("1", "0", "user", "one") "," TURN("2", "1", "assistant", "1") ","
        TURN("3", "2", "user", "lost") "," TURN("4", "3", "assistant", "") ","
        TURN("5", "4", "user", "lost too") "," TURN("6", "5", "assistant", "\\n\\n") ","
        TURN("7", "6", "user", "never answered") "," TURN("8", "7", "user", "two") ","
        TURN("9", "8", "assistant", "") "]}";
    static const int parents[] = {0, 1, 2, 3, 2, 5, 2, 2, 8};
    session s;
    tdm_error err = {0};
    size_t n;
    if (parse(&s, text, &err)) CHECK_FAIL("%s", err.text);
    if (check_failures) return;
    for (int i = 0; i < s.n; i++) CHECK_INT(parents[i], s.nodes[i].parent);
    CHECK_INT(2, session_turns(&s));
    char *messages = session_messages(&s, &n), *page = session_markdown(&s, &n, NULL);
    CHECK(strstr(messages, "two") && !strstr(messages, "lost") && !strstr(messages, "never"));
    CHECK(!strstr(messages, "\"content\": \"\"")); /* nor is the reply that the last question has not got */
    CHECK(strstr(page, "two") && !strstr(page, "lost") && !strstr(strstr(page, "two"), "## Model"));
    free(messages);
    free(page);
    session_free(&s);
}

TEST(damage_is_one_line)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "byte 0"},
        {"{", "not valid JSON"},
        {"[]", "not a saved session"},
        {"{\"format\":\"x\"}", "not a saved session"},
        {"{\"format\":\"tandem session\",\"version\":9}", "version 9, expected 1"},
        {HEAD "\"leaf\":0}", "expected an array"},
        {HEAD "\"messages\":[]}", "leaf: expected 0 to 0, found -1"},
        {HEAD "\"leaf\":1,\"messages\":[]}", "leaf: expected 0 to 0, found 1"},
        {HEAD "\"leaf\":0,\"messages\":[{\"id\":2}]}", "message 1: expected id 1"},
        {HEAD "\"leaf\":0,\"messages\":[{\"id\":1,\"parent\":1,\"role\":\"user\",\"text\":\"\"}]}", "parent 1"},
        {HEAD "\"leaf\":0,\"messages\":[{\"id\":1,\"parent\":4294967296,\"role\":\"user\",\"text\":\"\"}]}",
         "parent 4294967296"},
        {HEAD "\"leaf\":0,\"messages\":[{\"id\":1,\"parent\":0,\"role\":\"system\",\"text\":\"\"}]}", "role"},
        {HEAD "\"leaf\":0,\"messages\":[{\"id\":1,\"parent\":0,\"role\":\"assistant\",\"text\":\"\"}]}", "same role"},
        {HEAD "\"leaf\":0,\"messages\":[{\"id\":1,\"parent\":0,\"role\":\"user\"}]}", "expected a text"},
        {HEAD "\"leaf\":0,\"messages\":[{\"id\":1,\"parent\":0,\"role\":\"user\",\"text\":\"a\",\"attached\":2}]}",
         "message 1: attached: expected 0 to 1, found 2"},
        {HEAD "\"leaf\":0,\"messages\":[{\"id\":1,\"parent\":0,\"role\":\"user\",\"text\":\"a\",\"attached\":-1}]}",
         "message 1: attached: expected 0 to 1, found -1"},
        {HEAD "\"settings\":{\"temp\":\"hot\"},\"leaf\":0,\"messages\":[]}", "settings: temp"},
        {HEAD "\"settings\":{\"temp\":1},\"leaf\":0,\"messages\":[]}", "settings: expected texts"},
        {HEAD "\"leaf\":0,\"messages\":[]} x", "byte"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        session s;
        tdm_error err = {0};
        if (!parse(&s, cases[i].text, &err)) {
            CHECK_FAIL("accepted: %s", cases[i].text);
            session_free(&s);
        } else if (!strstr(err.text, cases[i].message)) {
            CHECK_FAIL("%s: expected '%s', found '%s'", cases[i].text, cases[i].message, err.text);
        }
    }
    /* Every truncation of a good file is refused. */
    for (size_t n = 0; n < strlen(small); n++) {
        session s;
        if (session_parse(&s, "file", small, n, NULL)) continue;
        CHECK_FAIL("accepted when cut at %zu", n);
        session_free(&s);
    }
}

TEST(what_was_attached_is_known_and_names_nothing)
{
    static const char *text = HEAD "\"leaf\":2,\"messages\":["
        "{\"id\":1,\"parent\":0,\"role\":\"user\",\"text\":\"a.txt:\\n\\nwood\\n\\nWhat is it?\",\"attached\":14},"
        "{\"id\":2,\"parent\":1,\"role\":\"assistant\",\"text\":\"Wood.\",\"finish\":\"end\"}]}";
    session s, again;
    tdm_error err = {0};
    size_t n;
    REQUIRE(!parse(&s, text, &err));
    char *name = session_first_words(&s), *written = session_format(&s, &n);
    CHECK_STR("What is it?", name);
    REQUIRE(written && !session_parse(&again, "again", written, n, &err));
    CHECK_INT(14, again.attached[0]);
    CHECK_INT(0, again.attached[1]);
    free(name);
    free(written);
    session_free(&s);
    session_free(&again);
    REQUIRE(!parse(&s, small, &err)); /* of an older version */
    CHECK_INT(0, s.attached[0]);
    session_free(&s);
}

TEST(names_and_exports)
{
    session s;
    REQUIRE(!parse(&s, small, NULL));
    char *name = session_first_words(&s);
    CHECK_STR("My dog is Bruno.", name);
    free(name);
    size_t n;
    char *text = session_markdown(&s, &n, NULL);
    CHECK(strstr(text, "# dogs\n") && strstr(text, "## You\n\nMy dog is Bruno.\n") &&
          strstr(text, "## Model\n\nGood.\n"));
    CHECK(!strstr(text, "Fine."));
    free(text);
    text = session_messages(&s, &n);
    CHECK(strstr(text, "\"role\": \"system\"") && strstr(text, "\"content\": \"Good.\""));
    free(text);
    free(s.nodes[0].text);
    s.nodes[0].text =
        strdup("  a\n\tlong   first message, with more words than fit into the name of one session, surely");
    s.nodes[0].length = strlen(s.nodes[0].text);
    name = session_first_words(&s);
    CHECK_STR("a long first message, with more words than fit into the name", name);
    free(name);
    session_free(&s);
}

/* The headings of the messages behind it must stay headings. */
TEST(a_code_block_that_was_cut_off_ends_with_its_message)
{
    session s;
    size_t n;
    REQUIRE(!parse(&s, small, NULL));
    static const struct {
        const char *text, *found;
    } cases[] = {
        {"a\n```c\nint x;", "## You\n\na\n```c\nint x;\n```\n\n## Model"},
        {"~~~~\n```\n~~~\n", "## You\n\n~~~~\n```\n~~~\n~~~~\n\n## Model"},
        {"```\nx\n```", "## You\n\n```\nx\n```\n\n## Model"},
        {"```x``` y", "## You\n\n```x``` y\n\n## Model"},
        {"    ```", "## You\n\n    ```\n\n## Model"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        free(s.nodes[0].text);
        s.nodes[0].text = strdup(cases[i].text);
        s.nodes[0].length = strlen(cases[i].text);
        char *text = session_markdown(&s, &n, NULL);
        if (!text || !strstr(text, cases[i].found)) CHECK_FAIL("case %zu: %s", i, text ? text : "none");
        free(text);
    }
    session_free(&s);
}

static void use_empty_state_folder(const char *name)
{
    char folder[300];
    snprintf(folder, sizeof folder, "%s/%s", check_tmp(), name);
    setenv("XDG_STATE_HOME", folder, 1);
}

TEST(the_store_keeps_sessions)
{
    use_empty_state_folder("store");
    session_slot a, b;
    session s, read;
    tdm_error err = {0};
    bool copied;
    store_entry *entries;
    int n;
    REQUIRE(!store_list(&entries, &n, &err) && n == 0);
    CHECK_INT(-1, store_pick(entries, n, NULL, NULL, &err));
    REQUIRE(!parse(&s, small, &err));
    REQUIRE(!store_create(&a, &err));
    REQUIRE(!store_create(&b, &err));
    CHECK(strcmp(a.id, b.id));
    REQUIRE(!store_save(&a, &s, &err));
    free(s.name);
    s.name = strdup("Cats");
    s.changed_s = 20;
    REQUIRE(!store_save(&b, &s, &err));
    REQUIRE(!store_list(&entries, &n, &err));
    REQUIRE(n == 2);
    CHECK_STR("Cats", entries[0].name);
    CHECK_INT(2, entries[0].turns);
    CHECK_INT(0, store_pick(entries, n, NULL, NULL, &err));
    CHECK_INT(1, store_pick(entries, n, NULL, "dogs", &err));
    CHECK_INT(1, store_pick(entries, n, NULL, "DO", &err));
    CHECK_INT(-1, store_pick(entries, n, NULL, "birds", &err));
    CHECK_STR("no session is called 'birds'", err.text);
    CHECK_INT(-1, store_pick(entries, n, NULL, "Ctas", &err));
    CHECK_STR("no session is called 'Ctas'; did you mean 'Cats'?", err.text);
    CHECK_INT(-1, store_pick(entries, n, NULL, "2", &err));
    CHECK_STR("no session is called '2', and no list with that number was shown", err.text);
    store_list_free(entries, n);

    char *path = store_state_path(a.id);
    struct stat st;
    strcpy(strrchr(path, '.'), ".json");
    CHECK(!stat(path, &st) && (st.st_mode & 0777) == 0600);
    *strrchr(path, '/') = 0;
    CHECK(!stat(path, &st) && (st.st_mode & 0777) == 0700);
    free(path);

    /* Open here: a copy. Closed: the same. */
    session_slot c;
    REQUIRE(!store_open(&c, a.id, &read, &copied, &err));
    CHECK(copied && strcmp(c.id, a.id));
    session_free(&read);
    store_close(&c);
    CHECK_INT(TDM_E_BUSY, store_delete(a.id, NULL, &err));
    store_close(&a);
    REQUIRE(!store_open(&c, a.id, &read, &copied, &err));
    CHECK(!copied && !strcmp(c.id, a.id));
    session_free(&read);
    store_close(&c);
    CHECK(!store_delete(a.id, NULL, &err));
    CHECK_INT(TDM_E_IO, store_open(&c, a.id, &read, &copied, &err));
    CHECK_INT(TDM_E_ARG, store_open(&c, "../../etc/passwd", &read, &copied, &err));
    store_close(&b);
    session_free(&s);
}

static void save_named(session_slot *p, const char *name, int64_t changed_s)
{
    session s;
    REQUIRE(!parse(&s, small, NULL) && !store_create(p, NULL));
    free(s.name);
    s.name = strdup(name);
    s.changed_s = changed_s;
    CHECK(!store_save(p, &s, NULL));
    session_free(&s);
}

/* A number is one of the list that was seen, whatever has been saved since and whatever the sessions are called. */
TEST(numbers_mean_the_list_shown_last)
{
    use_empty_state_folder("numbers");
    session_slot p[3];
    store_entry *entries;
    store_listing shown = {0};
    tdm_error err = {0};
    int n;
    save_named(&p[0], "old", 10);
    save_named(&p[1], "1", 20);
    save_named(&p[2], "new", 30);
    REQUIRE(!store_list(&entries, &n, &err) && n == 3);
    CHECK_INT(1, store_pick(entries, n, &shown, "1", &err)); /* no list was shown: a name */
    store_listing_set(&shown, entries, n);
    CHECK_INT(0, store_pick(entries, n, &shown, "1", &err));
    CHECK_INT(1, store_pick(entries, n, &shown, p[1].id, &err));
    CHECK_INT(-1, store_pick(entries, n, &shown, "4", &err));
    store_list_free(entries, n);
    session s;
    REQUIRE(!parse(&s, small, &err));
    free(s.name);
    s.name = strdup("old");
    s.changed_s = 40;
    REQUIRE(!store_save(&p[0], &s, &err)); /* it goes to the top */
    session_free(&s);
    REQUIRE(!store_list(&entries, &n, &err) && n == 3);
    CHECK_STR("old", entries[0].name);
    CHECK_INT(0, store_pick(entries, n, &shown, "3", &err));
    CHECK_INT(1, store_pick(entries, n, &shown, "1", &err));
    CHECK_STR("new", entries[1].name);
    store_list_free(entries, n);
    store_close(&p[2]);
    REQUIRE(!store_delete(p[2].id, NULL, &err));
    REQUIRE(!store_list(&entries, &n, &err) && n == 2);
    CHECK_INT(-1, store_pick(entries, n, &shown, "1", &err));
    CHECK_STR("number 1 of the list shown last is not there any more", err.text);
    store_list_free(entries, n);
    store_listing_free(&shown);
    store_close(&p[0]);
    store_close(&p[1]);
}

static bool there(const char *folder, const char *id, const char *suffix)
{
    char *path;
    if (asprintf(&path, "%s/tandem/%s/%s%s", getenv("XDG_STATE_HOME"), folder, id, suffix) < 0) return false;
    bool found = !access(path, F_OK);
    free(path);
    return found;
}

static void count_found(void *ctx, const store_entry *entry, int id, const tdm_node *node)
{
    CHECK(id > 0);
    (void)entry, (void)node;
    ++*(int *)ctx;
}

TEST(deleted_sessions_stay_in_the_trash_for_a_while)
{
    use_empty_state_folder("trash");
    session_slot p[2], again;
    store_entry *entries;
    tdm_error err = {0};
    int n, found = 0;
    save_named(&p[0], "old", 10);
    save_named(&p[1], "dear", 20);
    for (int i = 0; i < 2; i++) {
        char *path = store_state_path(p[i].id);
        REQUIRE(!atomic_file_put(path, "x", 1, &err));
        free(path);
        CHECK_INT(TDM_E_BUSY, store_delete(p[i].id, NULL, &err));
        store_close(&p[i]);
        REQUIRE(!store_delete(p[i].id, NULL, &err));
        CHECK(!there("sessions", p[i].id, ".json") && !there("sessions", p[i].id, ".state"));
        CHECK(!there("sessions", p[i].id, ".lock") && there("trash", p[i].id, ".json"));
    }
    CHECK(!store_list(&entries, &n, &err) && n == 0);
    CHECK(!store_search("bruno", count_found, &found, &err) && found == 0);
    REQUIRE(!store_create(&again, &err)); /* not under an id that the trash has */
    CHECK(strcmp(again.id, p[0].id) && strcmp(again.id, p[1].id));
    store_close(&again);
    REQUIRE(!store_list_trash(&entries, &n, &err) && n == 2);
    CHECK(entries[0].changed_s > 1000000); /* when it was deleted, not saved */
    CHECK_INT(2, entries[0].turns);
    store_list_free(entries, n);

    char path[400];
    struct timespec times[2] = {{.tv_sec = time(NULL) - (STORE_TRASH_DAYS * 24 + 1) * 3600}, {0}};
    times[1] = times[0];
    snprintf(path, sizeof path, "%s/tandem/trash/%s.json", getenv("XDG_STATE_HOME"), p[0].id);
    REQUIRE(!utimensat(AT_FDCWD, path, times, 0));
    store_purge_trash(NULL, NULL);
    CHECK(!there("trash", p[0].id, ".json") && there("trash", p[1].id, ".json"));

    REQUIRE(!store_undelete(p[1].id, &err));
    CHECK(there("sessions", p[1].id, ".json") && !there("trash", p[1].id, ".json"));
    CHECK_INT(TDM_E_BUSY, store_undelete(p[1].id, &err));
    CHECK_INT(TDM_E_IO, store_undelete(p[0].id, &err));
    CHECK_INT(TDM_E_ARG, store_undelete("../x", &err));
    CHECK_INT(TDM_E_IO, store_delete(p[0].id, NULL, &err));
    REQUIRE(!store_erase(p[1].id, NULL, &err));
    CHECK(!there("sessions", p[1].id, ".json") && !there("trash", p[1].id, ".json"));
}

TEST(a_draft_is_part_of_a_session)
{
    session s, again;
    size_t n;
    REQUIRE(!parse(&s, HEAD "\"draft\":\"half a \\\"thought\",\"leaf\":0,\"messages\":[]}", NULL));
    CHECK_STR("half a \"thought", s.draft);
    char *text = session_format(&s, &n), *name = session_first_words(&s);
    CHECK_STR("half a \"thought", name);
    REQUIRE(text && !session_parse(&again, "again", text, n, NULL));
    CHECK_STR(s.draft, again.draft);
    free(text);
    free(name);
    session_free(&s);
    session_free(&again);
}

TEST(what_is_pending_is_part_of_a_session)
{
    session s, again;
    size_t n;
    tdm_error err;
    REQUIRE(!parse(&s, HEAD "\"pending\":[{\"kind\":\"file\",\"path\":\"a b\",\"name\":\"b\",\"text\":\"b:\\n\","
                            "\"files\":\"a b\\u0000\",\"mark\":\"00000000000000ff\"},{\"kind\":\"command\","
                            "\"path\":\"ls\",\"name\":\"$ ls\",\"text\":\"\"}],\"leaf\":0,\"messages\":[]}", NULL));
    char *text = session_format(&s, &n), *name = session_first_words(&s);
    CHECK_STR("b", name);
    REQUIRE(text && !session_parse(&again, "again", text, n, NULL));
    REQUIRE(again.n_pending == 2);
    CHECK_STR("a b", again.pending[0].path);
    CHECK_STR("b:\n", again.pending[0].text);
    CHECK(again.pending[0].files_length == 4 && again.pending[0].mark == 255);
    CHECK_STR("$ ls", again.pending[1].name);
    CHECK(again.pending[1].length == 0 && !again.pending[1].files);
    free(text);
    free(name);
    session_free(&s);
    session_free(&again);
    err.text[0] = 0;
    CHECK_INT(TDM_E_FORMAT, parse(&s, HEAD "\"pending\":[{\"kind\":\"file\"}],\"leaf\":0,\"messages\":[]}", &err));
    CHECK_STR("file: pending 1: expected kind, path, name and text", err.text);
    CHECK_INT(TDM_E_FORMAT, parse(&s, HEAD "\"pending\":[7],\"leaf\":0,\"messages\":[]}", &err));
}

TEST(damaged_files_are_listed)
{
    use_empty_state_folder("damaged");
    session_slot p;
    tdm_error err;
    REQUIRE(!store_create(&p, &err));
    char *path = store_state_path(p.id);
    strcpy(strrchr(path, '.'), ".json");
    REQUIRE(!atomic_file_put(path, "{\"format\"", 9, &err));
    free(path);
    store_entry *entries;
    int n;
    REQUIRE(!store_list(&entries, &n, &err));
    REQUIRE(n == 1);
    CHECK(strstr(entries[0].damage, "not valid JSON"));
    store_list_free(entries, n);
    store_close(&p);
}

TEST(the_oldest_states_go_first)
{
    use_empty_state_folder("states");
    session_slot p[3];
    tdm_error err;
    char *paths[3];
    for (int i = 0; i < 3; i++) {
        REQUIRE(!store_create(&p[i], &err));
        paths[i] = store_state_path(p[i].id);
        REQUIRE(!atomic_file_put(paths[i], "0123456789", 10, &err));
        struct timespec times[2] = {{.tv_sec = 1000 + i}, {.tv_sec = 1000 + i}};
        REQUIRE(!utimensat(AT_FDCWD, paths[i], times, 0));
    }
    store_trim_states(30);
    CHECK(!access(paths[0], F_OK));
    store_trim_states(25);
    CHECK(access(paths[0], F_OK) && !access(paths[1], F_OK) && !access(paths[2], F_OK));
    store_trim_states(0);
    CHECK(access(paths[1], F_OK) && access(paths[2], F_OK));
    for (int i = 0; i < 3; i++) {
        free(paths[i]);
        store_close(&p[i]);
    }
}

/* A program that is killed while it saves leaves the last whole file, and no lock. */
TEST(a_kill_leaves_a_whole_file)
{
    use_empty_state_folder("killed");
    for (int round = 0; round < 20; round++) {
        int ends[2];
        REQUIRE(!pipe(ends));
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (!child) {
            session_slot p;
            session s;
            if (store_create(&p, NULL) || parse(&s, small, NULL) || store_save(&p, &s, NULL)) _exit(1);
            if (write(ends[1], p.id, sizeof p.id) < 0) _exit(1);
            for (;;) store_save(&p, &s, NULL);
        }
        char id[40];
        REQUIRE(read(ends[0], id, sizeof id) == (ssize_t)sizeof id);
        usleep((useconds_t)(round * 500));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        close(ends[0]);
        close(ends[1]);
        session_slot p;
        session s;
        bool copied = true;
        tdm_error err = {0};
        if (store_open(&p, id, &s, &copied, &err)) {
            CHECK_FAIL("%s", err.text);
            continue;
        }
        CHECK(!copied && s.n == 4);
        session_free(&s);
        store_close(&p);
    }
}

/* What a save left that was killed halfway, by the names of now and of earlier versions. */
static int make_left(const char *id, char names[4][400])
{
    static const char *const endings[] = {"json.tandem-new-0123abcd", "state.tandem-new-0123abcd", "json.Xyz123",
                                          "state.Xyz123"};
    for (int i = 0; i < 4; i++) {
        char *path = store_state_path(id);
        snprintf(names[i], 400, "%.*s.%s", (int)(strlen(path) - strlen(".state")), path, endings[i]);
        free(path);
        FILE *f = fopen(names[i], "w");
        if (f) fputs("a secret", f), fclose(f);
    }
    return 4;
}

static int count_left(char names[4][400])
{
    int n = 0;
    for (int i = 0; i < 4; i++) n += !access(names[i], F_OK);
    return n;
}

TEST(a_deleted_session_takes_what_a_kill_left_along)
{
    use_empty_state_folder("left");
    for (int erase = 0; erase < 2; erase++) {
        session_slot p, other;
        char left[4][400], kept[4][400];
        tdm_error err = {0};
        save_named(&p, "one", 5);
        save_named(&other, "two", 6);
        store_close(&p);
        CHECK_INT(4, make_left(p.id, left));
        CHECK_INT(4, make_left(other.id, kept));
        CHECK_INT(0, erase ? store_erase(p.id, NULL, &err) : store_delete(p.id, NULL, &err));
        CHECK_INT(0, count_left(left));
        CHECK_INT(4, count_left(kept));
        CHECK_INT(0, store_erase(other.id, &other, &err));
        CHECK_INT(0, count_left(kept));
    }
}

TEST(a_start_sweeps_what_kills_left)
{
    use_empty_state_folder("swept");
    session_slot p;
    char left[4][400];
    save_named(&p, "one", 5);
    CHECK_INT(4, make_left(p.id, left));
    int held = open(left[0], O_RDONLY | O_CLOEXEC);
    REQUIRE(held >= 0 && !flock(held, LOCK_EX)); /* as who writes it does */
    files_sweep();
    store_sweep();
    CHECK_INT(1, count_left(left));
    CHECK(!access(left[0], F_OK));
    close(held);
    files_sweep();
    CHECK_INT(0, count_left(left));
    store_close(&p);
}

TEST(a_session_gets_another_name)
{
    use_empty_state_folder("rename");
    session_slot p;
    session s;
    tdm_error err = {0};
    REQUIRE(!parse(&s, small, NULL) && !store_create(&p, NULL) && !store_save(&p, &s, NULL));
    session_free(&s);
    CHECK_INT(TDM_E_BUSY, store_rename(p.id, "another name", &err)); /* somebody has it open */
    store_close(&p);
    CHECK(!store_rename(p.id, "another name", &err));
    REQUIRE(!store_peek(p.id, false, &s, &err));
    CHECK_STR("another name", s.name);
    CHECK_INT(4, s.n);
    session_free(&s);
    CHECK(store_peek(p.id, true, &s, &err) != TDM_OK); /* it is not in the trash */
    CHECK_INT(TDM_E_ARG, store_rename("../x", "another name", &err));
    CHECK_INT(TDM_E_ARG, store_peek("../x", false, &s, &err));
}

TEST(words_are_found)
{
    use_empty_state_folder("search");
    session_slot p;
    session s;
    int found = 0;
    REQUIRE(!parse(&s, small, NULL) && !store_create(&p, NULL) && !store_save(&p, &s, NULL));
    CHECK(!store_search("bruno DOG", count_found, &found, NULL) && found == 1);
    CHECK(!store_search("bruno cat", count_found, &found, NULL) && found == 1);
    CHECK(!store_matches("abc", 3, "") && store_matches("abc", 3, "BC a"));
    CHECK(store_matches("\u00C4PFEL", 6, "a\u0308pfel") && !store_matches("\u00C4PFEL", 6, "apfel"));
    char line[100];
    store_excerpt("one\nSTRA\u1E9EE here", 17, "strasse", line, sizeof line);
    CHECK_STR("STRA\u1E9EE here", line);
    /* It is cut between characters. */
    char umlauts[300] = "breads", cut[300];
    for (size_t first = 5; first < 7; first++) {
        for (size_t at = first; at + 3 < sizeof umlauts; at += 2) memcpy(umlauts + at, "\u00E4", 3);
        store_excerpt(umlauts, strlen(umlauts), "bread", cut, sizeof cut);
        CHECK(!strncmp(cut, umlauts, 100) && !strcmp(cut + strlen(cut) - 6, "\u00E4 ..."));
        memcpy(umlauts, "breads", 6);
    }
    store_entry *entries;
    int n;
    session_free(&s);
    store_close(&p);
    REQUIRE(!store_rename(p.id, "\u0395\u03A3\u03A4\u0399\u0391\u03A3", NULL));
    REQUIRE(!store_list(&entries, &n, NULL));
    CHECK_INT(0, store_pick(entries, n, NULL, "\u03B5\u03C3\u03C4\u03B9\u03B1\u03C2", NULL)); /* a final sigma */
    CHECK_INT(0, store_pick(entries, n, NULL, "\u03B5\u03C3", NULL));
    store_list_free(entries, n);
}

TEST_MAIN(T(a_session_is_read_and_written), T(turns_without_text_are_branches), T(damage_is_one_line),
          T(what_was_attached_is_known_and_names_nothing),
          T(names_and_exports), T(a_code_block_that_was_cut_off_ends_with_its_message), T(the_store_keeps_sessions),
          T(numbers_mean_the_list_shown_last), T(deleted_sessions_stay_in_the_trash_for_a_while),
          T(a_draft_is_part_of_a_session), T(what_is_pending_is_part_of_a_session), T(damaged_files_are_listed),
          T(the_oldest_states_go_first), T(a_kill_leaves_a_whole_file),
          T(a_deleted_session_takes_what_a_kill_left_along), T(a_start_sweeps_what_kills_left),
          T(a_session_gets_another_name), T(words_are_found))
