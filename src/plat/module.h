/* SPDX-License-Identifier: MIT */
/* The program and the libraries it has loaded: which one an address of code is in, and the name of its function. */
#ifndef CC__PLAT_MODULE_H
#define CC__PLAT_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cc__module {
    uintptr_t base;     /* what its file's addresses are moved by */
    const void *unwind; /* its .eh_frame_hdr, or NULL */
    const char *path;   /* of its file; valid until it is unloaded: for cc__peek_text() */
    bool program;       /* the executable itself */
};

/* The module whose code `pc` is in. */
bool cc__module_of(uintptr_t pc, struct cc__module *out);

/* A place in code by name, as far as that is known: empty names where it is not. */
struct cc__spot {
    char function[80];
    char file[48];    /* the module's, without its folder */
    uintptr_t offset; /* from the function's begin, or from the module's */
};

/* Describe pc. Reads the module's file, which takes milliseconds where that is large; no memory is allocated. Not for
 * two threads at once. */
void cc__spot_of(uintptr_t pc, struct cc__spot *out);

#endif /* CC__PLAT_MODULE_H */
