/* Where the hub's tools keep things, and when they fetch nothing, by their environment variables: the values are what
 * huggingface_hub's constants.py makes of the same variables. */
#include "tests/check.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/hub/environment.h"
#include "src/process/inherit.h"

static void forget(void)
{
    static const char *const all[] = {
        "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME",       "HF_TOKEN_PATH",
        "HF_TOKEN",     "HF_HUB_OFFLINE",        "SCRATCH", "TRANSFORMERS_OFFLINE", "HUGGING_FACE_HUB_TOKEN"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) unsetenv(all[i]);
    setenv("HOME", "/home/me", 1);
}

/* The first cache, once this variable is set, too. */
static void check_cache(const char *expected, const char *name, const char *value)
{
    setenv(name, value, 1);
    CHECK_STR(expected, hub_caches()[0]);
}

TEST(the_variable_that_counts_comes_first)
{
    forget();
    check_cache("/home/me/.cache/huggingface/hub", "HF_HOME", "");
    check_cache("/xdg/huggingface/hub", "XDG_CACHE_HOME", "/xdg");
    check_cache("/hf/hub", "HF_HOME", "/hf");
    check_cache("/old", "HUGGINGFACE_HUB_CACHE", "/old");
    check_cache("/new", "HF_HUB_CACHE", "/new");
    CHECK_STR("/old", hub_caches()[1]);
    CHECK_STR("/home/me/.cache/huggingface/hub", hub_caches()[4]);
    CHECK(!hub_caches()[5]);
    CHECK_STR("/hf/token", hub_token_file());
}

TEST(paths_are_expanded)
{
    forget();
    struct passwd *me = getpwuid(getuid());
    char name[300], home[300];
    setenv("SCRATCH", "/big disk", 1);
    check_cache("/home/me", "HF_HUB_CACHE", "~");
    check_cache("/home/me/c", "HF_HUB_CACHE", "~/c");
    check_cache("/c/~", "HF_HUB_CACHE", "/c/~");
    check_cache("~nobody-is-called-so/c", "HF_HUB_CACHE", "~nobody-is-called-so/c");
    if (me) {
        snprintf(name, sizeof name, "~%s/c", me->pw_name);
        snprintf(home, sizeof home, "%s/c", me->pw_dir);
        check_cache(home, "HF_HUB_CACHE", name);
    }
    check_cache("/big disk/c", "HF_HUB_CACHE", "$SCRATCH/c");
    check_cache("/big diskc", "HF_HUB_CACHE", "${SCRATCH}c");
    check_cache("$SCRATCHc/$/${x", "HF_HUB_CACHE", "$SCRATCHc/$/${x");
    check_cache("/home/me//big disk", "HF_HUB_CACHE", "~/$SCRATCH");
    unsetenv("HF_HUB_CACHE");
    check_cache("/big disk/hf/hub", "HF_HOME", "$SCRATCH/hf/");
    check_cache("/home/me/hf/huggingface/hub", "XDG_CACHE_HOME", (unsetenv("HF_HOME"), "~/hf"));
}

TEST(what_does_not_fit_is_no_cache)
{
    forget();
    static char longest[10000];
    memset(longest, 'x', sizeof longest - 1);
    setenv("SCRATCH", longest, 1);
    check_cache("/home/me/.cache/huggingface/hub", "HF_HUB_CACHE", longest);
    check_cache("/home/me/.cache/huggingface/hub", "HF_HUB_CACHE", "$SCRATCH/x");
    check_cache("/home/me/.cache/huggingface/hub", "HF_HUB_CACHE", "");
    longest[0] = '$';
    check_cache("/home/me/.cache/huggingface/hub", "HF_HUB_CACHE", longest);
}

static void check_offline(const char *expected, const char *hub, const char *transformers)
{
    forget();
    if (hub) setenv("HF_HUB_OFFLINE", hub, 1);
    if (transformers) setenv("TRANSFORMERS_OFFLINE", transformers, 1);
    const char *found = hub_offline();
    if (strcmp(expected, found ? found : "")) CHECK_FAIL("%s, %s: found %s", hub, transformers, found);
}

TEST(offline_is_what_is_true)
{
    static const char *const yes[] = {"1", "ON", "on", "Yes", "TRUE", "true"};
    static const char *const no[] = {"0", "false", "False", "no", "off", "2", "y", " 1", "truely", ""};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        check_offline("HF_HUB_OFFLINE", yes[i], NULL);
        check_offline("TRANSFORMERS_OFFLINE", NULL, yes[i]);
        check_offline("TRANSFORMERS_OFFLINE", "", yes[i]);
    }
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        check_offline("", no[i], NULL);
        check_offline("", NULL, no[i]);
        check_offline(no[i][0] ? "" : "TRANSFORMERS_OFFLINE", no[i], "1"); /* the first that is set decides */
    }
    check_offline("", NULL, NULL);
}

TEST(a_token_has_two_names)
{
    forget();
    CHECK(!hub_token());
    setenv("HUGGING_FACE_HUB_TOKEN", "old", 1);
    CHECK_STR("old", hub_token());
    setenv("HF_TOKEN", "new", 1);
    CHECK_STR("new", hub_token());
}

static bool inherits(const char *entry)
{
    char **list = inherit_environment(true, NULL);
    bool found = false;
    for (char **at = list; at && *at; at++) found |= !strcmp(*at, entry);
    free(list);
    return found;
}

/* tandem-pull finds the same folders. */
TEST(variables_that_folders_refer_to_are_inherited)
{
    forget();
    setenv("SCRATCH", "/big", 1);
    setenv("HUGGINGFACE_HUB_CACHE", "/old", 1);
    setenv("TRANSFORMERS_OFFLINE", "1", 1);
    CHECK(inherits("HUGGINGFACE_HUB_CACHE=/old") && inherits("TRANSFORMERS_OFFLINE=1"));
    CHECK(!inherits("SCRATCH=/big"));
    setenv("HF_HOME", "/x/${SCRATCH}", 1);
    CHECK(inherits("SCRATCH=/big"));
    setenv("HF_HOME", "/x/$SCRATCHES", 1);
    CHECK(!inherits("SCRATCH=/big"));
}

TEST_MAIN(T(the_variable_that_counts_comes_first), T(paths_are_expanded), T(what_does_not_fit_is_no_cache),
          T(offline_is_what_is_true), T(a_token_has_two_names), T(variables_that_folders_refer_to_are_inherited))
