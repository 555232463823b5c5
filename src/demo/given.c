#include "src/demo/given.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/os/file.h"
#include "src/attach/read.h"
#include "src/demo/run.h"
#include "src/files/files.h"
#include "src/image/image.h"

/* The first question takes as long to be typed as users take for one; the second tells what a follow-up costs. */
static const char questions[] =
    "{\"max_tokens\": 110, \"temperature\": 0, \"seed\": 1, \"typing_cps\": 11, \"turns\": ["
    "{\"text\": \"Describe what this picture shows in two sentences.\", \"pause\": 1.0},"
    "{\"text\": \"Which colours stand out in it?\", \"pause\": 1.0}]}";

tdm_status demo_given_script(script *out, const char *path, bool pictured, tdm_error *err)
{
    if (!path && pictured) return script_parse(out, "the demo's questions", questions, sizeof questions - 1, err);
    char *found = path ? strdup(path) : demo_run_script();
    tdm_status status = found ? script_read(out, found, err) : error_set(err, TDM_E_IO, "the demo is not installed");
    if (!status) status = demo_run_check(out, found, err);
    free(found);
    return status;
}

tdm_status demo_given_picture(const options *o, const picture **out, tdm_picture **seen, tdm_error *err)
{
    const option_value *given = &o->values[OPTION_IMAGE];
    char name[PICTURE_NAME], *bytes;
    size_t n;
    *out = NULL;
    *seen = NULL;
    if (!given->n) return TDM_OK;
    if (given->n > 1) return error_set(err, TDM_E_ARG, "--image: expected one picture, found %d", (int)given->n);
    const char *path = given->list[0];
    attach_name(name, sizeof name, file_base(path));
    tdm_status status = files_read(path, IMAGE_BYTES, &bytes, &n, err);
    return status ? status : picture_take(out, seen, bytes, n, name, NULL, NULL, err);
}

tdm_status demo_given_again(const tdm_picture *p, tdm_picture **out, tdm_error *err)
{
    tdm_picture_facts f;
    tdm_picture_describe(p, &f);
    size_t bytes = (size_t)3 * f.width * f.height;
    uint8_t *rgb = malloc(bytes);
    *out = NULL;
    if (!rgb) return error_set(err, TDM_E_NOMEM, "out of memory");
    memcpy(rgb, f.rgb, bytes);
    rgb[bytes - 1] ^= 1;
    tdm_status status = tdm_picture_new(out, rgb, f.width, f.height, err);
    free(rgb);
    return status;
}
