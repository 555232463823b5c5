/* A program that was compiled with another version of the header: its structs of options are shorter or longer. */
#include <stdio.h>
#include <string.h>

#include "engine/tandem.h"
#include "tests/check.h"

#define MODEL "tests/goldens/tiny-a"

static tdm_error err;

/* The header of a later version. */
struct later {
    tdm_chat_options now;
    int added;
};

static void open_all(tdm_model **m, tdm_machine **machine)
{
    *machine = NULL;
    if (tdm_model_open(m, &(tdm_model_options){.path = MODEL}, &err)) *m = NULL;
    if (*m && tdm_machine_open(machine, &(tdm_machine_options){.threads = 1}, &err)) *machine = NULL;
}

TEST(the_version_is_told_twice_alike)
{
    int major, minor, patch;
    REQUIRE(sscanf(tdm_version(), "%d.%d.%d", &major, &minor, &patch) == 3);
    CHECK_INT(tdm_version_number(), major * 10000 + minor * 100 + patch);
    CHECK_INT(TDM_VERSION_NUMBER, tdm_version_number());
    CHECK_STR(TDM_VERSION, tdm_version());
}

TEST(what_an_older_struct_lacks_has_the_default)
{
    tdm_model *m;
    tdm_machine *machine;
    tdm_chat *c;
    tdm_chat_options o, found;
    open_all(&m, &machine);
    REQUIRE(m && machine);
    const size_t older = offsetof(tdm_chat_options, dispatch);
    memset(&o, 0xAA, sizeof o);
    tdm_chat_defaults_sized(&o, older, m);
    CHECK(o.speculation == TDM_SPEC_FULL && o.dispatch == (int)0xAAAAAAAA); /* nothing is written beyond it */
    o.context = 256;
    o.max_tokens = 7;
    REQUIRE(tdm_chat_open_sized(&c, m, machine, &o, older, &err) == TDM_OK);
    tdm_chat_options_of(c, &found);
    CHECK(found.max_tokens == 7 && found.dispatch == 0 && !found.hash_logits);
    /* What it can't know stays as a newer part of the program has set it. */
    found.hash_logits = true;
    REQUIRE(tdm_chat_configure(c, &found, &err) == TDM_OK);
    memset(&o, 0xAA, sizeof o);
    tdm_chat_options_of_sized(c, &o, older);
    CHECK(o.max_tokens == 7 && o.dispatch == (int)0xAAAAAAAA);
    o.max_tokens = 8;
    REQUIRE(tdm_chat_configure_sized(c, &o, older, &err) == TDM_OK);
    tdm_chat_options_of(c, &found);
    CHECK(found.max_tokens == 8 && found.hash_logits);
    tdm_chat_close(c);
    tdm_machine_close(machine);
    tdm_model_close(m);
}

TEST(a_newer_struct_is_taken_unless_it_asks_for_what_is_not_known)
{
    tdm_model *m;
    tdm_machine *machine;
    tdm_chat *c;
    struct later o;
    open_all(&m, &machine);
    REQUIRE(m && machine);
    memset(&o, 0xAA, sizeof o);
    tdm_chat_defaults_sized(&o.now, sizeof o, m);
    CHECK_INT(0, o.added);
    o.now.context = 256;
    REQUIRE(tdm_chat_open_sized(&c, m, machine, &o.now, sizeof o, &err) == TDM_OK);
    o.added = 1;
    CHECK_INT(TDM_E_UNSUPPORTED, tdm_chat_configure_sized(c, &o.now, sizeof o, &err));
    CHECK_STR("an option is newer than this library, version " TDM_VERSION, err.text);
    tdm_chat_close(c);
    CHECK_INT(TDM_E_UNSUPPORTED, tdm_chat_open_sized(&c, m, machine, &o.now, sizeof o, &err));
    tdm_machine_close(machine);
    tdm_model_close(m);
}

TEST(a_node_carries_a_pointer)
{
    tdm_model *m;
    tdm_machine *machine;
    tdm_chat *c;
    tdm_chat_options o;
    int mine[2];
    tdm_node nodes[2] = {
        {.node = 1, .role = TDM_USER, .text = "a", .length = 1, .user = &mine[0]},
        {.node = 2, .parent = 1, .role = TDM_ASSISTANT, .text = "b", .length = 1, .finish = TDM_FINISH_END}};
    open_all(&m, &machine);
    REQUIRE(m && machine);
    tdm_chat_defaults(&o, m);
    o.context = 256;
    REQUIRE(tdm_chat_open(&c, m, machine, &o, &err) == TDM_OK);
    REQUIRE(tdm_chat_load(c, "", 0, nodes, 2, 2, 0, &err) == TDM_OK);
    CHECK(tdm_chat_set_user(c, TDM_FRONT, 2, &mine[1], &err) == TDM_OK);
    CHECK_INT(TDM_E_NOT_FOUND, tdm_chat_set_user(c, TDM_FRONT, 3, mine, &err));
    CHECK_INT(TDM_E_NOT_FOUND, tdm_chat_set_user(c, TDM_BACK, 1, mine, &err));
    for (int i = 0; i < 2; i++) {
        tdm_node found;
        REQUIRE(tdm_chat_node(c, TDM_FRONT, i + 1, &found, &err) == TDM_OK);
        CHECK(found.user == &mine[i]);
        tdm_node_free(&found);
    }
    tdm_chat_close(c);
    tdm_machine_close(machine);
    tdm_model_close(m);
}

TEST_MAIN(T(the_version_is_told_twice_alike), T(what_an_older_struct_lacks_has_the_default),
          T(a_newer_struct_is_taken_unless_it_asks_for_what_is_not_known), T(a_node_carries_a_pointer))
