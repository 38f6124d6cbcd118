/* Our C: the lines that were compiled, round the one that runs. */
#include "visualizer/panel_code.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "visualizer/source_text.h"

enum { ROWS_MOST = 16, LINES_MOST = 1024 }; /* of a line of C; of a file */

static int columns_of(const struct view_listing *l, float width)
{
    float one =
        view_text_width(l->draw, view_listing_type(l, VIEW_MONO_BOLD, VIEW_SIZE_CONTROL), "M");
    int columns = one > 0 ? (int)(width / one) : 0;
    return columns < 8 ? 8 : columns;
}

static int indent_of(const char *line)
{
    int n = 0;
    while (line[n] == ' ')
        n++;
    return n;
}

/* Bytes of `text`, which is after its indent, that stand in a row of so many columns. */
static int row_bytes(const char *text, int columns)
{
    int n = (int)strlen(text), end;
    if (n <= columns)
        return n;
    for (end = columns; end > 0 && text[end] != ' '; end--)
        ;
    if (end > 0)
        return end;
    for (end = columns; end > 1 && ((unsigned char)text[end] & 0xC0) == 0x80; end--)
        ;
    return end;
}

/* How a line of C is laid into rows: its indent, and the hanging one of what follows. */
struct c_row {
    const char *text;
    int n, indent;
};

static int wrap_line(const char *line, int columns, struct c_row *rows, int most)
{
    int indent = indent_of(line), n = 0;
    const char *at = line + indent;
    if (indent > columns / 2)
        indent = columns / 2;
    do {
        int hanging = n == 0 ? indent : indent + 4 > columns / 2 ? indent : indent + 4;
        int taken = row_bytes(at, columns - hanging);
        if (rows && n < most)
            rows[n] = (struct c_row){at, taken, hanging};
        n++;
        at += taken;
        while (*at == ' ')
            at++;
    } while (*at && n < most);
    return n;
}

static bool is_comment(const char *line)
{
    const char *at = line + indent_of(line);
    return at[0] == '*' || (at[0] == '/' && at[1] == '*');
}

/* The lines of a step: from its own to the next step's, or to where the block ends; neither
 * empty lines nor a comment at the end. */
static int step_end(const struct view_source_text *text, int line)
{
    int end = line + 1;
    for (; end <= text->n_lines; end++) {
        const char *next = text->lines[end - 1];
        if (next[0] && (next[0] == '}' || strstr(next, "fa_step(") ||
                        indent_of(next) < indent_of(text->lines[line - 1])))
            break;
    }
    while (end - 1 > line && (text->lines[end - 2][0] == '\0' || is_comment(text->lines[end - 2])))
        end--;
    return end;
}

/* The statement of that step that the event is: it names the verb and the tensor. */
static int verb_line(const struct view_source_text *text, const struct sim_event *event)
{
    static const char *const verbs[SIM_EVENT_KINDS] = {
        [SIM_LOAD] = "fa_load(port, FA_",          [SIM_STORE] = "fa_store(port, FA_",
        [SIM_COMPUTE] = "fa_compute(port, FA_OP_", [SIM_ALLOC] = "fa_alloc(port, FA_",
        [SIM_FREE] = "fa_free(port, FA_",          [SIM_REFUSE] = "fa_alloc(port, FA_",
    };
    char words[64];
    int line = (int)event->line, end = step_end(text, line);
    if (!verbs[event->kind])
        return line;
    int n = snprintf(words, sizeof words, "%s", verbs[event->kind]);
    const char *name = event->kind == SIM_COMPUTE
                           ? fa_op_name((enum fa_op)event->op)
                           : fa_tensor_name((enum fa_tensor_id)event->tensor);
    for (int c = 0; name[c] && n + 2 < (int)sizeof words; c++)
        words[n++] = (char)toupper((unsigned char)name[c]);
    words[n] = '\0';
    for (int at = line; at < end; at++) {
        const char *found = strstr(text->lines[at - 1], words);
        if (found && !isalnum((unsigned char)found[n]) && found[n] != '_')
            return at;
    }
    return line;
}

struct c_list {
    const struct view_source_text *text;
    int line, end, verb; /* the step's lines [line, end), the statement; 0: none */
    float height;        /* of a row */
};

static uint64_t line_bytes(const struct view_listing *l, int line)
{
    return view_run_line_bytes(l->moment->run, line, l->moment->at.landed);
}

