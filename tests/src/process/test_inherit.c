/* What programs of the user's inherit. */
#include "tests/check.h"

#include "src/process/inherit.h"

/* The variable in the list; NULL: it isn't there. */
static const char *in(char **list, const char *name)
{
    size_t n = strlen(name);
    for (; *list; list++)
        if (!strncmp(*list, name, n) && (*list)[n] == '=') return *list + n + 1;
    return NULL;
}

static void check_path(const char *expected, const char *path)
{
    if (path)
        setenv("PATH", path, 1);
    else
        unsetenv("PATH");
    char **list = inherit_for_user();
    CHECK_STR(expected, in(list, "PATH"));
    free(list);
}

TEST(only_absolute_folders_are_looked_into)
{
    check_path("/bin:/usr/bin", "/bin:/usr/bin");
    check_path("/bin:/a=b:/c", ".::bin:/bin:..:/a=b:/c:");
    check_path("/usr/local/bin:/usr/bin:/bin", "");
    check_path("/usr/local/bin:/usr/bin:/bin", ":.:bin");
    check_path("/usr/local/bin:/usr/bin:/bin", NULL);
    setenv("PATH", "/bin:/usr/bin", 1);
}

TEST(tokens_and_keys_are_kept_back)
{
    static const char *const names[] = {
        "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "MY_KEY", "OTHER_KEY", "HF_TOKEN_PATH", "MY_KEYS", "HOME"};
    for (int i = 0; i < 7; i++) setenv(names[i], "a value", 1);
    CHECK(inherit_keep_back("MY_KEY") && inherit_keep_back("OTHER_KEY") && inherit_keep_back("H*"));
    char **list = inherit_for_user();
    for (int i = 0; i < 7; i++)
        if ((in(list, names[i]) != NULL) != (i > 3)) CHECK_FAIL("%s: %s", names[i], in(list, names[i]));
    free(list);
    list = inherit_environment(true, "MY_KEY"); /* of the programs that need them */
    CHECK(in(list, "HF_TOKEN") && in(list, "MY_KEY") && !in(list, "OTHER_KEY"));
    free(list);
}

TEST_MAIN(T(only_absolute_folders_are_looked_into), T(tokens_and_keys_are_kept_back))
