#include "simulator/cli/outputs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum fa_status cli_folder_make(const char *path, struct fa_error *error)
{
    char part[4096];
    struct stat facts;
    size_t length = strlen(path);
    if (length >= sizeof part)
        return fa_fail(error, FA_BAD_ARGUMENT, "expected a path of less than 4096 bytes");
    memcpy(part, path, length + 1);
    for (size_t at = 1; at <= length; at++) {
        if (part[at] != '/' && part[at] != '\0')
            continue;
        part[at] = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return fa_fail(error, FA_IO, "%s: the folder cannot be made: %s", part,
                           strerror(errno));
        part[at] = path[at];
    }
    if (stat(path, &facts) != 0 || !S_ISDIR(facts.st_mode))
        return fa_fail(error, FA_IO, "%s: not a folder: expected one to write in", path);
    if (access(path, W_OK | X_OK) != 0)
        return fa_fail(error, FA_IO, "%s: cannot be written in: %s", path, strerror(errno));
    return FA_OK;
}

/* The folder of a path, "." without one; the path is shorter than 4096 bytes. */
static void folder_of(const char *path, char folder[4096])
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) + (slash == path) : 0;
    memcpy(folder, length > 0 ? path : ".", length > 0 ? length : 1);
    folder[length > 0 ? length : 1] = '\0';
}

bool cli_same_file(const char *a, const char *b)
{
    const char *name_a = strrchr(a, '/') ? strrchr(a, '/') + 1 : a;
    const char *name_b = strrchr(b, '/') ? strrchr(b, '/') + 1 : b;
    char folder[2][4096];
    struct stat facts[2];
    if (strcmp(name_a, name_b) != 0 || strlen(a) >= sizeof folder[0] ||
        strlen(b) >= sizeof folder[0])
        return false;
    folder_of(a, folder[0]);
    folder_of(b, folder[1]);
    return stat(folder[0], &facts[0]) == 0 && stat(folder[1], &facts[1]) == 0 &&
           facts[0].st_dev == facts[1].st_dev && facts[0].st_ino == facts[1].st_ino;
}

enum fa_status cli_file_check(const char *path, struct fa_error *error)
{
    char folder[4096];
    struct stat facts;
    if (strcmp(path, "-") == 0)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "expected a file: standard output is the report's (./- is a file of that "
                       "name)");
    if (strlen(path) + 32 >= sizeof folder)
        return fa_fail(error, FA_BAD_ARGUMENT, "expected a path of less than 4064 bytes");
    folder_of(path, folder);
    if (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode))
        return fa_fail(error, FA_IO, "%s: is not a regular file: it is not written over", path);
    if (access(folder, W_OK | X_OK) != 0)
        return fa_fail(error, FA_IO, "%s: cannot be made in %s: %s", path, folder, strerror(errno));
    return FA_OK;
}

enum fa_status cli_tensor_write(const char *folder, const char *name,
                                const struct fa_tensor *tensor, int rank, enum cli_layout layout,
                                bool statistic, struct fa_error *error)
{
    char path[4096];
    struct fa_npy array = {.dtype = tensor->dtype, .rank = rank, .data = tensor->data};
    const int64_t *shape = tensor->shape;
    const int64_t whole[4] = {shape[0], layout == CLI_BSHD ? shape[2] : shape[1],
                              layout == CLI_BSHD ? shape[1] : shape[2], shape[3]};
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
        return fa_fail(error, FA_BAD_ARGUMENT, "%s: expected a path of less than 4096 bytes", name);
    if (rank == 2) {
        array.shape[0] = shape[2];
        array.shape[1] = shape[3];
    } else {
        memcpy(array.shape, whole + 4 - rank, (size_t)rank * sizeof *array.shape);
    }
    array.rank -= statistic;
    return fa_npy_write(path, &array, error);
}

enum fa_status cli_file_open(struct cli_file *file, const char *path, struct fa_error *error)
{
    memset(file, 0, sizeof *file);
    enum fa_status status = cli_file_check(path, error);
    if (status != FA_OK)
        return status;
    snprintf(file->path, sizeof file->path, "%s", path);
    snprintf(file->part, sizeof file->part, "%.4060s.part-%ld", path, (long)getpid());
    file->file = fopen(file->part, "wbx");
    if (!file->file)
        return fa_fail(error, FA_IO, "%s: cannot be made: %s", file->part, strerror(errno));
    return FA_OK;
}

enum fa_status cli_file_commit(struct cli_file *file, struct fa_error *error)
{
    errno = 0;
    bool failed = fflush(file->file) != 0 || ferror(file->file) ||
                  (fsync(fileno(file->file)) != 0 && errno != EINVAL);
    int cause = errno;
    if (fclose(file->file) != 0 && !failed) {
        failed = true;
        cause = errno;
    }
    file->file = NULL;
    if (!failed && rename(file->part, file->path) != 0) {
        failed = true;
        cause = errno;
    }
    if (!failed)
        return FA_OK;
    remove(file->part);
    return fa_fail(error, FA_IO, "%s: cannot be written: %s", file->path,
                   cause ? strerror(cause) : "an earlier write failed");
}

void cli_file_discard(struct cli_file *file)
{
    if (file->file) {
        fclose(file->file);
        remove(file->part);
    }
    file->file = NULL;
}
