/* A conversation that is left while it is answered: it is saved as it grows, said to be answered until it is visited,
 * and none is lost, whatever else is done. */
#include "tests/check.h"

#include <unistd.h>

#include "engine/base/clock.h"
#include "src/chat/compact.h"
#include "tests/src/chat/app_rig.h"

static const char model[] = "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 400 --pace 0.001 "
                            "--template tests/engine/text/template/templates/qwen35.jinja";

static bool begin(app *a, options *o, const char *folders, const char *line)
{
    use_empty_folders(folders);
    return start(a, o, line) && begin_held_reply(a, "Tell me of the bakery");
}

static void end(app *a, options *o)
{
    app_close(a);
    options_free(o);
}

/* Takes what comes; saves as a front end does. */
static void take(app *a)
{
    tdm_event e;
    usleep(2000);
    while (tdm_chat_next_event(a->chat, &e)) app_event(a, &e, 0);
    app_keep(a, clock_ns());
}

/* Without a pace, until nothing is answered in the background. */
static void hurry(app *a)
{
    REQUIRE(option_set(a->o, OPTION_PACE, "0", FROM_CONVERSATION, &err));
    CHECK(app_configure(a, &err) == TDM_OK);
    for (int i = 0; i < 150000 && a->background.writing; i++) take(a);
    CHECK(!a->background.writing);
    app_settle(a);
}

/* The text of the last reply that a session's file has, malloc'ed. */
static char *saved_reply(const char *id)
{
    session s;
    if (store_peek(id, false, &s, &err) || !s.n) return NULL;
    char *text = strdup(s.nodes[s.n - 1].text);
    session_free(&s);
    return text;
}

static const char *status_of(const app *a)
{
    static char out[BACKGROUND_STATUS];
    background_status(a, out);
    return out;
}

TEST(it_is_saved_as_it_grows_and_visited_whole)
{
    options o;
    app a;
    char id[40];
    REQUIRE(begin(&a, &o, "grows", model));
    CHECK_STR("", status_of(&a));
    REQUIRE(app_new(&a, "second", &err) == TDM_OK);
    CHECK_STR("1 answering elsewhere", status_of(&a));
    CHECK_INT(0, tdm_chat_nodes(a.chat, TDM_FRONT));
    CHECK_STR("second", a.open.name);
    memcpy(id, a.background.open.slot.id, sizeof id);
    CHECK(a.open.slot.lock < 0 || strcmp(a.open.slot.id, id));
    app_settle(&a);
    char *first = saved_reply(id), *later = NULL;
    REQUIRE(first != NULL);
    for (int i = 0; i < 10000 && (!later || strlen(later) <= strlen(first)); i++) {
        write_on(&a);
        take(&a);
        free(later);
        later = saved_reply(id);
    }
    CHECK(later && strlen(later) > strlen(first)); /* it goes on, and so does its file */
    hurry(&a);
    CHECK_STR("Tell me of the bakery: answered", status_of(&a));
    free(later);
    later = saved_reply(id);
    REQUIRE(background_visit(&a, notice, &err) == TDM_OK);
    CHECK(strstr(notice, "Tell me of the bakery") && strstr(notice, "/continue"));
    CHECK_STR("", status_of(&a));
    CHECK_STR(id, a.open.slot.id);
    tdm_node node;
    REQUIRE(tdm_chat_node(a.chat, TDM_FRONT, 2, &node, &err) == TDM_OK);
    CHECK_STR(node.text, later);
    CHECK_INT(400, node.stats.reply_tokens);
    tdm_node_free(&node);
    CHECK(background_visit(&a, notice, &err) == TDM_E_NOT_FOUND);
    free(first);
    free(later);
    end(&a, &o);
}

