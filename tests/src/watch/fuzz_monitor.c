/* What may come through the socket to `tandem monitor`: bytes in pieces, to objects, to a view, to a drawn screen. */
#include <stdlib.h>

#include "src/watch/monitor_json.h"
#include "src/watch/monitor_stream.h"
#include "ui/screen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static monitor_json_room room;
    static struct screen *screen;
    static struct canvas *canvas;
    monitor_stream s = {0};
    tdm_error err;
    if (!screen && (!(screen = screen_new()) || !(canvas = canvas_new(30, 100)))) abort();
    for (size_t at = 0; at < size;) {
        size_t n = (size_t)data[at] % 61 + 1, left = size - at;
        if (monitor_stream_feed(&s, (const char *)data + at, n < left ? n : left, &err)) break;
        at += n < left ? n : left;
        json_object *o;
        while (!monitor_stream_next(&s, &o, &err) && o) {
            struct view v = {.now_ns = 1000000000000, .monitor.form = VIEW_FORM_FULL, .monitor.turn_view = data[0] & 1};
            monitor_json_read(&v, &room, o);
            screen_draw(screen, &v, canvas);
            json_object_put(o);
        }
    }
    monitor_stream_free(&s);
    return 0;
}
