/* What is no text is named by how it begins. */
#include "src/attach/kind.h"
#include "tests/check.h"

#define KIND(bytes) kind_of(bytes, sizeof bytes - 1)

TEST(pictures_documents_and_archives_are_named)
{
    CHECK_STR("a picture (PNG)", KIND("\x89PNG\r\n\x1a\n\0\0\0\rIHDR"));
    CHECK_STR("a picture (JPEG)", KIND("\xff\xd8\xff\xe0\0\x10JFIF\0"));
    CHECK_STR("a picture (GIF)", KIND("GIF89a\1\0\1\0"));
    CHECK_STR("a picture (WebP)", KIND("RIFF\x24\0\0\0WEBPVP8 "));
    CHECK_STR("a sound (WAV)", KIND("RIFF\x24\0\0\0WAVEfmt "));
    CHECK_STR("a film (MP4)", KIND("\0\0\0\x18" "ftypmp42\0\0\0\0"));
    CHECK_STR("a picture (HEIC)", KIND("\0\0\0\x18" "ftypheic\0\0\0\0"));
    CHECK_STR("a PDF", KIND("%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\n"));
    CHECK_STR("an archive or an office document (ZIP)", KIND("PK\3\4\x14\0\6\0"));
    CHECK_STR("a model (GGUF)", KIND("GGUF\3\0\0\0"));
}

TEST(texts_are_texts_whatever_they_begin_with)
{
    CHECK(!KIND(""));
    CHECK(!KIND("GGUF is a format of models.\n"));
    CHECK(!KIND("ID3 tags stand in MP3 files.\n"));
    CHECK(!KIND("The new WAVE of readers and WEBP\n"));
    CHECK(!KIND("PDF files begin with %PDF-1.4\n"));
    char room[KIND_ROOM];
    CHECK(!kind_refused("words\n", 6, room));
    CHECK_STR("binary (zero bytes, or over a tenth no text); expected a text or a picture",
              kind_refused("a\0b", 3, room));
    CHECK_STR("a sound (Ogg), which can't be read yet; expected a text or a picture",
              kind_refused("OggS\0\2\0\0", 8, room));
    /* What makes a picture of it. */
    CHECK_STR("a PDF: `pdftoppm -png -r 100 FILE.pdf page` makes a PNG of each page",
              kind_refused("%PDF-1.7\n", 9, room));
    CHECK_STR("a GIF: a picture of it is made by `magick FILE.gif[0] FILE.png`",
              kind_refused("GIF89a\1\0\1\0", 10, room));
    CHECK(!kind_refused("GIF8 is a beginning of files.\n", 30, room));
}

/* The beginning may be all there is. */
TEST(cut_off_anywhere)
{
    static const char bytes[] = "RIFF\x24\0\0\0WEBPVP8 ";
    for (size_t n = 0; n < sizeof bytes; n++) {
        char *copy = malloc(n ? n : 1), room[KIND_ROOM];
        memcpy(copy, bytes, n);
        kind_refused(copy, n, room);
        free(copy);
    }
}

TEST_MAIN(T(pictures_documents_and_archives_are_named), T(texts_are_texts_whatever_they_begin_with),
          T(cut_off_anywhere))
