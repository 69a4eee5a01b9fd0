/* SPDX-License-Identifier: MIT */
/* The cpus this process may use: which of them share a core, a node of memory, a package, and how strong they are.
 *
 * Prev: plat/cpu.h  Next: plat/topology.c */
#ifndef CC__PLAT_TOPOLOGY_H
#define CC__PLAT_TOPOLOGY_H

#include <stdbool.h>

/* All but the system's number count from 0 without gaps, over the cpus that are listed. */
struct cc__cpu {
    unsigned number; /* the system's */
    unsigned core;
    unsigned thread; /* of its core */
    unsigned kind;   /* of its core: 0 are the strongest */
    unsigned node;   /* of memory */
    unsigned package;
};

struct cc__topology {
    struct cc__cpu *cpu; /* those that share most stand side by side */
    unsigned count, cores, kinds, nodes, packages;
    bool real; /* it is this machine's: threads can be bound to its cpus */
};

/* Ask hwloc. What it is told to pretend (HWLOC_SYNTHETIC, HWLOC_XMLFILE in the environment) is not real.
 *   Returns    0; -ENOTSUP it is not there, or knows nothing; -ENOMEM */
int cc__topology_read(struct cc__topology *out);

/* The same of a topology that was loaded by the caller. */
struct hwloc_topology;
int cc__topology_from(struct cc__topology *out, struct hwloc_topology *loaded);

void cc__topology_end(struct cc__topology *t);

#endif /* CC__PLAT_TOPOLOGY_H */
