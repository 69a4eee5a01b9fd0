/* SPDX-License-Identifier: MIT */
/* main() of every model: the checker's, with this program's scenarios. Not instrumented. */
#include "ccmc.h"

int main(int argc, char **argv) {
    return mc_main(argc, argv, mc_scenarios);
}
