#include "engine/hub/hub.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/os/file.h"

enum { MAX_PART = 96, MAX_PARTS = 999, PART_LENGTH = sizeof "-00001-of-00003" - 1 };

const char *const hub_usual_tags[] = {"Q4_K_M", "UD-Q4_K_XL", NULL};

/* ---- Repositories ---------------------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The name of a quant or of a file: whatever can't lead elsewhere or steer a terminal. */
static bool is_tag(const char *text, size_t n)
{
    if (!n || n > MAX_PART || strchr("-. ", text[0])) return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f || strchr("/\\:", text[i])) return false;
    return true;
}

/* n characters of letters, digits and _, after the first one also - and . */
static bool is_word(const char *text, size_t n)
{
    if (!n || n > MAX_PART) return false;
    for (size_t i = 0; i < n; i++)
        if (!is_letter(text[i]) && !is_digit(text[i]) && text[i] != '_' && !(i && (text[i] == '-' || text[i] == '.')))
            return false;
    return true;
}

bool hub_name_parse(struct hub_name *out, const char *text)
{
    const char *slash = strchr(text, '/'), *colon = strchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : strlen(text);
    *out = (struct hub_name){0};
    if (!slash || (colon && colon < slash)) return false;
    if (!is_word(text, (size_t)(slash - text)) || !is_word(slash + 1, n - (size_t)(slash + 1 - text))) return false;
    if (colon && !is_tag(colon + 1, strlen(colon + 1))) return false;
    memcpy(out->repository, text, n);
    if (colon) strcpy(out->tag, colon + 1);
    return true;
}

/* ---- The cache's layout ---------------------------------------------------------------------------------------- */

#define FOLDER "models--"
#define UP     "../"
#define BLOBS  "blobs/"

const char *const hub_parts[HUB_PARTS + 1] = {HUB_SNAPSHOTS, "refs", "blobs"};

void hub_folder(char out[HUB_FOLDER_ROOM], const char *repository)
{
    const char *slash = strchr(repository, '/');
    snprintf(out, HUB_FOLDER_ROOM, FOLDER "%.*s--%s", (int)(slash - repository), repository, slash + 1);
}

bool hub_repository(char out[HUB_REPOSITORY_ROOM], const char *folder)
{
    size_t n = 0;
    bool owned = false;
    if (strncmp(folder, FOLDER, strlen(FOLDER))) return false;
    for (folder += strlen(FOLDER); *folder && *folder != '/' && n + 1 < HUB_REPOSITORY_ROOM; folder++) {
        bool separator = !owned && folder[0] == '-' && folder[1] == '-';
        out[n++] = separator ? '/' : *folder;
        folder += separator;
        owned |= separator;
    }
    out[n] = 0;
    return true;
}

bool hub_repository_of(char out[HUB_REPOSITORY_ROOM], const char *path)
{
    const char *at = strstr(path, FOLDER);
    return at && hub_repository(out, at);
}

void hub_blob(char out[HUB_BLOB_ROOM], const char *digest, bool incomplete)
{
    snprintf(out, HUB_BLOB_ROOM, BLOBS "%s%s", digest, incomplete ? ".incomplete" : "");
}

void hub_lock(char out[HUB_LOCK_ROOM], const char *folder, const char *digest)
{
    snprintf(out, HUB_LOCK_ROOM, digest ? ".locks/%s/%s.lock" : ".locks/%s", folder, digest);
}

/* Takes the part up to the next slash off *at. False: it is none, leads upwards, or doesn't fit. */
static bool take_part(const char **at, char *out, size_t room)
{
    size_t n = strcspn(*at, "/");
    if (!n || n >= room || !strncmp(*at, ".", n) || !strncmp(*at, "..", n)) return false;
    memcpy(out, *at, n);
    out[n] = 0;
    *at += n + ((*at)[n] == '/');
    return true;
}

bool hub_place_parse(struct hub_place *out, const char *path)
{
    char snapshots[sizeof HUB_SNAPSHOTS];
    out->file = path;
    return take_part(&out->file, out->folder, sizeof out->folder) && !strncmp(out->folder, FOLDER, strlen(FOLDER)) &&
           take_part(&out->file, snapshots, sizeof snapshots) && !strcmp(snapshots, HUB_SNAPSHOTS) &&
           take_part(&out->file, out->revision, sizeof out->revision);
}

size_t hub_snapshot_length(const char *path)
{
    static const char name[] = "/" HUB_SNAPSHOTS "/";
    const char *at = strstr(path, name);
    if (!at) return 0;
    at += sizeof name - 1;
    return (size_t)(at - path) + strcspn(at, "/");
}

