/* Files of packed weights: what is read back is what was packed, bit for bit; a damaged, cut or foreign file counts as
 * not there; room is made by removing what was used least recently; giving up and a full disk leave nothing behind. */
#include "engine/forward/packed_writer.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/kernel/kernel.h"
#include "engine/os/file.h"
#include "tests/check.h"

enum { BLOBS = 3, ROOM = 9 << 20, KEY = 7, FILE_PAGE = 4096 };

static const uint64_t sizes[BLOBS] = {100, (8 << 20) + 5, 4096};

struct memory {
    struct blob blobs[BLOBS];
    unsigned char *bytes;
};

static struct memory memory_of(unsigned char first)
{
    struct memory m = {.bytes = malloc(ROOM)};
    size_t at = 0;
    for (size_t i = 0; i < ROOM; i++) m.bytes[i] = (unsigned char)(first + i * 31 + i / 4099);
    for (int i = 0; i < BLOBS; i++) {
        m.blobs[i] = (struct blob){m.bytes + at, sizes[i]};
        at += sizes[i];
    }
    return m;
}

static bool same(const struct memory *a, const struct memory *b)
{
    for (int i = 0; i < BLOBS; i++)
        if (memcmp(a->blobs[i].data, b->blobs[i].data, sizes[i])) return false;
    return true;
}

/* A new, empty folder; the string lives until the next call. */
static const char *fresh(void)
{
    static char path[400];
    static int n;
    snprintf(path, sizeof path, "%s/%d", check_tmp(), n++);
    if (mkdir(path, 0700)) CHECK_FAIL("%s can't be made", path);
    return path;
}

static tdm_status save(const char *folder, uint64_t key, uint64_t limit, const struct memory *m, tdm_error *err)
{
    atomic_bool stop = false;
    return packed_save(folder, key, limit, m->blobs, BLOBS, &stop, err);
}

static bool load(const char *folder, uint64_t key, const struct memory *m)
{
    tdm_error err;
    struct team *team;
    bool cancelled;
    if (team_open(&team, 2, NULL, &err)) return false;
    bool loaded = packed_load(folder, key, m->blobs, BLOBS, &(struct packed_reading){.team = team}, &cancelled);
    team_close(team);
    return loaded;
}

static const char *path_of(const char *folder, uint64_t key)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%016llx.packed", folder, (unsigned long long)key);
    return path;
}

static long size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) ? -1 : (long)st.st_size;
}

static int files_in(const char *folder)
{
    int n = 0;
    DIR *dir = opendir(folder);
    for (const struct dirent *e; dir && (e = readdir(dir));) n += e->d_name[0] != '.';
    if (dir) closedir(dir);
    return n;
}

TEST(what_is_read_is_what_was_kept)
{
    tdm_error err = {0};
    char folder[512];
    snprintf(folder, sizeof folder, "%s/made/for/it", fresh());
    struct memory kept = memory_of(1), other = memory_of(2);
    REQUIRE(!save(folder, KEY, PACKED_AUTO, &kept, &err));
    CHECK_INT(1, files_in(folder));
    CHECK(!same(&kept, &other));
    CHECK(load(folder, KEY, &other));
    CHECK(same(&kept, &other));
    CHECK(!load(folder, KEY + 1, &other));
    free(kept.bytes);
    free(other.bytes);
}

TEST(a_byte_changed_anywhere_is_noticed)
{
    tdm_error err = {0};
    const char *folder = fresh();
    struct memory kept = memory_of(1), other = memory_of(2);
    REQUIRE(!save(folder, KEY, PACKED_AUTO, &kept, &err));
    long size = size_of(path_of(folder, KEY));
    /* the first blob, the second one's second piece, its last byte, the third, the checksums, the trailer */
    const long at[] = {0,         FILE_PAGE + (4 << 20) + 77, FILE_PAGE + (8 << 20) + 4, size - 40 - 8 * 5 - 100,
                       size - 50, size - 40,                  size - 32,                 size - 24,
                       size - 1};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        REQUIRE(!save(folder, KEY, PACKED_AUTO, &kept, &err));
        int fd = open(path_of(folder, KEY), O_RDWR);
        unsigned char byte;
        REQUIRE(fd >= 0 && pread(fd, &byte, 1, at[i]) == 1);
        byte ^= 64;
        REQUIRE(pwrite(fd, &byte, 1, at[i]) == 1);
        close(fd);
        if (load(folder, KEY, &other)) CHECK_FAIL("byte %ld of %ld: not noticed", at[i], size);
        CHECK_INT(-1, size_of(path_of(folder, KEY)));
    }
    free(kept.bytes);
    free(other.bytes);
}

