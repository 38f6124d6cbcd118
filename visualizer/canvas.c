#include "visualizer/canvas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SDL_MAIN_HANDLED
#include <SDL.h>
#ifdef FLASHLAB_HAVE_TTF
#include <SDL_ttf.h>
#endif

#include "visualizer/canvas_parts.h"
#include "visualizer/layout.h"

/* ---- fonts of the system --------------------------------------------------------------------- */

#ifdef FLASHLAB_HAVE_TTF

enum { FONTS_OPEN = 64 };

struct font {
    enum view_style style;
    int size;
    TTF_Font *handle;
};

struct view_fonts {
    char paths[VIEW_STYLES][VIEW_FONT_PATH]; /* "": the system has none */
    struct font fonts[FONTS_OPEN];
    int n;
};

static TTF_Font *open_font(const char *path, int size)
{
    TTF_Font *font = TTF_OpenFont(path, size);
    if (font)
        TTF_SetFontHinting(font, TTF_HINTING_LIGHT_SUBPIXEL);
    return font;
}

/* The first file that is a font: what is missing, empty or broken does not open. */
static void find_font(struct view_fonts *fonts, enum view_style style)
{
    char path[VIEW_FONT_PATH];
    for (int i = 0; view_font_file(style, i, path); i++) {
        TTF_Font *font = *path ? open_font(path, VIEW_SIZE_BODY) : NULL;
        if (!font)
            continue;
        TTF_CloseFont(font);
        memcpy(fonts->paths[style], path, sizeof path);
        return;
    }
}

/* The open font of a style and size in pixels; NULL: the system has none. */
static TTF_Font *font_of(struct view_fonts *fonts, enum view_style style, float size)
{
    int pixels = (int)roundf(fmaxf(1, fminf(512, size)));
    for (int i = 0; i < fonts->n; i++)
        if (fonts->fonts[i].style == style && fonts->fonts[i].size == pixels)
            return fonts->fonts[i].handle;
    if (!*fonts->paths[style])
        return NULL;
    TTF_Font *handle = open_font(fonts->paths[style], pixels);
    if (!handle)
        return NULL;
    if (fonts->n == FONTS_OPEN)
        TTF_CloseFont(fonts->fonts[--fonts->n].handle);
    fonts->fonts[fonts->n++] = (struct font){style, pixels, handle};
    return handle;
}

static bool font_has(void *context, enum view_style style, float size, uint32_t code)
{
    TTF_Font *font = font_of(context, style, size);
    return font && TTF_GlyphIsProvided32(font, code);
}

/* The alpha of a picture of white text is its coverage. */
static bool take_cover(SDL_Surface *surface, struct view_mask *mask)
{
    size_t bytes = (size_t)surface->w * (size_t)surface->h;
    mask->width = surface->w;
    mask->height = surface->h;
    mask->cover = malloc(bytes ? bytes : 1);
    if (!mask->cover || surface->format->BytesPerPixel != 4 || SDL_LockSurface(surface) != 0)
        return false;
    for (int y = 0; y < surface->h; y++) {
        const uint8_t *row = (const uint8_t *)surface->pixels + (size_t)y * (size_t)surface->pitch;
        for (int x = 0; x < surface->w; x++) {
            uint32_t pixel;
            memcpy(&pixel, row + 4 * x, sizeof pixel);
            mask->cover[(size_t)y * (size_t)surface->w + (size_t)x] =
                (uint8_t)((pixel & surface->format->Amask) >> surface->format->Ashift);
        }
    }
    SDL_UnlockSurface(surface);
    return true;
}

static float font_set(void *context, enum view_style style, float size, const char *text,
                      struct view_mask *mask)
{
    TTF_Font *font = font_of(context, style, size);
    int width = 0;
    if (!font || TTF_SizeUTF8(font, text, &width, NULL) != 0)
        return -1;
    if (!mask || width == 0)
        return (float)width;
    SDL_Surface *surface = TTF_RenderUTF8_Blended(font, text, (SDL_Color){255, 255, 255, 255});
    bool taken = surface && take_cover(surface, mask);
    SDL_FreeSurface(surface);
    mask->left = 0;
    mask->top = -TTF_FontAscent(font);
    return taken ? (float)width : -1;
}

