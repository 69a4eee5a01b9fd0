/* SPDX-License-Identifier: MIT */
/* The command line. Where gzip and pigz differ, pigz is followed; what neither has are long options only.
 *
 * Prev: file.c  Next: list.c */
#include "options.h"
#include "engine.h"

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENGINE = 256, NO_INDEX, INDEX, CHUNK, FAST, BEST };
enum { BLOCK_MIN = 32 * 1024, BLOCK_MAX = 512 * 1024 * 1024, WORKERS_MAX = 1024, CHUNK_BYTES = 512 * 1024 };
enum { PROCESSORS_MAX = 1024 * 1024 }; /* no kernel has so many */

static const char usage[] =
    "usage: ccgz [OPTION]... [FILE]...\n"
    "Compress or decompress files in the gzip format, in place, on all processors. Without FILE, or\n"
    "where it is -, standard input to standard output.\n\n"
    "  -0 to -9, --fast, --best   how hard to try; default 6\n"
    "  -d, --decompress           decompress\n"
    "  -t, --test                 decompress to nowhere: check\n"
    "  -l, --list                 say what is in compressed files\n"
    "  -c, --stdout               write to standard output, keep files\n"
    "  -k, --keep                 keep files\n"
    "  -f, --force                overwrite; also links, .gz files, terminals; with -d, copy what is not gzip to\n"
    "                             standard output as it is\n"
    "  -r, --recursive            go into directories\n"
    "  -S, --suffix SUFFIX        instead of .gz\n"
    "  -n, --no-name              neither store nor restore name and time; default for -d\n"
    "  -N, --name                 store or restore name and time; default for compressing\n"
    "  -m, --no-time, -M, --time  the same for the time alone\n"
    "  -p, --processes N          so many workers, at most one for each processor, which is the default\n"
    "  -b, --blocksize SIZE       bytes a worker compresses at a time, in KiB or with K, M; default 128K\n"
    "  -i, --independent          blocks do not refer to each other\n"
    "  -Y, --synchronous          have the output on disk before the input is removed\n"
    "  -v, --verbose              say what was done\n"
    "  -q, --quiet                no warnings, no progress bar\n"
    "  --engine NAME              what compresses (default zlib) and decompresses (default: the fastest):\n"
    "                            ";
static const char usage_end[] =
    "\n"
    "  --no-index                 write no index, use none\n"
    "  --chunk SIZE               how far apart are the places where parallel decompression can begin; default 512K\n"
    "  -h, --help; -V, --version; -L, --license\n\n"
    "Ends with 0, 1 after an error, 2 after a warning.\n";

static const char license[] =
    "Copyright (c) 2026 the ccrt authors. MIT license: use it as you like, without warranty.\n";

