/* The reports of a running conversation about itself, as JSON: one object a line through its socket
 * (src/watch/tui_socket.c), read by `tandem monitor` (src/watch/monitor.c). Times are CLOCK_MONOTONIC, the same for all
 * programs of a machine. Pure. */
#ifndef TANDEM_SRC_MONITOR_JSON_H
#define TANDEM_SRC_MONITOR_JSON_H

#include "engine/json/json.h"
#include "engine/tandem.h"
#include "ui/draw/view.h"

enum { MONITOR_SPANS = 1500, MONITOR_ENTERS = 32, MONITOR_TURNS = 64, MONITOR_SECONDS = 60, MONITOR_CORES = 512 };

/* Members may be added within a version; removing one, or changing its meaning, raises the version. No member holds
 * words of the conversation, nor the session's name, which is made from its first question. */
enum { MONITOR_SCHEMA = 1 };

/* lanes: with the spans of the last `MONITOR_SPANS` pieces of work, the Enters and the graphs' points. */
json_object *monitor_json_write(const struct view *view, bool lanes);

/* Memory that a view points to. */
typedef struct {
    struct view_span spans[2][MONITOR_SPANS];
    struct view_enter enters[MONITOR_ENTERS];
    struct view_monitor_turn turns[MONITOR_TURNS];
    uint8_t history[2][MONITOR_SECONDS];
    float speeds[2][VIEW_CHART_POINTS], shares[2][VIEW_CHART_POINTS];
    struct view_core cores[MONITOR_CORES];
} monitor_json_room;

/* Fills status and monitor of a view. The view points into `room` and `o`. Absent or invalid members are left out. */
void monitor_json_read(struct view *view, monitor_json_room *room, json_object *o);
/* TDM_E_FORMAT: an object of another schema, or without one; err says which. */
tdm_status monitor_json_check(json_object *o, tdm_error *err);
/* The clock of the writer when it wrote; -1: unknown. */
int64_t monitor_json_time(json_object *o);

#endif
