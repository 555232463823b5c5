/* The splitting rules of byte-level BPE: how a text is cut into pre-tokens before merging.
 *
 * Each rule is a list of alternatives, of which the first that matches is taken (a regular expression in
 * tokenizer.json):
 *
 *   1  an apostrophe with s, t, re, ve, m, ll or d, in any case
 *   2  letters, with at most one character before them that is no letter, digit or line break
 *   3  one digit
 *   4  other characters, with at most one blank before them and line breaks after them
 *   5  white space up to its last line break
 *   6  white space, less its last character where something follows
 *   7  white space
 *
 * qwen2 treats combining marks as other characters, qwen35 as letters (in 2 and 4). Neither looks behind, so splitting
 * can begin at any pre-token. */
#ifndef TANDEM_TEXT_SPLIT_H
#define TANDEM_TEXT_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum split_rule { SPLIT_QWEN2, SPLIT_QWEN35 };

/* The rule for a regular expression of tokenizer.json, and for a name in tokenizer.ggml.pre. False: unknown. */
bool split_rule_of_regex(const char *regex, size_t n, enum split_rule *rule);
bool split_rule_of_name(const char *name, size_t n, enum split_rule *rule);
/* The name of a rule in tokenizer.ggml.pre. */
const char *split_rule_name(enum split_rule rule);

/* The end of the pre-token that begins at text[at], at < n. classes: unicode_classes(). */
size_t split_next(enum split_rule rule, const uint8_t *classes, const char *text, size_t n, size_t at);

#endif
