#include "visualizer/canvas_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef FLASHLAB_HAVE_FONTCONFIG
#include <fontconfig/fontconfig.h>
#endif

static const char *const files[VIEW_STYLES] = {
    [VIEW_SANS] = "DejaVuSans.ttf",
    [VIEW_BOLD] = "DejaVuSans-Bold.ttf",
    [VIEW_MONO] = "DejaVuSansMono.ttf",
    [VIEW_MONO_BOLD] = "DejaVuSansMono-Bold.ttf",
};

static const char *const folders[] = {
    "/usr/share/fonts/truetype/dejavu",   "/usr/share/fonts/dejavu", "/usr/share/fonts/TTF",
    "/usr/share/fonts/dejavu-sans-fonts", "/usr/local/share/fonts",  "/Library/Fonts",
};

enum { FOLDERS = sizeof folders / sizeof folders[0] };

/* A path that does not fit is none. */
static void join(char path[VIEW_FONT_PATH], const char *folder, const char *file)
{
    int n = snprintf(path, VIEW_FONT_PATH, "%s/%s", folder, file);
    if (n < 0 || n >= VIEW_FONT_PATH)
        path[0] = '\0';
}

#ifdef FLASHLAB_HAVE_FONTCONFIG

/* Fontconfig always has an answer; it counts if it is the font that was asked for. */
static void ask_fontconfig(enum view_style style, char path[VIEW_FONT_PATH])
{
    bool mono = style == VIEW_MONO || style == VIEW_MONO_BOLD;
    bool bold = style == VIEW_BOLD || style == VIEW_MONO_BOLD;
    const char *family = mono ? "DejaVu Sans Mono" : "DejaVu Sans";
    FcResult result;
    FcChar8 *file, *found;
    FcPattern *wanted =
        FcPatternBuild(NULL, FC_FAMILY, FcTypeString, family, FC_WEIGHT, FcTypeInteger,
                       bold ? FC_WEIGHT_BOLD : FC_WEIGHT_NORMAL, (char *)NULL);
    if (!wanted)
        return;
    FcConfigSubstitute(NULL, wanted, FcMatchPattern);
    FcDefaultSubstitute(wanted);
    FcPattern *match = FcFontMatch(NULL, wanted, &result);
    if (match && FcPatternGetString(match, FC_FAMILY, 0, &found) == FcResultMatch &&
        strcmp((const char *)found, family) == 0 &&
        FcPatternGetString(match, FC_FILE, 0, &file) == FcResultMatch &&
        strlen((const char *)file) < VIEW_FONT_PATH)
        memcpy(path, file, strlen((const char *)file) + 1);
    if (match)
        FcPatternDestroy(match);
    FcPatternDestroy(wanted);
}

#endif

bool view_font_file(enum view_style style, int i, char path[VIEW_FONT_PATH])
{
    const char *own = getenv("FLASHLAB_FONTS");
    path[0] = '\0';
    if (own) {
        join(path, own, files[style]);
        return i == 0;
    }
    if (i < FOLDERS)
        join(path, folders[i], files[style]);
#ifdef FLASHLAB_HAVE_FONTCONFIG
    if (i == FOLDERS)
        ask_fontconfig(style, path);
    return i <= FOLDERS;
#else
    return i < FOLDERS;
#endif
}