TEST(two_that_are_answered_change_places)
{
    options o;
    app a;
    char first[40], second[40];
    REQUIRE(begin(&a, &o, "places", model));
    REQUIRE(app_new(&a, "second", &err) == TDM_OK);
    memcpy(first, a.background.open.slot.id, sizeof first);
    REQUIRE(option_set(&o, OPTION_TEMP, "0.25", FROM_CONVERSATION, &err) && !app_configure(&a, &err));
    REQUIRE(begin_held_reply(&a, "And another one"));
    CHECK(app_new(&a, "third", &err) == TDM_E_BUSY);
    CHECK(strstr(err.text, "bakery") != NULL);
    app_settle(&a);
    CHECK_INT(2, tdm_chat_nodes(a.chat, TDM_FRONT));
    REQUIRE(app_resume(&a, first, notice, &err) == TDM_OK); /* from the list */
    CHECK_STR(first, a.open.slot.id);
    memcpy(second, a.background.open.slot.id, sizeof second);
    CHECK_STR("second", background_name(&a));
    CHECK_STR("1 answering elsewhere", status_of(&a));
    hurry(&a);
    for (int i = 0; i < 30000 && !tdm_chat_wait_idle(a.chat, 10); i++) take(&a);
    CHECK_STR("second: answered", status_of(&a));
    /* One more is left: the one that was answered makes way, and is still to be visited. */
    REQUIRE(begin_held_reply(&a, "A second turn"));
    REQUIRE(app_new(&a, NULL, &err) == TDM_OK);
    CHECK_STR("1 answering elsewhere", status_of(&a));
    hurry(&a);
    REQUIRE(background_visit(&a, notice, &err) == TDM_OK);
    CHECK_STR(first, a.open.slot.id);
    CHECK_INT(4, tdm_chat_nodes(a.chat, TDM_FRONT));
    CHECK_STR("second: answered", status_of(&a));
    REQUIRE(background_visit(&a, notice, &err) == TDM_OK);
    CHECK_STR(second, a.open.slot.id);
    CHECK_STR("", status_of(&a));
    CHECK_STR("0.25", o.values[OPTION_TEMP].text); /* each has its settings */
    end(&a, &o);
}

TEST(leaving_the_program_keeps_its_text)
{
    options o;
    app a;
    char id[40];
    REQUIRE(begin(&a, &o, "program", model));
    REQUIRE(app_new(&a, NULL, &err) == TDM_OK);
    memcpy(id, a.background.open.slot.id, sizeof id);
    for (int i = 0; i < 50; i++) take(&a);
    tdm_node node;
    REQUIRE(tdm_chat_node(a.chat, TDM_BACK, 2, &node, &err) == TDM_OK);
    end(&a, &o);
    char *text = saved_reply(id);
    CHECK(text && strlen(text) >= strlen(node.text) && !strncmp(text, node.text, strlen(node.text)));
    session s;
    REQUIRE(store_peek(id, false, &s, &err) == TDM_OK);
    CHECK_INT(TDM_FINISH_STOPPED, s.nodes[s.n - 1].finish);
    session_free(&s);
    free(text);
    tdm_node_free(&node);
}

TEST(leaving_the_program_says_what_is_not_saved)
{
    options o;
    app a;
    char state[400];
    REQUIRE(begin(&a, &o, "unsaved", model));
    REQUIRE(app_new(&a, NULL, &err) == TDM_OK);
    app_settle(&a);
    CHECK_STR("", a.background.open.unsaved);
    snprintf(state, sizeof state, "%s", getenv("XDG_STATE_HOME"));
    setenv("XDG_STATE_HOME", "/dev/null", 1);
    background_end(&a);
    CHECK(a.background.open.unsaved[0] && a.background.there && !app_saving(&a));
    setenv("XDG_STATE_HOME", state, 1);
    background_end(&a);
    CHECK_STR("", a.background.open.unsaved);
    end(&a, &o);
}

TEST(background_off_stops_it)
{
    options o;
    app a;
    char id[40], line[300];
    snprintf(line, sizeof line, "%s --background off", model);
    REQUIRE(begin(&a, &o, "off", line));
    REQUIRE(app_save(&a, &err) == TDM_OK);
    memcpy(id, a.open.slot.id, sizeof id);
    REQUIRE(app_new(&a, NULL, &err) == TDM_OK);
    CHECK(!a.background.there);
    char *text = saved_reply(id);
    CHECK(text && text[0]);
    free(text);
    REQUIRE(option_set(&o, OPTION_BACKGROUND, "auto", FROM_CONVERSATION, &err)); /* /set background */
    take(&a);
    REQUIRE(begin_held_reply(&a, "Once more"));
    REQUIRE(app_new(&a, NULL, &err) == TDM_OK);
    CHECK(a.background.writing);
    REQUIRE(option_set(&o, OPTION_BACKGROUND, "off", FROM_CONVERSATION, &err)); /* visiting leaves, too */
    REQUIRE(begin_held_reply(&a, "And another one"));
    app_settle(&a);
    memcpy(id, a.open.slot.id, sizeof id);
    REQUIRE(background_visit(&a, notice, &err) == TDM_OK);
    CHECK(!a.background.there);
    text = saved_reply(id);
    CHECK(text && text[0]);
    free(text);
    end(&a, &o);
}

