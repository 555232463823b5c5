/* An object's text, for tests that look into it. */
#ifndef TANDEM_TESTS_JSON_LINE_H
#define TANDEM_TESTS_JSON_LINE_H

#include "engine/json/json.h"

/* "" where there is none. Lives until the fourth call after this one. */
const char *json_line(json_object *o);

#endif