bool hub_revision_parse(char out[HUB_REVISION_ROOM], const char *text, size_t n)
{
    static const char mark[] = "\xEF\xBB\xBF"; /* as editors write */
    if (n >= 3 && !memcmp(text, mark, 3)) text += 3, n -= 3;
    while (n && strchr("\r\n ", text[n - 1])) n--;
    if (!n || n >= HUB_REVISION_ROOM) return false;
    for (size_t i = 0; i < n; i++)
        if (!is_letter(text[i]) && !is_digit(text[i])) return false;
    memcpy(out, text, n);
    out[n] = 0;
    return true;
}

char *hub_link(const char *digest, int depth)
{
    size_t up = strlen(UP) * (size_t)(depth + 2);
    char *target = malloc(up + sizeof BLOBS + strlen(digest));
    for (size_t i = 0; target && i < up; i += strlen(UP)) memcpy(target + i, UP, strlen(UP));
    if (target) sprintf(target + up, BLOBS "%s", digest);
    return target;
}

bool hub_link_parse(char out[HUB_DIGEST_ROOM], const char *target, int depth)
{
    for (int i = 0; i < depth + 2; i++, target += strlen(UP))
        if (strncmp(target, UP, strlen(UP))) return false;
    if (strncmp(target, BLOBS, strlen(BLOBS))) return false;
    target += strlen(BLOBS);
    return target[0] != '.' && take_part(&target, out, HUB_DIGEST_ROOM) && !*target;
}

/* ---- Files ----------------------------------------------------------------------------------------------------- */

/* The five digits at text as a number. */
static bool five_digits(const char *text, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < 5; i++) {
        if (!is_digit(text[i])) return false;
        *out = *out * 10 + (uint32_t)(text[i] - '0');
    }
    return true;
}

size_t hub_part_parse(const char *name, size_t n, uint32_t *part, uint32_t *parts)
{
    const char *at = name + n - PART_LENGTH;
    if (n <= PART_LENGTH || at[0] != '-' || !five_digits(at + 1, part) || memcmp(at + 6, "-of-", 4)) return 0;
    return five_digits(at + 10, parts) ? n - PART_LENGTH : 0;
}

/* Whether the n characters are a quant's name: Q4_K_M, UD-IQ2_XXS, BF16, MXFP4_MOE ... */
static bool is_quant(const char *text, size_t n)
{
    static const char *const whole[] = {"BF16", "F16", "F32", "FP16", "FP32"};
    static const char *const begins[] = {"Q", "IQ", "TQ", "MXFP", "NVFP"};
    if (n > 3 && !strncasecmp(text, "UD-", 3)) text += 3, n -= 3;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (n == strlen(whole[i]) && !strncasecmp(text, whole[i], n)) return true;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        size_t at = strlen(begins[i]);
        if (n <= at || strncasecmp(text, begins[i], at) || !is_digit(text[at])) continue;
        while (at < n && (is_letter(text[at]) || is_digit(text[at]) || text[at] == '_')) at++;
        if (at == n) return true;
    }
    return false;
}

/* Where the quant begins that the n characters end with; 0 when they end with none, or are nothing else. */
static size_t quant_at(const char *text, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (strchr("-._ ", text[i - 1]) && is_quant(text + i, n - i)) return i;
    return 0;
}

bool hub_gguf_parse(struct hub_gguf *out, const char *path)
{
    static const char suffix[] = ".gguf";
    const char *base = file_base(path);
    size_t n = strlen(base), end = sizeof suffix - 1;
    *out = (struct hub_gguf){.part = 1, .parts = 1};
    if (n <= end || strcasecmp(base + n - end, suffix)) return false;
    if (strcasestr(base, "mmproj") || strcasestr(base, "imatrix") || !strncasecmp(base, "mtp-", 4)) return false;
    n -= end;
    uint32_t i, of;
    size_t name = hub_part_parse(base, n, &i, &of);
    if (name) {
        if (i < 1 || i > of || of > MAX_PARTS) return false;
        *out = (struct hub_gguf){.part = i, .parts = of};
        n = name;
    }
    size_t at = quant_at(base, n);
    if (n - at >= sizeof out->tag) return false;
    memcpy(out->tag, base + at, n - at);
    out->stem = (size_t)(base - path) + n;
    return true;
}

bool hub_is_projector(const char *path)
{
    const char *base = file_base(path);
    size_t n = strlen(base);
    return n >= strlen("mmproj.gguf") && !strncasecmp(base, "mmproj", 6) && !strcasecmp(base + n - 5, ".gguf");
}

bool hub_tag_is(const struct hub_gguf *gguf, const char *path, const char *tag)
{
    const char *base = file_base(path);
    size_t n = gguf->stem - (size_t)(base - path);
    return !strcasecmp(gguf->tag, tag) || (strlen(tag) == n && !strncasecmp(base, tag, n));
}
