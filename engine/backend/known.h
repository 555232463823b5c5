/* Measured facts about a device with its present driver and Tandem's present shaders, kept from one start to the next:
 * text in a folder, one file for each device and subject. After a change of driver or shaders they are not found. */
#ifndef TANDEM_BACKEND_KNOWN_H
#define TANDEM_BACKEND_KNOWN_H

#include "engine/gpu/gpu.h"

/* The text, which the caller frees; NULL: there is none. subject: a part of the file's name, or "". */
char *known_text(const char *folder, const struct gpu_info *info, const char *subject);
/* Replaces the text; makes the folder. */
tdm_status known_keep(const char *folder, const struct gpu_info *info, const char *subject, const char *text,
                      tdm_error *err);

/* How products are tiled (gpu_choices): the first function gives the kept choices to the device; the second keeps the
 * device's, if they have changed. If they can't be kept, the next start measures again. */
void known_take_choices(struct gpu *g, const char *folder, const struct gpu_info *info);
void known_keep_choices(struct gpu *g, const char *folder);

#endif
