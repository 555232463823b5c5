/* The state machine of a turn: what must hold for all of its table. */
#include "tests/check.h"

#include "engine/chat/policy/stage.h"

static bool is_run(enum stage s)
{
    return stage_uses_decoder(s) || stage_uses_prompter(s);
}

/* What is done follows from what has happened alone. */
TEST(what_is_done_fits_what_has_happened)
{
    static const enum stage_event causes[STAGE_ACTIONS] = {
        [DO_READ] = ON_NOT_IN_PLACE, [DO_CANCEL] = ON_END,   [DO_REPLY] = ON_READY,
        [DO_EVALUATE] = ON_CLAIM,    [DO_DECODE] = ON_CLAIM, [DO_ADOPT] = ON_ADOPT};
    int possible = 0;
    for (int s = 0; s < STAGES; s++)
        for (int e = 0; e < STAGE_EVENTS; e++) {
            struct stage_transition t = stage_transition((enum stage)s, (enum stage_event)e);
            possible += t.possible;
            if (!t.possible || t.action == DO_NOTHING) continue;
            if (t.action == DO_WAKE)
                CHECK((e == ON_RETURN || e == ON_PREFIX) && !stage_uses_decoder(t.next));
            else
                CHECK_INT(causes[t.action], e);
            if (t.action == DO_CANCEL) CHECK(stage_uses_prompter((enum stage)s));
            if (t.action == DO_DECODE) CHECK_INT(PHASE_DECODE, stage_phase(t.next));
        }
    CHECK(possible > STAGES && possible < STAGES * STAGE_EVENTS / 2);
}

/* A job that runs is told by its stage until it returns, whatever happens to the turn meanwhile. */
TEST(a_running_job_is_lost_by_its_return_only)
{
    for (int s = 0; s < STAGES; s++) {
        enum stage stage = (enum stage)s;
        CHECK(!(stage_uses_decoder(stage) && stage_uses_prompter(stage)));
        CHECK_INT(is_run(stage), stage_transition(stage, ON_RETURN).possible);
        for (int e = 0; e < STAGE_EVENTS; e++) {
            struct stage_transition t = stage_transition(stage, (enum stage_event)e);
            if (!t.possible) continue;
            if (e == ON_RETURN) {
                CHECK(!is_run(t.next));
            } else if (e == ON_ADOPT) {
                CHECK(!is_run(stage) && stage_uses_decoder(t.next) && t.action == DO_ADOPT);
                CHECK_INT(stage_phase(stage), stage_phase(t.next));
            } else if (e == ON_CLAIM) {
                CHECK(!is_run(stage) && is_run(t.next));
                CHECK(t.action == DO_EVALUATE || t.action == DO_DECODE);
            } else {
                CHECK_INT(stage_uses_decoder(stage), stage_uses_decoder(t.next));
                CHECK_INT(stage_uses_prompter(stage), stage_uses_prompter(t.next));
            }
        }
    }
}

/* A turn that is under way can always be stopped, and its end is idle; a reply begins only where no job runs. */
TEST(a_turn_ends_from_everywhere)
{
    for (int s = 0; s < STAGES; s++) {
        enum stage stage = (enum stage)s;
        struct stage_transition end = stage_transition(stage, ON_END), ready = stage_transition(stage, ON_READY);
        if (stage_phase(stage) != PHASE_IDLE) CHECK(end.possible);
        if (end.possible) CHECK_INT(PHASE_IDLE, stage_phase(end.next));
        if (ready.possible) CHECK(!is_run(stage) && ready.next == STAGE_DECODE && ready.action == DO_REPLY);
        for (int e = ON_FOLLOW; e <= ON_COLD; e++) {
            struct stage_transition t = stage_transition(stage, (enum stage_event)e);
            bool lost = e != ON_COLD && (stage == STAGE_PREFIX || stage == STAGE_DECODE); /* its prompt is read again */
            if (t.possible) CHECK(stage_phase(stage) == PHASE_IDLE || lost);
            if (t.possible) CHECK_INT(e == ON_COLD ? PHASE_IDLE : PHASE_PROMPT, stage_phase(t.next));
        }
    }
}

/* Every stage is reached from IDLE, and comes back to it. */
TEST(no_stage_is_dead_or_a_dead_end)
{
    bool reached[STAGES] = {[STAGE_IDLE] = true}, returns[STAGES] = {[STAGE_IDLE] = true};
    for (int round = 0; round < STAGES; round++)
        for (int s = 0; s < STAGES; s++)
            for (int e = 0; e < STAGE_EVENTS; e++) {
                struct stage_transition t = stage_transition((enum stage)s, (enum stage_event)e);
                if (!t.possible) continue;
                reached[t.next] |= reached[s];
                returns[s] |= returns[t.next];
            }
    for (int s = 0; s < STAGES; s++)
        if (!reached[s] || !returns[s]) CHECK_FAIL("stage %d is dead or a dead end", s);
}

TEST_MAIN(T(what_is_done_fits_what_has_happened), T(a_running_job_is_lost_by_its_return_only),
          T(a_turn_ends_from_everywhere), T(no_stage_is_dead_or_a_dead_end))
