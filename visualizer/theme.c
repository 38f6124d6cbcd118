#include "visualizer/theme.h"

#include <math.h>

#define RGB(hex) {(hex) >> 16 & 255, (hex) >> 8 & 255, (hex) & 255, 255}

const struct view_theme view_dark = {
    .name = "dark", .dark = true,
    .bg = RGB(0x0F141A), .panel = RGB(0x171D25), .raised = RGB(0x232C37), .hair = RGB(0x34404D),
    .edge = RGB(0x76859A), .text = RGB(0xE9EEF3), .text2 = RGB(0xAEB9C5), .bad = RGB(0xFF9457),
    .bad_fill = RGB(0xD55E00),
};

const struct view_theme view_light = {
    .name = "light", .dark = false,
    .bg = RGB(0xF3F5F8), .panel = RGB(0xFFFFFF), .raised = RGB(0xE6EAF0), .hair = RGB(0xC9D1DA),
    .edge = RGB(0x6F7B88), .text = RGB(0x131920), .text2 = RGB(0x47525E), .bad = RGB(0xA84300),
    .bad_fill = RGB(0xD55E00),
};

/* The colours of Okabe and Ito's palette, which stay apart for colour-blind eyes. */
enum hue { HUE_Q, HUE_K, HUE_V, HUE_S, HUE_P, HUE_O, HUE_GREY };

struct hue_colors {
    struct view_color fill[2], line[2]; /* of the dark and of the light theme */
    enum view_pattern pattern;
};

static const struct hue_colors hues[] = {
    [HUE_Q] = {{RGB(0x56B4E9), RGB(0x56B4E9)}, {RGB(0x56B4E9), RGB(0x1B6F9F)}, VIEW_PLAIN},
    [HUE_K] = {{RGB(0xE69F00), RGB(0xE69F00)}, {RGB(0xE69F00), RGB(0x8A5C00)}, VIEW_UPRIGHT},
    [HUE_V] = {{RGB(0x009E73), RGB(0x009E73)}, {RGB(0x1DB88B), RGB(0x00785A)}, VIEW_LEVEL},
    [HUE_S] = {{RGB(0xF0E442), RGB(0xF0E442)}, {RGB(0xF0E442), RGB(0x6F6600)}, VIEW_DOTS},
    [HUE_P] = {{RGB(0xCC79A7), RGB(0xCC79A7)}, {RGB(0xD98DB8), RGB(0xA14B7C)}, VIEW_PLUS},
    [HUE_O] = {{RGB(0x0072B2), RGB(0x0072B2)}, {RGB(0x4AA5E2), RGB(0x00598C)}, VIEW_FALLING},
    [HUE_GREY] = {{RGB(0xDDE4EA), RGB(0x55606C)}, {RGB(0xC4CDD6), RGB(0x5B6672)}, VIEW_RISING},
};

static const struct {
    const char *letter;
    enum hue hue;
    bool gradient;
} tensors[FA_TENSORS] = {
    [FA_Q] = {"Q", HUE_Q, false},         [FA_K] = {"K", HUE_K, false},
    [FA_V] = {"V", HUE_V, false},         [FA_O] = {"O", HUE_O, false},
    [FA_DO] = {"dO", HUE_O, true},        [FA_DQ] = {"dQ", HUE_Q, true},
    [FA_DK] = {"dK", HUE_K, true},        [FA_DV] = {"dV", HUE_V, true},
    [FA_LSE] = {"LSE", HUE_GREY, false},  [FA_L] = {"ℓ", HUE_GREY, false},
    [FA_M] = {"m", HUE_GREY, false},      [FA_S] = {"S", HUE_S, false},
    [FA_P] = {"P", HUE_P, false},         [FA_DP] = {"dP", HUE_P, true},
    [FA_DS] = {"dS", HUE_S, true},        [FA_DELTA] = {"δ", HUE_GREY, false},
    [FA_MASK] = {"mask", HUE_GREY, false}, [FA_BIAS] = {"bias", HUE_GREY, false},
    [FA_DROPOUT] = {"keep", HUE_GREY, false}, [FA_PD] = {"P", HUE_P, false},
    [FA_TILE_L] = {"tile ℓ", HUE_GREY, false}, [FA_TILE_M] = {"tile m", HUE_GREY, false},
};

struct view_look view_tensor_look(const struct view_theme *theme, enum fa_tensor_id id)
{
    const struct hue_colors *hue = &hues[tensors[id].hue];
    int which = theme->dark ? 0 : 1;
    return (struct view_look){
        .letter = tensors[id].letter,
        .fill = hue->fill[which],
        .line = hue->line[which],
        .pattern = hue->pattern,
        .gradient = tensors[id].gradient,
    };
}

static uint8_t mix_channel(uint8_t a, uint8_t b, double t)
{
    return (uint8_t)(a + (b - a) * t + 0.5);
}

struct view_color view_mix(struct view_color a, struct view_color b, double t)
{
    return (struct view_color){mix_channel(a.r, b.r, t), mix_channel(a.g, b.g, t),
                               mix_channel(a.b, b.b, t), mix_channel(a.a, b.a, t)};
}

struct view_color view_fade(struct view_color color, double alpha)
{
    color.a = (uint8_t)(color.a * alpha + 0.5);
    return color;
}

struct view_color view_shade(const struct view_theme *theme, enum fa_tensor_id id, double value,
                             double most)
{
    enum { STEPS = 8 };
    double share = most > 0 ? fabs(value) / most : 0;
    if (!(share <= 1)) /* infinities, and values that the scale did not see */
        share = 1;
    share = floor(share * (STEPS - 1) + 0.5) / (STEPS - 1);
    return view_mix(theme->panel, view_tensor_look(theme, id).fill, 0.12 + 0.88 * share);
}

/* WCAG 2's relative luminance. */
static double luminance(struct view_color color)
{
    const uint8_t channels[3] = {color.r, color.g, color.b};
    static const double weights[3] = {0.2126, 0.7152, 0.0722};
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        double c = channels[i] / 255.0;
        sum += weights[i] * (c <= 0.03928 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
    }
    return sum;
}

double view_contrast(struct view_color a, struct view_color b)
{
    double la = luminance(a) + 0.05, lb = luminance(b) + 0.05;
    return la > lb ? la / lb : lb / la;
}

struct view_color view_ink(struct view_color color)
{
    static const struct view_color black = {0, 0, 0, 255}, white = {255, 255, 255, 255};
    return view_contrast(color, black) >= view_contrast(color, white) ? black : white;
}
