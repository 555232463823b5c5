/* Pictures that are attached: alone, by patterns, from a paste or a drop; and what a model makes of them. */
#include "tests/check.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/attach/attach.h"
#include "src/attach/mentions.h"
#include "tests/seeing.h"
#include "tests/src/image/drawn.h"

static tdm_error err;

static const char *path(const char *name)
{
    static char room[8][400];
    static int next;
    char *at = room[next++ % 8];
    snprintf(at, 400, "%s/%s", check_tmp(), name);
    return at;
}

static void put(const char *name, const void *bytes, size_t n)
{
    FILE *f = fopen(path(name), "w");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f)) CHECK_FAIL("%s", name);
}

/* Two pictures, a text and a GIF. */
static void make_files(void)
{
    struct drawn d = drawn_png(2, 8, false, 0), turned = drawn_png(2, 8, false, 6);
    put("a.png", d.bytes, d.n);
    put("c photo.png", turned.bytes, turned.n);
    put("b.txt", "words", 5);
    put("d.gif", "GIF89a\1\0\1\0\0\0\0", 13);
    free(d.bytes);
    free(turned.bytes);
}

TEST(a_picture_is_read_as_one)
{
    attachment one;
    char note[100];
    make_files();
    REQUIRE(!attach_read(&one, path("a.png"), NULL, NULL, note, &err));
    CHECK_STR("a.png", one.name);
    CHECK_STR("", note);
    CHECK_INT(0, one.length);
    REQUIRE(one.n_pictures == 1);
    const picture *p = one.pictures[0].picture;
    CHECK(p->width == DRAWN_WIDTH && p->height == DRAWN_HEIGHT && !strcmp(p->suffix, "png") &&
          p->view.width == DRAWN_WIDTH);
    CHECK(picture_find(one.pictures[0].seen) == p && picture_find_key(p->key) == p);
    CHECK_INT(PICTURE_KEY - 1, strlen(p->key));
    CHECK_INT(attach_mark(one.files, one.files_length), one.mark);
    char *address = picture_address(p);
    CHECK(address && !strncmp(address, "data:image/png;base64,iVBORw0KGgo", 33));
    free(address);
    attach_release(&one);
    CHECK_INT(TDM_E_FORMAT, attach_read(&one, path("d.gif"), NULL, NULL, note, &err));
    CHECK(strstr(err.text, "d.gif: a GIF: a picture of it is made by `magick"));
    put("cut.png", "\211PNG\r\n\032\n\0\0\0\rIHDR", 16);
    CHECK_INT(TDM_E_FORMAT, attach_read(&one, path("cut.png"), NULL, NULL, note, &err));
    CHECK(strstr(err.text, "cut.png: "));
    CHECK(attach_is_picture(path("a.png")) && !attach_is_picture(path("b.txt")) && !attach_is_picture(path("none")));
}

TEST(patterns_name_pictures_and_folders_do_not)
{
    attachment one;
    char note[100], both[400];
    size_t n;
    make_files();
    put("cut.png", "\211PNG\r\n\032\n\0\0\0\rIHDR", 16);
    REQUIRE(!attach_read(&one, path("[abc]*"), NULL, NULL, note, &err));
    CHECK_STR("1 damaged picture left out", note);
    CHECK_STR("b.txt:\n\nwords\n\n", one.text);
    REQUIRE(one.n_pictures == 2);
    CHECK_INT(0, one.pictures[0].at);
    CHECK_INT(one.length, one.pictures[1].at); /* behind the text, as its name is */
    CHECK_STR("c photo.png", one.pictures[1].picture->name);
    CHECK_INT(DRAWN_HEIGHT, one.pictures[1].picture->width); /* turned as the camera notes */
    attachment twice[] = {one, one};
    attachments a = {.all = twice, .n = 2};
    tdm_placed_picture *pictures = attach_pictures(&a, 10, &n);
    REQUIRE(pictures && n == 4 && attach_pictures_n(&a) == 4);
    CHECK(pictures[0].at == 10 && pictures[1].at == 10 + one.length && pictures[2].at == pictures[1].at);
    CHECK_INT(10 + 2 * one.length, pictures[3].at);
    free(pictures);
    attach_release(&one);
    mkdir(path("folder"), 0700);
    snprintf(both, sizeof both, "%s", path("a.png"));
    CHECK(!link(both, path("folder/a.png")));
    snprintf(both, sizeof both, "%s", path("b.txt"));
    CHECK(!link(both, path("folder/b.txt")));
    REQUIRE(!attach_read(&one, path("folder"), NULL, NULL, note, &err));
    CHECK_STR("1 picture left out", note);
    CHECK_INT(0, one.n_pictures);
    attach_release(&one);
}

