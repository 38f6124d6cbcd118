/* Pictures and films as files, read back by the libraries that others read them with. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef FLASHLAB_HAVE_PNG
#include <png.h>
#endif
#ifdef FLASHLAB_HAVE_GIF
#include <gif_lib.h>
#endif

#include "visualizer/palette.h"
#include "visualizer/picture.h"

enum { W = 37, H = 23, PITCH = 4 * W + 8 };

static char folder[256], path[512];
static uint8_t pixels[H * PITCH];
static const struct view_picture picture = {W, H, PITCH, pixels};

static int make_folder(void **state)
{
    const char *parent = getenv("TMPDIR");
    (void)state;
    snprintf(folder, sizeof folder, "%s/flashlab-picture-XXXXXX",
             parent && *parent ? parent : P_tmpdir);
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder); /* fails if anything was left behind */
}

static const char *name(const char *file)
{
    snprintf(path, sizeof path, "%s/%s", folder, file);
    return path;
}

static bool exists(const char *file)
{
    char whole[512];
    struct stat status;
    snprintf(whole, sizeof whole, "%s/%s", folder, file);
    return stat(whole, &status) == 0;
}

static void paint(int x0, int y0, int x1, int y1, uint32_t colour)
{
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++) {
            uint8_t *p = pixels + y * PITCH + 4 * x;
            p[0] = (uint8_t)(colour >> 16);
            p[1] = (uint8_t)(colour >> 8);
            p[2] = (uint8_t)colour;
            p[3] = 99; /* nobody may look at it */
        }
}

#if defined FLASHLAB_HAVE_PNG || defined FLASHLAB_HAVE_GIF
static uint32_t painted(int x, int y)
{
    const uint8_t *p = pixels + y * PITCH + 4 * x;
    return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static void paint_all_different(void)
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            paint(x, y, x + 1, y + 1,
                  (uint32_t)(x * 6) << 16 | (uint32_t)(y * 11) << 8 | (uint32_t)(x * y % 256));
}
#endif

static void assert_refused(enum fa_status got, enum fa_status expected,
                           const struct fa_error *error, const char *words)
{
    assert_int_equal(got, expected);
    if (!strstr(error->text, words))
        fail_msg("\"%s\" does not say \"%s\"", error->text, words);
}

/* ---- PNG ------------------------------------------------------------------------------------- */

#ifdef FLASHLAB_HAVE_PNG

static void png_holds_the_pixels(void **state)
{
    (void)state;
    png_image image = {.version = PNG_IMAGE_VERSION};
    static uint8_t back[H * W * 3];
    paint_all_different();
    assert_int_equal(view_png_write(name("a.png"), &picture, NULL, NULL), FA_OK);
    assert_false(exists("a.png.part"));
    assert_true(png_image_begin_read_from_file(&image, path));
    assert_int_equal(image.width, W);
    assert_int_equal(image.height, H);
    assert_int_equal(image.format, PNG_FORMAT_RGB); /* no alpha, no palette */
    assert_true(png_image_finish_read(&image, NULL, back, 0, NULL));
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            assert_memory_equal(back + 3 * (y * W + x), pixels + y * PITCH + 4 * x, 3);
    unlink(path);
}

/* The caption of `file`, its length on return 0 if there is none. */
static void read_caption(const char *file, char *words, size_t size)
{
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_textp texts;
    int n = 0;
    FILE *stream = fopen(file, "rb");
    assert_non_null(stream);
    png_init_io(png, stream);
    png_read_info(png, info);
    png_get_text(png, info, &texts, &n);
    words[0] = '\0';
    if (n == 1 && strcmp(texts[0].key, "Description") == 0)
        snprintf(words, size, "%s", texts[0].text);
    png_destroy_read_struct(&png, &info, NULL);
    fclose(stream);
}

static void png_has_its_caption(void **state)
{
    (void)state;
    char words[128];
    const char *caption = "flash2, N 16, d 4, tiles 4 × 4: ℓ";
    assert_int_equal(view_png_write(name("a.png"), &picture, caption, NULL), FA_OK);
    read_caption(path, words, sizeof words);
    assert_string_equal(words, caption);
    assert_int_equal(view_png_write(path, &picture, NULL, NULL), FA_OK);
    read_caption(path, words, sizeof words);
    assert_string_equal(words, "");
    unlink(path);
}

#endif

