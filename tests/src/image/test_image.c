/* Pictures through tandem-image: every form, turned as noted, damaged in every way, and programs in its place that
 * misbehave. */
#include "tests/check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "src/image/image.h"
#include "tests/src/image/drawn.h"

static char program[PATH_MAX];

static int file_of(const void *bytes, size_t n)
{
    int fd = memfd_create("picture", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n) abort();
    return fd;
}

static tdm_status read_bytes(image *out, const void *bytes, size_t n, tdm_error *err)
{
    int fd = file_of(bytes, n);
    tdm_status status = image_read(out, fd, "a.png", IMAGE_SECONDS, NULL, NULL, err);
    close(fd);
    return status;
}

static int over_white(int value, int alpha)
{
    return (value * alpha + 255 * (255 - alpha) + 127) / 255;
}

/* Each point within `tolerance` of what is expected. */
static void expect(const char *name, struct drawn file, int orientation, int tolerance,
                   void (*point)(uint32_t x, uint32_t y, int out[3]))
{
    image i;
    tdm_error err = {0};
    uint32_t wrong = 0;
    tdm_status status = read_bytes(&i, file.bytes, file.n, &err);
    free(file.bytes);
    if (status) {
        CHECK_FAIL("%s: %s", name, err.text);
        return;
    }
    bool turned = orientation >= 5;
    CHECK_INT(turned ? DRAWN_HEIGHT : DRAWN_WIDTH, i.width);
    CHECK_INT(turned ? DRAWN_WIDTH : DRAWN_HEIGHT, i.height);
    for (uint32_t y = 0; y < DRAWN_HEIGHT; y++)
        for (uint32_t x = 0; x < DRAWN_WIDTH; x++) {
            /* Where Exif's numbers say that the first row and the first column lie. */
            uint32_t r = DRAWN_WIDTH - 1 - x, b = DRAWN_HEIGHT - 1 - y;
            uint32_t to[9][2] = {{x, y}, {x, y}, {r, y}, {r, b}, {x, b}, {y, x}, {b, x}, {b, r}, {y, r}};
            const uint8_t *got = i.rgb + 3 * ((size_t)to[orientation][1] * i.width + to[orientation][0]);
            int want[3];
            point(x, y, want);
            for (int c = 0; c < 3; c++) wrong += abs(want[c] - got[c]) > tolerance;
        }
    if (wrong) CHECK_FAIL("%s, orientation %d: %u values differ", name, orientation, wrong);
    image_free(&i);
}

static void coloured(uint32_t x, uint32_t y, int out[3])
{
    uint8_t rgb[3];
    drawn_rgb(x, y, rgb);
    for (int c = 0; c < 3; c++) out[c] = rgb[c];
}

static void grey(uint32_t x, uint32_t y, int out[3])
{
    coloured(x, y, out);
    out[1] = out[2] = out[0];
}

static void with_alpha(uint32_t x, uint32_t y, int out[3])
{
    coloured(x, y, out);
    for (int c = 0; c < 3; c++) out[c] = over_white(out[c], drawn_alpha(x, y));
}

static void grey_with_alpha(uint32_t x, uint32_t y, int out[3])
{
    grey(x, y, out);
    for (int c = 0; c < 3; c++) out[c] = over_white(out[c], drawn_alpha(x, y));
}

static int bits; /* of grey, or of a palette */

static void few_greys(uint32_t x, uint32_t y, int out[3])
{
    int most = (1 << bits) - 1;
    grey(x, y, out);
    out[0] = (out[0] >> (8 - bits)) * 255 / most;
    out[1] = out[2] = out[0];
}

static void palette(uint32_t x, uint32_t y, int out[3])
{
    uint32_t entry = (x + y) & ((1u << bits) - 1);
    coloured(entry, entry, out);
    if (!entry) out[0] = out[1] = out[2] = 255;
}

TEST(every_form_of_png)
{
    for (int interlaced = 0; interlaced < 2; interlaced++) {
        for (int depth = 8; depth <= 16; depth += 8) {
            expect("grey", drawn_png(0, depth, interlaced, 0), 0, 0, grey);
            expect("RGB", drawn_png(2, depth, interlaced, 0), 0, 0, coloured);
            expect("grey and alpha", drawn_png(4, depth, interlaced, 0), 0, 0, grey_with_alpha);
            expect("RGBA", drawn_png(6, depth, interlaced, 0), 0, 0, with_alpha);
        }
        for (bits = 1; bits <= 4; bits *= 2) expect("few greys", drawn_png(0, bits, interlaced, 0), 0, 0, few_greys);
        for (bits = 1; bits <= 8; bits *= 2) expect("a palette", drawn_png(3, bits, interlaced, 0), 0, 0, palette);
    }
}

