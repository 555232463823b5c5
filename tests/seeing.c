#include "tests/seeing.h"

#include "tests/check.h"

const char *seeing_model(void)
{
    static char folder[512];
    const char *shared = check_shared("goldens/families/qwen35-vision");
    char command[2048];
    if (!shared || *folder) return shared ? folder : NULL;
    snprintf(folder, sizeof folder, "%s/seeing", check_tmp());
    int n = snprintf(command, sizeof command,
                     "cp -r '%s' '%s' && chmod -R u+w '%s' && cd '%s' && "
                     "sed -i 's/\"<think>\"/\"<|image_pad|>\"/' tokenizer.json",
                     shared, folder, folder, folder);
    if (n >= (int)sizeof command || system(command)) CHECK_FAIL("%s: can't be copied", shared);
    snprintf(command, sizeof command, "cp '%s' '%s/chat_template.jinja'",
             check_data("engine/text/template/templates/pictures.jinja"), folder);
    if (system(command)) CHECK_FAIL("%s: no template", folder);
    return folder;
}

tdm_picture *seeing_picture(uint32_t width, uint32_t height, unsigned seed)
{
    tdm_error err;
    tdm_picture *p = NULL;
    size_t n = (size_t)3 * width * height;
    uint8_t *rgb = malloc(n);
    for (size_t i = 0; rgb && i < n; i++) rgb[i] = (uint8_t)((i + seed) * 2654435761u >> 24);
    if (tdm_picture_new(&p, rgb, width, height, &err)) CHECK_FAIL("%s", err.text);
    free(rgb);
    return p;
}