TEST(cut_longer_and_strange_files_count_as_not_there)
{
    tdm_error err = {0};
    const char *folder = fresh();
    struct memory kept = memory_of(1);
    const long more[] = {-1, 1, -(1 << 20), FILE_PAGE};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        REQUIRE(!save(folder, KEY, PACKED_AUTO, &kept, &err));
        REQUIRE(!truncate(path_of(folder, KEY), size_of(path_of(folder, KEY)) + more[i]));
        CHECK(!load(folder, KEY, &kept));
    }
    FILE *f = fopen(path_of(folder, KEY), "w");
    fclose(f);
    CHECK(!load(folder, KEY, &kept));
    REQUIRE(!mkfifo(path_of(folder, KEY), 0600));
    CHECK(!load(folder, KEY, &kept));
    char target[512];
    snprintf(target, sizeof target, "%s/elsewhere", folder);
    REQUIRE(!save(folder, KEY, PACKED_AUTO, &kept, &err));
    REQUIRE(!rename(path_of(folder, KEY), target) && !symlink(target, path_of(folder, KEY)));
    CHECK(!load(folder, KEY, &kept)); /* nobody else's file */
    CHECK(size_of(target) > 0);
    free(kept.bytes);
}

/* With the address sanitizer, too, an allocation may fail. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

TEST(no_memory_for_the_pieces_leaves_the_file)
{
    tdm_error err = {0};
    const char *folder = fresh();
    struct memory kept = memory_of(1);
    REQUIRE(!save(folder, KEY, PACKED_AUTO, &kept, &err));
    long size = size_of(path_of(folder, KEY));
    for (int i = 0; i < BLOBS; i++) kept.blobs[i].bytes = (uint64_t)1 << 63; /* their pieces have no address space */
    CHECK(!load(folder, KEY, &kept));
    CHECK_INT(size, size_of(path_of(folder, KEY)));
    for (int i = 0; i < BLOBS; i++) kept.blobs[i].bytes = sizes[i];
    CHECK(load(folder, KEY, &kept));
    free(kept.bytes);
}

static void used_at(const char *folder, uint64_t key, time_t seconds)
{
    const struct timespec times[2] = {{seconds, 0}, {seconds, 0}};
    utimensat(AT_FDCWD, path_of(folder, key), times, 0);
}

TEST(the_least_recently_used_make_room)
{
    tdm_error err = {0};
    const char *folder = fresh();
    struct memory m = memory_of(1);
    for (uint64_t key = 1; key <= 3; key++) REQUIRE(!save(folder, key, PACKED_AUTO, &m, &err));
    uint64_t one = (uint64_t)size_of(path_of(folder, 1));
    used_at(folder, 1, 1000);
    used_at(folder, 2, 2000);
    used_at(folder, 3, 3000);
    CHECK(load(folder, 1, &m)); /* from now on the last used */
    REQUIRE(!save(folder, 4, 3 * one + one / 2, &m, &err));
    CHECK(size_of(path_of(folder, 1)) > 0);
    CHECK_INT(-1, size_of(path_of(folder, 2)));
    CHECK(size_of(path_of(folder, 3)) > 0);
    CHECK(size_of(path_of(folder, 4)) > 0);
    CHECK_INT(TDM_E_NOMEM, save(folder, 5, one / 2, &m, &err));
    CHECK(strstr(err.text, "the limit is"));
    CHECK_INT(3, files_in(folder));
    free(m.bytes);
}

/* Whoever writes a file holds its lock, which ends with the program. */
TEST(half_written_files_of_the_dead_go)
{
    tdm_error err = {0};
    const char *folder = fresh();
    struct memory m = memory_of(1);
    char dead[512], alive[512], foreign[512];
    snprintf(dead, sizeof dead, "%s/0000000000000009.packed.abcdef", folder);
    snprintf(alive, sizeof alive, "%s/000000000000000a.packed.tandem-new-abcdefgh", folder);
    snprintf(foreign, sizeof foreign, "%s/notes.txt", folder);
    const char *const all[] = {dead, alive, foreign};
    for (int i = 0; i < 3; i++) fclose(fopen(all[i], "w"));
    int held = open(alive, O_RDONLY | O_CLOEXEC);
    REQUIRE(held >= 0 && !flock(held, LOCK_EX));
    REQUIRE(!save(folder, KEY, PACKED_AUTO, &m, &err));
    CHECK_INT(-1, size_of(dead));
    CHECK_INT(0, size_of(alive));
    CHECK_INT(0, size_of(foreign));
    close(held);
    REQUIRE(!save(folder, KEY + 1, PACKED_AUTO, &m, &err));
    CHECK_INT(-1, size_of(alive));
    free(m.bytes);
}

