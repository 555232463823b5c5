/* Names on the hub: repositories with tags, and what the names of GGUF files say. */
#include "tests/check.h"

#include "engine/hub/hub.h"

static void check_name(const char *repository, const char *tag, const char *text)
{
    struct hub_name name;
    if (!hub_name_parse(&name, text)) CHECK_FAIL("%s: not taken", text);
    CHECK_STR(repository, name.repository);
    CHECK_STR(tag, name.tag);
}

TEST(names_have_an_owner_and_perhaps_a_tag)
{
    check_name("unsloth/Qwen3.5-4B-GGUF", "Q4_K_M", "unsloth/Qwen3.5-4B-GGUF:Q4_K_M");
    check_name("a/b", "", "a/b");
    check_name("a_b/c.d", "UD-Q4_K_XL", "a_b/c.d:UD-Q4_K_XL");
}

TEST(no_name_leads_out_of_the_cache)
{
    static const char *const wrong[] = {"",      "a",        "/a",      "a/",      "a/b/c", "../b",   "a/..",
                                        "a/.b",  "-a/b",     "a/b:",    "a/b:c/d", "a:b/c", "a/b:..", "a b/c",
                                        "a/b\n", "a/b:\x1b", "a/b:c:d", "~/x",     "a\\b/c"};
    struct hub_name name;
    char longest[400];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (hub_name_parse(&name, wrong[i])) CHECK_FAIL("'%s' was taken", wrong[i]);
    snprintf(longest, sizeof longest, "%096d/%096d:%096d", 1, 1, 1);
    CHECK(hub_name_parse(&name, longest));
    snprintf(longest, sizeof longest, "%097d/%096d", 1, 1);
    CHECK(!hub_name_parse(&name, longest));
    snprintf(longest, sizeof longest, "%096d/%096d:%097d", 1, 1, 1);
    CHECK(!hub_name_parse(&name, longest));
}

TEST(a_repository_has_a_folder)
{
    char folder[HUB_REPOSITORY_ROOM + 16];
    hub_folder(folder, "Qwen/Qwen3.5-4B");
    CHECK_STR("models--Qwen--Qwen3.5-4B", folder);
}

TEST(a_path_leads_through_a_repository)
{
    char repository[HUB_REPOSITORY_ROOM];
    CHECK(hub_repository_of(repository, "/home/u/hub/models--Qwen--Qwen3.5-4B/snapshots/abc"));
    CHECK_STR("Qwen/Qwen3.5-4B", repository);
    CHECK(!hub_repository_of(repository, "/home/u/Qwen3.5-4B"));
    CHECK(hub_repository_of(repository, "models--a--b--c"));
    CHECK_STR("a/b--c", repository);
    CHECK(!hub_repository(repository, "hub/models--a--b"));
    char longest[1000];
    snprintf(longest, sizeof longest, "models--%0900d", 1);
    CHECK(hub_repository_of(repository, longest));
    CHECK_INT(HUB_REPOSITORY_ROOM - 1, strlen(repository));
}

TEST(places_in_a_cache)
{
    static const char *const wrong[] = {"",
                                        "models--a--b",
                                        "models--a--b/snapshots",
                                        "models--a--b/snapshots/",
                                        "models--a--b/snapshots/..",
                                        "models--a--b/blobs/12",
                                        "../snapshots/1",
                                        "datasets--a--b/snapshots/1/x",
                                        "models--a--b//snapshots/1"};
    struct hub_place place;
    CHECK(hub_place_parse(&place, "models--a--b/snapshots/12ab/folder/x.gguf"));
    CHECK_STR("models--a--b", place.folder);
    CHECK_STR("12ab", place.revision);
    CHECK_STR("folder/x.gguf", place.file);
    CHECK(hub_place_parse(&place, "models--a--b/snapshots/12ab"));
    CHECK_STR("", place.file);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (hub_place_parse(&place, wrong[i])) CHECK_FAIL("'%s' was taken", wrong[i]);
}

TEST(blobs_and_locks_of_a_repository)
{
    char blob[HUB_BLOB_ROOM], lock[HUB_LOCK_ROOM];
    hub_blob(blob, "12ab", false);
    CHECK_STR("blobs/12ab", blob);
    hub_blob(blob, "12ab", true);
    CHECK_STR("blobs/12ab.incomplete", blob);
    hub_lock(lock, "models--a--b", "12ab");
    CHECK_STR(".locks/models--a--b/12ab.lock", lock);
    hub_lock(lock, "models--a--b", NULL);
    CHECK_STR(".locks/models--a--b", lock);
}

TEST(a_path_leads_through_a_snapshot)
{
    CHECK_INT(strlen("/hub/models--a--b/snapshots/12ab"), hub_snapshot_length("/hub/models--a--b/snapshots/12ab"));
    CHECK_INT(strlen("/hub/models--a--b/snapshots/12ab"), hub_snapshot_length("/hub/models--a--b/snapshots/12ab/Q8/x"));
    CHECK_INT(0, hub_snapshot_length("/home/u/models"));
}

TEST(refs_name_a_revision)
{
    static const char *const wrong[] = {"", "\n", "../up", "a b", "a/b", "\xEF\xBB\xBF"};
    char revision[HUB_REVISION_ROOM], longest[HUB_REVISION_ROOM + 1];
    CHECK(hub_revision_parse(revision,
                             "\xEF\xBB\xBF"
                             "12ab \r\n",
                             9));
    CHECK_STR("12ab", revision);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (hub_revision_parse(revision, wrong[i], strlen(wrong[i]))) CHECK_FAIL("'%s' was taken", wrong[i]);
    memset(longest, 'a', sizeof longest);
    CHECK(hub_revision_parse(revision, longest, HUB_REVISION_ROOM - 1));
    CHECK(!hub_revision_parse(revision, longest, HUB_REVISION_ROOM));
}

