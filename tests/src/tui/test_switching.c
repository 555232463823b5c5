/* The full-screen front end when a conversation goes over to another model, and when one is deleted. */
#include "tests/check.h"
#include "tests/src/tui/rig.h"

TEST(another_model)
{
    START();
    rig_type("Why is the sky blue?\r");
    CHECK(rig_wait("read before Enter"));
    rig_type("/model assets/tandem-demo-51m-q6_k.gguf\r");
    CHECK(rig_wait("going on with Tandem Demo 51M"));
    rig_type("What is the Moon?");
    CHECK(rig_wait("[ready]"));
    rig_type("\r");
    CHECK(rig_wait("read before Enter"));
    CHECK(rig_shows("> What is the Moon?"));
    rig_type("/model nothing.gguf\r");
    CHECK(rig_wait("nothing.gguf"));
    LEAVE();
}

TEST(facts_of_a_model)
{
    START();
    rig_type("/model\r");
    CHECK(rig_wait("* built-in"));
    rig_type("i");
    CHECK(rig_wait(" GFLOP"));
    rig_type("jk");
    CHECK(rig_wait_gone(" GFLOP"));
    rig_type("q");
    LEAVE();
}

/* A mixture whose experts have no room stands for every model that doesn't fit beside the one in use. */
TEST(a_model_without_room_gives_the_old_one_back)
{
    static const char *const little[] = {"chat", "--temp", "0", "-c", "2048", "-n", "24",
                                         "--expert-memory", "1K", NULL};
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", little) && rig_wait("IDLE"));
    rig_type("Why is the sky blue?\r");
    CHECK(rig_wait("LENGTH"));
    rig_type("/model tests/goldens/gguf/tiny-d-q8_0.gguf\r");
    CHECK(rig_wait("no room for both models"));
    CHECK(rig_wait("memory for experts: expected at least 1 MB"));
    CHECK(rig_wait("going on with Tandem Demo 51M"));
    CHECK(rig_wait("The sky is blue"));
    rig_type("What is the Moon?");
    CHECK(rig_wait("[ready]"));
    rig_type("\r");
    CHECK(rig_wait("LENGTH | "));
    CHECK(rig_shows("> What is the Moon?"));
    LEAVE();
    CHECK(rig_wait("2 turns"));
}

TEST(sessions_are_deleted_after_asking)
{
    START();
    rig_type("/new\rName three colours.\r");
    CHECK(rig_wait("read before Enter"));
    rig_type("/sessions\r");
    CHECK(rig_wait("Enter resumes"));
    rig_type("d");
    CHECK(rig_wait("delete 'Name three colours.'?"));
    rig_type("n");
    CHECK(rig_wait("Enter resumes"));
    rig_type("dy"); /* of one who goes on writing: the question was not shown yet */
    CHECK(rig_wait("delete 'Name three colours.'?"));
    rig_type("y");
    CHECK(rig_wait_gone("Name three colours."));
    rig_type("\x07"); /* closes the list, if there are others */
    LEAVE();
}

TEST_MAIN(T(another_model), T(facts_of_a_model), T(a_model_without_room_gives_the_old_one_back),
          T(sessions_are_deleted_after_asking))
