/* Tandem's inference engine: a library that runs language models on the CPU or a GPU, divided into two units, one of
 * which reads what the next turn will need while the other writes the reply.
 *
 * The headers below are its manual, in reading order; each part includes what it needs of the others. A program opens a
 * model and a chat, passes the draft to the chat after every key, sends the message, and shows the events that the chat
 * reports (errors are left out here):
 *
 *     tdm_model_open(&model, &(tdm_model_options){.path = "MODEL.gguf"}, &err);
 *     tdm_chat_open(&chat, model, NULL, NULL, &err);
 *     tdm_chat_set_draft(chat, text, length, false, &err);
 *     tdm_chat_send(chat, text, length, 0, &err);
 *     while (tdm_chat_wait_event(chat, &e, -1) && e.kind != TDM_EV_END) ...
 *
 * The file example.c, which is installed with the library's documents (share/doc/tandem), is a whole program.
 * Conventions that hold for all parts:
 *
 *   errors     A function that can fail for an outside cause returns a tdm_status, TDM_OK or a negative code, and
 *              fills the caller's tdm_error (which may be NULL) with one line. Nothing is half done on failure
 *              unless a function says so. The engine never exits, never prints and reads no environment variable.
 *              It aborts only when it finds a bug in itself (tdm_set_panic_hook).
 *   ownership  What an `_open` or `_new` function returns is freed with the `_close` or `_free` function of the same
 *              name (NULL is allowed). On failure such a function returns NULL. Memory that is called malloc'ed is
 *              freed with free(). Strings and arrays that are passed in are copied unless a function says otherwise.
 *   options    Zero in a member of a struct of options means its default, and NULL for the struct means that all
 *              members are zero. Later versions may add members at the end, so the functions that take such a struct
 *              also take its size (`_sized`), and inline functions pass that. A program that was compiled with an older
 *              header works as before: the members that its struct lacks are zero. If a program sets a member that an
 *              older library doesn't know, the library refuses the struct (TDM_E_UNSUPPORTED).
 *   threads    An object may be used by one thread at a time unless its part says more.
 *   units      Times are nanoseconds of CLOCK_MONOTONIC, sizes bytes, speeds per second, unless the name says
 *              otherwise (_ms, _tps tokens per second, _gbs 1e9 bytes per second).
 *   text       UTF-8, passed with its length; it may hold zero bytes and invalid sequences. Strings without a length
 *              are zero-terminated.
 */
#ifndef TANDEM_H
#define TANDEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "tandem/error.h"        /* status codes, and the line that explains one */
#include "tandem/base.h"         /* version, token ids, progress; bugs, and files that are truncated */
#include "tandem/model.h"        /* models: opening, information, conversion */
#include "tandem/text.h"         /* tokens, messages, prompts */
#include "tandem/machine.h"      /* cores and units, their activity and their limits */
#include "tandem/sequence.h"     /* one sequence of tokens, driven by the caller */
#include "tandem/chat.h"         /* a conversation on two units: options, typing, sending, replies */
#include "tandem/conversation.h" /* its tree of messages, statistics of turns, saving and loading */
#include "tandem/event.h"        /* the events that it reports */
#include "tandem/pictures.h"     /* messages with pictures, and models that see them */
#include "tandem/dialogue.h"     /* leaving a conversation while a reply is written */
#include "tandem/server.h"       /* models that run on a server */
#include "tandem/status.h"       /* what a chat does at the moment */
#include "tandem/system.h"       /* sensors, CPU and GPUs */

#ifdef __cplusplus
}
#endif

#endif
