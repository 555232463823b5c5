/* Pictures of a saved session: beside its file, by what they show, wherever it goes. */
#include "tests/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/session/store.h"
#include "tests/src/image/drawn.h"

static tdm_error err;

static void begin(const char *name)
{
    char home[300];
    snprintf(home, sizeof home, "%s/%s", check_tmp(), name);
    setenv("XDG_STATE_HOME", home, 1);
}

/* How many files are in the folder of a session's pictures; -1: there is none. */
static int files_in(const char *folder, const char *id)
{
    char path[400];
    int n = 0;
    snprintf(path, sizeof path, "%s/tandem/%s/%s.pictures", getenv("XDG_STATE_HOME"), folder, id);
    DIR *d = opendir(path);
    if (!d) return -1;
    for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static tdm_picture *take(int orientation, const char *name)
{
    const picture *p;
    tdm_picture *seen = NULL;
    struct drawn d = drawn_png(2, 8, false, orientation);
    if (picture_take(&p, &seen, (char *)d.bytes, d.n, name, NULL, NULL, &err)) CHECK_FAIL("%s", err.text);
    return seen;
}

static char *text_of(const char *text)
{
    char *copy = strdup(text);
    if (!copy) abort();
    return copy;
}

/* A message with two pictures, the second behind its first word, and its reply. */
static session make(void)
{
    session s = {.name = text_of("suns"), .leaf = 2, .n = 2};
    s.nodes = calloc(3, sizeof *s.nodes);
    s.attached = calloc(3, sizeof *s.attached);
    tdm_placed_picture *pictures = calloc(2, sizeof *pictures);
    if (!s.nodes || !s.attached || !pictures) abort();
    pictures[0] = (tdm_placed_picture){take(0, "sun.png"), 0};
    pictures[1] = (tdm_placed_picture){take(6, "turned.png"), 4};
    s.nodes[0] = (tdm_node){.node = 1,
                            .role = TDM_USER,
                            .text = text_of("Both are?"),
                            .length = 9,
                            .pictures = pictures,
                            .n_pictures = 2,
                            .current = true};
    s.nodes[1] = (tdm_node){
        .node = 2, .parent = 1, .role = TDM_ASSISTANT, .text = text_of("Suns."), .length = 5, .current = true};
    if (session_note_pictures(&s, 0, &err)) CHECK_FAIL("%s", err.text);
    return s;
}

static void save(session_slot *p)
{
    session s = make();
    REQUIRE(!store_create(p, &err));
    if (store_save(p, &s, &err)) CHECK_FAIL("%s", err.text);
    session_free(&s);
}

TEST(they_come_back_with_the_session)
{
    session_slot p;
    session s;
    tdm_error missing;
    bool copied;
    begin("back");
    save(&p);
    store_close(&p);
    CHECK_INT(2, files_in("sessions", p.id));
    char id[40];
    memcpy(id, p.id, sizeof id);
    REQUIRE(!store_open(&p, id, &s, &copied, &err));
    REQUIRE(s.n_pictures == 2);
    CHECK_STR("sun.png", s.pictures[0].name);
    CHECK_STR("png", s.pictures[1].type);
    CHECK(s.pictures[0].at == 0 && s.pictures[1].at == 4 && s.pictures[1].width == DRAWN_HEIGHT);
    CHECK_INT(2, session_pictures(&s));
    REQUIRE(!store_load_pictures(id, &s, &missing, &err));
    CHECK(!missing.code && s.nodes[0].n_pictures == 2 && s.nodes[0].pictures[1].at == 4);
    CHECK_STR(s.pictures[1].key, picture_find(s.nodes[0].pictures[1].picture)->key);
    CHECK(!store_save(&p, &s, &err) && files_in("sessions", id) == 2);
    session_free(&s);
    store_close(&p);
}

TEST(one_that_is_gone_or_another_is_told)
{
    session_slot p;
    session s;
    tdm_error missing;
    char path[500];
    begin("gone");
    save(&p);
    store_close(&p);
    REQUIRE(!store_peek(p.id, false, &s, &err));
    snprintf(path, sizeof path, "%s/tandem/sessions/%s.pictures/%s.png", getenv("XDG_STATE_HOME"), p.id,
             s.pictures[0].key);
    CHECK(!unlink(path));
    REQUIRE(!store_load_pictures(p.id, &s, &missing, &err));
    CHECK(missing.code && strstr(missing.text, "No such file") && s.nodes[0].n_pictures == 1);
    session_free(&s);
    struct drawn other = drawn_png(0, 8, false, 0);
    FILE *f = fopen(path, "w");
    REQUIRE(f && fwrite(other.bytes, 1, other.n, f) == other.n && !fclose(f));
    free(other.bytes);
    REQUIRE(!store_peek(p.id, false, &s, &err));
    REQUIRE(!store_load_pictures(p.id, &s, &missing, &err));
    CHECK_STR("sun.png: another picture is in its place", missing.text);
    session_free(&s);
}

TEST(they_go_where_the_session_goes)
{
    session_slot p, second;
    session s;
    bool copied;
    begin("moves");
    save(&p);
    REQUIRE(!store_open(&second, p.id, &s, &copied, &err) && copied); /* it is open: a copy */
    CHECK_INT(2, files_in("sessions", second.id));
    session_free(&s);
    char id[40];
    memcpy(id, second.id, sizeof id);
    REQUIRE(!store_erase(id, &second, &err));
    CHECK_INT(-1, files_in("sessions", id));
    store_close(&p);
    REQUIRE(!store_delete(p.id, NULL, &err));
    CHECK(files_in("sessions", p.id) == -1 && files_in("trash", p.id) == 2);
    REQUIRE(!store_undelete(p.id, &err));
    CHECK(files_in("sessions", p.id) == 2 && files_in("trash", p.id) == -1);
    REQUIRE(!store_delete(p.id, NULL, &err));
    char path[500];
    const struct timespec old = {.tv_sec = time(NULL) - (STORE_TRASH_DAYS * 24 + 1) * 3600}, times[2] = {old, old};
    snprintf(path, sizeof path, "%s/tandem/trash/%s.json", getenv("XDG_STATE_HOME"), p.id);
    store_purge_trash(NULL, NULL);
    CHECK_INT(2, files_in("trash", p.id));
    REQUIRE(!utimensat(AT_FDCWD, path, times, 0));
    store_purge_trash(NULL, NULL);
    CHECK_INT(-1, files_in("trash", p.id));
    save(&p);
    store_close(&p);
    REQUIRE(!store_erase(p.id, NULL, &err));
    CHECK_INT(-1, files_in("sessions", p.id));
}

static void refused(const char *pictures, const char *why)
{
    session s;
    char text[1000];
    snprintf(text, sizeof text,
             "{\"format\":\"tandem session\",\"version\":1,\"leaf\":1,\"messages\":[{\"id\":1,\"parent\":0,"
             "\"role\":\"user\",\"text\":\"Hi\",\"pictures\":[%s]}]}",
             pictures);
    if (!session_parse(&s, "file", text, strlen(text), &err)) {
        CHECK_FAIL("%s was taken", pictures);
        session_free(&s);
    } else if (!strstr(err.text, why)) {
        CHECK_FAIL("found '%s'", err.text);
    }
}

TEST(keys_and_types_are_names_of_our_own)
{
#define KEY "\"key\":\"00112233445566778899aabbccddeeff\""
    static const char expected[] = "message 1: a picture: expected at (0 to 2), key and type";
    refused("{\"at\":0,\"key\":\"../../../etc/passwd\",\"type\":\"png\"}", expected);
    refused("{\"at\":0," KEY ",\"type\":\"png/../x\"}", expected);
    refused("{\"at\":3," KEY ",\"type\":\"png\"}", expected);
    refused("{\"at\":-1," KEY ",\"type\":\"png\"}", expected);
    refused("7", expected);
    refused("{\"at\":2," KEY ",\"type\":\"png\"},{\"at\":1," KEY ",\"type\":\"jpg\"}", "pictures out of order");
}

TEST(pages_have_them)
{
    session s = make();
    size_t n;
    char *text = session_markdown(&s, &n, "/somewhere/suns");
    CHECK(text && strstr(text, "## You\n\n![sun.png](<suns-1.png>)\n\nBoth![turned.png](<suns-2.png>)\n\n are?\n"));
    free(text);
    char plain[PICTURE_NAME];
    memcpy(plain, s.pictures[0].name, sizeof plain);
    snprintf(s.pictures[0].name, sizeof s.pictures[0].name, "a]b\\");
    text = session_markdown(&s, &n, "/somewhere/su>s"); /* what has a meaning in links is escaped */
    CHECK(text && strstr(text, "![a\\]b\\\\](<su\\>s-1.png>)"));
    free(text);
    memcpy(s.pictures[0].name, plain, sizeof plain);
    text = session_markdown(&s, &n, NULL);
    CHECK(text && strstr(text, "[sun.png, 24x16]\n\nBoth[turned.png, 16x24]\n\n are?"));
    free(text);
    text = session_messages(&s, &n);
    const char *first = text ? strstr(text, "\"image_url\"") : NULL, *words = first ? strstr(first, "\"Both\"") : NULL;
    CHECK(words && strstr(first, "data:image\\/png;base64,iVBORw0KGgo") < words && strstr(words, "image_url"));
    free(text);
    session_free(&s);
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {T(they_come_back_with_the_session),
                                              T(one_that_is_gone_or_another_is_told), T(they_go_where_the_session_goes),
                                              T(keys_and_types_are_names_of_our_own), T(pages_have_them)};
    if (!drawn_find_program(NULL)) {
        puts("skip pictures: tandem-image was not built (libpng, libjpeg, libwebp)");
        return 0;
    }
    return check_main(argc, argv, tests, (int)(sizeof tests / sizeof *tests));
}