TEST(jpeg_and_webp)
{
    expect("rgb.jpg", drawn_file("rgb.jpg", 0), 0, 12, coloured);
    expect("progressive.jpg", drawn_file("progressive.jpg", 0), 0, 12, coloured);
    expect("grey.jpg", drawn_file("grey.jpg", 0), 0, 4, grey);
    expect("cmyk.jpg", drawn_file("cmyk.jpg", 0), 0, 6, coloured);
    expect("lossy.webp", drawn_file("lossy.webp", 0), 0, 16, coloured);
    expect("lossless.webp", drawn_file("lossless.webp", 0), 0, 0, coloured);
    expect("alpha.webp", drawn_file("alpha.webp", 0), 0, 0, with_alpha);
}

TEST(pictures_are_turned_as_the_camera_notes)
{
    for (int orientation = 1; orientation <= 8; orientation++) {
        expect("PNG", drawn_png(2, 8, false, orientation), orientation, 0, coloured);
        expect("JPEG", drawn_file("rgb.jpg", orientation), orientation, 12, coloured);
        expect("WebP", drawn_file("lossless.webp", orientation), orientation, 0, coloured);
    }
    expect("PNG, behind the pixels", drawn_png(2, 8, false, -6), 6, 0, coloured);
    expect("interlaced PNG, behind the pixels", drawn_png(6, 8, true, -8), 8, 0, with_alpha);
    expect("nonsense", drawn_png(2, 8, false, 9), 0, 0, coloured);
}

/* A file of 2 MB whose texts are 316 MB. */
TEST(texts_in_a_picture_are_not_read)
{
    struct rusage used;
    if (check_slow()) SKIP("a sanitizer's build takes more memory");
    expect("texts", drawn_with_texts(40), 0, 0, coloured);
    REQUIRE(!getrusage(RUSAGE_CHILDREN, &used));
    CHECK(used.ru_maxrss < 150 << 10);
}

/* ---- What can't be read ------------------------------------------------------------------------------------------ */

static void refused(const char *bytes, size_t n, const char *said)
{
    image i;
    tdm_error err = {0};
    CHECK_INT(TDM_E_FORMAT, read_bytes(&i, bytes, n, &err));
    CHECK(!i.rgb);
    if (strncmp(err.text, "a.png: ", 7) != 0 || !strstr(err.text, said))
        CHECK_FAIL("expected \"%s\" in \"%s\"", said, err.text);
}

TEST(other_formats_say_how_to_convert_them)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *said;
    } files[] = {{"GIF89a....", 10, "magick FILE.gif[0] FILE.png"},
                 {"....ftypheic....", 16, "heif-convert"},
                 {"....ftypavif....", 16, "avifdec"},
                 {"<?xml version='1.0'?>\n<svg xmlns=", 33, "rsvg-convert"},
                 {"%PDF-1.7....", 12, "pdftoppm"},
                 {"BM..........", 12, "a BMP"},
                 {"II*\0........", 12, "a TIFF"},
                 {"hello, world", 12, "expected a picture"},
                 {"", 0, "an empty file"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) refused(files[i].bytes, files[i].n, files[i].said);
}

TEST(sides_are_bounded_before_anything_is_decoded)
{
    static const struct {
        uint32_t width, height;
        const char *said;
    } sides[] = {{50000, 50000, "50000 x 50000 pixels"},
                 {65537, 1, "65537 x 1 pixels"},
                 {8193, 8192, "at most 67 million"},
                 {0, 5, ""},
                 {0x7fffffff, 0x7fffffff, "at most 67 million"},
                 {0xffffffff, 1, ""}};
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        struct drawn d = drawn_head(sides[i].width, sides[i].height);
        refused((const char *)d.bytes, d.n, sides[i].said);
        free(d.bytes);
    }
}

TEST(files_that_end_too_early)
{
    struct drawn files[] = {drawn_png(2, 8, false, 0), drawn_file("rgb.jpg", 0), drawn_file("progressive.jpg", 0),
                            drawn_file("lossless.webp", 0), drawn_file("lossy.webp", 0)};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        refused((const char *)files[i].bytes, files[i].n * 2 / 3, "damaged");
        refused((const char *)files[i].bytes, 20, "damaged");
        free(files[i].bytes);
    }
}

static uint64_t seed = 1;

static uint32_t dice(uint32_t sides)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % sides;
}

