#include "engine/model/schema/notes.h"

#include <stdarg.h>
#include <stdio.h>

#include "engine/base/harmless.h"

void notes_add(struct notes *notes, const char *format, ...)
{
    if (notes->n == NOTES_MAX) {
        snprintf(notes->lines[NOTES_MAX - 1], NOTES_ROOM, "further parts of the model's files are left out");
        return;
    }
    va_list args;
    va_start(args, format);
    vsnprintf(notes->lines[notes->n], NOTES_ROOM, format, args);
    va_end(args);
    harmless_line(notes->lines[notes->n++]); /* file names and contents reach it */
}
