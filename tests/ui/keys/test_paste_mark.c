/* The marks around a paste in each of their forms, and the shapes of answers. */
#include "tests/check.h"

#include "ui/keys/answer_form.h"
#include "ui/keys/paste_mark.h"

static void finds(const char *text, enum paste_mark expected, size_t expected_at, size_t expected_length)
{
    size_t at = 0, length = 0;
    CHECK_INT(expected, paste_mark_find(text, strlen(text), 0, &at, &length));
    if (!expected) return;
    CHECK_INT(expected_at, at);
    CHECK_INT(expected_length, length);
}

TEST(each_form_is_found)
{
    finds("ab\033[200~c", PASTE_MARK_BEGIN, 2, 6);
    finds("ab\033[201~", PASTE_MARK_END, 2, 6);
    finds("~\x9b" "201~", PASTE_MARK_END, 1, 5);
    finds("\xc2\x9b" "200~", PASTE_MARK_BEGIN, 0, 6);
    finds("\xc3\x9b" "201~ \xe8\x9b\x9b" "201~ \xf0\x9f\x92\x9b" "201~", PASTE_MARK_NONE, 0, 0);
    finds("\xe8\x9b" "201~", PASTE_MARK_END, 1, 5); /* behind a broken character */
    finds("201~\033[202~\033[20~[201~", PASTE_MARK_NONE, 0, 0);
}

TEST(what_may_go_on_is_held_back)
{
    static const char *const marks[] = {"\033[200~", "\x9b" "201~", "\xc2\x9b" "201~"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        for (size_t cut = 1; cut < strlen(marks[i]); cut++) {
            char text[16];
            int n = snprintf(text, sizeof text, "ab%.*s", (int)cut, marks[i]);
            CHECK_INT(cut, paste_mark_partial(text, (size_t)n));
        }
    CHECK_INT(0, paste_mark_partial("abc", 3));
    CHECK_INT(2, paste_mark_partial("a\xe8\x9b", 3));
    CHECK_INT(0, paste_mark_partial("a\xc3\x9b" "20", 5));
    CHECK_INT(0, paste_mark_partial("", 0));
}

static void is_form(const char *text, enum answer_form expected, size_t expected_length)
{
    size_t length = 0;
    CHECK_INT(expected, answer_form(text, strlen(text), &length));
    CHECK_INT(expected_length, length);
}

TEST(forms_of_answers)
{
    is_form("\033[?62;22cx", ANSWER_FORM_WHOLE, 9);
    is_form("\033[>84;0;0c", ANSWER_FORM_WHOLE, 10);
    is_form("\033[?2026;2$y", ANSWER_FORM_WHOLE, 11);
    is_form("\033[?2026;2$", ANSWER_FORM_PART, 10);
    is_form("\033[A", ANSWER_FORM_NONE, 2);
    is_form("\033]11;rgb:1e1e/1e1e/1e1e\033", ANSWER_FORM_PART, 24);
    is_form("\033]11;rgb:1e1e/1e1e/1e1e\033\\", ANSWER_FORM_WHOLE, 25);
    is_form("\033]4;1;rgba:1/2/3/4\x9c", ANSWER_FORM_WHOLE, 19);
    is_form("\033]11;rgb:1e1e/hi", ANSWER_FORM_NONE, 14);
    is_form("\033]11;r", ANSWER_FORM_LOOSE, 6);
    is_form("\033P>|name\033\\", ANSWER_FORM_WHOLE, 10);
    is_form("\033P>|name\rx", ANSWER_FORM_NONE, 8);
    is_form("\033x", ANSWER_FORM_NONE, 2);
}

/* Every beginning of a whole answer is known for one. */
TEST(a_beginning_is_one)
{
    static const char *const answers[] = {"\033[?62;22c", "\033[>84;0;0c", "\033[?2026;2$y", "\033]52;c;\007",
                                          "\033]11;rgb:1e1e/1e1e/1e1e\033\\", "\033]10;rgba:0/0/0/f\xc2\x9c"};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        for (size_t n = 1; n < strlen(answers[i]); n++) {
            size_t length;
            enum answer_form form = answer_form(answers[i], n, &length);
            CHECK(form == ANSWER_FORM_PART || form == ANSWER_FORM_LOOSE);
            CHECK_INT(n, length);
        }
}

TEST_MAIN(T(each_form_is_found), T(what_may_go_on_is_held_back), T(forms_of_answers), T(a_beginning_is_one))
