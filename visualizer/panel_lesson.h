/*
 * The lesson panel between its files: what stands where (panel_lesson.c), prose (panel_prose.c),
 * the card of a question or a break (panel_question.c), and how an answer is given and shown
 * (panel_answer.c).
 */
#ifndef VIEW_PANEL_LESSON_H
#define VIEW_PANEL_LESSON_H

#include "visualizer/lesson_view.h"
#include "visualizer/panel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "Step 5 of 9, 4 min left", Back and Next, at the right end of the row; from the left in a wider
 * one. */
void view_lesson_steps(struct view_draw *draw, const struct view_scene *scene, struct view_box row);

/* Bodies of flows. */
void view_lesson_prose(struct view_flow *flow);
void view_lesson_card(
    struct view_flow *flow); /* its words, then how one answers, and its buttons: */
void view_lesson_card_words(struct view_flow *flow);
void view_lesson_card_actions(struct view_flow *flow);

/* Whether there is a card: a question, a break, the end. */
bool view_lesson_has_card(const struct view_lesson *view);

/* How the open question is answered: choices, a field, a slider. */
void view_flow_answer(struct view_flow *flow);

/* Guess and truth as two marks on one scale; false, and nothing, where they have none in common. */
bool view_flow_marks(struct view_flow *flow);

struct view_flow_button {
    const char *text, *label;
    enum view_action action;
    int64_t value;
    unsigned states;
};
void view_flow_buttons(struct view_flow *flow, const struct view_flow_button *buttons, int n);

static inline const struct view_lesson *view_flow_lesson(const struct view_flow *flow)
{
    return flow->scene->frame->lesson;
}

#ifdef __cplusplus
}
#endif
#endif
