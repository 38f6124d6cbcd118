/*
 * Where everything stands, by the logical size of the window. Unit 8 (4 inside), margin 12.
 * Compact below 1000 wide, regular below 1600, wide from there; mini below 640 wide or 480 high.
 */
#ifndef VIEW_LAYOUT_H
#define VIEW_LAYOUT_H

#include "visualizer/frame.h"

#ifdef __cplusplus
extern "C" {
#endif

enum view_class { VIEW_MINI, VIEW_COMPACT, VIEW_REGULAR, VIEW_WIDE };

struct view_layout {
    enum view_class class;
    struct view_box bar;       /* h 0: hidden */
    struct view_box stage;     /* all of it: HBM, lanes and SRAM of both runs; another stage fills it.
                                * w 0: a panel is open as a page in its place (mini, and
                                * compare in a narrow compact window) */
    struct view_box hbm[2], lanes[2], sram[2]; /* [1] with compare alone */
    struct view_box l2, dram;  /* left of lanes[0], where the frame has an L2: it, and the lanes
                                * between it and HBM; w 0: none, or no room */
    struct view_box heading[2]; /* of a compared run: its name and total; h 0 without compare */
    struct view_box sentence;
    struct view_box panel, second_panel; /* w 0: none */
    bool beside;               /* the panel is right of the stage, not below it or in its place */
    struct view_box track;     /* with its buttons: the transport */
    bool numbers;              /* cells of the bench are numbers: SRAM has the larger share */
};

/* The scale at which a window of that size (at scale 1) still has a panel beside its stage and room
 * for a question in it: the one wanted, or less, but not below 1. */
float view_layout_scale(float wanted, float width, float height);

void view_layout_make(const struct view_frame *frame, struct view_layout *layout);

#ifdef __cplusplus
}
#endif
#endif
