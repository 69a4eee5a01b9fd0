/* SPDX-License-Identifier: MIT */
/* Included before everything in a model and its sources: one turn of the library's spin loops is one for the checker,
 * too, or it would run them without end. */
#ifndef CCMC_RELAX_H
#define CCMC_RELAX_H

#include "base/atomic.h"

#include "ccmc.h"

#define cc__cpu_relax() mc_yield()
#define cc__cpu_relax_for(turns) ((turns) > 0 ? mc_yield() : (void)0) /* 0: where a model says there is no loop */

#endif /* CCMC_RELAX_H */