bool view_fonts_open(struct view_fonts **fonts, struct view_font_source *source)
{
    struct view_fonts *made = calloc(1, sizeof *made);
    if (!made || TTF_Init() != 0) {
        free(made);
        return false;
    }
    for (int style = 0; style < VIEW_STYLES; style++)
        find_font(made, (enum view_style)style);
    *source = (struct view_font_source){font_has, font_set, made};
    *fonts = made;
    return true;
}

void view_fonts_close(struct view_fonts *fonts)
{
    if (!fonts)
        return;
    for (int i = 0; i < fonts->n; i++)
        TTF_CloseFont(fonts->fonts[i].handle);
    TTF_Quit();
    free(fonts);
}

#else

bool view_fonts_open(struct view_fonts **fonts, struct view_font_source *source)
{
    (void)fonts;
    (void)source;
    return false;
}

void view_fonts_close(struct view_fonts *fonts)
{
    (void)fonts;
}

#endif

/* ---- a window -------------------------------------------------------------------------------- */

enum {
    FRAME_MS = 16,      /* between two pictures at least */
    NAP_LEAST_MS = 4,   /* between two looks for an event */
    NAP_MOST_MS = 48,
    TICK_MOST_MS = 250, /* a longer pause (a stopped process, a moved window) skips no events */
    SLEEP_MS = 60 * 1000
};

struct window {
    const struct view_window_options *options;
    SDL_Window *handle;
    SDL_Renderer *renderer;
    SDL_Texture *texture;
    int texture_width, texture_height;
    struct view_canvas *canvas;
    struct view_state *state;
    uint32_t *before;              /* pixels that a step back fades from; NULL: none */
    int before_width, before_height;
    double fade;                   /* of them left when they were shown last */
    bool stale;                    /* what is shown is not the state's frame */
    bool resized;                  /* while a run was being made, the state was not told */
    bool stopped;                  /* the same, closed */
    uint64_t start, ticked, shown; /* milliseconds */
};

bool view_window_possible(const char **why)
{
    const char *reason = NULL;
#if !defined(_WIN32) && !defined(__APPLE__) && !defined(__EMSCRIPTEN__)
    const char *display = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    const char *driver = getenv("SDL_VIDEODRIVER");
    if (!(display && *display) && !(wayland && *wayland) && !(driver && *driver))
        reason = "no display: neither DISPLAY nor WAYLAND_DISPLAY is set";
#endif
    if (why)
        *why = reason;
    return !reason;
}

/* The window's pixels and how many of them are a logical one. A window that is minimized or
 * squeezed to nothing counts as one pixel. */
static float output_size(const struct window *window, int *width, int *height)
{
    int w = 0, h = 0;
    SDL_GetWindowSize(window->handle, &w, &h);
    if (!window->renderer || SDL_GetRendererOutputSize(window->renderer, width, height) != 0)
        SDL_GetWindowSize(window->handle, width, height);
    *width = *width < 1 ? 1 : *width > VIEW_SIDE_MOST ? VIEW_SIDE_MOST : *width;
    *height = *height < 1 ? 1 : *height > VIEW_SIDE_MOST ? VIEW_SIDE_MOST : *height;
    float font_scale = window->options->font_scale > 0 ? window->options->font_scale : 1;
    float dense = w > 0 ? (float)*width / (float)w : 1;
    if (window->options->gives_way)
        font_scale = view_layout_scale(font_scale, (float)*width / dense, (float)*height / dense);
    return fmaxf(0.5f, fminf(4, dense * font_scale));
}

static void drop_texture(struct window *window)
{
    if (window->texture)
        SDL_DestroyTexture(window->texture);
    window->texture = NULL;
}

/*
 * All that a renderer does here is to show one texture. Where the system shows pixels from memory
 * by itself (X11, Wayland), that is quicker than any driver, and is never lost; elsewhere hardware
 * does it.
 */
