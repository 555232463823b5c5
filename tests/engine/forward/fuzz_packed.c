/* Files of packed weights: any bytes, and good files with some bytes changed or cut off. What is loaded has been
 * checked: it is what was packed, or the file is gone. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/forward/packed.h"
#include "tests/check.h"
#include "tests/fuzzed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BLOBS = 3, KEY = 7, LIMIT = 1 << 16 };

static const uint64_t sizes[BLOBS] = {100, 5000, 1};
static const char name[] = "0000000000000007.packed";

static unsigned char good[LIMIT]; /* a file that packed_save wrote */
static size_t good_size;

static void put_blobs(struct blob blobs[BLOBS], unsigned char *bytes)
{
    size_t at = 0;
    for (int i = 0; i < BLOBS; i++) {
        blobs[i] = (struct blob){bytes + at, sizes[i]};
        at += sizes[i];
    }
}

static void fill(unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) bytes[i] = (unsigned char)(i * 31 + i / 256);
}

static void make_good(void)
{
    unsigned char bytes[6000];
    struct blob blobs[BLOBS];
    char path[400];
    atomic_bool stop = false;
    tdm_error err;
    fill(bytes, sizeof bytes);
    put_blobs(blobs, bytes);
    if (packed_save(check_tmp(), KEY, LIMIT, blobs, BLOBS, &stop, &err)) abort();
    snprintf(path, sizeof path, "%s/%s", check_tmp(), name);
    FILE *f = fopen(path, "rb");
    good_size = f ? fread(good, 1, sizeof good, f) : 0;
    if (!good_size || fclose(f)) abort();
}

/* Two bytes of a place, one to change there; at the end the bytes that are cut off. */
static size_t changed(unsigned char *file, const uint8_t *data, size_t size)
{
    memcpy(file, good, good_size);
    for (; size >= 3; data += 3, size -= 3) file[(data[0] | data[1] << 8) % good_size] ^= data[2];
    return good_size - (size ? data[0] % good_size : 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct team *team;
    static unsigned char file[LIMIT], bytes[6000], expected[6000];
    struct blob blobs[BLOBS];
    bool cancelled;
    if (!team && team_open(&team, 1, NULL, NULL)) abort();
    if (!good_size) make_good();
    if (!size || size > LIMIT) return 0;
    if (data[0] & 1) {
        size = changed(file, data + 1, size - 1);
        data = file;
    }
    const char *path = fuzzed_file(name, data, size);
    put_blobs(blobs, bytes);
    memset(bytes, 0, sizeof bytes);
    fill(expected, sizeof expected);
    if (!packed_load(check_tmp(), KEY, blobs, BLOBS, &(struct packed_reading){.team = team}, &cancelled)) {
        if (!access(path, F_OK)) abort();
    } else if (memcmp(bytes, expected, 100 + 5000 + 1)) {
        abort();
    }
    return 0;
}
