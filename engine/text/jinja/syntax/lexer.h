/* A template's text as tokens, with the white space around tags removed: after a block tag the end of the line
 * (trim_blocks), before one the spaces at the beginning of its line (lstrip_blocks), at '-' all white space, at '+'
 * none.
 */
#ifndef TANDEM_TEXT_JINJA_LEXER_H
#define TANDEM_TEXT_JINJA_LEXER_H

#include "engine/text/jinja/value/str.h"

enum token_kind {
    TOKEN_DATA,
    TOKEN_VARIABLE_BEGIN,
    TOKEN_VARIABLE_END,
    TOKEN_BLOCK_BEGIN,
    TOKEN_BLOCK_END,
    TOKEN_NAME,
    TOKEN_STRING, /* its escapes are read */
    TOKEN_INTEGER,
    TOKEN_FLOAT,
    TOKEN_OPERATOR,
    TOKEN_END,
};

struct token {
    enum token_kind kind;
    int line;
    struct span text;
    union {
        int64_t integer;
        double real;
    };
};

/* The tokens, the last of which is TOKEN_END; they point into the arena. Fails with TDM_E_FORMAT. */
struct token *lexer_tokens(struct arena *a, struct span source);

#endif
