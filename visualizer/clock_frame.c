#include "visualizer/clock.h"

void view_frame_follow(struct view_frame *frame, int which)
{
    if (!frame->run[1])
        return;
    int other = 1 - which;
    const struct view_run *run = frame->run[which], *follower = frame->run[other];
    frame->work = view_work_of(run, frame->at[which], frame->clock);
    frame->work_in_all = view_work_in_all(run, frame->clock);
    double most = view_work_in_all(follower, frame->clock);
    if (most > frame->work_in_all)
        frame->work_in_all = most;
    /* At the end of the longer one the other has ended too, whatever follows its last work. */
    if (frame->work >= frame->work_in_all && frame->at[which].landed >= view_run_length(run))
        frame->at[other] = (struct view_position){view_run_length(follower), 0};
    else if (frame->at[which].landed == 0 && frame->at[which].flight <= 0)
        frame->at[other] = (struct view_position){0, 0};
    else
        frame->at[other] = view_at_work(follower, frame->work, frame->clock);
}

void view_frame_seek(struct view_frame *frame, struct view_position at)
{
    uint64_t length = view_run_length(frame->run[0]);
    frame->at[0] = at.landed < length ? at : (struct view_position){length, 0};
    view_frame_follow(frame, 0);
}