static void png_refusals_leave_nothing(void **state)
{
    (void)state;
#ifndef FLASHLAB_HAVE_PNG
    skip();
#endif
    struct fa_error error;
    struct view_picture flat = picture;
    flat.height = 0;
    assert_refused(view_png_write(name("a.png"), &flat, NULL, &error), FA_BAD_ARGUMENT, &error,
                   "37 x 0");
    flat.height = 20000;
    assert_refused(view_png_write(name("a.png"), &flat, NULL, &error), FA_BAD_ARGUMENT, &error,
                   "16384");
    assert_refused(view_png_write(name("no/a.png"), &picture, NULL, &error), FA_IO, &error,
                   "no/a.png");
    /* A folder stands where the file is to be. */
    assert_int_equal(mkdir(name("a.png"), 0700), 0);
    assert_refused(view_png_write(name("a.png"), &picture, NULL, &error), FA_IO, &error, "a.png");
    rmdir(path);
    assert_false(exists("a.png.part"));
    if (access("/dev/full", W_OK) == 0 && symlink("/dev/full", name("b.png.part")) == 0) {
        assert_refused(view_png_write(name("b.png"), &picture, NULL, &error), FA_IO, &error,
                       "b.png");
        assert_false(exists("b.png"));
        assert_false(exists("b.png.part"));
    }
}

/* ---- palettes -------------------------------------------------------------------------------- */

static void palettes_are_exact_up_to_255_colours(void **state)
{
    (void)state;
    struct view_palette *palette = view_palette_open();
    assert_non_null(palette);
    for (uint32_t i = 0; i < 255; i++)
        for (uint32_t times = 0; times <= i % 7; times++)
            view_palette_count(palette, i * 0x010203);
    view_palette_choose(palette);
    assert_int_equal(view_palette_size(palette), 256);
    for (uint32_t i = 0; i < 255; i++) {
        int index = view_palette_find(palette, i * 0x010203);
        assert_int_not_equal(index, VIEW_PALETTE_NONE);
        assert_int_equal(view_palette_colour(palette, index), i * 0x010203);
    }
    view_palette_clear(palette);
    view_palette_count(palette, 0);
    view_palette_choose(palette);
    assert_int_equal(view_palette_size(palette), 2);
    assert_int_equal(view_palette_find(palette, 0), 1);
    view_palette_close(palette);
}

/* More colours: the frequent ones stay exact, a rare but strange one is not lost, the rest are
 * near. */
static void palettes_of_many_colours(void **state)
{
    (void)state;
    struct view_palette *palette = view_palette_open();
    assert_non_null(palette);
    for (int i = 0; i < 1000; i++)
        view_palette_count(palette, 0x0072b2);
    for (uint32_t grey = 0; grey < 256; grey++)
        for (uint32_t i = 0; i < 4; i++)
            view_palette_count(palette, grey * 0x010101 ^ i);
    view_palette_count(palette, 0xff9457);
    view_palette_choose(palette);
    assert_int_equal(view_palette_size(palette), 256);
    assert_int_equal(view_palette_colour(palette, view_palette_find(palette, 0x0072b2)), 0x0072b2);
    assert_int_equal(view_palette_colour(palette, view_palette_find(palette, 0xff9457)), 0xff9457);
    for (uint32_t grey = 0; grey < 256; grey++) {
        uint32_t near = view_palette_colour(palette, view_palette_find(palette, grey * 0x010101));
        assert_true(labs((long)(near & 255) - (long)grey) <= 6);
        assert_true(labs((long)(near >> 16) - (long)grey) <= 6);
    }
    /* So many that their low bits go. */
    view_palette_clear(palette);
    for (uint32_t i = 0; i < 100000; i++)
        view_palette_count(palette, i * 167 % 0x1000000);
    view_palette_choose(palette);
    for (uint32_t i = 0; i < 100000; i += 999)
        assert_int_not_equal(view_palette_find(palette, i * 167 % 0x1000000), VIEW_PALETTE_NONE);
    view_palette_close(palette);
}

/* ---- films ----------------------------------------------------------------------------------- */

static void film_refusals(void **state)
{
    (void)state;
    struct view_movie *movie = NULL;
    struct fa_error error;
    const char *bad[] = {"a.avi", "a", "gif", "a.gif.png", ""};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_refused(view_movie_open(name(bad[i]), W, H, 20, &movie, &error), FA_BAD_ARGUMENT,
                       &error, ".gif, .mp4 or .webm");
    assert_refused(view_movie_open(name("a.gif"), 0, H, 20, &movie, &error), FA_BAD_ARGUMENT,
                   &error, "0 x 23");
    assert_refused(view_movie_open(name("a.gif"), W, H, 0, &movie, &error), FA_BAD_ARGUMENT, &error,
                   "0 pictures");
    assert_refused(view_movie_open(name("a.gif"), W, H, 61, &movie, &error), FA_BAD_ARGUMENT,
                   &error, "1 to 60");
    assert_null(movie);
}

#ifdef FLASHLAB_HAVE_GIF