/* A model that doesn't see takes none, nor one whose template has no place for them; one that does counts their tokens
 * and two marks. */
TEST(models_count_what_they_see)
{
    tdm_model *blind, *sees;
    attachments a = {0};
    mentions m = {0};
    int place;
    make_files();
    REQUIRE(!tdm_model_open(&blind, &(tdm_model_options){.path = "tests/goldens/tiny-a"}, &err));
    CHECK_INT(TDM_E_UNSUPPORTED, attach_file(&a, path("a.png"), blind, 1000, &place, &err));
    CHECK(!a.n && strstr(err.text, "sees no pictures"));
    char words[600];
    int length = snprintf(words, sizeof words, "What is @%s and @%s ?", path("a.png"), path("b.txt"));
    CHECK_INT(TDM_E_UNSUPPORTED, mentions_read(&m, &a, blind, 1000, words, (size_t)length, MENTIONS_PICTURES, &err));
    CHECK_INT(0, a.n);
    tdm_model_close(blind);
    const char *folder = seeing_model();
    if (!folder) mentions_free(&m);
    if (!folder) return;
    REQUIRE(
        !tdm_model_open(&sees, &(tdm_model_options){.path = folder, .chat_template = "{{ messages[0].role }}"}, &err));
    CHECK_INT(TDM_E_REFUSED, attach_file(&a, path("a.png"), sees, 1000, &place, &err));
    CHECK_STR("a.png: the model's chat template has no place for a picture", err.text);
    tdm_model_close(sees);
    REQUIRE(!tdm_model_open(&sees, &(tdm_model_options){.path = folder}, &err));
    REQUIRE(!mentions_read(&m, &a, sees, 1000, words, (size_t)length, MENTIONS_PICTURES, &err));
    REQUIRE(a.n == 1); /* the text is none of the words of a program */
    CHECK(a.all[0].n_pictures == 1 && a.all[0].of_draft && a.all[0].tokens > 2);
    attach_clear(&a);
    mentions_free(&m);
    tdm_model_close(sees);
}

/* What it names, in lines; "text": it names nothing alone. */
static const char *dropped(const char *text)
{
    static char out[1000];
    char **paths = attach_dropped(text, strlen(text));
    size_t n = 0, skip = strlen(check_tmp()) + 1;
    out[0] = 0;
    for (char **each = paths; each && *each; each++)
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%s", n ? "|" : "", *each + skip);
    attach_words_free(paths);
    return paths ? out : "text";
}

TEST(a_drop_is_nothing_but_files)
{
    char text[2000];
    const char *tmp = check_tmp();
    make_files();
    CHECK_STR("a.png", dropped(path("a.png")));
    snprintf(text, sizeof text, "%s/c photo.png\r\n", tmp); /* a line is one name */
    CHECK_STR("c photo.png", dropped(text));
    snprintf(text, sizeof text, "'%s/c photo.png' %s/a.png ", tmp, tmp);
    CHECK_STR("c photo.png|a.png", dropped(text));
    snprintf(text, sizeof text, "%s/c\\ photo.png\n%s/a.png\n", tmp, tmp);
    CHECK_STR("c photo.png|a.png", dropped(text));
    snprintf(text, sizeof text, "file://%s/c%%20photo.png\nfile://localhost%s/b.txt", tmp, tmp);
    CHECK_STR("c photo.png|b.txt", dropped(text));
    snprintf(text, sizeof text, "%s/a.png is mine", tmp);
    CHECK_STR("text", dropped(text));
    snprintf(text, sizeof text, "%s/*.png", tmp); /* patterns only where they are typed */
    CHECK_STR("text", dropped(text));
    snprintf(text, sizeof text, "file://elsewhere%s/a.png", tmp);
    CHECK_STR("text", dropped(text));
    snprintf(text, sizeof text, "file://%s/a%%00.png", tmp);
    CHECK_STR("text", dropped(text));
    CHECK_STR("text", dropped(tmp));         /* a folder */
    CHECK_STR("text", dropped("README.md")); /* a word like others, although it is there */
    CHECK_STR("text", dropped(""));
    CHECK_STR("text", dropped("\n \n"));
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {T(a_picture_is_read_as_one), T(patterns_name_pictures_and_folders_do_not),
                                              T(models_count_what_they_see), T(a_drop_is_nothing_but_files)};
    if (!drawn_find_program(NULL)) {
        puts("skip pictures: tandem-image was not built (libpng, libjpeg, libwebp)");
        return 0;
    }
    return check_main(argc, argv, tests, (int)(sizeof tests / sizeof *tests));
}
