/* Reads the source tree and holds it against its rules; and shows that each rule can be broken. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/source_rules.h"

enum { FILES_MOST = 2000, PATH_MOST = 512 };

/* Paths of the tree, relative to its root. */
struct tree {
    char path[FILES_MOST][PATH_MOST];
    int n;
};

static struct tree tree;

static bool has_ending(const char *path, const char *ending)
{
    size_t n = strlen(path), e = strlen(ending);
    return n >= e && strcmp(path + n - e, ending) == 0;
}

static bool is_source(const char *path)
{
    return has_ending(path, ".c") || has_ending(path, ".h") || has_ending(path, ".inc") ||
           has_ending(path, ".cu") || has_ending(path, ".cuh");
}

static bool is_build_file(const char *path)
{
    return has_ending(path, "CMakeLists.txt") || has_ending(path, ".cmake") ||
           has_ending(path, ".cmake.in") || has_ending(path, "CMakePresets.json") ||
           strcmp(path, "lab") == 0 || strcmp(path, ".ci/run") == 0;
}

static void full_path(char full[2 * PATH_MOST], const char *path)
{
    int n = snprintf(full, 2 * PATH_MOST, "%s/%s", FLASHLAB_SOURCE_DIR, path);
    assert_true(n > 0 && n < 2 * PATH_MOST);
}

static void add_file(const char *path)
{
    assert_true(tree.n < FILES_MOST);
    snprintf(tree.path[tree.n++], PATH_MOST, "%s", path);
}

/* A folder that a person built in is no part of the tree. */
static void add_folder(const char *path)
{
    char full[2 * PATH_MOST], inner[2 * PATH_MOST];
    struct stat status;
    full_path(full, path);
    DIR *folder = opendir(full);
    if (!folder)
        return; /* a room that is not there */
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.' || strncmp(entry->d_name, "build", 5) == 0)
            continue;
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        assert_true(strlen(inner) < PATH_MOST);
        full_path(full, inner);
        if (stat(full, &status) != 0)
            continue;
        if (S_ISDIR(status.st_mode))
            add_folder(inner);
        else if (is_source(inner) || is_build_file(inner))
            add_file(inner);
    }
    closedir(folder);
}

static int read_tree(void **state)
{
    static const char *const rooms[] = {"reference", "simulator",  "cuda",
                                        "lessons",   "visualizer", "tests"};
    static const char *const files[] = {"CMakeLists.txt", "CMakePresets.json", "lab", ".ci/run"};
    char full[2 * PATH_MOST];
    struct stat status;
    (void)state;
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++)
        add_folder(rooms[i]);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        full_path(full, files[i]);
        if (stat(full, &status) == 0)
            add_file(files[i]);
    }
    return 0;
}

static char *read_file(const char *path)
{
    char full[2 * PATH_MOST];
    full_path(full, path);
    FILE *stream = fopen(full, "rb");
    if (!stream)
        fail_msg("%s cannot be read", full);
    assert_int_equal(fseek(stream, 0, SEEK_END), 0);
    long n = ftell(stream);
    assert_true(n >= 0);
    rewind(stream);
    char *text = malloc((size_t)n + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)n, stream), n);
    fclose(stream);
    text[n] = '\0';
    return text;
}

static void every_file_keeps_the_rules(void **state)
{
    (void)state;
    int sources = 0, builds = 0;
    char why[512];
    for (int i = 0; i < tree.n; i++) {
        char *text = read_file(tree.path[i]);
        bool source = is_source(tree.path[i]);
        if (!(source ? source_rules_check : source_rules_check_build)(tree.path[i], text, why,
                                                                      sizeof why))
            fail_msg("%s", why);
        sources += source;
        builds += !source;
        free(text);
    }
    /* A walk that finds nothing would find no fault. */
    assert_true(sources > 60);
    assert_true(builds >= 4);
}

static void one_file_may_include_sdl(void **state)
{
    (void)state;
    const char *first = NULL;
    for (int i = 0; i < tree.n; i++) {
        char *text = read_file(tree.path[i]);
        bool sdl = is_source(tree.path[i]) && source_rules_includes_sdl(text);
        free(text);
        if (!sdl)
            continue;
        if (strncmp(tree.path[i], "visualizer/", 11) != 0)
            fail_msg("%s includes SDL: expected one file of visualizer/ alone", tree.path[i]);
        if (first)
            fail_msg("%s and %s include SDL: expected one of them", first, tree.path[i]);
        first = tree.path[i];
    }
}

/* Where a path's name begins, and how long it is up to its ending. */
static const char *stem_of(const char *path, size_t *n)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    *n = strcspn(name, ".");
    return name;
}

