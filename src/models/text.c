/* The rows of models.h as text and as JSON. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/buffer.h"
#include "engine/base/harmless.h"
#include "engine/json/write.h"
#include "src/io/number.h"
#include "src/models/models.h"

enum { NAME_COLUMNS = 44 };

const char *models_verdict(const models_row *r, char *out, size_t room)
{
    static const char *const whats[] = {[MODELS_FITS] = "fits",
                                        [MODELS_FROM_DISK] = "from disk",
                                        [MODELS_TOO_LARGE] = "too large",
                                        [MODELS_REFUSED] = "not for Tandem",
                                        [MODELS_REMOTE] = "on a server"};
    const char *what = r->incomplete ? "incomplete" : whats[r->fit];
    bool plain = r->in_use && r->fit == MODELS_FITS; /* that it fits goes without saying */
    if (r->offered) {
        snprintf(out, room, "to fetch%s%s", r->fit == MODELS_FITS ? "" : ", ", r->fit == MODELS_FITS ? "" : what);
        return out;
    }
    char table[BYTES_ROOM], stays[BYTES_ROOM + 24] = "";
    if (r->table_bytes) snprintf(stays, sizeof stays, ", %s stay on disk", bytes_words(table, r->table_bytes));
    snprintf(out, room, "%s%s%s%s%s%s%s", plain ? "" : what, r->in_use && !plain ? ", " : "", r->in_use ? "in use" : "",
             stays, r->sees ? ", sees" : "", r->is_default ? ", default" : "",
             r->builtin && !r->in_use && !r->is_default ? ", for trying" : "");
    return out;
}

static void put_heading(FILE *out, const models_list *l)
{
    char total[BYTES_ROOM], left[BYTES_ROOM], speed[BYTES_ROOM], date[40];
    harmless_print(out, "%s of memory, %s free; ", bytes_words(total, l->memory_total),
                   bytes_words(left, l->memory_free));
    if (l->speed.bytes_per_s > 0) {
        time_t when = (time_t)l->speed.when;
        struct tm at;
        strftime(date, sizeof date, "%d %b %H:%M", localtime_r(&when, &at));
        bytes_words(speed, (uint64_t)l->speed.bytes_per_s);
        harmless_print(out, "it is read at %s/s (measured %s)\n\n", speed, date);
    } else {
        harmless_print(out, "how fast it is read is not measured yet\n\n");
    }
    harmless_print(out, "%-*s%-8s %8s %8s %10s\n", NAME_COLUMNS, "name", "type", "disk", "needs", "expected");
}

static void put_row(FILE *out, const models_row *r)
{
    char disk[BYTES_ROOM] = "-", needs[BYTES_ROOM] = "-", speed[32] = "-", verdict[120];
    size_t n = strlen(r->name);
    harmless_print(out, "%s%*s", r->name, n < NAME_COLUMNS ? (int)(NAME_COLUMNS - n) : 1, "");
    if (r->reason) {
        harmless_print(out, "%s%s\n", models_refused(r), r->reason);
        return;
    }
    if (r->tps > 0) snprintf(speed, sizeof speed, "%.*f tok/s", r->tps < 9.95 ? 1 : 0, r->tps);
    if (!r->host) { /* what a server's model takes is not known */
        bytes_words(disk, r->disk_bytes);
        bytes_words(needs, r->needs_bytes);
    }
    harmless_print(out, "%-8s %8s %8s %10s  %s\n", r->type, disk, needs, speed,
                   models_verdict(r, verdict, sizeof verdict));
}

char *models_text(const models_list *l)
{
    struct buffer_stream s;
    FILE *out = buffer_stream_open(&s);
    if (!out) return NULL;
    put_heading(out, l);
    for (size_t i = 0; i < l->n; i++) put_row(out, &l->rows[i]);
    return buffer_stream_close(&s, NULL);
}

static void add_bytes(json_object *o, const char *key, uint64_t bytes, bool known)
{
    if (known)
        json_add_int(o, key, (int64_t)bytes);
    else
        json_add_null(o, key);
}

char *models_json(const models_list *l)
{
    static const char *const fits[] = {
        [MODELS_FITS] = "yes", [MODELS_FROM_DISK] = "from disk", [MODELS_TOO_LARGE] = "no"};
    struct buffer text = {0};
    bool whole = !buffer_reserve(&text, 0, NULL);
    for (size_t i = 0; whole && i < l->n; i++) {
        const models_row *r = &l->rows[i];
        bool known = !r->reason;
        json_object *o = json_new_object();
        json_add_string(o, "name", r->name);
        json_add_string(o, "path", r->path);
        json_add_string(o, "type", known ? r->type : NULL);
        add_bytes(o, "disk_bytes", r->disk_bytes, known);
        add_bytes(o, "needs_bytes", r->needs_bytes, known);
        if (r->table_bytes) json_add_int(o, "table_bytes", (int64_t)r->table_bytes);
        add_bytes(o, "token_bytes", r->token_bytes, known);
        json_add_string(o, "fits", known ? fits[r->fit] : NULL);
        if (r->tps > 0)
            json_add_real(o, "expected_tps", r->tps);
        else
            json_add_null(o, "expected_tps");
        json_add_bool(o, "sees", r->sees);
        json_add_bool(o, "default", r->is_default);
        json_add_string(o, "error", r->reason);
        whole = !json_write_line(o, &text, NULL);
        json_free(o);
    }
    if (!whole) buffer_free(&text);
    return text.bytes;
}
