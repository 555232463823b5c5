#include "tests/check.h"

#include "engine/chat/dialogue/conversation.h"
#include "engine/text/ids.h"

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

TEST(what_is_removed_leaves_the_one_before_it_to_go_on_with)
{
    struct conversation c;
    REQUIRE(conversation_init(&c, NULL) == TDM_OK);
    int u = add(&c, TDM_USER, "one"), first = conversation_add(&c, u, TDM_ASSISTANT, "1", 1, NULL);
    int second = conversation_add(&c, u, TDM_ASSISTANT, "2", 1, NULL);
    conversation_add(&c, u, TDM_ASSISTANT, "3", 1, NULL);
    conversation_remove_last(&c);
    conversation_select(&c, u);
    CHECK_INT(second, c.leaf);
    conversation_remove_last(&c);
    conversation_select(&c, u);
    CHECK_INT(first, c.leaf);
    conversation_free(&c);
}

TEST(wordless_replies_are_removed_however_they_ended)
{
    static const tdm_finish ends[] = {TDM_FINISH_FAILED, TDM_FINISH_STOPPED, TDM_FINISH_END};
    struct conversation c;
    tdm_id id = 7;
    REQUIRE(conversation_init(&c, NULL) == TDM_OK);
    int u = add(&c, TDM_USER, "one"), words = conversation_add(&c, u, TDM_ASSISTANT, "1", 1, NULL);
    c.nodes[words].finish = TDM_FINISH_FAILED;
    CHECK(!conversation_remove_wordless(&c, u)); /* it has words */
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        c.nodes[conversation_add(&c, u, TDM_ASSISTANT, "\n ", i % 2 * 2, NULL)].finish = ends[i];
    CHECK(conversation_remove_wordless(&c, u));
    CHECK(c.n == words && c.leaf == words);
    /* What is gone on from stays: a thought, and an id. */
    int thought = conversation_add(&c, u, TDM_ASSISTANT, "", 0, NULL);
    REQUIRE(conversation_append(&c, thought, true, "Hm", 2, NULL) == TDM_OK);
    CHECK(!conversation_remove_wordless(&c, u));
    int begun = conversation_add(&c, u, TDM_ASSISTANT, "", 0, NULL);
    REQUIRE(ids_list_append(&c.nodes[begun].reply, &id, 1, NULL) == TDM_OK);
    CHECK(!conversation_remove_wordless(&c, u));
    conversation_free(&c);
}

/* A turn without a text can be asked again and undone, and is in no path behind it. */
TEST(a_question_follows_what_was_answered)
{
    struct conversation c;
    int path[8];
    REQUIRE(conversation_init(&c, NULL) == TDM_OK);
    int first = add(&c, TDM_USER, "lost at the beginning");
    CHECK_INT(0, conversation_answered(&c, c.leaf));
    int u = add(&c, TDM_USER, "one"), a = add(&c, TDM_ASSISTANT, "1");
    CHECK(c.nodes[u].parent == 0 && !conversation_on_path(&c, first));
    for (int i = 0; i < 3; i++) {
        int lost = add(&c, TDM_USER, "lost");
        CHECK_INT(a, c.nodes[lost].parent);
        if (i) add(&c, TDM_ASSISTANT, i == 1 ? "" : " \n");
        CHECK_INT(a, conversation_answered(&c, c.leaf));
    }
    int u2 = add(&c, TDM_USER, "two"), a2 = add(&c, TDM_ASSISTANT, "2");
    CHECK_INT(4, conversation_path(&c, path, 8));
    CHECK(path[0] == u && path[1] == a && path[2] == u2 && path[3] == a2);
    CHECK(conversation_undo(&c));
    CHECK_INT(a, c.leaf);
    CHECK(conversation_redo(&c));
    CHECK_INT(a2, c.leaf);
    CHECK_INT(a2, conversation_answered(&c, c.leaf));
    conversation_free(&c);
}

/* What is kept with each node is what looking at all of them says, after any changes. */
TEST(what_is_kept_is_right)
{
    struct conversation c;
    unsigned seed = 9;
    REQUIRE(conversation_init(&c, NULL) == TDM_OK);
    for (int step = 0; step < 3000; step++) {
        unsigned draw = (seed = seed * 1103515245 + 12345) >> 16, any = draw / 16 % ((unsigned)c.n + 1);
        switch (draw % 8) {
        case 0:
            conversation_undo(&c);
            break;
        case 1:
            conversation_redo(&c);
            break;
        case 2:
            conversation_select(&c, (int)any);
            break;
        case 3:
            conversation_set_leaf(&c, (int)any);
            break;
        case 4:
            if (c.n) conversation_remove_last(&c);
            break;
        case 5:
            conversation_add(&c, (int)any, draw & 8 ? TDM_USER : TDM_ASSISTANT, "x", 1, NULL);
            break;
        default:
            add(&c, draw & 8 ? TDM_USER : TDM_ASSISTANT, "x");
        }
        if (c.n > 60) conversation_clear(&c);
        int path[64], n = conversation_path(&c, path, 64);
        for (int i = 1; i <= c.n; i++) {
            int place, count, at = 0, all = 0;
            bool on_path = false;
            for (int k = 0; k < n; k++) on_path |= path[k] == i;
            for (int k = 1; k <= c.n; k++) {
                all += c.nodes[k].parent == c.nodes[i].parent && c.nodes[k].role == c.nodes[i].role;
                if (k == i) at = all;
            }
            conversation_branch(&c, i, &place, &count);
            if (conversation_on_path(&c, i) != on_path || place != at || count != all)
                CHECK_FAIL("step %d, %d", step, i);
        }
    }
    conversation_free(&c);
}

TEST_MAIN(T(grows_and_branches), T(undo_and_redo_walk_turns), T(attempts_count_replies_to_one_message),
          T(what_is_removed_leaves_the_one_before_it_to_go_on_with),
          T(wordless_replies_are_removed_however_they_ended), T(a_question_follows_what_was_answered),
          T(what_is_kept_is_right))