TEST(a_private_one_is_in_memory_and_not_lost)
{
    options o;
    app a;
    char line[200], name[APP_MODEL_NAME];
    snprintf(line, sizeof line, "%s --private", model);
    REQUIRE(begin(&a, &o, "private", line));
    REQUIRE(app_new(&a, NULL, &err) == TDM_OK);
    CHECK(a.open.private && a.background.open.private);
    CHECK(a.background.open.slot.lock < 0);
    hurry(&a);
    CHECK_STR("a private session: answered", status_of(&a));
    REQUIRE(begin_held_reply(&a, "Another"));
    CHECK(app_new(&a, NULL, &err) == TDM_E_BUSY); /* it would be gone */
    CHECK(app_leave_model(&a, name, &err) == TDM_E_BUSY);
    tdm_chat_stop(a.chat, TDM_FRONT);
    CHECK(app_set_private(&a, false, &err) == TDM_OK && !options_flag(&o, OPTION_PRIVATE));
    REQUIRE(background_visit(&a, notice, &err) == TDM_OK);
    CHECK(a.open.private && options_flag(&o, OPTION_PRIVATE));
    CHECK_INT(2, tdm_chat_nodes(a.chat, TDM_FRONT));
    end(&a, &o);
    store_entry *all;
    int n;
    REQUIRE(store_list(&all, &n, &err) == TDM_OK);
    CHECK_INT(1, n); /* the one that was not private any more */
    store_list_free(all, n);
}

TEST(one_that_can_not_be_saved_makes_no_way)
{
    options o;
    app a;
    use_empty_folders("no-way");
    setenv("XDG_STATE_HOME", "/dev/null", 1);
    REQUIRE(start(&a, &o, model) && begin_held_reply(&a, "Tell me of the bakery"));
    REQUIRE(app_new(&a, NULL, &err) == TDM_OK);
    hurry(&a);
    REQUIRE(begin_held_reply(&a, "Another"));
    CHECK(app_new(&a, NULL, &err) == TDM_E_BUSY && strstr(err.text, "is not saved: /visit it first"));
    REQUIRE(background_visit(&a, notice, &err) == TDM_OK);
    CHECK_INT(2, tdm_chat_nodes(a.chat, TDM_FRONT));
    end(&a, &o);
}

/* A summary goes nowhere with the conversation that it was to be drafted for, and leaves no turn in it. */
TEST(a_summary_is_given_up)
{
    options o;
    app a;
    char first[40];
    session s;
    use_empty_folders("summary");
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5"));
    for (int i = 0; i < 3; i++) say(&a, "Tell me of the bakery");
    memcpy(first, a.open.slot.id, sizeof first);
    REQUIRE(option_set(&o, OPTION_MAX_TOKENS, "400", FROM_CONVERSATION, &err));
    write_on(&a);
    REQUIRE(compact_ask(&a, &err) == TDM_OK && await_held(&a, TDM_EV_TEXT));
    REQUIRE(app_new(&a, "second", &err) == TDM_OK);
    CHECK(!a.compact.running && !a.background.there);
    REQUIRE(store_peek(first, false, &s, &err) == TDM_OK);
    int current = 0;
    for (int i = 0; i < s.n; i++) current += s.nodes[i].current;
    CHECK_INT(6, current);
    session_free(&s);
    take(&a); /* the summary's last events: the next text is to be the reply's */
    REQUIRE(begin_held_reply(&a, "And another one"));
    if (app_resume(&a, first, notice, &err)) CHECK_FAIL("%s", err.text);
    REQUIRE(a.background.writing);
    REQUIRE(compact_ask(&a, &err) == TDM_OK && await_held(&a, TDM_EV_TEXT));
    REQUIRE(background_visit(&a, notice, &err) == TDM_OK);
    CHECK(!a.compact.running && !a.background.there);
    REQUIRE(app_new(&a, NULL, &err) == TDM_OK);
    CHECK(a.background.writing); /* its reply is one that goes on */
    end(&a, &o);
}

TEST(what_can_not_be_visited_yet_leaves_the_session_open)
{
    options o;
    app a;
    REQUIRE(begin(&a, &o, "cold", model));
    REQUIRE(app_new(&a, "second", &err) == TDM_OK);
    REQUIRE(begin_held_reply(&a, "And another one"));
    tdm_chat_stop(a.chat, TDM_FRONT);
    REQUIRE(await(&a, TDM_EV_END)); /* the other one is still being written */
    REQUIRE(tdm_chat_cold(a.chat, TDM_PIPE_TANDEM, &err) == TDM_OK);
    tdm_status status = background_visit(&a, notice, &err); /* TDM_OK: the cold prompt was faster */
    CHECK(status == TDM_E_BUSY || status == TDM_OK);
    if (status) CHECK_STR("second", a.open.name);
    end(&a, &o);
}