#ifdef __linux__
static const Uint32 first_choice = SDL_RENDERER_SOFTWARE, second_choice = SDL_RENDERER_ACCELERATED;
#else
static const Uint32 first_choice = SDL_RENDERER_ACCELERATED, second_choice = SDL_RENDERER_SOFTWARE;
#endif

/* Without waiting for the screen: some drivers then wait for ever. */
static bool open_renderer(struct window *window, Uint32 flags)
{
    drop_texture(window);
    if (window->renderer)
        SDL_DestroyRenderer(window->renderer);
    window->renderer = SDL_CreateRenderer(window->handle, -1, flags);
    return window->renderer != NULL;
}

static bool upload(struct window *window)
{
    const struct view_raster *raster = &window->canvas->raster;
    if (window->texture &&
        (window->texture_width != raster->width || window->texture_height != raster->height))
        drop_texture(window);
    if (!window->texture) {
        window->texture =
            SDL_CreateTexture(window->renderer, SDL_PIXELFORMAT_RGB888, SDL_TEXTUREACCESS_STREAMING,
                              raster->width, raster->height);
        window->texture_width = raster->width;
        window->texture_height = raster->height;
    }
    return window->texture && SDL_UpdateTexture(window->texture, NULL, raster->pixels,
                                                raster->width * (int)sizeof *raster->pixels) == 0;
}

/* Keeps what is shown now, for the step back that has just begun. Without memory nothing fades. */
static void keep_before(struct window *window)
{
    const struct view_raster *raster = &window->canvas->raster;
    size_t bytes = (size_t)raster->width * (size_t)raster->height * sizeof *raster->pixels;
    uint32_t *pixels = realloc(window->before, bytes);
    if (!pixels)
        return;
    memcpy(pixels, raster->pixels, bytes);
    window->before = pixels;
    window->before_width = raster->width;
    window->before_height = raster->height;
}

/* Mixes them into the picture that has just been drawn. */
static void fade(struct window *window)
{
    struct view_raster *raster = &window->canvas->raster;
    if (window->fade > 0 && window->before && window->before_width == raster->width &&
        window->before_height == raster->height)
        view_raster_mix(raster, window->before, window->fade);
}

/* Draws the state's frame. A renderer that fails is replaced by SDL's software. */
static void show(struct window *window)
{
    int width, height;
    float scale = output_size(window, &width, &height);
    window->stale = false;
    window->shown = SDL_GetTicks64();
    double left = view_state_fade(window->state);
    if (left > window->fade)
        keep_before(window);
    window->fade = left;
    if (view_canvas_resize(window->canvas, width, height, scale, NULL) != FA_OK)
        return;
    view_paint(&window->canvas->raster, view_state_draw(window->state), scale,
               window->canvas->typesetter);
    fade(window);
    if (!upload(window) && (!open_renderer(window, SDL_RENDERER_SOFTWARE) || !upload(window)))
        return;
    SDL_RenderCopy(window->renderer, window->texture, NULL, NULL);
    SDL_RenderPresent(window->renderer);
    const char *title = view_state_title(window->state);
    if (strcmp(title, SDL_GetWindowTitle(window->handle)) != 0)
        SDL_SetWindowTitle(window->handle, title);
}

static void give(struct window *window, const struct view_input *input)
{
    if (view_state_take(window->state, input))
        window->stale = true;
}

static void give_size(struct window *window)
{
    int width, height;
    float scale = output_size(window, &width, &height);
    struct view_input input = {.kind = VIEW_INPUT_RESIZE};
    input.x = (float)width / scale;
    input.y = (float)height / scale;
    /* The face measures at the scale, so it changes before the state lays out anew. */
    if (view_canvas_resize(window->canvas, width, height, scale, NULL) == FA_OK)
        give(window, &input);
    window->stale = true;
}

