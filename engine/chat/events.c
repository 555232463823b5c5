#include "engine/chat/events.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/error.h"

enum { LEAST_ROOM = 64 };

struct item {
    struct item *next;
    tdm_event event;
    size_t room;
    char text[];
};

struct events {
    pthread_mutex_t lock;
    struct item *first, *last;
    struct item *taken; /* the reader's */
    struct item *spare; /* with memory for an event each */
    int spares;
    enum { LOST_NOTHING, LOST_UNTOLD, LOST_TOLD } lost; /* TOLD: the reader still has to look at the path */
    _Atomic bool unsignalled; /* events were posted to an empty queue since the last signal */
    int pipe[2];              /* holds a byte while the queue isn't empty and events were signalled */
};

tdm_status events_open(struct events **out, tdm_error *err)
{
    struct events *q = calloc(1, sizeof *q);
    if (!q) return error_set(err, TDM_E_NOMEM, "no memory for the event queue");
    if (pipe(q->pipe)) {
        free(q);
        return error_errno(err, TDM_E_IO, "event queue: pipe");
    }
    for (int i = 0; i < 2; i++) {
        fcntl(q->pipe[i], F_SETFL, O_NONBLOCK);
        fcntl(q->pipe[i], F_SETFD, FD_CLOEXEC);
    }
    pthread_mutex_init(&q->lock, NULL);
    *out = q;
    return TDM_OK;
}

static void free_items(struct item *first)
{
    for (struct item *i = first, *next; i; i = next) {
        next = i->next;
        free(i);
    }
}

void events_close(struct events *q)
{
    if (!q) return;
    free_items(q->first);
    free_items(q->spare);
    free(q->taken);
    close(q->pipe[0]);
    close(q->pipe[1]);
    pthread_mutex_destroy(&q->lock);
    free(q);
}

/* Can this text go to the end of the last item, which has not been taken yet? */
static bool joins(const struct item *last, const tdm_event *event)
{
    if (!last || event->kind != TDM_EV_TEXT || last->event.kind != TDM_EV_TEXT) return false;
    return last->event.node == event->node && last->event.dialogue == event->dialogue &&
           last->event.thinking == event->thinking && last->room - last->event.length > event->length;
}

static void join(struct item *last, const tdm_event *event)
{
    memcpy(last->text + last->event.length, event->text, event->length);
    last->event.length += event->length;
    last->text[last->event.length] = 0;
    last->event.id = event->id;
    last->event.tokens = event->tokens;
}

static struct item *new_item(size_t length)
{
    size_t room = length + 1 < LEAST_ROOM ? LEAST_ROOM : length + 1;
    struct item *item = malloc(sizeof *item + room);
    if (item) item->room = room;
    return item;
}

tdm_status events_reserve(struct events *q, int n, tdm_error *err)
{
    tdm_status status = TDM_OK;
    pthread_mutex_lock(&q->lock);
    while (q->spares < n && !status) {
        struct item *item = new_item(0);
        if (item) {
            item->next = q->spare;
            q->spare = item;
            q->spares++;
        } else {
            status = error_set(err, TDM_E_NOMEM, "no memory for the reply's events");
        }
    }
    pthread_mutex_unlock(&q->lock);
    return status;
}

/* What events_reserve() has set aside, for an event that it is for. */
static struct item *take_spare(struct events *q, const tdm_event *event)
{
    tdm_event_kind kind = event->kind;
    bool awaited = kind == TDM_EV_END || kind == TDM_EV_COLD || (kind == TDM_EV_REPLY && !event->again);
    struct item *item = awaited ? q->spare : NULL;
    if (!item) return NULL;
    q->spare = item->next;
    q->spares--;
    return item;
}

static void append(struct events *q, struct item *item, const tdm_event *event, size_t length)
{
    item->next = NULL;
    item->event = *event;
    item->event.length = length;
    if (length) memcpy(item->text, event->text, length);
    item->text[length] = 0;
    if (q->last)
        q->last->next = item;
    else
        q->first = item;
    q->last = item;
}

bool events_post(struct events *q, const tdm_event *event)
{
    size_t length = event->text ? event->length : 0;
    bool posted = true;
    pthread_mutex_lock(&q->lock);
    if (!q->first) atomic_store_explicit(&q->unsignalled, true, memory_order_release);
    if (joins(q->last, event)) {
        join(q->last, event);
    } else {
        struct item *item = new_item(length);
        if (!item) item = take_spare(q, event);
        if ((posted = item != NULL))
            append(q, item, event, length);
        else
            q->lost = LOST_UNTOLD;
    }
    pthread_mutex_unlock(&q->lock);
    return posted;
}

/* If the reader was faster, it wakes and finds nothing; if another thread has signalled the event, it is not woken
 * again. */
void events_signal(struct events *q)
{
    if (!atomic_load_explicit(&q->unsignalled, memory_order_relaxed) || !atomic_exchange(&q->unsignalled, false))
        return;
    if (write(q->pipe[1], "!", 1) < 0) { /* full: it is readable already */ }
}

void events_post_line(struct events *q, tdm_event_kind kind, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    events_post(q,
                &(tdm_event){.kind = kind, .text = line, .length = n < (int)sizeof line ? (size_t)n : sizeof line - 1});
}

void events_change_places(struct events *q, bool keep)
{
    pthread_mutex_lock(&q->lock);
    struct item **at = &q->first;
    q->last = NULL;
    while (*at) {
        struct item *item = *at;
        tdm_event_kind kind = item->event.kind;
        bool reply = kind == TDM_EV_REPLY || kind == TDM_EV_TEXT || kind == TDM_EV_END;
        if (item->event.dialogue == TDM_BACK || (reply && !keep)) {
            *at = item->next;
            free(item);
        } else {
            item->event.dialogue = reply ? TDM_BACK : TDM_FRONT;
            q->last = item;
            at = &item->next;
        }
    }
    pthread_mutex_unlock(&q->lock);
}

int events_fd(const struct events *q)
{
    return q->pipe[0];
}

/* What stands in place of dropped events, behind those that are there. */
static bool take_lost(struct events *q, tdm_event *out)
{
    static const char lost[] = "no memory: some events were lost";
    if (q->lost == LOST_UNTOLD) {
        *out = (tdm_event){.kind = TDM_EV_ERROR, .text = lost, .length = sizeof lost - 1};
        q->lost = LOST_TOLD;
        return true;
    }
    bool told = q->lost == LOST_TOLD;
    *out = (tdm_event){.kind = told ? TDM_EV_PATH : TDM_EV_NONE};
    q->lost = LOST_NOTHING;
    return told;
}

bool events_take(struct events *q, tdm_event *out)
{
    pthread_mutex_lock(&q->lock);
    free(q->taken);
    q->taken = NULL;
    struct item *item = q->first;
    if (item) {
        q->first = item->next;
        if (!q->first) q->last = NULL;
        q->taken = item;
        *out = item->event;
        out->text = item->text;
    }
    if (!q->first) {
        char byte;
        while (read(q->pipe[0], &byte, 1) == 1) continue;
    }
    bool taken = item || take_lost(q, out);
    pthread_mutex_unlock(&q->lock);
    return taken;
}
