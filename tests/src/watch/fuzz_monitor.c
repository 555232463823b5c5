/* What may come through the socket to `tandem monitor`, or from a file to `--replay`: bytes in pieces, to objects, to a
 * view, to drawn screens. */
#include <stdlib.h>
#include <unistd.h>

#include "src/watch/monitor_json.h"
#include "src/io/frames.h"
#include "src/watch/recording.h"
#include "ui/screen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void draw(json_object *o, uint8_t how)
{
    static const int sizes[][2] = {{30, 100}, {60, 200}, {5, 20}, {12, 40}};
    static monitor_json_room room;
    static struct screen *screen;
    static struct canvas *canvas[4];
    if (!screen && !(screen = screen_new())) abort();
    for (int i = 0; i < 4; i++)
        if (!canvas[i] && !(canvas[i] = canvas_new(sizes[i][0], sizes[i][1]))) abort();
    int64_t now = monitor_json_time(o);
    struct view v = {.now_ns = now < 0 ? 1000000000000 : now,
                     .monitor = {.form = VIEW_FORM_FULL, .turn_view = how & 1, .alone = how & 2, .inspect = how & 4,
                                 .hold = how & 4, .inspect_back = how}};
    monitor_json_check(o, NULL);
    monitor_json_read(&v, &room, o);
    screen_draw(screen, &v, canvas[how >> 3 & 3]);
}

/* At the pace of the recording, whatever times it tells. */
static void play(const uint8_t *data, size_t size)
{
    char path[] = "/tmp/fuzz-monitor-XXXXXX";
    int fd = mkstemp(path);
    replay r;
    tdm_error err = {0};
    json_object *o;
    if (fd < 0) abort();
    if (write(fd, data, size) != (ssize_t)size) abort();
    close(fd);
    if (!replay_open(&r, path, &err)) {
        for (int64_t last = 0; !err.code && replay_deadline(&r) < INT64_MAX; last = r.last_ns) {
            replay_take(&r, replay_deadline(&r), &o, &err);
            if (!o || r.last_ns < last) abort(); /* it is due; the clock never runs back */
            json_free(o);
        }
        replay_close(&r);
    }
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    frames s = {0};
    tdm_error err;
    for (size_t at = 0; at < size;) {
        size_t n = (size_t)data[at] % 61 + 1, left = size - at;
        if (frames_feed(&s, (const char *)data + at, n < left ? n : left, &err)) break;
        at += n < left ? n : left;
        json_object *o;
        while (!frames_line(&s, "a line", &o, &err) && o) {
            draw(o, data[size - 1]);
            json_free(o);
        }
    }
    frames_free(&s);
    play(data, size);
    return 0;
}