TEST(who_gives_up_leaves_nothing)
{
    tdm_error err = {0};
    const char *folder = fresh();
    struct memory m = memory_of(1);
    atomic_bool stop = true;
    CHECK_INT(TDM_E_CANCELLED, packed_save(folder, KEY, PACKED_AUTO, m.blobs, BLOBS, &stop, &err));
    CHECK_INT(0, files_in(folder));
    free(m.bytes);
}

TEST(a_full_disk_leaves_nothing)
{
    tdm_error err = {0};
    const char *folder = fresh();
    struct memory m = memory_of(1);
    struct rlimit old, small;
    REQUIRE(!getrlimit(RLIMIT_FSIZE, &old));
    small = old;
    small.rlim_cur = 5 << 20;
    signal(SIGXFSZ, SIG_IGN);
    REQUIRE(!setrlimit(RLIMIT_FSIZE, &small));
    CHECK_INT(TDM_E_IO, save(folder, KEY, PACKED_AUTO, &m, &err));
    setrlimit(RLIMIT_FSIZE, &old);
    CHECK_INT(0, files_in(folder));
    free(m.bytes);
}

/* ---- Models ------------------------------------------------------------------------------------------------------ */

struct opened {
    struct source *source;
    struct weights *weights;
    struct team *team;
};

static bool open_model_with(struct opened *o, const char *path, const struct kernels *kernels,
                            struct weights_options options)
{
    tdm_error err = {0};
    options.lm_head = TYPE_COUNT;
    if (source_open(&o->source, path, NULL, &err) || team_open(&o->team, 2, NULL, &err) ||
        weights_new(&o->weights, o->source, kernels, o->team, &options, &err)) {
        CHECK_FAIL("%s: %s", path, err.text);
        return false;
    }
    return true;
}

static bool open_model(struct opened *o, const char *path, const struct kernels *kernels, const char *folder)
{
    return open_model_with(o, path, kernels, (struct weights_options){.pack_folder = folder});
}

static void close_model(struct opened *o)
{
    weights_free(o->weights);
    team_close(o->team);
    source_close(o->source);
}

static tdm_status keep(struct opened *o, const char *folder)
{
    tdm_error err = {0};
    struct packed_writer *writer;
    o->weights->load_seconds = 60; /* as if packing had taken long */
    tdm_status status = packed_writer_start(&writer, o->weights, folder, PACKED_AUTO, &err);
    return status || !writer ? TDM_E_ARG : packed_writer_finish(writer, &err);
}

static void check_same_weights(const struct weights *a, const struct weights *b)
{
    struct blob *x, *y;
    size_t n = weights_blobs(a, &x), m = weights_blobs(b, &y);
    CHECK_INT(n, m);
    for (size_t i = 0; i < n && i < m; i++) {
        CHECK_INT(x[i].bytes, y[i].bytes);
        CHECK(!memcmp(x[i].data, y[i].data, x[i].bytes));
    }
    CHECK_INT(a->bytes, b->bytes);
    CHECK_INT(a->layer_bytes, b->layer_bytes);
    free(x);
    free(y);
}

static const char *const models[] = {"tests/goldens/gguf/tiny-d-q8_0.gguf", "tests/goldens/tiny-a"};

TEST(weights_come_back_as_they_were_packed_in_every_set)
{
    const struct kernels *sets[8];
    int n = kernels_available(sets, 8);
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        const char *folder = fresh();
        for (int k = 0; k < n; k++) {
            struct opened first, again;
            REQUIRE(open_model(&first, models[i], sets[k], folder));
            CHECK(!first.weights->was_packed); /* every set has a file of its own */
            CHECK(first.weights->load_seconds > 0);
            CHECK_INT(TDM_OK, keep(&first, folder));
            REQUIRE(open_model(&again, models[i], sets[k], folder));
            CHECK(again.weights->was_packed);
            check_same_weights(first.weights, again.weights);
            CHECK_INT(TDM_E_ARG, keep(&again, folder)); /* it is there already */
            close_model(&first);
            close_model(&again);
        }
        CHECK_INT(n, files_in(folder));
    }
}

TEST(a_changed_model_is_packed_anew)
{
    char path[512];
    const char *folder = fresh();
    snprintf(path, sizeof path, "%s/model.gguf", folder);
    char command[1200];
    snprintf(command, sizeof command, "cp %s %s", models[0], path);
    REQUIRE(!system(command));
    const struct kernels *kernels;
    tdm_error err;
    REQUIRE(!kernels_find(&kernels, NULL, &err));
    struct opened o;
    REQUIRE(open_model(&o, path, kernels, folder));
    CHECK_INT(TDM_OK, keep(&o, folder));
    close_model(&o);
    REQUIRE(open_model(&o, path, kernels, folder));
    CHECK(o.weights->was_packed);
    close_model(&o);
    const struct timespec times[2] = {{5000, 0}, {5000, 0}};
    REQUIRE(!utimensat(AT_FDCWD, path, times, 0));
    REQUIRE(open_model(&o, path, kernels, folder));
    CHECK(!o.weights->was_packed);
    close_model(&o);
}

