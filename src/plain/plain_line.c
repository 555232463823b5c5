#include "src/plain/plain_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <readline/readline.h>

#include "engine/base/harmless.h"
#include "engine/base/utf8.h"

void plain_line_draw(void)
{
    int32_t code;
    char *kept = strdup(rl_line_buffer);
    size_t n = kept ? strlen(kept) : 0;
    for (size_t i = 0, length; i < n; i += length) {
        length = utf8_decode(kept + i, n - i, &code);
        if ((code < 0 || code >= 0x80) && !harmless_code(code)) memset(rl_line_buffer + i, '?', length);
    }
    if (kept) rl_redisplay();
    if (kept) memcpy(rl_line_buffer, kept, n);
    free(kept);
}
