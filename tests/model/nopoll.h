/* SPDX-License-Identifier: MIT */
/* For models that link what looks at descriptors, and have none: to be included once. */
#ifndef CCMC_NOPOLL_H
#define CCMC_NOPOLL_H

#include "sched/sched.h"

#include "ccmc.h"

bool cc__poll_look(struct cc__worker *w) {
    (void)w;
    return false;
}
bool cc__poll_deliver(struct cc__worker *w) {
    (void)w;
    return false;
}
bool cc__poll_spin(struct cc__worker *w) {
    (void)w;
    return false;
}
bool cc__poll_sleep(struct cc__worker *w, int64_t until_ns) {
    (void)w, (void)until_ns;
    mc_assert(false);
    return true;
}
void cc__poll_for(struct cc__worker *w) {
    (void)w;
}
void cc__help_say_where(struct cc__worker *w, uint64_t cycles) {
    (void)w, (void)cycles;
}
bool cc__help_gives_way(struct cc__worker *w) {
    (void)w;
    return false;
}
void cc__help_give_way(struct cc__worker *w) {
    (void)w;
}
bool cc__help_move(struct cc__worker *w) {
    (void)w;
    return false;
}
void cc__reactor_ring(struct cc__reactor *r) {
    (void)r;
    mc_assert(false);
}
void cc__reactor_init(struct cc__reactor *r) {
    (void)r;
}

#endif /* CCMC_NOPOLL_H */
