#include "engine/vision/resize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"

/* For each position of a side: from which of the old ones it is made, and how much of each. */
struct taps {
    uint32_t count, most; /* positions; weights that each has room for */
    uint32_t *first, *n;  /* [count] */
    int16_t *weight;      /* [count][most], of 2^bits in all */
    int bits;
};

static double cubic(double x)
{
    const double a = -0.5;
    x = fabs(x);
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static void taps_close(struct taps *t)
{
    free(t->first);
    free(t->n);
    free(t->weight);
}

/* real [count][most]: the weights, which sum up to 1 in each row; largest: of all. */
static void round_weights(struct taps *t, const double *real, double largest)
{
    t->bits = 0;
    while (t->bits < 22 && 0.5 + largest * (double)(1 << (t->bits + 1)) < 1 << 15) t->bits++;
    for (size_t i = 0; i < (size_t)t->count * t->most; i++)
        t->weight[i] = (int16_t)(real[i] * (double)(1 << t->bits) + (real[i] < 0 ? -0.5 : 0.5));
}

static bool taps_open(struct taps *t, uint32_t from, uint32_t to)
{
    double scale = (double)from / to, wide = scale > 1 ? scale : 1, reach = 2 * wide, largest = 0;
    *t = (struct taps){.count = to, .most = (uint32_t)ceil(reach) * 2 + 1};
    size_t room = (size_t)to * t->most;
    double *real = calloc(room, sizeof *real);
    t->first = malloc(to * sizeof *t->first);
    t->n = malloc(to * sizeof *t->n);
    t->weight = malloc(room * sizeof *t->weight);
    if (!real || !t->first || !t->n || !t->weight) {
        free(real);
        taps_close(t);
        return false;
    }
    for (uint32_t i = 0; i < to; i++) {
        double middle = scale * (i + 0.5), sum = 0, *w = real + (size_t)i * t->most;
        int64_t low = (int64_t)(middle - reach + 0.5), high = (int64_t)(middle + reach + 0.5);
        low = low < 0 ? 0 : low;
        high = high > from ? from : high;
        t->first[i] = (uint32_t)low;
        t->n[i] = (uint32_t)(high - low);
        for (uint32_t k = 0; k < t->n[i]; k++) sum += w[k] = cubic((low + k - middle + 0.5) / wide);
        for (uint32_t k = 0; k < t->n[i]; k++) {
            if (sum != 0) w[k] /= sum;
            largest = w[k] > largest ? w[k] : largest;
        }
    }
    round_weights(t, real, largest);
    free(real);
    return true;
}

/* A position of n lines, which lie `step` bytes apart and have `length` bytes each. */
static void make(const struct taps *t, uint32_t i, const uint8_t *in, size_t step, size_t length, uint8_t *out)
{
    const int16_t *w = t->weight + (size_t)i * t->most;
    const uint8_t *from = in + t->first[i] * step;
    for (size_t c = 0; c < length; c++) {
        int32_t sum = t->bits ? 1 << (t->bits - 1) : 0;
        for (uint32_t k = 0; k < t->n[i]; k++) sum += w[k] * from[k * step + c];
        sum >>= t->bits;
        out[c] = (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
    }
}

static tdm_status along(const uint8_t *in, uint32_t from, uint32_t to, uint32_t lines, bool rows, size_t length,
                        uint8_t *out, tdm_error *err)
{
    struct taps t;
    if (!taps_open(&t, from, to)) return error_set(err, TDM_E_NOMEM, "no memory to resize a picture");
    if (rows)
        for (uint32_t y = 0; y < lines; y++)
            for (uint32_t i = 0; i < to; i++)
                make(&t, i, in + (size_t)y * from * length, length, length, out + ((size_t)y * to + i) * length);
    else
        for (uint32_t i = 0; i < to; i++) make(&t, i, in, lines * length, lines * length, out + i * lines * length);
    taps_close(&t);
    return TDM_OK;
}

tdm_status resize_bicubic(const struct picture *p, uint32_t width, uint32_t height, uint8_t *out, tdm_error *err)
{
    uint8_t *wide = NULL;
    const uint8_t *in = p->rgb;
    tdm_status status = TDM_OK;
    assert_always(p->width && p->height && width && height);
    if (width != p->width && height != p->height) {
        wide = malloc((size_t)3 * width * p->height);
        if (!wide) return error_set(err, TDM_E_NOMEM, "no memory to resize a picture");
    }
    if (width != p->width) {
        status = along(in, p->width, width, p->height, true, 3, wide ? wide : out, err);
        in = wide;
    }
    if (!status && height != p->height) status = along(in, p->height, height, width, false, 3, out, err);
    if (width == p->width && height == p->height) memcpy(out, in, (size_t)3 * width * height);
    free(wide);
    return status;
}