TEST(links_lead_to_blobs_of_the_same_repository)
{
    static const char *const wrong[] = {
        "",           "../../blobs/", "../../blobs/..", "../../blobs/.x", "../../blobs/a/b", "../../../blobs/a",
        "../blobs/a", "/blobs/a",     "../../blob/a"};
    char digest[HUB_DIGEST_ROOM];
    for (int depth = 0; depth < 3; depth++) {
        char *link = hub_link("12ab", depth);
        CHECK_STR(depth == 0   ? "../../blobs/12ab"
                  : depth == 1 ? "../../../blobs/12ab"
                               : "../../../../blobs/12ab",
                  link);
        CHECK(hub_link_parse(digest, link, depth));
        CHECK_STR("12ab", digest);
        CHECK(!hub_link_parse(digest, link, depth + 1));
        free(link);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (hub_link_parse(digest, wrong[i], 0)) CHECK_FAIL("'%s' was taken", wrong[i]);
}

static void check_gguf(const char *stem, const char *tag, unsigned part, unsigned parts, const char *path)
{
    struct hub_gguf gguf;
    if (!hub_gguf_parse(&gguf, path)) {
        CHECK_FAIL("%s: not taken", path);
        return;
    }
    CHECK_STR(tag, gguf.tag);
    CHECK_INT(part, gguf.part);
    CHECK_INT(parts, gguf.parts);
    CHECK_INT(strlen(stem), gguf.stem);
    CHECK(!memcmp(stem, path, gguf.stem));
}

TEST(the_quant_is_what_a_files_name_ends_with)
{
    check_gguf("Qwen3.5-4B-Q4_K_M", "Q4_K_M", 1, 1, "Qwen3.5-4B-Q4_K_M.gguf");
    check_gguf("Qwen3.5-4B-UD-Q4_K_XL", "UD-Q4_K_XL", 1, 1, "Qwen3.5-4B-UD-Q4_K_XL.gguf");
    check_gguf("qwen3.5-4b-q8_0", "q8_0", 1, 1, "qwen3.5-4b-q8_0.gguf");
    check_gguf("Qwen3.5-4B.i1-IQ2_XXS", "IQ2_XXS", 1, 1, "Qwen3.5-4B.i1-IQ2_XXS.gguf");
    check_gguf("Qwen3.5-4B.Q6_K", "Q6_K", 1, 1, "Qwen3.5-4B.Q6_K.gguf");
    check_gguf("x_bf16", "bf16", 1, 1, "x_bf16.GGUF");
    check_gguf("x-MXFP4_MOE", "MXFP4_MOE", 1, 1, "x-MXFP4_MOE.gguf");
    check_gguf("model", "model", 1, 1, "model.gguf");
    check_gguf("Q4_K_M", "Q4_K_M", 1, 1, "Q4_K_M.gguf");
    check_gguf("Q4_K_M/Quiet-7B", "Quiet-7B", 1, 1, "Q4_K_M/Quiet-7B.gguf");
    check_gguf("BF16/x-BF16", "BF16", 2, 3, "BF16/x-BF16-00002-of-00003.gguf");
}

TEST(what_is_no_model_is_not_taken)
{
    static const char *const wrong[] = {"",
                                        ".gguf",
                                        "x.safetensors",
                                        "x-Q4_K_M.gguf.part",
                                        "mmproj-F16.gguf",
                                        "x-mmproj-BF16.gguf",
                                        "imatrix_unsloth.gguf",
                                        "mtp-x-Q4_K_M.gguf",
                                        "sub/mtp-x.gguf",
                                        "x-00000-of-00003.gguf",
                                        "x-00004-of-00003.gguf",
                                        "x-00001-of-99999.gguf"};
    struct hub_gguf gguf;
    char longest[300];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (hub_gguf_parse(&gguf, wrong[i])) CHECK_FAIL("'%s' was taken", wrong[i]);
    snprintf(longest, sizeof longest, "%097d.gguf", 1);
    CHECK(!hub_gguf_parse(&gguf, longest));
}

TEST(tags_name_files_in_any_case)
{
    struct hub_gguf gguf;
    const char *path = "sub/x-UD-Q4_K_XL-00001-of-00002.gguf";
    REQUIRE(hub_gguf_parse(&gguf, path));
    CHECK(hub_tag_is(&gguf, path, "ud-q4_k_xl"));
    CHECK(hub_tag_is(&gguf, path, "x-UD-Q4_K_XL"));
    CHECK(!hub_tag_is(&gguf, path, "Q4_K_XL"));
    CHECK(!hub_tag_is(&gguf, path, "x"));
    CHECK(!hub_tag_is(&gguf, path, ""));
}

TEST_MAIN(T(names_have_an_owner_and_perhaps_a_tag), T(no_name_leads_out_of_the_cache), T(a_repository_has_a_folder),
          T(a_path_leads_through_a_repository), T(blobs_and_locks_of_a_repository), T(a_path_leads_through_a_snapshot),
          T(places_in_a_cache), T(refs_name_a_revision), T(links_lead_to_blobs_of_the_same_repository),
          T(the_quant_is_what_a_files_name_ends_with), T(what_is_no_model_is_not_taken), T(tags_name_files_in_any_case))
