#include "src/cli/words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "ui/edit/slash.h"

char *trim(char *text)
{
    while (isspace((unsigned char)*text)) text++;
    size_t n = strlen(text);
    while (n && isspace((unsigned char)text[n - 1])) text[--n] = 0;
    return text;
}

void nearest_offer(nearest *best, const char *wanted, const char *candidate)
{
    size_t length = strlen(wanted), same = 0;
    while (wanted[same] && wanted[same] == candidate[same]) same++; /* names of models may be long */
    size_t distance = slash_distance(wanted + same, length - same, candidate + same, strlen(candidate + same));
    if (length >= 2 && !strncmp(wanted, candidate, length)) distance = distance < 1 ? distance : 1;
    if (distance > slash_slips(length)) return;
    if (!best->name || distance < best->distance) {
        best->name = candidate;
        best->distance = distance;
    }
}

static tdm_status append(tdm_ids *out, tdm_id id, tdm_error *err)
{
    if (out->n == out->capacity) {
        size_t room = out->capacity ? out->capacity * 2 : 256;
        tdm_id *larger = realloc(out->ids, room * sizeof *larger);
        if (!larger) return error_set(err, TDM_E_NOMEM, "out of memory");
        out->ids = larger;
        out->capacity = room;
    }
    out->ids[out->n++] = id;
    return TDM_OK;
}

tdm_status ids_parse(const char *name, const char *text, size_t n, tdm_ids *out, tdm_error *err)
{
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)text[i];
        if (isspace(c) || c == ',' || c == '[' || c == ']') {
            i++;
            continue;
        }
        int64_t id = 0;
        size_t start = i;
        while (i < n && isdigit((unsigned char)text[i]) && id <= INT32_MAX) id = 10 * id + (text[i++] - '0');
        bool ended = i == n || strchr(", []\t\r\n\v\f", text[i]);
        if (i == start || id > INT32_MAX || !ended)
            return error_set(err, TDM_E_FORMAT, "%s: byte %zu: expected a token id", name, start);
        tdm_status status = append(out, (tdm_id)id, err);
        if (status) return status;
    }
    return TDM_OK;
}
