#include "ui/draw/theme_own.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/base/error.h"

#define AA 4.5

/* ---- Colours --------------------------------------------------------------------------------------------------- */

static const char *const names[] = {"black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"};

static int by_name(const char *text)
{
    static const char bright[] = "bright-";
    bool is_bright = !strncmp(text, bright, sizeof bright - 1);
    if (!strcmp(text, "grey") || !strcmp(text, "gray")) return 8;
    if (is_bright) text += sizeof bright - 1;
    for (int i = 0; i < 8; i++)
        if (!strcmp(text, names[i])) return i + 8 * is_bright;
    return THEME_OWN_OPEN;
}

/* The nearest of the colours that are the same in every terminal. */
static int nearest_fixed(const unsigned rgb[3])
{
    int best = 16;
    long least = 0;
    for (int colour = 16; colour < 256; colour++) {
        uint8_t is[3];
        long distance = 0;
        theme_rgb(colour, is);
        for (int i = 0; i < 3; i++) distance += ((long)is[i] - rgb[i]) * ((long)is[i] - rgb[i]);
        if (colour == 16 || distance < least) best = colour, least = distance;
    }
    return best;
}

/* THEME_OWN_OPEN: it is no colour. */
static int colour_of(const char *text)
{
    unsigned rgb[3];
    int n = 0;
    size_t length = strlen(text);
    if (!strcmp(text, "default")) return -1;
    if (text[0] == '#') {
        bool whole = length == 7 && strspn(text + 1, "0123456789abcdefABCDEF") == 6;
        if (!whole || sscanf(text + 1, "%2x%2x%2x", &rgb[0], &rgb[1], &rgb[2]) != 3)
            return THEME_OWN_OPEN;
        return nearest_fixed(rgb);
    }
    if (!isdigit((unsigned char)text[0])) return by_name(text);
    if (length > 3 || strspn(text, "0123456789") != length) return THEME_OWN_OPEN;
    for (size_t i = 0; i < length; i++) n = 10 * n + text[i] - '0';
    return n < 256 ? n : THEME_OWN_OPEN;
}

/* ---- Setting --------------------------------------------------------------------------------------------------- */

static bool is_name(const char *text, size_t n)
{
    static const char *const taken[] = {"auto", "dark", "light", "mono"};
    if (!n || n >= THEME_OWN_NAME) return false;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strlen(taken[i]) == n && !memcmp(text, taken[i], n)) return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '-' && text[i] != '_') return false;
    return true;
}

static int role_of(const char *text)
{
    for (int i = 0; i < STYLES; i++)
        if (!strcmp(text, theme_style_name((enum style)i))) return i;
    return -1;
}

static tdm_status unknown_role(const char *found, tdm_error *err)
{
    char all[400] = "";
    for (int i = 0; i < STYLES; i++) {
        size_t at = strlen(all);
        snprintf(all + at, sizeof all - at, "%s%s", i ? ", " : "", theme_style_name((enum style)i));
    }
    return error_set(err, TDM_E_FORMAT, "found the role '%.40s', expected one of %s", found, all);
}

/* The one of that name, made where there is none; NULL: err tells. */
static struct theme_own *theme_of(struct theme_own **all, int *n, const char *name, size_t length, tdm_error *err)
{
    for (int i = 0; i < *n; i++)
        if (strlen((*all)[i].name) == length && !memcmp((*all)[i].name, name, length)) return &(*all)[i];
    struct theme_own *larger = *n < THEME_OWN_MAX ? realloc(*all, ((size_t)*n + 1) * sizeof *larger) : NULL;
    if (!larger) {
        if (*n < THEME_OWN_MAX)
            error_set(err, TDM_E_NOMEM, "out of memory");
        else
            error_set(err, TDM_E_FORMAT, "expected at most %d themes, found one more", THEME_OWN_MAX);
        return NULL;
    }
    *all = larger;
    struct theme_own *t = &larger[(*n)++];
    *t = (struct theme_own){0};
    memcpy(t->name, name, length);
    for (int i = 0; i < STYLES; i++) t->colour[i] = THEME_OWN_OPEN;
    return t;
}

tdm_status theme_own_set(struct theme_own **all, int *n, const char *setting, const char *colour, tdm_error *err)
{
    const char *dot = strrchr(setting, '.');
    size_t length = dot ? (size_t)(dot - setting) : strlen(setting);
    if (!dot) return error_set(err, TDM_E_FORMAT, "expected theme.NAME.ROLE, found 'theme.%.40s'", setting);
    if (!is_name(setting, length))
        return error_set(err, TDM_E_FORMAT,
                         "expected a name of letters, digits, - and _ (%d at most; not auto, dark, light or mono), "
                         "found '%.*s'",
                         THEME_OWN_NAME - 1, (int)(length < 40 ? length : 40), setting);
    int role = role_of(dot + 1), number = colour_of(colour);
    if (role < 0) return unknown_role(dot + 1, err);
    if (number == THEME_OWN_OPEN)
        return error_set(err, TDM_E_FORMAT,
                         "found '%.40s', expected 0 to 255, #rrggbb, default or a name (black, red, green, yellow, "
                         "blue, magenta, cyan, white, bright-red ..., grey)",
                         colour);
    struct theme_own *t = theme_of(all, n, setting, length, err);
    if (!t) return err ? err->code : TDM_E_NOMEM;
    t->colour[role] = (int16_t)number;
    snprintf(t->text[role], sizeof t->text[role], "%s", colour);
    return TDM_OK;
}

const struct theme_own *theme_own_find(const struct theme_own *all, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(all[i].name, name)) return &all[i];
    return NULL;
}

/* ---- Contrast -------------------------------------------------------------------------------------------------- */

double theme_own_contrast(int colour, bool light)
{
    uint8_t rgb[3];
    if (colour < 16) return 0;
    theme_rgb(colour, rgb);
    return theme_contrast((const double[3]){light, light, light},
                          (const double[3]){rgb[0] / 255.0, rgb[1] / 255.0, rgb[2] / 255.0});
}

int theme_own_poorest(const struct theme_own *t, bool light, double *contrast, int *below)
{
    int poorest = -1;
    *below = 0;
    for (int i = 0; i < STYLES; i++) {
        double c = theme_own_contrast(t->colour[i], light);
        if (c <= 0 || c >= AA) continue;
        if (!(*below)++ || c < *contrast) poorest = i, *contrast = c;
    }
    return poorest;
}