/* Rows of that line, and how many columns they have: a line with bytes leaves room for them. */
static int rows_of(const struct view_listing *l, const struct c_list *c, int line,
                   struct c_row *rows, int most)
{
    float width = l->box.w - l->number - view_listing_bytes_width(l, line_bytes(l, line));
    return wrap_line(c->text->lines[line - 1], columns_of(l, width), rows, most);
}

static void draw_c_line(const struct view_listing *l, const struct c_list *c, int line, float y)
{
    const struct view_theme *theme = l->draw->theme;
    struct c_row rows[ROWS_MOST];
    int n = rows_of(l, c, line, rows, ROWS_MOST);
    bool inside = line >= c->line && line < c->end, bold = inside && line == c->verb;
    struct view_type type =
        view_listing_type(l, bold ? VIEW_MONO_BOLD : VIEW_MONO, VIEW_SIZE_CONTROL);
    struct view_type small = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, theme->text2);
    float one = view_text_width(l->draw, type, "M");
    struct view_box first = {l->box.x, y, l->box.w, c->height};

    if (inside)
        view_fill(l->draw, view_box_make(l->box.x - 8, y, l->box.w + 16, c->height * (float)n),
                  theme->raised);
    if (bold || line == c->line)
        view_fill(l->draw, view_box_make(l->box.x - 8, y, 3, c->height * (float)n),
                  bold ? theme->text : theme->edge);
    view_text_in(l->draw, view_box_make(l->box.x, y, l->number - 10, c->height), VIEW_RIGHT, small,
                 "%d", line);
    view_listing_bytes(l, first, line_bytes(l, line));
    for (int r = 0; r < n; r++)
        if (rows[r].n > 0)
            view_text(l->draw, l->box.x + l->number + one * (float)rows[r].indent,
                      y + c->height * (float)r, VIEW_LEFT, type, "%.*s", rows[r].n, rows[r].text);
}

/* Rows before each line, and after the last: starts[n] of line n. Returns how many lines there
 * are. */
static int lay_lines(const struct view_listing *l, const struct c_list *c,
                     int starts[LINES_MOST + 2])
{
    int n = c->text->n_lines < LINES_MOST ? c->text->n_lines : LINES_MOST;
    starts[1] = 0;
    for (int line = 1; line <= n; line++)
        starts[line + 1] = starts[line] + rows_of(l, c, line, NULL, ROWS_MOST);
    return n;
}

/* The line that is shown first: the marked ones show in whole, a third from the top, or as far
 * on as it is scrolled, but the statement that runs never leaves. */
static int first_line(const struct c_list *c, const int *starts, int n, int shown, int scroll)
{
    int least = 1, most = c->line > 0 ? c->line : n; /* the statement shows from `least` on */
    if (c->line > 0)
        while (least < c->verb && starts[c->verb + 1] - starts[least] > shown)
            least++;
    most = most < least ? least : most;
    int wanted = (c->line > 0 ? starts[c->line] - shown / 3 : 0) + scroll;
    if (wanted > starts[n + 1] - shown)
        wanted = starts[n + 1] - shown;
    int first = least;
    while (first < most && starts[first] < wanted)
        first++;
    return first;
}

void view_listing_c(struct view_listing *l)
{
    struct view_type number = view_listing_type(l, VIEW_SANS, VIEW_SIZE_LABEL);
    struct c_list c = {.text = view_source_find(l->algorithm->file),
                       .height = view_line_height(VIEW_SIZE_CONTROL)};
    int starts[LINES_MOST + 2], shown = (int)(l->box.h / c.height);

    if (!c.text || c.text->n_lines < 1) {
        view_text_wrapped(l->draw, l->box, view_listing_type(l, VIEW_SANS, VIEW_SIZE_CONTROL), 0,
                          "The source of this algorithm was not built in.", NULL);
        return;
    }
    l->number = ceilf(view_text_width(l->draw, number, "000")) + 10;
    if (l->event && l->event->line >= 1 && (int)l->event->line <= c.text->n_lines) {
        c.line = (int)l->event->line;
        c.end = step_end(c.text, c.line);
        c.verb = verb_line(c.text, l->event);
    }
    int n = lay_lines(l, &c, starts);
    int first = first_line(&c, starts, n, shown, (int)(l->scene->frame->scroll / c.height));
    l->draw->scroll_most = fmaxf(l->draw->scroll_most, (float)(starts[n + 1] - shown) * c.height);
    for (int line = first; line <= n && starts[line + 1] - starts[first] <= shown; line++)
        draw_c_line(l, &c, line, l->box.y + (float)(starts[line] - starts[first]) * c.height);
}
