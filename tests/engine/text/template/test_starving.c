/* A template that is made without memory: either that fails, or the same is found out about it. */
#include "tests/check.h"
#include "tests/engine/text/golden.h"
#include "tests/engine/text/template/forms.h"
#include "tests/starved.h"

static struct template_source source;
static struct template *made;
static tdm_status status;

static void make(void)
{
    status = template_new(&made, &source, NULL);
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static bool same(const struct template_facts *a, const struct template_facts *b)
{
    bool same = a->thinkings == b->thinkings && a->always_thinks == b->always_thinks && a->stop == b->stop;
    same = same && a->keeps == b->keeps && a->can_keep == b->can_keep && a->can_drop == b->can_drop;
    same = same && a->no_system == b->no_system && !memcmp(a->opening, b->opening, sizeof a->opening);
    same = same && same_text(a->opens, b->opens) && same_text(a->closes, b->closes) && same_text(a->user, b->user);
    return same && same_text(a->reply, b->reply) && same_text(a->channels.answer, b->channels.answer);
}

static void check_form(const char *name)
{
    const struct template *whole = forms_template(name);
    const char *text = forms_text(name);
    REQUIRE(whole && text);
    source = (struct template_source){.text = {text, strlen(text)}, .tokenizer = golden_small()};
    long n = 0;
    for (; starved_by(n, make); n++) {
        if (status && status != TDM_E_NOMEM) CHECK_FAIL("%s, allocation %ld: status %d", name, n, (int)status);
        if (!status && !same(template_facts(whole), template_facts(made)))
            CHECK_FAIL("%s, allocation %ld: other facts", name, n);
        template_free(made);
    }
    CHECK_INT(TDM_OK, status);
    CHECK(n > 50);
    template_free(made);
}

TEST(facts_are_found_or_nothing_is_made)
{
    if (!starved_can()) return;
    check_form("qwen35");
    check_form("qwen38");
    check_form("harmony");
    check_form("channels");
}

TEST_MAIN(T(facts_are_found_or_nothing_is_made))
