/* Key frames of the contents page's cards: one after the other, while the page is open. */
#include <stdlib.h>
#include <string.h>

#include "visualizer/player_parts.h"

enum fa_status view_player_thumbs_open(struct view_player *player, struct fa_error *error)
{
    size_t n = player->host.shelf ? (size_t)player->host.shelf->n : 0;
    if (n == 0 || !player->host.open_aside)
        return FA_OK;
    player->thumbs = calloc(n, sizeof *player->thumbs);
    player->thumb = calloc(n, sizeof *player->thumb);
    if (!player->thumbs || !player->thumb)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the lessons' key frames");
    player->view.thumb = player->thumb;
    return FA_OK;
}

void view_player_thumbs_close(struct view_player *player)
{
    free(player->thumbs);
    free(player->thumb);
}

bool view_player_thumbs_wanted(const struct view_state *state)
{
    const struct view_player *player = state->player;
    return player && player->thumbs && player->view.page == VIEW_PAGE_CONTENTS &&
           player->n_thumbs < player->host.shelf->n;
}

/* A lesson whose run cannot be had for it has no key frame: its place stays empty. */
void view_player_thumbs_step(struct view_state *state)
{
    struct view_player *player = state->player;
    int n = player->n_thumbs++;
    const struct lesson_show *show = view_thumb_show(player->host.shelf->lesson[n]);
    struct view_run *run[2] = {NULL, NULL};
    struct fa_error error;
    if (player->host.open_aside(player->host.context, show->scenario, show->compare,
                                view_thumb_needs_values(show->stage), run, &error) != FA_OK ||
        !run[0])
        return;
    view_thumb_make(run[0], run[1], show->stage, &player->thumbs[n]);
    player->thumb[n] = &player->thumbs[n];
    view_run_close(run[0]);
    view_run_close(run[1]);
    state->dirty = true;
}
