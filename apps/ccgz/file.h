/* SPDX-License-Identifier: MIT */
/* Files: the names of outputs, and outputs that appear whole or not at all. */
#ifndef CCGZ_FILE_H
#define CCGZ_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* What a compressed file is called: NULL without memory. */
char *gz_name_compressed(const char *path, const char *suffix);
/* What it is called decompressed: NULL, if its name does not say that it is compressed, or without memory. */
char *gz_name_plain(const char *path, const char *suffix);
/* The same file with another name, of which only what follows the last slash is taken; NULL: there is none. */
char *gz_name_beside(const char *path, const char *name);

/* An output under way: a file with a name of its own, beside the one it is to be. */
struct gz_target {
    int fd;
    char *path, *temporary;
};

/* Have signals remove the file that is under way before they end the program. Once. */
void gz_target_signals(void);

/* 0, or a negative errno. */
int gz_target_open(struct gz_target *t, const char *path);
/* It is complete: give it mode, owner and times of another, and its name. Without `replace` nothing that has appeared
 * there meanwhile is replaced: -EEXIST. With `synchronous` both it and its name are on disk then. The target is gone,
 * also on an error. */
int gz_target_finish(struct gz_target *t, const struct stat *like, bool replace, bool synchronous);
/* It is not to be. */
void gz_target_abandon(struct gz_target *t);

/* Close an output that somebody else has opened: 0, or a negative errno, as it may turn out only then. */
int gz_output_finish(int fd, bool synchronous);

#endif /* CCGZ_FILE_H */
