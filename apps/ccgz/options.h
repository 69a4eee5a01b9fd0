/* SPDX-License-Identifier: MIT */
/* The command line, as gzip and pigz have it. */
#ifndef CCGZ_OPTIONS_H
#define CCGZ_OPTIONS_H

#include "job.h"

enum gz_mode { GZ_COMPRESS, GZ_DECOMPRESS, GZ_TEST, GZ_LIST };

struct gz_options {
    enum gz_mode mode;
    bool to_stdout, keep, force, recursive, quiet, synchronous;
    int verbose;
    bool name, time; /* are stored, or restored */
    const char *suffix;
    struct gz_way way;
    char **files; /* ended by NULL */
    int file_count;
};

/* Parse the command line. -1: go on; else the program is to end with that code. */
int gz_options_parse(struct gz_options *o, int argc, char **argv);

#endif /* CCGZ_OPTIONS_H */
