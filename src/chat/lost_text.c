#include "src/chat/lost_text.h"

bool lost_text(const tdm_chat *c, const tdm_event *end, tdm_node *node, tdm_event *text)
{
    *node = (tdm_node){0};
    if (!end->lost || tdm_chat_node(c, end->node, node, NULL) || node->length < end->lost) return false;
    *text = *end;
    text->kind = TDM_EV_TEXT;
    text->text = node->text + node->length - end->lost;
    text->length = end->lost;
    text->id = -1;
    text->tokens = end->stats.reply_tokens;
    return true;
}
