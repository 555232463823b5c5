/* What has changed from one JSON object to the next, as JSON: an object with a member for each of the other's that is
 * another now.
 *
 *   {"state":["is","idle"],                  a value in place of what was there, or a new one
 *    "old":["gone"],
 *    "follower":["in",{"share":["is",3]}],   changes within an object
 *    "spans":["slide",2,97,[[...],[...]]],   of an array: from element 2 on 97 are kept, and these follow
 *    "cores":["at",[[0,[...]],[7,[...]]]]}   of one as long as before: these elements are others
 *
 * Pure; a lack of memory is reported as in src/io/jsonio.h. */
#ifndef TANDEM_SRC_DIFFERENCE_H
#define TANDEM_SRC_DIFFERENCE_H

#include <json-c/json_object.h>

#include "engine/tandem.h"

/* Both are objects. */
json_object *difference_between(json_object *before, json_object *now);

/* The object that `changes` makes of another, of which it may share parts. TDM_E_FORMAT: the changes, which are
 * untrusted, are none of this one. */
tdm_status difference_apply(json_object *before, json_object *changes, json_object **now, tdm_error *err);

#endif
