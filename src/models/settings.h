/* The live options (src/cli/options.h, LIVE) of a running chat: conversion by name to and from tdm_chat_options. Used
 * at the start, by /set, and by saved sessions. */
#ifndef TANDEM_SRC_SETTINGS_H
#define TANDEM_SRC_SETTINGS_H

#include "src/cli/options.h"

/* Copies the option's value, if it is given, to c. Options that aren't live are left alone. */
void settings_apply(tdm_chat_options *c, const options *o, option_id id);
/* The options of a chat at its start: tdm_chat_defaults changed by the program's options; a random seed when none is
 * given. The stops point into o. */
void settings_chat_options(tdm_chat_options *out, const options *o, const tdm_model *m);
/* Whether the model supports a saved value: models differ in the ways of thinking. */
bool settings_fit(const tdm_model_info *info, option_id id, const char *text);
/* The value in c, as text for the option; "" for options that c doesn't have. */
void settings_text(const tdm_chat_options *c, option_id id, char *out, size_t room);

#endif