/* Files of one name lie in one folder: a header, its source, what that includes. */
static bool may_share_the_tree(const char *a, const char *b)
{
    size_t n, m;
    const char *stem = stem_of(a, &n), *other = stem_of(b, &m);
    if (n != m || memcmp(stem, other, n) != 0)
        return true;
    return stem - a == other - b && memcmp(a, b, (size_t)(stem - a)) == 0;
}

static void names_are_unique(void **state)
{
    (void)state;
    for (int i = 0; i < tree.n; i++)
        for (int j = i + 1; j < tree.n && is_source(tree.path[i]); j++)
            if (is_source(tree.path[j]) && !may_share_the_tree(tree.path[i], tree.path[j]))
                fail_msg("%s and %s have one name: expected names unique in the tree", tree.path[i],
                         tree.path[j]);
    assert_true(may_share_the_tree("reference/a.c", "reference/a.h"));
    assert_true(may_share_the_tree("reference/a.c", "reference/ab.h"));
    assert_false(may_share_the_tree("reference/a.c", "simulator/a.h"));
    assert_false(may_share_the_tree("simulator/a.c", "simulator/cli/a.c"));
}

static void refuse(const char *path, const char *text, const char *expected)
{
    char why[512] = "nothing";
    if (source_rules_check(path, text, why, sizeof why))
        fail_msg("accepted, expected \"%s\": %s", expected, text);
    assert_string_equal(why, expected);
}

static void accept(const char *path, const char *text)
{
    char why[512] = "";
    if (!source_rules_check(path, text, why, sizeof why))
        fail_msg("refused: %s", why);
}

static void planted_includes(void **state)
{
    (void)state;
    accept("reference/a.c", "#include <math.h>\n#include \"reference/port.h\"\n");
    accept("simulator/a.c", "#include <jansson.h>\n#include \"reference/port.h\"\n");
    accept("simulator/cli/a.c", "#include <cblas.h>\n#include \"visualizer/a.h\"\n");
    accept("tests/a.c", "#include <cmocka.h>\n#include \"simulator/cli/options.h\"\n");
    accept("cuda/a.cu", "#include <cuda_runtime.h>\n#include \"reference/port.h\"\n");
    refuse("reference/a.c", "#include <jansson.h>\n",
           "reference/a.c includes <jansson.h>: reference/ needs the C library");
    refuse("reference/a.c", "\n  #  include \"simulator/memory.h\"\n",
           "reference/a.c includes \"simulator/memory.h\": reference/ may use reference/ ");
    refuse("simulator/a.c", "#include <SDL.h>\n",
           "simulator/a.c includes <SDL.h>: simulator/ needs the C library and jansson.h ");
    refuse("simulator/a.c", "#include \"simulator/cli/options.h\"\n",
           "simulator/a.c includes \"simulator/cli/options.h\": simulator/ may use reference/ "
           "simulator/ ");
    refuse("simulator/a.c", "#include \"cuda/kernel.h\"\n",
           "simulator/a.c includes \"cuda/kernel.h\": simulator/ may use reference/ simulator/ ");
    refuse("cuda/a.cu", "#include \"simulator/memory.h\"\n",
           "cuda/a.cu includes \"simulator/memory.h\": cuda/ may use reference/ cuda/ ");
    refuse("reference/a.c", "#include \"port.h\"\n",
           "reference/a.c includes \"port.h\": expected a path from the project's root");
    accept("lessons/a.c", "#include \"reference/faulty/faulty.h\"\n");
    accept("reference/faulty/a.c", "#include \"reference/faulty/faulty.h\"\n");
    refuse("reference/a.c", "#include \"reference/faulty/faulty.h\"\n",
           "reference/a.c includes \"reference/faulty/faulty.h\": reference/ may use reference/ ");
    refuse("simulator/a.c", "#include \"reference/faulty/faulty.h\"\n",
           "simulator/a.c includes \"reference/faulty/faulty.h\": simulator/ may use reference/ "
           "simulator/ ");
    refuse("elsewhere/a.c", "int a;\n", "elsewhere/a.c is in no room");
    assert_true(source_rules_includes_sdl("#include <SDL2/SDL.h>\n"));
    assert_true(source_rules_includes_sdl("int a;\n# include \"SDL.h\"\n"));
    assert_false(source_rules_includes_sdl("/* SDL */\n#include <stdio.h>\n"));
}

#define CONTRACT "/* What this header promises, in words that suffice. */\n"

