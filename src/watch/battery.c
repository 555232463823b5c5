#include "src/watch/battery.h"

#include "engine/unit/sensors.h"

bool battery_look(battery *b, int64_t now_ns)
{
    enum { EVERY_S = 5 };
    if (b->looked_ns && now_ns - b->looked_ns < EVERY_S * INT64_C(1000000000)) return false;
    bool before = b->on;
    b->looked_ns = now_ns;
    b->on = sensors_on_battery(b->root ? b->root : "");
    return b->on != before;
}

tdm_reading battery_reading(const battery *b, const options *o)
{
    enum { PAUSES, FULL, OFF }; /* the words of the option */
    if (!b->on) return TDM_READ_ALWAYS;
    switch (options_int(o, OPTION_ON_BATTERY, PAUSES)) {
    case FULL: return TDM_READ_ALWAYS;
    case OFF: return TDM_READ_NEVER;
    default: return TDM_READ_AT_PAUSES;
    }
}

void battery_notice(const battery *b, tdm_reading before, tdm_reading now, char *out, size_t room)
{
    const char *text = "";
    if (now == TDM_READ_AT_PAUSES)
        text = "on battery: read ahead at pauses only (/set on-battery full: always)";
    else if (now == TDM_READ_NEVER)
        text = "on battery: nothing is read before Enter (/set on-battery pauses: at pauses)";
    else if (before != TDM_READ_ALWAYS && !b->on)
        text = "on mains: read ahead as before";
    snprintf(out, room, "%s", text);
}
