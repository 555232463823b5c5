/* What is known of a device with its present driver and Tandem's present shaders, kept from one start to the next: text
 * in a folder, a file for each device and subject. Another driver or other shaders find nothing. */
#ifndef TANDEM_BACKEND_KNOWN_H
#define TANDEM_BACKEND_KNOWN_H

#include "engine/gpu/gpu.h"

/* The text, which the caller frees; NULL: there is none. subject: a part of the file's name, or "". */
char *known_text(const char *folder, const struct gpu_info *info, const char *subject);
/* Replaces it; the folder is made. */
tdm_status known_keep(const char *folder, const struct gpu_info *info, const char *subject, const char *text,
                      tdm_error *err);

/* How products are cut (gpu_choices): takes what is kept; keeps what there is, if it is not what is kept. Where it
 * can't be kept it is measured again. */
void known_take_choices(struct gpu *g, const char *folder, const struct gpu_info *info);
void known_keep_choices(struct gpu *g, const char *folder);

#endif
