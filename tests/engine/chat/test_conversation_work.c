/* Resuming a conversation takes work in proportion to its turns. */
#include "engine/chat/dialogue/conversation.c"

#include "tests/check.h"
#include "tests/work.h"

/* A saved conversation is taken over, shown and saved. */
static uint64_t resume(int turns)
{
    struct conversation c;
    int place, count, all = 0, *path = calloc(2 * (size_t)turns, sizeof *path);
    if (!path || conversation_init(&c, NULL)) abort();
    work_done = 0;
    for (int i = 0; i < turns; i++) {
        conversation_add(&c, c.leaf, TDM_USER, "one", 3, NULL);
        conversation_add(&c, c.leaf, TDM_ASSISTANT, "1", 1, NULL);
    }
    conversation_select(&c, 1);
    CHECK_INT(2 * turns, conversation_path(&c, path, 2 * turns));
    for (int i = 1; i <= c.n; i++) {
        conversation_branch(&c, i, &place, &count);
        all += conversation_on_path(&c, i) + place + count;
    }
    uint64_t done = work_done;
    CHECK_INT(3 * c.n, all);
    conversation_free(&c);
    free(path);
    return done;
}

/* Many replies to one message. */
static uint64_t regenerate(int times)
{
    struct conversation c;
    int place, count;
    if (conversation_init(&c, NULL)) abort();
    work_done = 0;
    int user = conversation_add(&c, 0, TDM_USER, "one", 3, NULL);
    for (int i = 0; i < times; i++) conversation_add(&c, user, TDM_ASSISTANT, "1", 1, NULL);
    for (int i = 1; i <= c.n; i++) conversation_branch(&c, i, &place, &count);
    uint64_t done = work_done;
    conversation_free(&c);
    return done;
}

TEST(twice_the_turns_are_twice_the_work)
{
    uint64_t (*const of[])(int) = {resume, regenerate};
    for (int i = 0; i < 2; i++) {
        uint64_t once = of[i](2500), twice = of[i](5000);
        if (once < 2500 || 10 * twice > 22 * once)
            CHECK_FAIL("%d: of 2500 %llu, of 5000 %llu", i, (unsigned long long)once, (unsigned long long)twice);
    }
}

TEST_MAIN(T(twice_the_turns_are_twice_the_work))
