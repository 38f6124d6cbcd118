#include <math.h>
#include <stdio.h>
#include <string.h>

#include "visualizer/scene.h"
#include "visualizer/sentence.h"

/* The right end of the line: "+512 B", "0 B"; the same in elements. Empty where nothing was done.
 */
static const char *traffic_text(const struct view_frame *frame,
                                const struct view_sentence *sentence,
                                char text[VIEW_COUNT_TEXT + 16])
{
    char count[VIEW_COUNT_TEXT];
    uint64_t n = frame->bytes ? sentence->bytes : sentence->elements;
    if (sentence->kind == SIM_EVENT_KINDS)
        text[0] = '\0';
    else
        snprintf(text, VIEW_COUNT_TEXT + 16, "%s%s %s", n ? "+" : "", view_count_text(n, count),
                 frame->bytes ? "B" : n == 1 ? "element" : "elements");
    return text;
}

/* What the picture at this moment is about: the event in flight, else the one that landed last. */
static void sentence_of(const struct view_moment *moment, bool bytes,
                        struct view_sentence *sentence)
{
    uint64_t landed = moment->at.landed;
    if (landed == 0 && !(moment->at.flight > 0)) {
        memset(sentence, 0, sizeof *sentence);
        sentence->kind = SIM_EVENT_KINDS;
        snprintf(sentence->text, sizeof sentence->text, "%s",
                 view_run_length(moment->run) == 0
                     ? "Nothing to do: there is no query, so there is no event."
                     : "Ready: all inputs lie in HBM, nothing is on chip. Space plays, → goes one "
                       "event on.");
        return;
    }
    bool whole = landed >= view_run_length(moment->run);
    view_sentence(moment->run, moment->at.flight > 0 || whole ? landed : landed - 1, bytes,
                  sentence);
}

/* The longest beginning of the text that ends with a clause and fits the width; NULL if none does.
 * A text is never cut inside one. */
static const char *whole_clauses(const struct view_draw *draw, struct view_type type, float width,
                                 const char *text, char part[VIEW_SENTENCE_TEXT])
{
    if (view_text_width(draw, type, text) <= width)
        return text;
    for (size_t n = strlen(text); n-- > 1;) {
        if (!strchr(".,:;", text[n]) || text[n + 1] != ' ' || n >= VIEW_SENTENCE_TEXT)
            continue;
        memcpy(part, text, n);
        part[n] = '\0';
        if (view_text_width(draw, type, part) <= width)
            return part;
    }
    return NULL;
}

/* A formula stays in one line: the spaces round its signs become such that do not break. */
static void keep_formulas(const char *text, char kept[2 * VIEW_SENTENCE_TEXT])
{
    static const char space[] = "\u00a0", *const signs[] = {"−", "×", "="};
    size_t n = 0;
    for (const char *at = text; *at && n + 8 < 2 * VIEW_SENTENCE_TEXT; at++) {
        bool glued = false;
        for (size_t s = 0; s < sizeof signs / sizeof *signs && *at == ' '; s++) {
            size_t length = strlen(signs[s]);
            glued = glued || strncmp(at + 1, signs[s], length) == 0 ||
                    ((size_t)(at - text) > length && strncmp(at - length, signs[s], length) == 0);
        }
        if (glued) {
            memcpy(kept + n, space, sizeof space - 1);
            n += sizeof space - 1;
        } else {
            kept[n++] = *at;
        }
    }
    kept[n] = '\0';
}

/* In as many lines as the box has, in the largest type that lets all of it in; else its first
 * clauses. */
static void draw_words(struct view_draw *draw, struct view_box box, const char *text,
                       struct view_color color)
{
    static const float sizes[] = {VIEW_SIZE_HEADING, VIEW_SIZE_BODY, VIEW_SIZE_CONTROL,
                                  VIEW_SIZE_LABEL, VIEW_SIZE_CELL};
    char part[VIEW_SENTENCE_TEXT], kept[2 * VIEW_SENTENCE_TEXT];
    keep_formulas(text, kept);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct view_type type = view_type_make(VIEW_SANS, sizes[s], color);
        float height = view_text_height(draw, box.w, type, 0, kept);
        if (height <= box.h) {
            struct view_box lines = box;
            lines.y += floorf((box.h - height) / 2);
            lines.h = height;
            view_text_wrapped(draw, lines, type, 0, kept, NULL);
            return;
        }
    }
    struct view_type type = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, color);
    const char *clauses = whole_clauses(draw, type, box.w, text, part);
    if (clauses)
        view_text_in(draw, box, VIEW_LEFT, type, "%s", clauses);
}

static void draw_icon(struct view_draw *draw, struct view_box box,
                      const struct view_sentence *sentence)
{
    const struct view_theme *theme = draw->theme;
    bool bad = sentence->bad || sentence->kind == SIM_REFUSE;
    if (sentence->kind < SIM_EVENT_KINDS)
        view_event_icon(draw, box, sentence->kind, bad ? theme->bad : theme->text);
    else
        view_fill_round(draw, view_box_make(box.x + floorf(box.w / 2) - 4,
                                            box.y + floorf(box.h / 2) - 4, 8, 8),
                        4, theme->text2);
}

