/* Questions in languages that the built-in model has not learned, in which it often says the same for ever: none of
 * its replies runs to the end of the context in that way. TANDEM_LONG: 200 seeds of each, else four of the first in
 * which a reply repeats itself. */
#include "tests/check.h"

#include <stdlib.h>

#include "engine/base/clock.h"
#include "tests/engine/chat/talk.h"

enum { TOGETHER = 4, TAIL = 1600, LONGEST = 800 };

static tdm_error err;

static const char *const questions[] = {
    "\xe4\xbd\xa0\xe5\xa5\xbd\xef\xbc\x8c\xe8\xaf\xb7\xe7\xbb\x99\xe6\x88\x91\xe8\xae\xb2\xe4\xb8\x80\xe4\xb8\xaa"
    "\xe6\x95\x85\xe4\xba\x8b\xe3\x80\x82",
    "\xe4\xbb\x80\xe4\xb9\x88\xe6\x98\xaf\xe4\xba\xba\xe5\xb7\xa5\xe6\x99\xba\xe8\x83\xbd\xef\xbc\x9f",
    "\xd0\x9d\xd0\xb0\xd0\xbf\xd0\xb8\xd1\x88\xd0\xb8 \xd0\xb4\xd0\xbb\xd0\xb8\xd0\xbd\xd0\xbd\xd1\x8b\xd0\xb9 "
    "\xd1\x80\xd0\xb0\xd1\x81\xd1\x81\xd0\xba\xd0\xb0\xd0\xb7 \xd0\xbe \xd0\xbc\xd0\xbe\xd1\x80\xd0\xb5.",
    "\xec\x95\x88\xeb\x85\x95\xed\x95\x98\xec\x84\xb8\xec\x9a\x94. \xec\x9d\xb4\xec\x95\xbc\xea\xb8\xb0\xeb\xa5\xbc "
    "\xed\x95\xb4 \xec\xa3\xbc\xec\x84\xb8\xec\x9a\x94.",
    "\xe8\xaf\xb7\xe5\x86\x99\xe4\xb8\x80\xe9\xa6\x96\xe5\x85\xb3\xe4\xba\x8e\xe6\x9c\x88\xe4\xba\xae\xe7\x9a\x84"
    "\xe8\xaf\x97\xe3\x80\x82",
    "\xce\x93\xcf\x81\xce\xac\xcf\x88\xce\xb5 \xce\xbc\xce\xbf\xcf\x85 \xce\xbc\xce\xb9\xce\xb1 "
    "\xce\xb9\xcf\x83\xcf\x84\xce\xbf\xcf\x81\xce\xaf\xce\xb1.",
    "Opowiedz mi d\xc5\x82ug\xc4\x85 bajk\xc4\x99.",
    "Vertel me een verhaal over een hond.",
    "Scrivi una lunga storia.",
    "Schreib mir eine lange Geschichte.",
};
enum { QUESTIONS = sizeof questions / sizeof *questions };

/* Does the text end by repeating something of at most LONGEST bytes? */
static bool ends_in_a_loop(const char *text, size_t n)
{
    for (size_t p = 1; n >= TAIL && p <= LONGEST; p++) {
        size_t least = p * 4 > TAIL ? p * 4 : TAIL;
        if (n >= least && !memcmp(text + n - least, text + n - least + p, least - p)) return true;
    }
    return false;
}

static void ask(const char *question, uint64_t seed, int finishes[TDM_FINISH_REPEATS + 1])
{
    struct talk t;
    tdm_chat_options o;
    tdm_chat_defaults(&o, talk_model(NULL));
    o.context = 4096;
    o.sampling.temperature = 0.6f;
    o.sampling.seed = seed;
    o.loop_guard = true;
    if (!talk_open(&t, NULL, 2, &o)) return;
    CHECK(!tdm_chat_answers(t.chat, TOGETHER, question, strlen(question), clock_ns(), &err));
    talk_until(&t, TOGETHER);
    for (int i = 2; i <= tdm_chat_nodes(t.chat, TDM_FRONT); i++) {
        tdm_node node;
        if (tdm_chat_node(t.chat, TDM_FRONT, i, &node, &err)) CHECK_FAIL("%s", err.text);
        finishes[node.finish]++;
        if (node.finish == TDM_FINISH_CONTEXT && ends_in_a_loop(node.text, node.length))
            CHECK_FAIL("'%s', seed %llu, answer %d: it repeats '%s' to the context's end", question,
                       (unsigned long long)seed, i - 1, node.text + node.length - 60);
        tdm_node_free(&node);
    }
    CHECK_STR("", t.errors);
    talk_close(&t);
}

TEST(no_reply_repeats_itself_to_the_end_of_the_context)
{
    if (getenv("TEST_RUNNER") || check_slow()) SKIP("it takes minutes for the built-in model");
    bool whole = getenv("TANDEM_LONG");
    int finishes[TDM_FINISH_REPEATS + 1] = {0}, replies = 0;
    talk_path = talk_builtin;
    REQUIRE(talk_model(NULL));
    /* TOGETHER answers are as many seeds. */
    for (int seed = 1; seed <= (whole ? 200 / TOGETHER : 1) && !check_failures; seed++)
        for (int q = 0; q < QUESTIONS && (whole || !finishes[TDM_FINISH_REPEATS]); q++, replies += TOGETHER)
            ask(questions[q], (uint64_t)seed, finishes);
    printf("# %d replies: %d ended, %d repeated themselves, %d filled the context\n", replies, finishes[TDM_FINISH_END],
           finishes[TDM_FINISH_REPEATS], finishes[TDM_FINISH_CONTEXT]);
    CHECK_INT(replies, finishes[TDM_FINISH_END] + finishes[TDM_FINISH_REPEATS] + finishes[TDM_FINISH_CONTEXT]);
    CHECK(finishes[TDM_FINISH_REPEATS] > 0);
}

TEST_MAIN(T(no_reply_repeats_itself_to_the_end_of_the_context))
