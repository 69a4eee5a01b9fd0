/* SPDX-License-Identifier: MIT */
/* Topology, from hwloc: which knows what /sys, device trees and cpuid say, on more machines than we have seen.
 *
 * Its functions are weak references. libccrt.so is linked to it, where it was there when that was built; a program that
 * takes libccrt.a has it if it is linked to hwloc itself, and need not be: Debian's hwloc cannot be part of a program
 * that is wholly static. Where they are missing, as where there was no hwloc to build with, the answer is -ENOTSUP.
 *
 * Rejected: reading /sys ourselves (hybrid cores, memory without cpus, containers that hide half of it: all of it has
 * been found out there already); dlopen() (a second way to have a library, which no package sees).
 *
 * Prev: plat/topology.h  Next: plat/vm.c */
#include "topology.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#if CCRT_HAVE_HWLOC

#pragma weak hwloc_topology_init
#pragma weak hwloc_topology_set_flags
#pragma weak hwloc_topology_load
#pragma weak hwloc_topology_destroy
#pragma weak hwloc_topology_is_thissystem
#pragma weak hwloc_get_cpubind
#pragma weak hwloc_bitmap_alloc
#pragma weak hwloc_bitmap_free
#pragma weak hwloc_bitmap_isset
#pragma weak hwloc_get_type_depth
#pragma weak hwloc_get_nbobjs_by_depth
#pragma weak hwloc_get_obj_by_depth
#pragma weak hwloc_cpukinds_get_nr
#pragma weak hwloc_cpukinds_get_by_cpuset
#pragma weak hwloc_cpukinds_get_info

#include <hwloc.h>

static bool present(void) {
    return hwloc_topology_init != NULL && hwloc_cpukinds_get_info != NULL;
}

/* What encloses it of a kind, or NULL. */
static hwloc_obj_t above(hwloc_obj_t pu, hwloc_obj_type_t type) {
    hwloc_obj_t at = pu->parent;
    while (at != NULL && at->type != type) at = at->parent;
    return at;
}

/* Which memory is nearest to a cpu: the first that says so. (One that has no cpus is nobody's.) */
static unsigned node_of(hwloc_topology_t from, unsigned cpu) {
    int depth = hwloc_get_type_depth(from, HWLOC_OBJ_NUMANODE);
    unsigned nodes = hwloc_get_nbobjs_by_depth(from, depth);
    for (unsigned i = 0; i < nodes; i++) {
        hwloc_obj_t node = hwloc_get_obj_by_depth(from, depth, i);
        if (node->cpuset != NULL && hwloc_bitmap_isset(node->cpuset, cpu)) return i;
    }
    return 0;
}

/* How many kinds of cores are stronger; 0 where nobody knows. */
static unsigned kind_of(hwloc_topology_t from, hwloc_obj_t pu) {
    int kinds = hwloc_cpukinds_get_nr(from, 0), efficiency = -1;
    int kind = kinds > 1 ? hwloc_cpukinds_get_by_cpuset(from, pu->cpuset, 0) : -1; /* the strongest is the last */
    if (kind < 0 || hwloc_cpukinds_get_info(from, (unsigned)kind, NULL, &efficiency, NULL, NULL, 0) != 0) return 0;
    return efficiency < 0 ? 0 : (unsigned)(kinds - 1 - kind);
}

/* Number what a field says from 0 on, without gaps, in the order of what it said; how many there are. */
static unsigned without_gaps(struct cc__topology *t, size_t field) {
    unsigned numbers = 0, done = 0;
    for (; done < t->count; numbers++) {
        unsigned least = ~0u; /* that has no number yet: none of those is below the next number */
        for (unsigned i = 0; i < t->count; i++) {
            unsigned at = *(unsigned *)(void *)((char *)&t->cpu[i] + field);
            if (at >= numbers && at < least) least = at;
        }
        for (unsigned i = 0; i < t->count; i++) {
            unsigned *at = (unsigned *)(void *)((char *)&t->cpu[i] + field);
            if (*at != least) continue;
            *at = numbers;
            done++;
        }
    }
    return numbers;
}

int cc__topology_from(struct cc__topology *out, struct hwloc_topology *from) {
    if (!present()) return -ENOTSUP;
    int depth = hwloc_get_type_depth(from, HWLOC_OBJ_PU);
    unsigned all = hwloc_get_nbobjs_by_depth(from, depth);
    hwloc_bitmap_t ours = hwloc_bitmap_alloc();
    *out = (struct cc__topology){.cpu = calloc(all + 1, sizeof *out->cpu)};
    int rc = ours == NULL || out->cpu == NULL ? -ENOMEM : 0;
    /* This thread's affinity; all cpus of a machine that is not this one. */
    if (rc == 0 && hwloc_get_cpubind(from, ours, HWLOC_CPUBIND_THREAD) != 0) rc = -ENOTSUP;
    hwloc_obj_t core = NULL, package = NULL;
    for (unsigned i = 0; rc == 0 && i < all; i++) {
        hwloc_obj_t pu = hwloc_get_obj_by_depth(from, depth, i), in = above(pu, HWLOC_OBJ_CORE),
                    socket = above(pu, HWLOC_OBJ_PACKAGE);
        if (!hwloc_bitmap_isset(ours, pu->os_index)) continue;
        bool same_core = out->count > 0 && in != NULL && in == core;
        if (!same_core) out->cores++;
        if (out->packages == 0 || socket != package) out->packages++;
        core = in;
        package = socket;
        struct cc__cpu *cpu = &out->cpu[out->count];
        *cpu = (struct cc__cpu){.number = pu->os_index,
                                .core = out->cores - 1,
                                .thread = same_core ? cpu[-1].thread + 1 : 0,
                                .kind = kind_of(from, pu),
                                .node = node_of(from, pu->os_index),
                                .package = out->packages - 1};
        out->count++;
    }
    hwloc_bitmap_free(ours);
    if (rc == 0 && out->count == 0) rc = -ENOTSUP;
    if (rc != 0) {
        cc__topology_end(out);
        return rc;
    }
    out->kinds = without_gaps(out, offsetof(struct cc__cpu, kind));
    out->nodes = without_gaps(out, offsetof(struct cc__cpu, node));
    out->real = hwloc_topology_is_thissystem(from) != 0;
    return 0;
}

int cc__topology_read(struct cc__topology *out) {
    hwloc_topology_t from;
    *out = (struct cc__topology){0};
    if (!present()) return -ENOTSUP;
    int saved = errno, rc = hwloc_topology_init(&from) != 0 ? -ENOMEM : 0;
    if (rc != 0) return rc;
    /* It would bind this thread to each cpu in turn, to ask each for itself. */
    if (hwloc_topology_set_flags(from, HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING) != 0) rc = -ENOTSUP;
    if (rc == 0 && hwloc_topology_load(from) != 0) rc = -ENOTSUP;
    if (rc == 0) rc = cc__topology_from(out, from);
    hwloc_topology_destroy(from);
    errno = saved;
    return rc;
}

#else

int cc__topology_from(struct cc__topology *out, struct hwloc_topology *loaded) {
    (void)loaded;
    *out = (struct cc__topology){0};
    return -ENOTSUP;
}

int cc__topology_read(struct cc__topology *out) {
    return cc__topology_from(out, NULL);
}

#endif

void cc__topology_end(struct cc__topology *t) {
    free(t->cpu);
    *t = (struct cc__topology){0};
}