static uint32_t colour_of(const GifFileType *gif, const SavedImage *image, int index)
{
    const ColorMapObject *map =
        image->ImageDesc.ColorMap ? image->ImageDesc.ColorMap : gif->SColorMap;
    assert_non_null(map);
    assert_true(index < map->ColorCount);
    GifColorType c = map->Colors[index];
    return (uint32_t)c.Red << 16 | (uint32_t)c.Green << 8 | c.Blue;
}

/* Puts the n-th picture over what is shown, as a viewer does. Its delay comes back. */
static int show(GifFileType *gif, int n, uint32_t shown[H][W])
{
    const SavedImage *image = &gif->SavedImages[n];
    const GifImageDesc *place = &image->ImageDesc;
    GraphicsControlBlock block;
    assert_int_equal(DGifSavedExtensionToGCB(gif, n, &block), GIF_OK);
    assert_int_equal(block.DisposalMode, DISPOSE_DO_NOT);
    for (int y = 0; y < place->Height; y++)
        for (int x = 0; x < place->Width; x++) {
            int index = image->RasterBits[y * place->Width + x];
            if (index != block.TransparentColor)
                shown[place->Top + y][place->Left + x] = colour_of(gif, image, index);
        }
    return block.DelayTime;
}

static void assert_shown(uint32_t shown[H][W])
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            if (shown[y][x] != painted(x, y))
                fail_msg("pixel (%d, %d) is %06x, expected %06x", x, y, (unsigned)shown[y][x],
                         (unsigned)painted(x, y));
}

static void add(struct view_movie *movie)
{
    assert_int_equal(view_movie_add(movie, &picture, NULL), FA_OK);
}

static void draw_film_picture(int i)
{
    paint(0, 0, W, H, 0x0f141a);
    paint(3, 4, 9, 9, 0x56b4e9);
    paint(20 + i, 10, 24 + i, 15, 0xe69f00);
}

/* Four pictures: the second stands still for one more, the last changes one pixel. */
static void gif_holds_the_pictures(void **state)
{
    (void)state;
    struct view_movie *movie;
    static uint32_t shown[H][W];
    int cause;
    assert_int_equal(view_movie_open(name("a.gif"), W, H, 30, &movie, NULL), FA_OK);
    for (int i = 0; i < 2; i++) {
        draw_film_picture(i);
        add(movie);
    }
    add(movie);
    paint(36, 22, 37, 23, 0xffffff);
    add(movie);
    assert_int_equal(view_movie_close(movie, false, NULL), FA_OK);
    assert_false(exists("a.gif.part"));

    GifFileType *gif = DGifOpenFileName(name("a.gif"), &cause);
    assert_non_null(gif);
    assert_int_equal(DGifSlurp(gif), GIF_OK);
    assert_int_equal(gif->SWidth, W);
    assert_int_equal(gif->SHeight, H);
    assert_int_equal(gif->ImageCount, 3);
    /* 3.33 hundredths each, spread over whole ones. */
    draw_film_picture(0);
    assert_int_equal(show(gif, 0, shown), 3);
    assert_shown(shown);
    draw_film_picture(1);
    assert_int_equal(show(gif, 1, shown), 7);
    assert_shown(shown);
    paint(36, 22, 37, 23, 0xffffff);
    assert_int_equal(show(gif, 2, shown), 3);
    assert_shown(shown);
    assert_int_equal(gif->SavedImages[1].ImageDesc.Width, 5); /* what moved, and no more */
    assert_int_equal(gif->SavedImages[1].ImageDesc.Height, 5);
    assert_int_equal(gif->SavedImages[2].ImageDesc.Width, 1);
    const ExtensionBlock *loop = gif->SavedImages[0].ExtensionBlocks;
    assert_int_equal(loop->Function, APPLICATION_EXT_FUNC_CODE);
    assert_memory_equal(loop->Bytes, "NETSCAPE2.0", 11);
    assert_memory_equal(loop[1].Bytes, "\1\0\0", 3); /* for ever */
    DGifCloseFile(gif, &cause);
    unlink(path);
}

static void gif_of_many_colours_is_near(void **state)
{
    (void)state;
    struct view_movie *movie;
    static uint32_t shown[H][W];
    int cause;
    paint_all_different();
    assert_int_equal(view_movie_open(name("a.GIF"), W, H, 60, &movie, NULL), FA_OK);
    add(movie);
    assert_int_equal(view_movie_close(movie, false, NULL), FA_OK);
    GifFileType *gif = DGifOpenFileName(name("a.GIF"), &cause);
    assert_non_null(gif);
    assert_int_equal(DGifSlurp(gif), GIF_OK);
    assert_int_equal(show(gif, 0, shown), 2);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            for (int shift = 0; shift <= 16; shift += 8)
                assert_true(labs((long)(shown[y][x] >> shift & 255) -
                                 (long)(painted(x, y) >> shift & 255)) < 40);
    DGifCloseFile(gif, &cause);
    unlink(path);
}

