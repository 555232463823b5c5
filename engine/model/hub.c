#include "engine/model/hub.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

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
    if (colon && !is_word(colon + 1, strlen(colon + 1))) return false;
    memcpy(out->repository, text, n);
    if (colon) strcpy(out->tag, colon + 1);
    return true;
}

void hub_folder(char out[HUB_REPOSITORY_ROOM + 16], const char *repository)
{
    const char *slash = strchr(repository, '/');
    snprintf(out, HUB_REPOSITORY_ROOM + 16, "models--%.*s--%s", (int)(slash - repository), repository, slash + 1);
}

/* ---- Files ----------------------------------------------------------------------------------------------------- */

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

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
        if (strchr("-._", text[i - 1]) && is_quant(text + i, n - i)) return i;
    return 0;
}

bool hub_gguf_parse(struct hub_gguf *out, const char *path)
{
    static const char suffix[] = ".gguf";
    const char *base = base_of(path);
    size_t n = strlen(base), end = sizeof suffix - 1;
    *out = (struct hub_gguf){.part = 1, .parts = 1};
    if (n <= end || strcasecmp(base + n - end, suffix)) return false;
    if (strcasestr(base, "mmproj") || strcasestr(base, "imatrix") || !strncasecmp(base, "mtp-", 4)) return false;
    n -= end;
    if (n > PART_LENGTH) {
        const char *part = base + n - PART_LENGTH;
        uint32_t i, of;
        if (part[0] == '-' && five_digits(part + 1, &i) && !memcmp(part + 6, "-of-", 4) &&
            five_digits(part + 10, &of)) {
            if (i < 1 || i > of || of > MAX_PARTS) return false;
            *out = (struct hub_gguf){.part = i, .parts = of};
            n -= PART_LENGTH;
        }
    }
    size_t at = quant_at(base, n);
    if (n - at >= sizeof out->tag) return false;
    memcpy(out->tag, base + at, n - at);
    out->stem = (size_t)(base - path) + n;
    return true;
}

bool hub_tag_is(const struct hub_gguf *gguf, const char *path, const char *tag)
{
    const char *base = base_of(path);
    size_t n = gguf->stem - (size_t)(base - path);
    return !strcasecmp(gguf->tag, tag) || (strlen(tag) == n && !strncasecmp(base, tag, n));
}
