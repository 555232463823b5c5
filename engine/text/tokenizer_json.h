/* tokenizer.json: the one reader of Hugging Face's tokenizer files, for tokenizers and for the conversion to GGUF.
 *
 * Two kinds of BPE are accepted: of bytes (normalizer NFC or none; pre-tokenizers Split by a regular expression, Digits
 * and ByteLevel), and of pieces (byte_fallback; U+2581 for blanks by Prepend and Replace, or by Metaspace). A setting
 * that would change the ids and is not supported is refused with a line that names it. The file is untrusted: ids are
 * limited to 2^20, a file to 256 MiB, nesting to 64.
 *
 * Threads: constant once opened. */
#ifndef TANDEM_TEXT_TOKENIZER_JSON_H
#define TANDEM_TEXT_TOKENIZER_JSON_H

#include "engine/text/tokenizer.h"

struct tokenizer_json;

tdm_status tokenizer_json_open(struct tokenizer_json **out, const char *path, tdm_error *err);
/* The same for n bytes in memory. name and bytes must outlive *out. */
tdm_status tokenizer_json_open_memory(struct tokenizer_json **out, const char *name, const char *bytes, size_t n,
                                      tdm_error *err);
void tokenizer_json_close(struct tokenizer_json *t); /* NULL is allowed */

/* What the file says: tokens and types by id, holes without bytes; merges by rank; the expressions to split by. It
 * lives until tokenizer_json_close. */
const struct tokenizer_parts *tokenizer_json_parts(const struct tokenizer_json *t);

#endif
