#include "src/image/picture.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/base/base64.h"
#include "engine/base/error.h"
#include "engine/base/harmless.h"
#include "engine/os/file.h"
#include "src/image/format.h"
#include "src/image/image.h"
#include "ui/preview/preview.h"

static const struct {
    const char *suffix, *type;
} forms[] = {
    [FORMAT_PNG] = {"png", "image/png"}, [FORMAT_JPEG] = {"jpg", "image/jpeg"}, [FORMAT_WEBP] = {"webp", "image/webp"}};

bool picture_is(const char *bytes, size_t n)
{
    const char *line;
    return format_of((const uint8_t *)bytes, n, &line) != FORMAT_OTHER;
}

/* The decoder gets the bytes as a file without a name. So the bytes that are kept are those that were decoded, even if
 * the picture's file changes meanwhile. */
static tdm_status decode_bytes(image *out, const char *bytes, size_t n, const char *name, bool (*stop)(void *ctx),
                               void *ctx, tdm_error *err)
{
    int fd = memfd_create("picture", MFD_CLOEXEC);
    if (fd < 0) return error_errno(err, TDM_E_NOMEM, "%s: no memory to decode it", name);
    tdm_status status = TDM_OK;
    if (!file_write_all(fd, bytes, n)) status = error_errno(err, TDM_E_NOMEM, "%s: no memory to decode it", name);
    if (!status) status = image_read(out, fd, name, IMAGE_SECONDS, stop, ctx, err);
    close(fd);
    return status;
}

/* ---- All of them ------------------------------------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    picture **all;
    size_t n;
} album = {.lock = PTHREAD_MUTEX_INITIALIZER};

static picture *find(const char *key)
{
    for (size_t i = 0; i < album.n; i++)
        if (!strcmp(album.all[i]->key, key)) return album.all[i];
    return NULL;
}

static void write_key(char key[PICTURE_KEY], const tdm_picture *seen)
{
    tdm_picture_facts facts;
    tdm_picture_describe(seen, &facts);
    for (int i = 0; i < TDM_PICTURE_HASH; i++) snprintf(key + 2 * i, 3, "%02x", facts.hash[i]);
}

const picture *picture_find(const tdm_picture *seen)
{
    char key[PICTURE_KEY];
    write_key(key, seen);
    return picture_find_key(key);
}

const picture *picture_find_key(const char *key)
{
    pthread_mutex_lock(&album.lock);
    const picture *found = find(key);
    pthread_mutex_unlock(&album.lock);
    return found;
}

static void picture_free(picture *p)
{
    free(p->view.rgb);
    free(p->bytes);
    free(p);
}

/* The one that is kept: an earlier one of the same pixels, else this one. NULL: no memory. */
static const picture *keep(picture *p)
{
    pthread_mutex_lock(&album.lock);
    picture *kept = find(p->key), **larger = kept ? NULL : realloc(album.all, (album.n + 1) * sizeof *larger);
    if (larger) {
        album.all = larger;
        album.all[album.n++] = kept = p;
    }
    pthread_mutex_unlock(&album.lock);
    if (kept != p) picture_free(p);
    return kept;
}

/* ---- One --------------------------------------------------------------------------------------------------------- */

/* As large as fits, never larger than the picture. */
static bool make_view(picture *p, const image *i)
{
    double scale = 1;
    if (i->width * scale > PICTURE_VIEW_WIDTH) scale = (double)PICTURE_VIEW_WIDTH / i->width;
    if (i->height * scale > PICTURE_VIEW_HEIGHT) scale = (double)PICTURE_VIEW_HEIGHT / i->height;
    p->view.width = (uint32_t)(i->width * scale + 0.5);
    p->view.height = (uint32_t)(i->height * scale + 0.5);
    if (!p->view.width) p->view.width = 1;
    if (!p->view.height) p->view.height = 1;
    p->view.rgb = malloc((size_t)3 * p->view.width * p->view.height);
    if (!p->view.rgb) return false;
    preview_resize(&(struct preview_picture){i->width, i->height, i->rgb}, p->view.width, p->view.height, p->view.rgb);
    return true;
}

/* Decodes the picture: its pixels, its small form and its size. */
static tdm_status see(picture *p, tdm_picture **seen, image_format form, bool (*stop)(void *ctx), void *ctx,
                      tdm_error *err)
{
    image i;
    tdm_status status = decode_bytes(&i, p->bytes, p->n, p->name, stop, ctx, err);
    if (!status) status = tdm_picture_new(seen, i.rgb, i.width, i.height, err);
    if (!status && !make_view(p, &i)) status = error_set(err, TDM_E_NOMEM, "%s: out of memory", p->name);
    if (!status) write_key(p->key, *seen);
    p->width = i.width;
    p->height = i.height;
    p->suffix = forms[form].suffix;
    p->type = forms[form].type;
    image_free(&i);
    return status;
}

tdm_status picture_take(const picture **out, tdm_picture **seen, char *bytes, size_t n, const char *name,
                        bool (*stop)(void *ctx), void *ctx, tdm_error *err)
{
    const char *line;
    image_format form = format_of((const uint8_t *)bytes, n, &line);
    picture *p = calloc(1, sizeof *p);
    *out = NULL;
    *seen = NULL;
    if (!p) {
        free(bytes);
        return error_set(err, TDM_E_NOMEM, "%s: out of memory", name);
    }
    p->bytes = bytes;
    p->n = n;
    snprintf(p->name, sizeof p->name, "%s", name);
    harmless_line(p->name);
    tdm_status status = form == FORMAT_OTHER ? error_set(err, TDM_E_FORMAT, "%s: %s", p->name, line)
                                             : see(p, seen, form, stop, ctx, err);
    if (status)
        picture_free(p);
    else if (!(*out = keep(p)))
        status = error_set(err, TDM_E_NOMEM, "%s: out of memory", name);
    if (!status) return TDM_OK;
    tdm_picture_drop(*seen);
    *seen = NULL;
    return status;
}

tdm_status picture_fit_sides(const tdm_model *m, const tdm_picture *seen, uint32_t most_tokens, tdm_picture_fit *out,
                             tdm_error *err)
{
    tdm_picture_facts facts;
    tdm_picture_describe(seen, &facts);
    return tdm_picture_fit_of(m, facts.width, facts.height, most_tokens, out, err);
}

tdm_status picture_fit(const tdm_model *m, tdm_picture *seen, uint32_t most_tokens, tdm_picture_fit *out,
                       tdm_error *err)
{
    tdm_vision vision;
    const tdm_placed_picture shown = {seen, 0};
    const tdm_message message = {.role = TDM_USER, .text = "a", .length = 1, .pictures = &shown, .n_pictures = 1};
    char *prompt = NULL;
    tdm_model_vision(m, &vision);
    tdm_status status = picture_fit_sides(m, seen, most_tokens, out, err);
    if (!status && vision.pad < 0)
        status = error_set(err, TDM_E_UNSUPPORTED, "the model's files don't say which token stands for a picture");
    if (!status) status = tdm_render(m, &message, 1, &(tdm_render_options){0}, NULL, &prompt, err);
    free(prompt);
    return status;
}

char *picture_address(const picture *p)
{
    char *coded = p ? base64_text(p->bytes, p->n) : NULL, *address = NULL;
    if (coded && asprintf(&address, "data:%s;base64,%s", p->type, coded) < 0) address = NULL;
    free(coded);
    return address;
}
