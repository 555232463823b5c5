/* Sides, bytes and patches of pictures, against what the reference's processor made of them. */
#include "tests/check.h"

#include "engine/model/hf/safetensors.h"
#include "engine/vision/patches.h"
#include "engine/vision/tower_private.h"

static struct vision_shape usual(uint64_t min_pixels, uint64_t max_pixels)
{
    struct vision_shape s = tower_usual();
    s.min_pixels = min_pixels;
    s.max_pixels = max_pixels;
    return s;
}

static void fits(const struct vision_shape *s, uint32_t width, uint32_t height, uint32_t want_width,
                 uint32_t want_height)
{
    uint32_t w = 0, h = 0;
    CHECK_INT(TDM_OK, patches_fit(s, width, height, &w, &h, NULL));
    if (w != want_width || h != want_height)
        CHECK_FAIL("%u x %u: expected %u x %u, found %u x %u", width, height, want_width, want_height, w, h);
}

/* Halves go to the even multiple; too large and too small ones keep their aspect. */
TEST(sides)
{
    struct vision_shape s = usual(1 << 16, 1 << 24), small = usual(1024, 262144);
    fits(&s, 640, 480, 640, 480);
    fits(&s, 1024, 1024, 1024, 1024);
    fits(&small, 48, 80, 64, 64);     /* 1.5 and 2.5 units */
    fits(&small, 112, 144, 128, 128); /* 3.5, 4.5 */
    fits(&small, 150, 101, 160, 96);
    fits(&small, 1, 1, 32, 32);
    fits(&small, 10, 1000, 32, 320);
    fits(&s, 64, 64, 256, 256);
    fits(&s, 3840, 2160, 3840, 2176);
    fits(&s, 6000, 4000, 5016 / 32 * 32, 3344 / 32 * 32);
    fits(&small, 1000, 1000, 512, 512);
    tdm_error err = {0};
    uint32_t w, h;
    CHECK_INT(TDM_E_ARG, patches_fit(&s, 2001, 10, &w, &h, &err));
    CHECK(strstr(err.text, "200"));
    CHECK_INT(TDM_OK, patches_fit(&s, 2000, 10, &w, &h, &err));
    CHECK_INT(TDM_E_ARG, patches_fit(&s, 0, 10, &w, &h, &err));
}

static struct picture picture_of(const struct safetensors *f, const char *name)
{
    const struct safetensors_tensor *t = safetensors_find(f, name);
    if (!t || t->dims != 3 || t->shape[2] != 3) return (struct picture){0};
    return (struct picture){(uint32_t)t->shape[1], (uint32_t)t->shape[0], t->data};
}

/* Every patch of the reference is ours, twice, as it has two frames of a still picture. */
static void compare(const char *name)
{
    struct vision_shape s = usual(1024, 262144);
    char path[256];
    snprintf(path, sizeof path, "goldens/families/qwen35-vision/%s.safetensors", name);
    const char *shared = check_shared(path);
    struct safetensors *f;
    if (!shared) return;
    REQUIRE(!safetensors_open(&f, shared, NULL));
    struct picture p = picture_of(f, "image"), fitted = {0};
    const struct safetensors_tensor *values = safetensors_find(f, "pixel_values");
    REQUIRE(p.rgb && values && values->dims == 2);
    REQUIRE(!patches_fit(&s, p.width, p.height, &fitted.width, &fitted.height, NULL));
    uint8_t *rgb = malloc(3 * (size_t)fitted.width * fitted.height);
    REQUIRE(!resize_bicubic(&p, fitted.width, fitted.height, rgb, NULL));
    fitted.rgb = rgb;
    uint32_t area = s.patch * s.patch, patches = fitted.width / s.patch * (fitted.height / s.patch), wrong = 0;
    REQUIRE(values->shape[0] == patches && values->shape[1] == 6 * area);
    for (uint32_t i = 0; i < patches; i++) {
        float own[3 * 256], want[6 * 256];
        patches_make(&s, &fitted, i, own);
        memcpy(want, (const float *)values->data + (size_t)i * 6 * area, sizeof want);
        for (uint32_t c = 0; c < 3; c++)
            for (uint32_t k = 0; k < 2 * area; k++)
                wrong += !(fabsf(own[c * area + k % area] - want[c * 2 * area + k]) < 1e-5f);
    }
    if (wrong) CHECK_FAIL("%s: %u values differ", name, wrong);
    free(rgb);
    safetensors_close(f);
}

TEST(a_picture_that_keeps_its_size)
{
    compare("image-128x96");
}
TEST(a_tall_picture)
{
    compare("image-96x160");
}
TEST(a_picture_that_is_resized)
{
    compare("image-150x101");
}

/* The same picture by its bytes, which are in the tree. */
TEST(resized_bytes_are_the_reference_s)
{
    struct safetensors *f;
    REQUIRE(!safetensors_open(&f, check_data("goldens/vision/resized.safetensors"), NULL));
    struct picture p = picture_of(f, "image"), want = picture_of(f, "resized");
    static uint8_t got[3 * 160 * 96];
    REQUIRE(p.rgb && want.width == 160 && want.height == 96);
    REQUIRE(!resize_bicubic(&p, want.width, want.height, got, NULL));
    CHECK(!memcmp(want.rgb, got, sizeof got));
    safetensors_close(f);
}

/* One colour stays what it is at any size, and the same size changes nothing. */
TEST(resizing_keeps_a_colour)
{
    static uint8_t in[3 * 97 * 61], out[3 * 200 * 130];
    struct picture p = {97, 61, in};
    static const uint32_t sides[][2] = {{32, 32}, {97, 32}, {200, 61}, {200, 130}, {97, 61}, {1, 1}, {64, 130}};
    for (size_t i = 0; i < sizeof in; i++) in[i] = (uint8_t)(i % 3 == 0 ? 255 : i % 3 == 1 ? 128 : 3);
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        REQUIRE(!resize_bicubic(&p, sides[i][0], sides[i][1], out, NULL));
        for (size_t k = 0; k < 3 * (size_t)sides[i][0] * sides[i][1]; k++)
            if (out[k] != in[k % 3]) {
                CHECK_FAIL("%u x %u: element %zu is %d", sides[i][0], sides[i][1], k, out[k]);
                break;
            }
    }
    for (size_t i = 0; i < sizeof in; i++) in[i] = (uint8_t)(i * 7919 >> 3);
    REQUIRE(!resize_bicubic(&p, 97, 61, out, NULL));
    CHECK(!memcmp(in, out, sizeof in));
}

/* Each patch once, the four of a token beside each other. */
TEST(patches_stand_in_the_order_of_merging)
{
    struct vision_shape s = usual(1024, 262144);
    static const uint32_t want[][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 0}};
    for (uint32_t i = 0; i < sizeof want / sizeof *want; i++) {
        uint32_t row, column;
        patches_place(&s, 4, i, &row, &column);
        CHECK_INT(want[i][0], row);
        CHECK_INT(want[i][1], column);
    }
}

TEST_MAIN(T(sides), T(a_picture_that_keeps_its_size), T(a_tall_picture), T(a_picture_that_is_resized),
          T(resized_bytes_are_the_reference_s), T(resizing_keeps_a_colour), T(patches_stand_in_the_order_of_merging))