/* One run's line: icon, words, traffic. `name`: "A" or "B" beside another run's, else NULL. */
static void draw_line(struct view_draw *draw, const struct view_scene *scene, int which,
                      struct view_box box, const char *name)
{
    const struct view_frame *frame = scene->frame;
    const struct view_theme *theme = draw->theme;
    bool mini = scene->layout.class == VIEW_MINI;
    struct view_type mono = view_type_make(VIEW_MONO_BOLD, mini       ? VIEW_SIZE_LABEL
                                                           : name     ? VIEW_SIZE_BODY
                                                                      : VIEW_SIZE_HEADING,
                                           theme->text);
    struct view_sentence sentence;
    char traffic[VIEW_COUNT_TEXT + 16];

    sentence_of(&scene->moment[which], scene->frame->bytes, &sentence);
    traffic_text(frame, &sentence, traffic);
    struct view_box icon = view_cut_left(&box, mini ? 16 : 20);
    draw_icon(draw, view_box_inset(icon, mini ? 2 : name ? 2 : 0, 0), &sentence);
    view_cut_left(&box, mini ? 6 : name ? 8 : 16);
    if (name) {
        view_text_in(
            draw, view_cut_left(&box, 18), VIEW_LEFT,
            view_type_make(VIEW_BOLD, mini ? VIEW_SIZE_LABEL : VIEW_SIZE_BODY, theme->text), "%s",
            name);
    }
    float width = traffic[0] ? ceilf(view_text_width(draw, mono, traffic)) : 0;
    if (width > 0 && width < box.w / 3) {
        view_text_in(draw, view_cut_right(&box, width), VIEW_RIGHT, mono, "%s", traffic);
        view_cut_right(&box, mini ? 8 : 16);
    }
    draw_words(draw, box, sentence.text,
               sentence.bad || sentence.kind == SIM_REFUSE ? theme->bad : theme->text);
}

/* Where a place is typed: an event or a tile, as --at takes them. */
static void draw_field(struct view_draw *draw, const struct view_scene *scene, struct view_box box)
{
    const struct view_theme *theme = draw->theme;
    struct view_type label = view_type_make(VIEW_SANS, VIEW_SIZE_CONTROL, theme->text2);
    struct view_type mono = view_type_make(VIEW_MONO, VIEW_SIZE_CONTROL, theme->text);
    const char *typed = scene->frame->edit_text ? scene->frame->edit_text : "";
    const char *ask = "Go to", *hint = "an event (46), half way into one (46.5), or a tile (1,2)";
    float ask_width = ceilf(view_text_width(draw, label, ask)) + 8;
    float typed_width = ceilf(view_text_width(draw, mono, typed));

    view_text_in(draw, view_cut_left(&box, ask_width), VIEW_LEFT, label, "%s", ask);
    struct view_box field = view_cut_left(&box, fminf(box.w, fmaxf(140, typed_width + 26)));
    field.y += floorf((field.h - 28) / 2);
    field.h = 28;
    view_fill_round(draw, field, 4, theme->bg);
    view_frame_box(draw, field, 4, 1, theme->text);
    view_text_in(draw, view_box_inset(field, 8, 0), VIEW_LEFT, mono, "%s", typed);
    view_fill(draw, view_box_make(field.x + 9 + typed_width, field.y + 6, 1.5f, 16), theme->text);
    view_hit(draw, field, VIEW_NOTHING, 0, false, "Event or tile to go to");
    struct view_box close = view_cut_right(&box, 60);
    close.y = field.y;
    close.h = 28;
    view_button(draw, scene->frame, close, VIEW_BUTTON_QUIET, VIEW_CLOSE, 0, "Esc",
                "Close the field");
    view_cut_left(&box, 12);
    view_text_in(draw, box, VIEW_LEFT, label, "%s", hint);
}

/* A prediction is open: the sentence would answer it. */
static void draw_cover(struct view_draw *draw, struct view_box box)
{
    const struct view_theme *theme = draw->theme;
    view_plate(draw, box, theme->raised, theme->edge);
    view_text_in(draw, box, VIEW_CENTRE, view_type_make(VIEW_BOLD, VIEW_SIZE_HEADING, theme->text),
                 "?");
}

void view_scene_sentence(struct view_draw *draw, const struct view_scene *scene)
{
    const struct view_frame *frame = scene->frame;
    const struct view_theme *theme = draw->theme;
    struct view_box box = scene->layout.sentence;
    bool mini = scene->layout.class == VIEW_MINI;

    if (box.h < 1)
        return;
    view_fill(draw, box, theme->panel);
    view_fill(draw, view_box_make(box.x, box.y, box.w, 1), theme->hair);
    view_cut_top(&box, 1);
    box = view_box_inset(box, mini ? 8 : 16, mini ? 2 : box.h < 50 ? 1 : 4);
    if (frame->go_open) {
        draw_field(draw, scene, box);
    } else if (frame->note[0] != '\0') {
        draw_words(draw, box, frame->note, theme->text);
    } else if (frame->covered) {
        draw_cover(draw, view_box_inset(box, 0, 4));
    } else if (scene->runs == 2) {
        struct view_box first = view_cut_top(&box, floorf(box.h / 2));
        draw_line(draw, scene, 0, first, "A");
        draw_line(draw, scene, 1, box, "B");
    } else {
        draw_line(draw, scene, 0, box, NULL);
    }
}