/* SDL tells the pointer in the window's points. */
static void give_pointer(struct window *window, enum view_input_kind kind, int x, int y)
{
    int points = 0, width, height;
    float scale = output_size(window, &width, &height);
    SDL_GetWindowSize(window->handle, &points, NULL);
    float dense = points > 0 ? (float)width / (float)points : 1;
    struct view_input input = {.kind = kind};
    input.x = (float)x * dense / scale;
    input.y = (float)y * dense / scale;
    input.shift = (SDL_GetModState() & KMOD_SHIFT) != 0;
    input.ctrl = (SDL_GetModState() & KMOD_CTRL) != 0;
    give(window, &input);
}

static void give_wheel(struct window *window, const SDL_MouseWheelEvent *wheel)
{
    struct view_input input = {.kind = VIEW_INPUT_WHEEL};
    input.wheel = wheel->direction == SDL_MOUSEWHEEL_FLIPPED ? -wheel->preciseY : wheel->preciseY;
    input.shift = (SDL_GetModState() & KMOD_SHIFT) != 0;
    input.ctrl = (SDL_GetModState() & KMOD_CTRL) != 0;
    give(window, &input);
}

static void give_key(struct window *window, const SDL_Keysym *key)
{
    static const struct {
        SDL_Keycode code;
        enum view_key key;
    } keys[] = {
        {SDLK_SPACE, VIEW_KEY_SPACE},
        {SDLK_LEFT, VIEW_KEY_LEFT},
        {SDLK_RIGHT, VIEW_KEY_RIGHT},
        {SDLK_UP, VIEW_KEY_UP},
        {SDLK_DOWN, VIEW_KEY_DOWN},
        {SDLK_PAGEUP, VIEW_KEY_PAGE_UP},
        {SDLK_PAGEDOWN, VIEW_KEY_PAGE_DOWN},
        {SDLK_HOME, VIEW_KEY_HOME},
        {SDLK_END, VIEW_KEY_END},
        {SDLK_RETURN, VIEW_KEY_ENTER},
        {SDLK_KP_ENTER, VIEW_KEY_ENTER},
        {SDLK_ESCAPE, VIEW_KEY_ESCAPE},
        {SDLK_TAB, VIEW_KEY_TAB},
        {SDLK_BACKSPACE, VIEW_KEY_BACKSPACE},
        {SDLK_F11, VIEW_KEY_F11},
    };
    struct view_input input = {.kind = VIEW_INPUT_KEY};
    input.shift = (key->mod & KMOD_SHIFT) != 0;
    input.ctrl = (key->mod & KMOD_CTRL) != 0;
    if (key->sym == SDLK_q && input.ctrl) {
        input.kind = VIEW_INPUT_QUIT;
        give(window, &input);
    }
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (keys[i].code == key->sym) {
            input.key = keys[i].key;
            give(window, &input);
        }
}

/* What was typed, a character at a time; a space is a key of its own. */
static void give_text(struct window *window, const char *text)
{
    size_t n = strlen(text);
    for (size_t at = 0, taken; at < n; at += taken) {
        struct view_input input = {.kind = VIEW_INPUT_KEY, .key = VIEW_KEY_TEXT};
        if (view_utf8_next(text + at, n - at, &taken) == ' ' || taken >= sizeof input.text)
            continue;
        memcpy(input.text, text + at, taken);
        give(window, &input);
    }
}

static void give_window_event(struct window *window, const SDL_WindowEvent *event)
{
    const struct view_input leave = {.kind = VIEW_INPUT_LEAVE};
    switch (event->event) {
    case SDL_WINDOWEVENT_SIZE_CHANGED:
    case SDL_WINDOWEVENT_DISPLAY_CHANGED:
        give_size(window);
        break;
    case SDL_WINDOWEVENT_LEAVE:
        give(window, &leave);
        break;
    case SDL_WINDOWEVENT_EXPOSED:
    case SDL_WINDOWEVENT_SHOWN:
    case SDL_WINDOWEVENT_RESTORED:
        window->stale = true;
        break;
    default:
        break;
    }
}

