/* SPDX-License-Identifier: MIT */
/* Frame memory: a bump through pages that belong to the running task, all freed at once at its end.
 *
 * Pages are linked, the newest first; each is twice as large as the one before, up to a limit, or as large as what is
 * asked for. What is not given out is poisoned where ASan watches, with a gap behind each piece.
 *
 * Prev: job/queue.c  Next: job/loop.c */
#include <ccrt/job.h>

#include "../fiber/hooks.h"
#include "../sched/sched.h"

#include <stdlib.h>

enum { FIRST_BYTES = 4096, MOST_BYTES = 1 << 20, ALIGN = _Alignof(max_align_t), GAP = 16 };

struct cc__frame {
    struct cc__frame *older;
    size_t bytes, used; /* of what follows */
    _Alignas(max_align_t) char data[];
};

static struct cc__frame *page_new(struct cc__frame *older, size_t least) {
    size_t bytes = older == NULL ? FIRST_BYTES - sizeof *older : 2 * older->bytes;
    if (bytes > MOST_BYTES) bytes = MOST_BYTES;
    if (bytes < least) bytes = least;
    struct cc__frame *p = malloc(sizeof *p + bytes);
    if (p == NULL) return NULL;
    *p = (struct cc__frame){.older = older, .bytes = bytes};
    cc__hooks_poison(p->data, bytes);
    return p;
}

void *cc_frame_alloc(size_t bytes) {
    struct cc__task *self = cc__self();
    if (self == NULL || self->fn == NULL || bytes > SIZE_MAX / 4) return NULL;
    struct cc__frame **at = &self->fiber->frame, *p = *at;
    size_t gap = (self->fiber->hooks & CC__HOOK_ASAN) != 0 ? GAP : 0;
    size_t takes = cc__align_up((bytes == 0 ? 1 : bytes) + gap, ALIGN);
    if (p == NULL || p->bytes - p->used < takes) {
        p = page_new(p, takes);
        if (p == NULL) return NULL;
        *at = p;
    }
    char *got = p->data + p->used;
    p->used += takes;
    cc__hooks_unpoison(got, bytes);
    return got;
}

void cc__frame_end(struct cc__fiber *f) {
    for (struct cc__frame *p = f->frame, *older; p != NULL; p = older) {
        older = p->older;
        cc__hooks_unpoison(p->data, p->bytes);
        free(p);
    }
    f->frame = NULL;
}

void cc_frame_begin(void) {
    struct cc__task *self = cc__self();
    if (self != NULL && self->fn != NULL) cc__frame_end(self->fiber);
}