static const struct option longs[] = {
    {"ascii", no_argument, NULL, 'a'},
    {"best", no_argument, NULL, BEST},
    {"blocksize", required_argument, NULL, 'b'},
    {"chunk", required_argument, NULL, CHUNK},
    {"decompress", no_argument, NULL, 'd'},
    {"engine", required_argument, NULL, ENGINE},
    {"fast", no_argument, NULL, FAST},
    {"force", no_argument, NULL, 'f'},
    {"help", no_argument, NULL, 'h'},
    {"independent", no_argument, NULL, 'i'},
    {"index", no_argument, NULL, INDEX},
    {"keep", no_argument, NULL, 'k'},
    {"license", no_argument, NULL, 'L'},
    {"list", no_argument, NULL, 'l'},
    {"name", no_argument, NULL, 'N'},
    {"no-index", no_argument, NULL, NO_INDEX},
    {"no-name", no_argument, NULL, 'n'},
    {"no-time", no_argument, NULL, 'm'},
    {"processes", required_argument, NULL, 'p'},
    {"quiet", no_argument, NULL, 'q'},
    {"recursive", no_argument, NULL, 'r'},
    {"silent", no_argument, NULL, 'q'},
    {"stdout", no_argument, NULL, 'c'},
    {"suffix", required_argument, NULL, 'S'},
    {"synchronous", no_argument, NULL, 'Y'},
    {"test", no_argument, NULL, 't'},
    {"time", no_argument, NULL, 'M'},
    {"to-stdout", no_argument, NULL, 'c'},
    {"uncompress", no_argument, NULL, 'd'},
    {"verbose", no_argument, NULL, 'v'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

/* What is said before it is known what it means. */
struct said {
    int name, time; /* -1: not said */
    const char *engine;
    size_t block, chunk;
};

static int refuse(const char *what, const char *word) {
    (void)fprintf(stderr, "ccgz: %s: %s\nTry `ccgz --help'.\n", what, word);
    return GZ_ERROR;
}

/* Those we may use. The kernel wants room for all there are, and does not say how many: EINVAL is too little. */
static unsigned processors(void) {
    int n = 0, rc = -EINVAL;
    for (size_t most = CPU_SETSIZE; rc == -EINVAL && most <= PROCESSORS_MAX; most *= 2) {
        const size_t bytes = CPU_ALLOC_SIZE(most);
        cpu_set_t *set = CPU_ALLOC(most);
        rc = set == NULL ? -ENOMEM : sched_getaffinity(0, bytes, set) != 0 ? -errno : 0;
        if (rc == 0) n = CPU_COUNT_S(bytes, set);
        CPU_FREE(set);
    }
    return n < 1 ? 1 : n < WORKERS_MAX ? (unsigned)n : WORKERS_MAX;
}

/* A size: in KiB, or with a letter. 0: none. */
static size_t parse_size(const char *text) {
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (end == text || text[0] == '-' || n > BLOCK_MAX) return 0;
    unsigned shift = *end == 0 || *end == 'k' || *end == 'K' ? 10 : *end == 'm' || *end == 'M' ? 20 : 0;
    if (shift == 0 || (*end != 0 && end[1] != 0)) return 0;
    return (size_t)n << shift;
}

static int parse_workers(struct gz_options *o, const char *text) {
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (end == text || *end != 0 || n < 1 || n > WORKERS_MAX) return refuse("not a number of workers", text);
    o->way.workers = (unsigned)n;
    return -1;
}

static int parse_block(size_t *to, const char *text) {
    *to = parse_size(text);
    return *to < BLOCK_MIN || *to > BLOCK_MAX ? refuse("not a size from 32K to 512M", text) : -1;
}

static void print_engines(void) {
    for (const struct gz_engine *const *e = gz_engines(); *e != NULL; e++)
        (void)printf(" %s (%s)", (*e)->name, (*e)->version);
}

static int print_help(void) {
    (void)fputs(usage, stdout);
    print_engines();
    (void)fputs(usage_end, stdout);
    return fflush(stdout) == 0 ? GZ_OK : GZ_ERROR;
}

static int print_version(void) {
    (void)printf("ccgz %d.%d.%d, with", CC_VERSION_MAJOR, CC_VERSION_MINOR, CC_VERSION_PATCH);
    print_engines();
    (void)putchar('\n');
    return fflush(stdout) == 0 ? GZ_OK : GZ_ERROR;
}

/* One option that is a switch. False: it is none of them. */
static bool parse_switch(struct gz_options *o, struct said *said, int letter) {
    switch (letter) {
    case 'a': break; /* text is bytes, here */
    case 'c': o->to_stdout = true; break;
    case 'd': o->mode = GZ_DECOMPRESS; break;
    case 'f': o->force = true; break;
    case 'i': o->way.independent = true; break;
    case 'k': o->keep = true; break;
    case 'l': o->mode = GZ_LIST; break;
    case 'n': said->name = said->time = 0; break;
    case 'N': said->name = said->time = 1; break;
    case 'm': said->time = 0; break;
    case 'M': said->time = 1; break;
    case 'q': o->quiet = true; break;
    case 'r': o->recursive = true; break;
    case 't': o->mode = GZ_TEST; break;
    case 'v': o->verbose++; break;
    case 'Y': o->synchronous = true; break;
    case FAST: o->way.level = 1; break;
    case BEST: o->way.level = 9; break;
    case INDEX: o->way.index = true; break;
    case NO_INDEX: o->way.index = false; break;
    default:
        if (letter < '0' || letter > '9') return false;
        o->way.level = letter - '0';
    }
    return true;
}

static int parse_option(struct gz_options *o, struct said *said, int letter) {
    if (parse_switch(o, said, letter)) return -1;
    switch (letter) {
    case 'p': return parse_workers(o, optarg);
    case 'b': return parse_block(&said->block, optarg);
    case CHUNK: return parse_block(&said->chunk, optarg);
    case 'S': o->suffix = optarg; return optarg[0] == 0 ? refuse("not a suffix", "''") : -1;
    case ENGINE: said->engine = optarg; return gz_engine_named(optarg) ? -1 : refuse("no such engine", optarg);
    case 'h': return print_help();
    case 'V': return print_version();
    case 'L': (void)fputs(license, stdout); return GZ_OK;
    default: (void)fputs("Try `ccgz --help'.\n", stderr); return GZ_ERROR;
    }
}

/* By the name it was called. */
static void parse_own_name(struct gz_options *o, const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
    size_t n = strlen(name);
    if (strncmp(name, "un", 2) == 0) o->mode = GZ_DECOMPRESS;
    if (n > 3 && strcmp(name + n - 3, "cat") == 0) {
        o->mode = GZ_DECOMPRESS;
        o->to_stdout = true;
    }
}

/* What depends on several options. */
static void settle(struct gz_options *o, const struct said *said) {
    struct gz_way *w = &o->way;
    const bool compresses = o->mode == GZ_COMPRESS;
    w->engine = said->engine != NULL ? gz_engine_named(said->engine) : NULL;
    if (w->engine == NULL) w->engine = compresses ? &gz_engine_zlib : gz_engine_fastest();
    w->block = said->block != 0 ? said->block : w->engine->block;
    size_t chunk = said->chunk != 0 ? said->chunk : CHUNK_BYTES;
    w->chunk = !w->engine->joins || chunk < w->block ? w->block : chunk / w->block * w->block;
    w->at_once = w->workers < processors() ? w->workers : processors(); /* more would only be in the way */
    w->workers = w->at_once;
    o->name = said->name < 0 ? compresses : said->name == 1;
    o->time = said->time < 0 ? compresses : said->time == 1;
}

int gz_options_parse(struct gz_options *o, int argc, char **argv) {
    static const char shorts[] = "0123456789ab:cdfhiklLmMnNp:qrS:tvVY";
    struct said said = {.name = -1, .time = -1};
    int letter;
    memset(o, 0, sizeof *o);
    o->suffix = ".gz";
    o->way.level = 6;
    o->way.workers = processors();
    o->way.index = true;
    parse_own_name(o, argv[0]);
    optind = 1;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread so far */
    while ((letter = getopt_long(argc, argv, shorts, longs, NULL)) >= 0) {
        int rc = parse_option(o, &said, letter);
        if (rc >= 0) return rc;
    }
    settle(o, &said);
    o->files = argv + optind;
    o->file_count = argc - optind;
    return -1;
}