static void take_event(struct window *window, SDL_Event *event)
{
    struct view_input input = {0};
    switch (event->type) {
    case SDL_QUIT: /* also Ctrl-C, which SDL turns into this */
        input.kind = VIEW_INPUT_QUIT;
        give(window, &input);
        break;
    case SDL_WINDOWEVENT:
        give_window_event(window, &event->window);
        break;
    case SDL_KEYDOWN:
        give_key(window, &event->key.keysym);
        break;
    case SDL_TEXTINPUT:
        give_text(window, event->text.text);
        break;
    case SDL_MOUSEMOTION:
        give_pointer(window, VIEW_INPUT_MOVE, event->motion.x, event->motion.y);
        break;
    case SDL_MOUSEBUTTONDOWN:
    case SDL_MOUSEBUTTONUP:
        if (event->button.button == SDL_BUTTON_LEFT)
            give_pointer(window,
                         event->type == SDL_MOUSEBUTTONDOWN ? VIEW_INPUT_PRESS : VIEW_INPUT_RELEASE,
                         event->button.x, event->button.y);
        break;
    case SDL_MOUSEWHEEL:
        give_wheel(window, &event->wheel);
        break;
    case SDL_DROPFILE:
        input.kind = VIEW_INPUT_DROP;
        input.path = event->drop.file;
        give(window, &input);
        SDL_free(event->drop.file);
        break;
    case SDL_RENDER_TARGETS_RESET:
    case SDL_RENDER_DEVICE_RESET:
        drop_texture(window);
        window->stale = true;
        break;
    default:
        break;
    }
}

/* While the state makes a run, it must not be told of events: Esc and closing stop the work, the
 * rest is dropped or comes later. */
static bool pump(void *context)
{
    struct window *window = context;
    SDL_Event event;
    bool goes_on = !window->stopped;
    while (SDL_PollEvent(&event)) {
        if (event.type == SDL_QUIT)
            window->stopped = true;
        if (event.type == SDL_QUIT ||
            (event.type == SDL_KEYDOWN && event.key.keysym.sym == SDLK_ESCAPE))
            goes_on = false;
        if (event.type == SDL_WINDOWEVENT && event.window.event == SDL_WINDOWEVENT_SIZE_CHANGED)
            window->resized = true;
        if (event.type == SDL_RENDER_TARGETS_RESET || event.type == SDL_RENDER_DEVICE_RESET)
            drop_texture(window);
        if (event.type == SDL_DROPFILE)
            SDL_free(event.drop.file);
    }
    show(window);
    return goes_on;
}

/* What the pump put off. */
static void catch_up(struct window *window)
{
    const struct view_input quit = {.kind = VIEW_INPUT_QUIT};
    if (window->resized)
        give_size(window);
    if (window->stopped)
        give(window, &quit);
    window->resized = window->stopped = false;
}

/* How long the window may sleep for events; 0 once its time is up. */
static int rest_of(const struct window *window, bool idle, uint64_t now)
{
    uint64_t rest = SLEEP_MS;
    if (window->stale || !idle)
        rest = now - window->shown < FRAME_MS ? FRAME_MS - (now - window->shown) : 0;
    if (window->options->most_milliseconds > 0) {
        uint64_t end = window->start + (uint64_t)window->options->most_milliseconds;
        rest = now >= end ? 0 : rest < end - now ? rest : end - now;
    }
    return (int)rest;
}

/*
 * Waits at most so long for an event. SDL_WaitEventTimeout is not called: on X11 it answers what
 * ends its wait by sending the window a message through a second connection, which nobody can wait
 * for. After the key that closes the window the server may come to that message when the window
 * has gone, and Xlib then ends the program with status 1. So events are looked for, less often the
 * longer none has come.
 */
static bool await_event(SDL_Event *event, int most_milliseconds)
{
    uint64_t start = SDL_GetTicks64(), most = (uint64_t)most_milliseconds, spent;
    while (!SDL_PollEvent(event)) {
        if ((spent = SDL_GetTicks64() - start) >= most)
            return false;
        uint64_t nap = spent / 16 > NAP_LEAST_MS ? spent / 16 : NAP_LEAST_MS;
        nap = nap < NAP_MOST_MS ? nap : NAP_MOST_MS;
        SDL_Delay((Uint32)(nap < most - spent ? nap : most - spent));
    }
    return true;
}

