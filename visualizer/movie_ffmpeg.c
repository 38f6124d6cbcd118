/* MP4 and WebM: pictures go through a socket to ffmpeg, which writes the file. */
#include "visualizer/movie.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

struct film {
    struct view_part part;
    pid_t child;
    int pipe;    /* our end */
    FILE *words; /* what ffmpeg complains of */
    bool broken; /* it takes no more */
};

/* The codecs by the path's ending; both keep thin lines sharp. */
static const char *const mp4_options[] = {"-c:v",       "libx264", "-crf", "16", "-movflags",
                                          "+faststart", "-f",      "mp4",  NULL};
static const char *const webm_options[] = {"-c:v", "libvpx-vp9", "-crf", "20",      "-b:v",
                                           "0",    "-cpu-used",  "4",    "-row-mt", "1",
                                           "-f",   "webm",       NULL};

enum { ARGUMENTS_MOST = 40 };

static pid_t start(const struct film *film, int width, int height, int fps, int stdin_end,
                   int *cause)
{
    char size[32], rate[16], target[VIEW_PATH_MOST + 8];
    const char *arguments[ARGUMENTS_MOST] = {
        "ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "error", "-y", "-f", "rawvideo",
        "-pixel_format", "rgba", "-video_size", size, "-framerate", rate, "-i", "pipe:0", "-an",
        /* Both codecs halve the colours' resolution, which needs even sides. */
        "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p"};
    int n = 0;
    snprintf(size, sizeof size, "%dx%d", width, height);
    snprintf(rate, sizeof rate, "%d", fps);
    snprintf(target, sizeof target, "file:%s", film->part.beside);
    while (arguments[n])
        n++;
    size_t length = strlen(film->part.path);
    bool webm = length > 5 && strcasecmp(film->part.path + length - 5, ".webm") == 0;
    for (const char *const *option = webm ? webm_options : mp4_options; *option; option++)
        arguments[n++] = *option;
    arguments[n] = target;

    posix_spawn_file_actions_t actions;
    pid_t child = -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, stdin_end, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, fileno(film->words), STDERR_FILENO);
    *cause = posix_spawnp(&child, "ffmpeg", &actions, NULL, (char *const *)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return child;
}

static enum fa_status film_open(const char *path, int width, int height, int fps, void **state,
                                struct fa_error *error)
{
    int ends[2] = {-1, -1}, cause = 0;
    struct film *film = calloc(1, sizeof *film);
    enum fa_status status = FA_OK;
    if (!film)
        return fa_fail(error, FA_NO_MEMORY, "%s: no memory for a film", path);
    film->words = tmpfile();
    if (!film->words || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
        status = fa_fail(error, FA_IO, "%s: no way to ffmpeg: %s", path, strerror(errno));
        goto done;
    }
    for (int i = 0; i < 2; i++)
        fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    fcntl(fileno(film->words), F_SETFD, FD_CLOEXEC);
    status = view_part_name(&film->part, path, error);
    if (status != FA_OK)
        goto done;
    film->child = start(film, width, height, fps, ends[0], &cause);
    if (cause == ENOENT)
        status = fa_fail(error, FA_MISSING_PART,
                         "%s: ffmpeg is not here: install ffmpeg, or write a .gif", path);
    else if (cause != 0)
        status = fa_fail(error, FA_IO, "%s: ffmpeg can't be started: %s", path, strerror(cause));
done:
    if (ends[0] >= 0)
        close(ends[0]);
    if (status == FA_OK) {
        film->pipe = ends[1];
        *state = film;
        return FA_OK;
    }
    if (ends[1] >= 0)
        close(ends[1]);
    if (film->words)
        fclose(film->words);
    free(film);
    return status;
}

/* All of the bytes, without a signal where ffmpeg has ended. */
static bool send_all(int pipe, const uint8_t *bytes, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(pipe, bytes, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        bytes += sent;
        n -= (size_t)sent;
    }
    return true;
}

static enum fa_status film_add(void *state, const struct view_picture *picture,
                               struct fa_error *error)
{
    struct film *film = state;
    for (int y = 0; y < picture->height && !film->broken; y++)
        film->broken = !send_all(film->pipe, picture->pixels + (size_t)y * (size_t)picture->pitch,
                                 4 * (size_t)picture->width);
    if (film->broken)
        return fa_fail(error, FA_IO, "%s: ffmpeg takes no more pictures", film->part.path);
    return FA_OK;
}

/* The last line of what ffmpeg said, which names the cause. */
static void last_words(FILE *stream, char words[512])
{
    char line[512];
    words[0] = '\0';
    rewind(stream);
    while (fgets(line, sizeof line, stream)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0])
            memcpy(words, line, sizeof line);
    }
}

static enum fa_status film_close(void *state, bool cancel, struct fa_error *error)
{
    struct film *film = state;
    int exit_status = 0;
    char words[512];
    enum fa_status status = cancel ? FA_CANCELLED : FA_OK;
    if (cancel)
        kill(film->child, SIGTERM);
    close(film->pipe);
    while (waitpid(film->child, &exit_status, 0) < 0 && errno == EINTR)
        continue;
    last_words(film->words, words);
    fclose(film->words);
    if (!cancel && (film->broken || !WIFEXITED(exit_status) || WEXITSTATUS(exit_status) != 0))
        status = fa_fail(error, FA_IO, "%s: ffmpeg failed: %s", film->part.path,
                         words[0] ? words : "it did not say why");
    status = view_part_close(&film->part, status, error);
    free(film);
    return cancel ? FA_OK : status;
}

const struct view_movie_kind view_movie_ffmpeg = {film_open, film_add, film_close};
