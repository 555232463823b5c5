/* kitty's graphics protocol (sw.kovidgoyal.net/kitty/graphics-protocol): pixels as base64, in pieces. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/base64.h"
#include "engine/base/error.h"
#include "ui/preview/preview.h"

enum { PIECE = 4096 };

static tdm_status add(struct buffer *out, const char *text, tdm_error *err)
{
    return buffer_append(out, text, strlen(text), err);
}

/* q=2: the terminal answers nothing, which would come as keys. */
tdm_status preview_kitty_send(struct buffer *out, const struct preview_picture *p, uint32_t id, tdm_error *err)
{
    char head[160];
    char *text = base64_text(p->rgb, (size_t)3 * p->width * p->height);
    if (!text) return error_set(err, TDM_E_NOMEM, "no memory to show a picture");
    size_t n = strlen(text);
    tdm_status status = TDM_OK;
    for (size_t at = 0; at < n && !status; at += PIECE) {
        int more = n - at > PIECE;
        if (at)
            snprintf(head, sizeof head, "\033_Gq=2,m=%d;", more);
        else
            snprintf(head, sizeof head, "\033_Ga=t,f=24,t=d,q=2,i=%u,s=%u,v=%u,m=%d;", id, p->width, p->height, more);
        status = add(out, head, err);
        if (!status) status = buffer_append(out, text + at, more ? PIECE : n - at, err);
        if (!status) status = add(out, "\033\\", err);
    }
    free(text);
    return status;
}

/* C=1: the cursor stays. */
tdm_status preview_kitty_place(struct buffer *out, uint32_t id, const struct preview_part *part, int cols, int rows,
                               tdm_error *err)
{
    char text[160];
    snprintf(text, sizeof text, "\033_Ga=p,C=1,q=2,i=%u,x=0,y=%u,w=%u,h=%u,c=%d,r=%d\033\\", id, part->top, part->width,
             part->height, cols, rows);
    return add(out, text, err);
}

tdm_status preview_kitty_remove(struct buffer *out, uint32_t id, bool forget, tdm_error *err)
{
    char text[64];
    snprintf(text, sizeof text, "\033_Ga=d,d=%c,q=2,i=%u\033\\", forget ? 'I' : 'i', id);
    return add(out, text, err);
}
