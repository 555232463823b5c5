#include "tests/check.h"

#include "engine/chat/conversation.h"

static int add(struct conversation *c, tdm_role role, const char *text)
{
    return conversation_add(c, c->leaf, role, text, strlen(text), NULL);
}

TEST(grows_and_branches)
{
    struct conversation c;
    int path[8], place, count;
    REQUIRE(conversation_init(&c, NULL) == TDM_OK);
    int u1 = add(&c, TDM_USER, "one"), a1 = add(&c, TDM_ASSISTANT, "1");
    int u2 = add(&c, TDM_USER, "two"), a2 = add(&c, TDM_ASSISTANT, "2");
    CHECK_INT(4, conversation_path(&c, path, 8));
    CHECK(path[0] == u1 && path[3] == a2);
    CHECK_INT(2, conversation_turns(&c, a2));

    CHECK(conversation_undo(&c));
    CHECK_INT(a1, c.leaf);
    int u2b = add(&c, TDM_USER, "two, edited");
    conversation_branch(&c, u2b, &place, &count);
    CHECK_INT(2, place);
    CHECK_INT(2, count);
    CHECK(!conversation_on_path(&c, u2));
    conversation_select(&c, u2);
    CHECK_INT(a2, c.leaf);
    conversation_free(&c);
}

TEST(undo_and_redo_walk_turns)
{
    struct conversation c;
    REQUIRE(conversation_init(&c, NULL) == TDM_OK);
    CHECK(!conversation_undo(&c) && !conversation_redo(&c));
    add(&c, TDM_USER, "one");
    int a1 = add(&c, TDM_ASSISTANT, "1");
    add(&c, TDM_USER, "two");
    int a2 = add(&c, TDM_ASSISTANT, "2");
    CHECK(conversation_undo(&c) && conversation_undo(&c));
    CHECK_INT(0, c.leaf);
    CHECK(conversation_redo(&c));
    CHECK_INT(a1, c.leaf);
    CHECK(conversation_redo(&c));
    CHECK_INT(a2, c.leaf);
    CHECK(!conversation_redo(&c));
    conversation_free(&c);
}

TEST(attempts_count_replies_to_one_message)
{
    struct conversation c;
    REQUIRE(conversation_init(&c, NULL) == TDM_OK);
    int u = add(&c, TDM_USER, "one");
    int a = conversation_add(&c, u, TDM_ASSISTANT, "", 0, NULL);
    int b = conversation_add(&c, u, TDM_ASSISTANT, "", 0, NULL);
    CHECK_INT(0, c.nodes[a].attempt);
    CHECK_INT(1, c.nodes[b].attempt);
    conversation_free(&c);
}

TEST_MAIN(T(grows_and_branches), T(undo_and_redo_walk_turns), T(attempts_count_replies_to_one_message))