/* One turn: events, time, a picture if anything changed. False: the window is to be closed. */
static bool turn(struct window *window)
{
    SDL_Event event;
    bool idle = view_state_idle(window->state);
    bool any = await_event(&event, rest_of(window, idle, SDL_GetTicks64()));
    if (idle)
        window->ticked = SDL_GetTicks64(); /* time that nobody waited for does not count */
    for (; any; any = SDL_PollEvent(&event))
        take_event(window, &event);
    catch_up(window);
    uint64_t now = SDL_GetTicks64(), spent = now - window->ticked;
    window->ticked = now;
    if (view_state_tick(window->state, (double)(spent < TICK_MOST_MS ? spent : TICK_MOST_MS)))
        window->stale = true;
    if (window->stale && now - window->shown >= FRAME_MS)
        show(window);
    long most = window->options->most_milliseconds;
    return !view_state_quits(window->state) && !(most > 0 && now - window->start >= (uint64_t)most);
}

static enum fa_status open_window(struct window *window, struct fa_error *error)
{
    const struct view_window_options *options = window->options;
    int width = options->width > 0 ? options->width : 1280;
    int height = options->height > 0 ? options->height : 720;
    float font_scale = options->font_scale > 0 ? options->font_scale : 1;
    SDL_SetMainReady();
    SDL_SetHint(SDL_HINT_VIDEO_ALLOW_SCREENSAVER, "1");
    SDL_SetHint(SDL_HINT_VIDEO_X11_NET_WM_BYPASS_COMPOSITOR, "0");
    if (first_choice == SDL_RENDERER_SOFTWARE) /* else SDL's software would use hardware again */
        SDL_SetHint(SDL_HINT_FRAMEBUFFER_ACCELERATION, "0");
    if (SDL_Init(SDL_INIT_VIDEO) != 0)
        return fa_fail(error, FA_MISSING_PART, "no window can be opened: %s", SDL_GetError());
    window->handle = SDL_CreateWindow(
        options->title ? options->title : "FlashLab", SDL_WINDOWPOS_CENTERED,
        SDL_WINDOWPOS_CENTERED, (int)roundf((float)width * font_scale),
        (int)roundf((float)height * font_scale), SDL_WINDOW_RESIZABLE | SDL_WINDOW_ALLOW_HIGHDPI);
    if (!window->handle)
        return fa_fail(error, FA_MISSING_PART, "no window can be opened: %s", SDL_GetError());
    if (!open_renderer(window, first_choice) && !open_renderer(window, second_choice))
        return fa_fail(error, FA_MISSING_PART, "nothing draws into a window: %s", SDL_GetError());
    SDL_StartTextInput();
    return FA_OK;
}

static void close_window(struct window *window)
{
    view_state_close(window->state);
    view_canvas_close(window->canvas);
    free(window->before);
    drop_texture(window);
    if (window->renderer)
        SDL_DestroyRenderer(window->renderer);
    if (window->handle)
        SDL_DestroyWindow(window->handle);
    SDL_Quit();
}

enum fa_status view_window_run(const struct view_window_options *options, struct fa_error *error)
{
    struct window window = {.options = options, .stale = true};
    int width, height;
    const char *why;
    if (!view_window_possible(&why))
        return fa_fail(error, FA_MISSING_PART, "no window can be opened: %s", why);
    enum fa_status status = open_window(&window, error);
    if (status != FA_OK)
        goto done;
    float scale = output_size(&window, &width, &height);
    status = view_canvas_open(width, height, scale, options->font, &window.canvas, error);
    if (status != FA_OK)
        goto done;
    status = options->start(options->context, &window.canvas->face, (float)width / scale,
                            (float)height / scale, &window.state, error);
    if (status != FA_OK)
        goto done;
    view_state_set_pump(window.state, pump, &window);
    window.start = window.ticked = SDL_GetTicks64();
    while (turn(&window))
        ;
done:
    close_window(&window);
    return status;
}