static void gif_that_fails_leaves_nothing(void **state)
{
    (void)state;
    struct view_movie *movie;
    struct fa_error error;
    struct view_picture other = picture;
    other.width = 1;
    assert_int_equal(view_movie_open(name("a.gif"), W, H, 20, &movie, NULL), FA_OK);
    add(movie);
    assert_refused(view_movie_add(movie, &other, &error), FA_BAD_ARGUMENT, &error, "1 x 23");
    assert_true(exists("a.gif.part"));
    assert_int_equal(view_movie_close(movie, true, &error), FA_OK);
    assert_int_equal(view_movie_open(name("a.gif"), W, H, 20, &movie, NULL), FA_OK);
    assert_refused(view_movie_close(movie, false, &error), FA_BAD_ARGUMENT, &error, "no picture");
    assert_refused(view_movie_open(name("no/a.gif"), W, H, 20, &movie, &error), FA_IO, &error,
                   "no/a.gif");
    assert_false(exists("a.gif"));
    assert_false(exists("a.gif.part"));
}

#endif

static bool has_ffmpeg(void)
{
    return system("ffmpeg -version >/dev/null 2>&1") == 0;
}

static void mp4_by_ffmpeg(void **state)
{
    (void)state;
    struct view_movie *movie;
    struct fa_error error;
    char head[12] = "";
    if (!has_ffmpeg())
        skip();
    assert_int_equal(view_movie_open(name("a.mp4"), W, H, 20, &movie, &error), FA_OK);
    for (int i = 0; i < 3; i++) {
        paint(0, 0, W, H, 0x0f141a);
        assert_int_equal(view_movie_add(movie, &picture, &error), FA_OK);
    }
    assert_false(exists("a.mp4"));
    if (view_movie_close(movie, false, &error) != FA_OK)
        fail_msg("%s", error.text);
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    assert_int_equal(fread(head, 1, sizeof head, stream), sizeof head);
    fclose(stream);
    assert_memory_equal(head + 4, "ftyp", 4);
    unlink(path);
}

/* ffmpeg ends at once where it can't write: no signal, its words, no file. */
static void ffmpeg_that_fails_leaves_nothing(void **state)
{
    (void)state;
    struct view_movie *movie;
    struct fa_error error;
    enum fa_status status = FA_OK;
    if (!has_ffmpeg())
        skip();
    assert_int_equal(view_movie_open(name("no/a.mp4"), W, H, 20, &movie, &error), FA_OK);
    for (int i = 0; i < 2000 && status == FA_OK; i++)
        status = view_movie_add(movie, &picture, &error);
    assert_refused(view_movie_close(movie, false, &error), FA_IO, &error, "No such file");
    assert_int_equal(view_movie_open(name("a.mp4"), W, H, 20, &movie, &error), FA_OK);
    assert_int_equal(view_movie_add(movie, &picture, &error), FA_OK);
    assert_int_equal(view_movie_close(movie, true, &error), FA_OK);
    assert_false(exists("a.mp4"));
    assert_false(exists("a.mp4.part"));
}

static void without_ffmpeg_one_line_says_so(void **state)
{
    (void)state;
    struct view_movie *movie = NULL;
    struct fa_error error;
    char *old = getenv("PATH"), *kept = old ? strdup(old) : NULL;
    setenv("PATH", folder, 1);
    enum fa_status status = view_movie_open(name("a.webm"), W, H, 20, &movie, &error);
    if (kept)
        setenv("PATH", kept, 1);
    free(kept);
    assert_refused(status, FA_MISSING_PART, &error, "install ffmpeg");
    assert_null(movie);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef FLASHLAB_HAVE_PNG
        cmocka_unit_test(png_holds_the_pixels),
        cmocka_unit_test(png_has_its_caption),
#endif
        cmocka_unit_test(png_refusals_leave_nothing),
        cmocka_unit_test(palettes_are_exact_up_to_255_colours),
        cmocka_unit_test(palettes_of_many_colours),
        cmocka_unit_test(film_refusals),
#ifdef FLASHLAB_HAVE_GIF
        cmocka_unit_test(gif_holds_the_pictures),
        cmocka_unit_test(gif_of_many_colours_is_near),
        cmocka_unit_test(gif_that_fails_leaves_nothing),
#endif
        cmocka_unit_test(mp4_by_ffmpeg),
        cmocka_unit_test(ffmpeg_that_fails_leaves_nothing),
        cmocka_unit_test(without_ffmpeg_one_line_says_so),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