/* The part of a file that the system's cache holds; -1: not to be told. */
static double cached(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    void *p = fstat(fd, &st) || !st.st_size ? MAP_FAILED : mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (p == MAP_FAILED) return -1;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), n = ((size_t)st.st_size + page - 1) / page, there = 0;
    unsigned char *pages = malloc(n);
    bool told = pages && !mincore(p, (size_t)st.st_size, (void *)pages);
    for (size_t i = 0; told && i < n; i++) there += pages[i] & 1;
    free(pages);
    munmap(p, (size_t)st.st_size);
    return told ? (double)there / (double)n : -1;
}

static bool on_disk(const char *path)
{
    char command[1200];
    snprintf(command, sizeof command, "sync '%s'", path); /* what isn't on the disk can't leave the cache */
    return !system(command);
}

/* Both ways: from the model's file, and from that of packed weights. */
TEST(files_that_memory_cannot_hold_leave_the_cache)
{
    char path[512], packed[600], command[1200];
    const char *folder = fresh();
    snprintf(path, sizeof path, "%s/model.gguf", folder);
    snprintf(command, sizeof command, "cp assets/tandem-demo-51m-q6_k.gguf '%s'", path);
    REQUIRE(!system(command) && on_disk(path));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    file_forget(fd, 0);
    close(fd);
    if (cached(path) != 0) SKIP("this file system keeps its files in memory");
    const struct kernels *kernels;
    tdm_error err;
    struct opened usual, forgetful;
    REQUIRE(!kernels_find(&kernels, NULL, &err));
    REQUIRE(open_model(&usual, path, kernels, NULL));
    if (!(cached(path) > 0.9)) SKIP("this system's cache drops files by itself");
    source_close(usual.source); /* what is mapped can't leave the cache */
    usual.source = NULL;
    REQUIRE(open_model_with(&forgetful, path, kernels,
                            (struct weights_options){.pack_folder = folder, .forget_files = true}));
    CHECK(!forgetful.weights->was_packed);
    check_same_weights(usual.weights, forgetful.weights);
    if (!(cached(path) < 0.25)) CHECK_FAIL("%.2f of the file is cached", cached(path)); /* small tensors come last */
    CHECK_INT(TDM_OK, keep(&forgetful, folder));
    snprintf(packed, sizeof packed, "%s/%016" PRIx64 ".packed", folder, forgetful.weights->pack_key);
    close_model(&forgetful);
    CHECK(on_disk(packed));
    REQUIRE(open_model_with(&forgetful, path, kernels,
                            (struct weights_options){.pack_folder = folder, .forget_files = true}));
    CHECK(forgetful.weights->was_packed);
    check_same_weights(usual.weights, forgetful.weights);
    if (!(cached(packed) < 0.25)) CHECK_FAIL("%.2f of the packed file is cached", cached(packed));
    close_model(&forgetful);
    close_model(&usual);
}

TEST(the_writer_stops_at_once)
{
    const char *folder = fresh();
    const struct kernels *kernels;
    tdm_error err = {0};
    struct opened o;
    struct packed_writer *writer;
    REQUIRE(!kernels_find(&kernels, NULL, &err));
    REQUIRE(open_model(&o, models[0], kernels, folder));
    CHECK(!packed_writer_start(&writer, o.weights, folder, PACKED_AUTO, &err));
    CHECK(!writer); /* quickly packed: not worth it */
    o.weights->load_seconds = 60;
    REQUIRE(!packed_writer_start(&writer, o.weights, folder, PACKED_AUTO, &err) && writer);
    packed_writer_stop(writer); /* before the moment after which it begins */
    CHECK_INT(0, files_in(folder));
    packed_writer_stop(NULL);
    close_model(&o);
}

TEST_MAIN(T(what_is_read_is_what_was_kept), T(a_byte_changed_anywhere_is_noticed),
          T(cut_longer_and_strange_files_count_as_not_there), T(no_memory_for_the_pieces_leaves_the_file),
          T(the_least_recently_used_make_room),
          T(half_written_files_of_the_dead_go), T(who_gives_up_leaves_nothing), T(a_full_disk_leaves_nothing),
          T(weights_come_back_as_they_were_packed_in_every_set), T(a_changed_model_is_packed_anew),
          T(files_that_memory_cannot_hold_leave_the_cache), T(the_writer_stops_at_once))
