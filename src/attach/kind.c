#include "src/attach/kind.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/utf8.h"
#include "src/image/format.h"

enum { FEW = 16 };

bool kind_is_text(const char *bytes, size_t n)
{
    size_t odd = 0;
    int32_t code;
    for (size_t i = 0, length; i < n; i += length) {
        length = utf8_decode(bytes + i, n - i, &code);
        if (!code) return false;
        odd += code < 0 || code == 0x7f || (code < 0x20 && !strchr("\t\n\v\f\r\b\033", code));
    }
    return odd <= FEW || odd <= n / 10;
}

const char *kind_of(const char *bytes, size_t n)
{
    static const struct {
        size_t at;
        const char *magic;
        size_t length;
        const char *name;
    } kinds[] = {{0, "\x89PNG\r\n\x1a\n", 8, "a picture (PNG)"},
                 {0, "\xff\xd8\xff", 3, "a picture (JPEG)"},
                 {0, "GIF87a", 6, "a picture (GIF)"},
                 {0, "GIF89a", 6, "a picture (GIF)"},
                 {8, "WEBP", 4, "a picture (WebP)"},
                 {0, "II*\0", 4, "a picture (TIFF)"},
                 {0, "MM\0*", 4, "a picture (TIFF)"},
                 {4, "ftypheic", 8, "a picture (HEIC)"},
                 {4, "ftypavif", 8, "a picture (AVIF)"},
                 {8, "WAVE", 4, "a sound (WAV)"},
                 {0, "ID3", 3, "a sound (MP3)"},
                 {0, "OggS", 4, "a sound (Ogg)"},
                 {0, "fLaC", 4, "a sound (FLAC)"},
                 {4, "ftyp", 4, "a film (MP4)"},
                 {0, "\x1a\x45\xdf\xa3", 4, "a film (Matroska)"},
                 {0, "%PDF-", 5, "a PDF"},
                 {0, "PK\3\4", 4, "an archive or an office document (ZIP)"},
                 {0, "\x1f\x8b", 2, "an archive (gzip)"},
                 {0, "\xfd" "7zXZ", 5, "an archive (xz)"},
                 {0, "GGUF", 4, "a model (GGUF)"},
                 {0, "\x7f" "ELF", 4, "a program (ELF)"}};
    /* A PDF may be all characters; a text that speaks of ID3 is a text. */
    if (kind_is_text(bytes, n) && (n < 5 || memcmp(bytes, "%PDF-", 5) != 0)) return NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t end = kinds[i].at + kinds[i].length;
        if (n >= end && !memcmp(bytes + kinds[i].at, kinds[i].magic, kinds[i].length)) return kinds[i].name;
    }
    return NULL;
}

const char *kind_refused(const char *bytes, size_t n, char room[KIND_ROOM])
{
    const char *kind = kind_of(bytes, n), *convert = format_other((const uint8_t *)bytes, n);
    bool text = kind_is_text(bytes, n);
    if (convert && (kind || !text))
        snprintf(room, KIND_ROOM, "%s", convert);
    else if (kind)
        snprintf(room, KIND_ROOM, "%s, which can't be read yet; expected a text or a picture", kind);
    else if (text)
        return NULL;
    else
        snprintf(room, KIND_ROOM, "binary (zero bytes, or over a tenth no text); expected a text or a picture");
    return room;
}