/* Some bytes changed, a piece taken out, doubled, or the end cut off. */
static size_t mutate(uint8_t *bytes, size_t n, size_t room)
{
    size_t at = dice((uint32_t)n), some = 1 + dice(16);
    if (some > n - at) some = n - at;
    switch (dice(5)) {
    case 0:
        return at + 1;
    case 1:
        memmove(bytes + at, bytes + at + some, n - at - some);
        return n - some;
    case 2:
        if (n + some > room) return n;
        memmove(bytes + at + some, bytes + at, n - at);
        return n + some;
    default:
        for (uint32_t k = 1 + dice(4); k; k--) bytes[dice((uint32_t)n)] = (uint8_t)dice(256);
        return n;
    }
}

/* One line, or pixels: never a crash, nothing that hangs. */
TEST(damaged_pictures_are_one_line_each)
{
    int times = getenv("TANDEM_LONG") ? 500 : 40, crashed = 0, read = 0, lines = 0;
    struct drawn files[] = {drawn_png(6, 16, true, 3),        drawn_png(3, 4, false, 0),
                            drawn_png(0, 1, false, 0),        drawn_file("rgb.jpg", 6),
                            drawn_file("progressive.jpg", 0), drawn_file("cmyk.jpg", 0),
                            drawn_file("grey.jpg", 0),        drawn_file("lossy.webp", 0),
                            drawn_file("lossless.webp", 8),   drawn_file("alpha.webp", 0)};
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        for (int k = 0; k < times; k++) {
            static uint8_t bytes[1 << 16];
            image i;
            tdm_error err = {0};
            memcpy(bytes, files[f].bytes, files[f].n);
            size_t n = mutate(bytes, files[f].n, sizeof bytes);
            tdm_status status = read_bytes(&i, bytes, n, &err);
            read += !status;
            lines += status == TDM_E_FORMAT && err.text[0] && !strchr(err.text, '\n');
            crashed += strstr(err.text, "crashed") || strstr(err.text, "took more");
            image_free(&i);
        }
        free(files[f].bytes);
    }
    CHECK_INT(0, crashed);
    CHECK_INT(times * 10, read + lines);
    CHECK(read && lines);
}

/* ---- Its place --------------------------------------------------------------------------------------------------- */

TEST(only_regular_files_are_read)
{
    tdm_error err = {0};
    image i;
    int ends[2], folder = open("/", O_RDONLY | O_DIRECTORY);
    REQUIRE(!pipe(ends) && folder >= 0);
    CHECK_INT(TDM_E_IO, image_read(&i, ends[0], "a pipe", IMAGE_SECONDS, NULL, NULL, &err));
    CHECK(strstr(err.text, "expected a regular file"));
    CHECK_INT(TDM_E_IO, image_read(&i, folder, "a folder", IMAGE_SECONDS, NULL, NULL, &err));
    int large = memfd_create("large", MFD_CLOEXEC);
    REQUIRE(!ftruncate(large, IMAGE_BYTES + 1));
    CHECK_INT(TDM_E_ARG, image_read(&i, large, "large.png", IMAGE_SECONDS, NULL, NULL, &err));
    close(ends[0]);
    close(ends[1]);
    close(folder);
    close(large);
}

/* A line of /proc/PID/status. */
static long status_of(pid_t pid, const char *name)
{
    char path[64], line[256];
    long value = -1;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':') value = atol(line + strlen(name) + 1);
    if (f) fclose(f);
    return value;
}