/* A message that waits stays with its user, who can take it back, and is none of the visited conversation. */
TEST(a_message_that_waits_is_not_taken_for_another_ones)
{
    options o;
    app a;
    REQUIRE(begin(&a, &o, "waits", model));
    tdm_chat_stop(a.chat, TDM_FRONT);
    REQUIRE(await(&a, TDM_EV_END) && begin_held_reply(&a, "A second turn"));
    REQUIRE(app_new(&a, "second", &err) == TDM_OK && begin_held_reply(&a, "And another one"));
    CHECK(!app_send(&a, "Lost?", 5, clock_ns(), &err));
    REQUIRE(background_visit(&a, notice, &err) == TDM_OK);
    sent_settle(&a.open.sent, a.chat); /* as at each event */
    char *words = app_unqueue(&a);
    CHECK_STR("Lost?", words ? words : "nothing");
    free(words);
    end(&a, &o);
}

TEST(it_can_be_deleted)
{
    options o;
    app a;
    char id[40];
    bool open;
    REQUIRE(begin(&a, &o, "deleted", model));
    REQUIRE(app_new(&a, NULL, &err) == TDM_OK);
    memcpy(id, a.background.open.slot.id, sizeof id);
    app_settle(&a);
    REQUIRE(app_delete(&a, id, false, &open, &err) == TDM_OK);
    CHECK(!open && !a.background.there);
    CHECK_STR("", status_of(&a));
    take(&a);
    session s;
    CHECK(store_peek(id, false, &s, &err) != TDM_OK);
    REQUIRE(store_peek(id, true, &s, &err) == TDM_OK);
    CHECK_INT(2, s.n);
    session_free(&s);
    end(&a, &o);
}

TEST(another_model_ends_it_with_its_text)
{
    options o;
    app a;
    load_pair next;
    REQUIRE(begin(&a, &o, "another", model));
    REQUIRE(app_new(&a, NULL, &err) == TDM_OK);
    REQUIRE(load_pair_open(&next, &o, "tests/goldens/tiny-b", &(load_how){0}, &err) == TDM_OK);
    REQUIRE(app_switch_model(&a, &next, "tests/goldens/tiny-b", &err) == TDM_OK);
    CHECK(!a.background.there);
    CHECK_STR("Tell me of the bakery: answered", status_of(&a));
    REQUIRE(background_visit(&a, notice, &err) == TDM_OK);
    CHECK_INT(2, tdm_chat_nodes(a.chat, TDM_FRONT));
    CHECK_STR("", status_of(&a));
    end(&a, &o);
}

/* Nobody is sent for ever to what another program has deleted. */
TEST(one_that_is_gone_need_not_be_visited)
{
    options o;
    app a;
    load_pair next;
    char id[40];
    REQUIRE(begin(&a, &o, "gone", model));
    REQUIRE(app_new(&a, NULL, &err) == TDM_OK);
    memcpy(id, a.background.open.slot.id, sizeof id);
    REQUIRE(load_pair_open(&next, &o, "tests/goldens/tiny-b", &(load_how){0}, &err) == TDM_OK);
    REQUIRE(app_switch_model(&a, &next, "tests/goldens/tiny-b", &err) == TDM_OK);
    CHECK_STR("Tell me of the bakery: answered", status_of(&a));
    REQUIRE(store_delete(id, NULL, &err) == TDM_OK);
    CHECK(background_visit(&a, notice, &err) == TDM_E_NOT_FOUND);
    CHECK_STR("", status_of(&a));
    end(&a, &o);
}

TEST_MAIN(T(it_is_saved_as_it_grows_and_visited_whole), T(two_that_are_answered_change_places),
          T(leaving_the_program_keeps_its_text), T(leaving_the_program_says_what_is_not_saved),
          T(background_off_stops_it), T(a_private_one_is_in_memory_and_not_lost),
          T(one_that_can_not_be_saved_makes_no_way), T(a_summary_is_given_up),
          T(what_can_not_be_visited_yet_leaves_the_session_open), T(a_message_that_waits_is_not_taken_for_another_ones),
          T(it_can_be_deleted), T(another_model_ends_it_with_its_text), T(one_that_is_gone_need_not_be_visited))
