/* Golden models of other families: three of them in the tree, the others beside it; qwen3moe-plain is qwen3moe with
 * norm_topk_prob false, and a golden of its own in the tree. */
#ifndef TANDEM_TESTS_FAMILY_H
#define TANDEM_TESTS_FAMILY_H

enum { FAMILY_ROOM = 1100 };

/* The folder of a model with its weights unpacked; NULL: it is not there, and the test is skipped. */
const char *family_find(const char *name, char room[FAMILY_ROOM]);

#endif