static void planted_headers(void **state)
{
    (void)state;
    accept("reference/tile_cost.h",
           CONTRACT "#ifndef FA_TILE_COST_H\n#define FA_TILE_COST_H\nint a;\n#endif\n");
    refuse("reference/a.h", "#ifndef FA_A_H\n#define FA_A_H\n#endif\n",
           "reference/a.h does not begin with a comment that says what it promises");
    refuse("reference/a.h", "/* A. */\n#ifndef FA_A_H\n#define FA_A_H\n#endif\n",
           "reference/a.h does not begin with a comment that says what it promises");
    refuse("reference/a.h", CONTRACT "int a;\n",
           "reference/a.h has no include guard after its first comment");
    refuse("reference/a.h", CONTRACT "#ifndef FA_A_H\n#define FA_B_H\n#endif\n",
           "reference/a.h has no include guard after its first comment");
    refuse("reference/a.h", CONTRACT "#pragma once\nint a;\n",
           "reference/a.h has no include guard after its first comment");
    refuse("reference/a.h", CONTRACT "#ifndef FA_B_H\n#define FA_B_H\n#endif\n",
           "reference/a.h has the include guard FA_B_H: expected one that ends with A_H");
    refuse("reference/a.h", CONTRACT "#ifndef FA_A_H\n#define FA_A_H\n#endif\n#include <math.h>\n",
           "reference/a.h does not end with the #endif of its include guard");
}

static void planted_calls(void **state)
{
    (void)state;
    accept("tests/a.c",
           "/* sprintf(a) */ int my_sprintf(int a); char *b = \"atoi(c)\"; // gets(d)\n");
    accept("tests/a.c", "snprintf(a, 1, \"%d\", 2); fgets(a, 1, b); int atoi_calls = 0;\n");
    accept("tests/a.c", "char a = '\"'; int b; char *c = \"\\\"gets(\"; /* it's */\n");
    refuse("tests/a.c", "int a;\n\nint b = atoi(c);\n", "tests/a.c:3 calls atoi: expected strtol");
    refuse("tests/a.c", "sprintf (a, b);", "tests/a.c:1 calls sprintf: expected snprintf");
    refuse("tests/a.c", "\"\\\"\"; strcpy(a, b);",
           "tests/a.c:1 calls strcpy: expected snprintf or memcpy");
    refuse("tests/a.c", "'\"'; strcat(a, b);", "tests/a.c:1 calls strcat: expected snprintf");
    refuse("tests/a.c", "/* */gets(a);", "tests/a.c:1 calls gets: expected fgets");
    refuse("tests/a.c", "x = atof(y);", "tests/a.c:1 calls atof: expected strtod");
    refuse("tests/a.c", "assert_float_equal(a, b, c);",
           "tests/a.c:1 calls assert_float_equal: expected compare.h, which does not let NaN pass");
    refuse("tests/a.c", "__attribute__((optimize(\"fast-math\"))) int a;",
           "tests/a.c:1 calls optimize: expected the flags of a CMakeLists.txt");
    refuse("tests/a.c", "int a;\n#pragma GCC optimize \"-ffast-math\"\n",
           "tests/a.c says fast-math: NaN and infinities are values here");
    refuse("tests/a.c", "int a; /* TODO: b */\n",
           "tests/a.c:1 has a TODO: finish it or leave it out");
    refuse("tests/a.c", "int a;\n// FIXME b\n",
           "tests/a.c:2 has a FIXME: finish it or leave it out");
}

static void planted_flags(void **state)
{
    (void)state;
    char why[512] = "";
    assert_true(source_rules_check_build("CMakeLists.txt", "# never -ffast-math\nset(a -O2)\n", why,
                                         sizeof why));
    assert_false(source_rules_check_build("CMakeLists.txt", "set(flags -O3 -ffast-math)\n", why,
                                          sizeof why));
    assert_string_equal(why, "CMakeLists.txt says fast-math: NaN and infinities are values here");
    assert_false(source_rules_check_build("lab", "# a\ncc -Ofast a.c\n", why, sizeof why));
    assert_string_equal(why, "lab says -Ofast: NaN and infinities are values here");
    assert_false(
        source_rules_check_build("a/CMakeLists.txt", "-ffinite-math-only", why, sizeof why));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_keeps_the_rules),
        cmocka_unit_test(one_file_may_include_sdl),
        cmocka_unit_test(names_are_unique),
        cmocka_unit_test(planted_includes),
        cmocka_unit_test(planted_headers),
        cmocka_unit_test(planted_calls),
        cmocka_unit_test(planted_flags),
    };
    return cmocka_run_group_tests(tests, read_tree, NULL);
}
