/* The changes from one JSON object to the next, as JSON: an object with a member for each member that has changed.
 *
 *   {"state":["is","idle"],                  another value, or a new member
 *    "old":["gone"],
 *    "follower":["in",{"share":["is",3]}],   changes within an object
 *    "spans":["slide",2,97,[[...],[...]]],   an array: from element 2 on 97 are kept, and these follow
 *    "cores":["at",[[0,[...]],[7,[...]]]]}   an array of the same length: these elements have changed
 *
 * Pure; a lack of memory is reported as in engine/json/write.h. */
#ifndef TANDEM_SRC_DIFFERENCE_H
#define TANDEM_SRC_DIFFERENCE_H

#include "engine/json/json.h"
#include "engine/tandem.h"

/* Both are objects. */
json_object *difference_between(json_object *before, json_object *now);

/* Applies changes to `before`; the result may share parts of it. TDM_E_FORMAT: the changes, which are untrusted, don't
 * fit `before`. */
tdm_status difference_apply(json_object *before, json_object *changes, json_object **now, tdm_error *err);

#endif
