/* The state machine of a turn as a table: what may happen in which stage, written down here a second time, and what
 * must hold for all of it. */
#include "tests/check.h"

#include "engine/chat/stage.h"

/* A row a stage, a column an event, "next:action"; "-": impossible. */
static const struct {
    const char *stage, *to[STAGE_EVENTS];
} expected[] = {
    /* stage: follow, prompt, cold, in-place, not-in-place, claim, adopt, return, ready, end */
    {"idle", {"read:nothing", "prompt:nothing", "cold:nothing", "-", "-", "-", "idle-busy:adopt", "-", "-", "-",
              "-"}},
    {"idle-busy", {"read-busy:nothing", "prompt-busy:nothing", "cold-busy:nothing", "-", "-", "-", "-",
                   "idle:nothing", "-", "-", "-"}},
    {"idle-drop", {"-", "-", "-", "-", "-", "-", "-", "idle:nothing", "-", "-", "-"}},
    {"read", {"-", "-", "-", "resume:nothing", "-", "move:hand-over", "read-busy:adopt", "-", "own:wake",
              "decode:reply", "idle:nothing"}},
    {"read-busy", {"-", "-", "-", "resume-busy:nothing", "-", "-", "-", "read:wake", "-", "-", "idle-busy:nothing"}},
    {"move", {"-", "-", "-", "-", "-", "-", "-", "read:wake", "-", "-", "idle-busy:nothing"}},
    {"resume", {"-", "-", "-", "-", "read:read", "-", "-", "-", "-", "decode:reply", "idle:nothing"}},
    {"resume-busy", {"-", "-", "-", "-", "-", "-", "-", "resume:wake", "-", "-", "idle-busy:nothing"}},
    {"prompt", {"-", "-", "-", "-", "-", "prompt-run:evaluate", "-", "-", "own:wake", "decode:reply",
                "idle:nothing"}},
    {"prompt-busy", {"-", "-", "-", "-", "-", "-", "-", "prompt:wake", "-", "-", "idle-busy:nothing"}},
    {"prompt-run", {"-", "-", "-", "-", "-", "-", "-", "prompt:nothing", "-", "-", "idle-drop:cancel"}},
    {"cold", {"-", "-", "-", "-", "-", "cold-run:evaluate", "cold-busy:adopt", "-", "-", "-", "idle:nothing"}},
    {"cold-busy", {"-", "-", "-", "-", "-", "-", "-", "cold:wake", "-", "-", "-"}},
    {"cold-run", {"-", "-", "-", "-", "-", "-", "-", "cold:nothing", "-", "-", "-"}},
    {"own", {"read:nothing", "prompt:nothing", "-", "-", "-", "own-run:evaluate", "-", "-", "-", "decode:reply",
             "idle:nothing"}},
    {"own-run", {"-", "-", "-", "-", "-", "-", "-", "own:nothing", "-", "-", "idle-busy:nothing"}},
    {"decode", {"read:nothing", "prompt:nothing", "-", "-", "-", "decode-run:decode", "decode-run:adopt", "-", "-",
                "-", "idle:nothing"}},
    {"decode-run", {"-", "-", "-", "-", "-", "-", "-", "decode:nothing", "-", "-", "idle-busy:nothing"}},
};

TEST(every_pair_of_stage_and_event_is_as_written)
{
    REQUIRE(sizeof expected / sizeof *expected == STAGES);
    int possible = 0;
    for (int s = 0; s < STAGES; s++) {
        CHECK_STR(expected[s].stage, stage_name((enum stage)s));
        for (int e = 0; e < STAGE_EVENTS; e++) {
            struct stage_transition t = stage_transition((enum stage)s, (enum stage_event)e);
            char found[64] = "-";
            possible += t.possible;
            if (t.possible) snprintf(found, sizeof found, "%s:%s", stage_name(t.next), stage_action_name(t.action));
            REQUIRE(expected[s].to[e]);
            if (strcmp(expected[s].to[e], found))
                CHECK_FAIL("%s, %s: expected %s, found %s", stage_name((enum stage)s),
                           stage_event_name((enum stage_event)e), expected[s].to[e], found);
        }
    }
    CHECK(possible > STAGES && possible < STAGES * STAGE_EVENTS / 2);
}

static bool is_run(enum stage s)
{
    return stage_uses_decoder(s) || stage_uses_prompter(s);
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
                CHECK(t.action == DO_HAND_OVER || t.action == DO_EVALUATE || t.action == DO_DECODE);
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
            bool lost = e != ON_COLD && (stage == STAGE_OWN || stage == STAGE_DECODE); /* its prompt is read again */
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
        if (!reached[s] || !returns[s]) CHECK_FAIL("%s is dead or a dead end", stage_name((enum stage)s));
}

TEST_MAIN(T(every_pair_of_stage_and_event_is_as_written), T(a_running_job_is_lost_by_its_return_only),
          T(a_turn_ends_from_everywhere), T(no_stage_is_dead_or_a_dead_end))