TEST(the_decoder_is_confined)
{
    int in[2], out[2];
    if (check_slow()) SKIP("a sanitizer's build is not confined");
    REQUIRE(!pipe2(in, O_CLOEXEC) && !pipe2(out, O_CLOEXEC));
    pid_t child = fork();
    if (!child) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        dup2(out[1], 77); /* one too many */
        execl(program, "tandem-image", (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    for (int ms = 0; ms < 60000 && status_of(child, "NoNewPrivs") != 1; ms += 10) usleep(10000);
    for (int ms = 0; ms < 5000 && status_of(child, "Seccomp") != 2; ms += 10) usleep(10000); /* or has it none? */
    CHECK_INT(1, status_of(child, "NoNewPrivs"));
    if (status_of(child, "Seccomp") != 2) puts("# no seccomp here");
    char path[64], said[400];
    snprintf(path, sizeof path, "/proc/%d/fd/77", (int)child);
    CHECK(access(path, F_OK));
    close(in[1]);
    CHECK(read(out[0], said, sizeof said) >= (ssize_t)strlen("{\"payload\":1}\n"));
    close(out[0]);
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
}

/* ---- Programs in its place --------------------------------------------------------------------------------------- */

/* A folder with a script called tandem-image, alone on PATH but for the system's. */
static void put_script(const char *says)
{
    char path[700], folder[600];
    snprintf(folder, sizeof folder, "%s/stand-in", check_tmp());
    mkdir(folder, 0700);
    snprintf(path, sizeof path, "%s/tandem-image", folder);
    FILE *f = fopen(path, "w");
    if (!f) abort();
    fprintf(f, "#!/bin/sh\n%s\n", says);
    if (fchmod(fileno(f), 0755) || fclose(f)) abort();
    snprintf(path, sizeof path, "%s:/usr/bin:/bin", folder);
    setenv("PATH", path, 1);
}

static bool at_once(void *ctx)
{
    (void)ctx;
    return true;
}

static void misbehaves(const char *script, double seconds, bool (*stop)(void *ctx), tdm_status want, const char *said)
{
    image i;
    tdm_error err = {0};
    struct drawn d = drawn_png(2, 8, false, 0);
    int fd = file_of(d.bytes, d.n);
    put_script(script);
    int64_t start = clock_ns();
    tdm_status status = image_read(&i, fd, "a.png", seconds, stop, NULL, &err);
    CHECK(clock_ns() - start < 20000000000);
    if (status != want || !strstr(err.text, said)) CHECK_FAIL("%s: found %d, \"%s\"", script, status, err.text);
    CHECK(!i.rgb);
    close(fd);
    free(d.bytes);
}

TEST(a_decoder_that_misbehaves_is_one_line)
{
    char *old = strdup(getenv("PATH"));
    misbehaves("kill -SEGV $$", 10, NULL, TDM_E_FORMAT, "a.png: its decoder crashed (signal 11)");
    misbehaves("kill -XCPU $$", 10, NULL, TDM_E_FORMAT, "took more than 10 s");
    misbehaves("exec sleep 60", 0.3, NULL, TDM_E_FORMAT, "took more than 0.3 s");
    misbehaves("exec sleep 60", 30, at_once, TDM_E_CANCELLED, "stopped");
    misbehaves("exit 0", 10, NULL, TDM_E_FORMAT, "ended early");
    misbehaves("echo '{\"width\":1,\"height\":1,\"payload\":3}'; printf ab", 10, NULL, TDM_E_FORMAT, "ended early");
    misbehaves("printf '{\"width\":1,\"height\":1,\"payload\":3}\\nabcd'", 10, NULL, TDM_E_FORMAT,
               "more than it should");
    misbehaves("printf '{\"width\":16711681,\"height\":1,\"payload\":3}\\nabcd'", 10, NULL, TDM_E_FORMAT,
               "tells sides");
    misbehaves("echo '{\"width\":0,\"height\":0,\"payload\":0}'", 10, NULL, TDM_E_FORMAT, "tells sides");
    misbehaves("echo '{\"width\":-1,\"height\":9223372036854775807}'", 10, NULL, TDM_E_FORMAT, "tells sides");
    misbehaves("printf '{\"width\":\"1\",\"payload\":-1}\\nx\\n'", 10, NULL, TDM_E_FORMAT, "a.png: x");
    misbehaves("printf '{\"width\":1,\"height\":1,\"payload\":4}\\nabcd'", 10, NULL, TDM_E_FORMAT,
               "tells of 4 bytes, expected 3");
    misbehaves("tr '\\0' x </dev/zero", 10, NULL, TDM_E_FORMAT, "ended early");
    misbehaves("echo '[1]'", 10, NULL, TDM_E_FORMAT, "ended early");
    misbehaves("printf 'nonsense....'", 10, NULL, TDM_E_FORMAT, "ended early");
    misbehaves("printf '{\"payload\":300}\\na\\033[2Jb\\n'; yes", 10, NULL, TDM_E_FORMAT, "a.png: a?[2Jb?y");
    setenv("PATH", "/nowhere", 1);
    image i;
    tdm_error err = {0};
    int fd = file_of("x", 1);
    CHECK_INT(TDM_E_NOT_FOUND, image_read(&i, fd, "a.png", 10, NULL, NULL, &err));
    close(fd);
    setenv("PATH", old, 1);
    free(old);
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {T(every_form_of_png),
                                              T(jpeg_and_webp),
                                              T(pictures_are_turned_as_the_camera_notes),
                                              T(other_formats_say_how_to_convert_them),
                                              T(texts_in_a_picture_are_not_read),
                                              T(sides_are_bounded_before_anything_is_decoded),
                                              T(files_that_end_too_early),
                                              T(damaged_pictures_are_one_line_each),
                                              T(only_regular_files_are_read),
                                              T(the_decoder_is_confined),
                                              T(a_decoder_that_misbehaves_is_one_line)};
    if (!drawn_find_program(program)) {
        puts("skip pictures: tandem-image was not built (libpng, libjpeg, libwebp)");
        return 0;
    }
    return check_main(argc, argv, tests, (int)(sizeof tests / sizeof *tests));
}
