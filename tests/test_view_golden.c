/*
 * Golden pictures: what `flashlab view --screenshot` draws in the built-in face, to the pixel.
 * After a change that is meant to be seen, FLASHLAB_WRITE_PICTURES=1 writes them anew; look at them
 * before they are kept.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/program_expect.h"
#ifdef FLASHLAB_HAVE_LESSONS
#include "tests/lesson_stage.h"
#endif

#if defined(FLASHLAB_HAVE_CANVAS) && __has_include(<png.h>)
#include <png.h>

struct golden {
    const char *name, *line; /* or "contents", "race": pages, which no line draws */
};

static const struct golden goldens[] = {
    {"cross-dark", "--at 1,2 --size 1280x720"},
    {"flight-light", "--at 49.5 --size 800x600 --theme light"},
    {"compare-dark", "--n 128 --d 16 --tiles 16x16 --sram 10K --algorithm flash1 --at 3,3 --compare=--algorithm=flash2 --size 1280x720"},
    {"standard-light", "--algorithm standard --at 60 --size 1000x640 --theme light --panel traffic"},
    {"backward-dark", "--pass backward --at 60 --size 1280x720 --panel traffic"},
    {"refused-light", "--sram 256 --theme light --size 800x600"},
    {"many-tiles-dark", "--n 2048 --d 64 --tiles 32x32 --causal --at 20,9 --size 1280x720 --panel none"},
    {"row-light", "--stage row --at 1,2 --size 800x600 --theme light"},
    {"mini-dark", "--at 1,2 --size 400x300"},
    {"scaled-light", "--at 1,2 --size 1280x720 --font-scale 2 --theme light"},
#ifdef FLASHLAB_HAVE_LESSONS
    {"lesson-0-dark", "--lesson 0 --step 5 --size 800x600"},
    {"lesson-1-light", "--lesson 1 --step 6 --size 800x600 --theme light"},
    {"lesson-2-dark", "--lesson 2 --step 3 --size 800x600"},
    {"lesson-3-light", "--lesson 3 --step 5 --size 800x600 --theme light"},
    {"lesson-4-dark", "--lesson 4 --step 2 --size 800x600"},
    {"lesson-5-light", "--lesson 5 --step 5 --size 800x600 --theme light"},
    {"lesson-6-dark", "--lesson 6 --step 6 --size 1000x600"},
    {"lesson-7-light", "--lesson 7 --step 4 --size 800x600 --theme light"},
    {"lesson-8-dark", "--lesson 8 --step 4 --size 800x600"},
    {"lesson-9-light", "--lesson 9 --step 4 --size 1000x600 --theme light"},
    {"lesson-10-dark", "--lesson 10 --step 4 --size 800x600"},
    {"lesson-11-light", "--lesson 11 --step 2 --size 800x600 --theme light"},
    {"lesson-12-dark", "--lesson 12 --step 2 --size 800x600"},
    {"lesson-13-light", "--lesson 13 --step 2 --size 800x600 --theme light"},
    {"lesson-14-dark", "--lesson 14 --step 2 --size 800x600"},
    {"turns-light", "--lesson 13 --step 7 --size 1000x600 --theme light"},
    {"l2-dark", "--lesson 14 --step 6 --size 800x600"},
    {"contents-light", "contents"},
    {"race-dark", "race"},
#endif
};

/* The picture's pixels, r g b x; freed by the caller. */
static uint8_t *read_picture(const char *path, png_image *image)
{
    memset(image, 0, sizeof *image);
    image->version = PNG_IMAGE_VERSION;
    if (!png_image_begin_read_from_file(image, path))
        return NULL;
    image->format = PNG_FORMAT_RGBA;
    uint8_t *pixels = malloc(PNG_IMAGE_SIZE(*image));
    assert_non_null(pixels);
    assert_true(png_image_finish_read(image, NULL, pixels, 0, NULL));
    return pixels;
}

static void copy_file(const char *from, const char *to)
{
    size_t n;
    char *bytes = program_read_file(from, &n);
    FILE *file = fopen(to, "wb");
    assert_non_null(bytes);
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
    free(bytes);
}

#ifdef FLASHLAB_HAVE_LESSONS

/* Nothing is learnt yet; the race stands where it asks. */
static void draw_page(const char *page, const char *path)
{
    static struct lesson_stage stage;
    struct fa_error error = {FA_OK, ""};
    bool race = strcmp(page, "race") == 0;
    lesson_stage_open(&stage, NULL);
    stage.view.font = 1; /* the built-in face */
    lesson_stage_resize(&stage, 800, 600, race ? &view_dark : &view_light);
    stage.frame->reduced_motion = true;
    view_player_page(stage.state, race ? VIEW_PAGE_RACE : VIEW_PAGE_CONTENTS);
    if (race)
        view_state_do(stage.state, VIEW_RACE_ON, 0);
    for (int tick = 0; tick < 100 && !view_state_idle(stage.state); tick++) {
        view_state_tick(stage.state, 16);
        view_state_draw(stage.state);
    }
    if (cli_view_save_frame(&stage.view, stage.frame, path, &error) != FA_OK)
        fail_msg("%s", error.text);
    lesson_stage_close(&stage);
    lesson_stage_close_shelf(NULL);
}

#else

static void draw_page(const char *page, const char *path)
{
    fail_msg("%s, %s: there are no lessons", page, path);
}

#endif

static void draw(const struct golden *golden, const char *name)
{
    char line[512];
    if (golden->line[0] != '-') {
        draw_page(golden->line, program_path(name));
        return;
    }
    snprintf(line, sizeof line, "view %s --font builtin --screenshot @%s", golden->line, name);
    program_run_fine(line);
}

static void check_golden(const struct golden *golden)
{
    char path[512], name[64];
    png_image drawn, kept;
    snprintf(name, sizeof name, "%s.png", golden->name);
    draw(golden, name);
    snprintf(path, sizeof path, "%s/tests/pictures/%s", FLASHLAB_SOURCE_DIR, name);
    if (getenv("FLASHLAB_WRITE_PICTURES")) {
        copy_file(program_path(name), path);
        print_error("%s was written anew: look at it\n", path);
        fail();
    }
    uint8_t *a = read_picture(program_path(name), &drawn), *b = read_picture(path, &kept);
    assert_non_null(a);
    if (!b || drawn.width != kept.width || drawn.height != kept.height) {
        print_error("%s: missing, or of another size\n", path);
        fail();
    }
    size_t differ = 0, first = 0, n = (size_t)drawn.width * drawn.height;
    for (size_t i = n; i-- > 0;)
        if (memcmp(a + 4 * i, b + 4 * i, 3) != 0) {
            differ++;
            first = i;
        }
    if (differ > 0) {
        print_error("%s: %zu pixels of %zu differ, the first at (%zu, %zu)\n", golden->name, differ,
                    n, first % drawn.width, first / drawn.width);
        fail();
    }
    free(a);
    free(b);
}

static void test_pictures(void **state)
{
    check_golden(*state);
}

int main(void)
{
    enum { N = sizeof goldens / sizeof *goldens };
    struct CMUnitTest tests[N];
    for (size_t i = 0; i < N; i++)
        tests[i] = (struct CMUnitTest){goldens[i].name, test_pictures, NULL, NULL,
                                       (void *)(uintptr_t)&goldens[i]};
    return cmocka_run_group_tests(tests, NULL, program_folder_remove);
}

#else

int main(void)
{
    printf("skipped: this build has no SDL2 or no libpng, so nothing is drawn\n");
    return 77;
}

#endif
