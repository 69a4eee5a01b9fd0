/* SPDX-License-Identifier: MIT */
/* Compression of a file by ccgz, or by what BENCH_GZIP names, at level 6: wall and processor time, peak memory and size
 * of the output; and the same by the fastest engine, which at a peer that has one only is that one. */
#include "gzip.h"

static char output[512];

static struct gzip_run compress(const char *engine, const char *in) {
    const char *n = gzip_workers();
    const char *const ccgz[] = {BENCH_CCGZ, "-6", "-p", n, "--engine", engine, "-c", in, NULL};
    const char *const pthread[] = {BENCH_CCGZ_PTHREAD, n, in, NULL};
    const char *const pigz[] = {"pigz", "-6", "-p", n, "-c", in, NULL};
    const char *const gzip[] = {"gzip", "-6", "-c", in, NULL};
    const char *const libdeflate[] = {"libdeflate-gzip", "-6", "-c", in, NULL};
    const char *const igzip[] = {"igzip", "-3", "-c", in, NULL};
    const char *const *command = gzip_is("pthread")      ? pthread
                                 : gzip_is("pigz")       ? pigz
                                 : gzip_is("gzip")       ? gzip
                                 : gzip_is("libdeflate") ? libdeflate
                                 : gzip_is("igzip")      ? igzip
                                                         : ccgz;
    return gzip_run(command, output);
}

int main(void) {
    static const char *const sizes[] = {"50", "200"};
    (void)snprintf(output, sizeof output, "%s/out.gz", BENCH_CORPUS);
    for (size_t i = 0; i < 2; i++) {
        const char *in = gzip_corpus(sizes[i]);
        if (!gzip_is("igzip")) {
            struct gzip_run r = compress("zlib", in);
            gzip_report_wall("wall", sizes[i], r.wall_ms);
            gzip_report("cpu", sizes[i], r.cpu_ms, "ms");
            gzip_report("memory", sizes[i], r.memory_bytes, "bytes");
            gzip_report("size", sizes[i], r.size_bytes, "bytes");
            if (gzip_is("pigz")) {
                gzip_report("fast", sizes[i], r.wall_ms, "ms"); /* it has no other */
                gzip_report("fast_size", sizes[i], r.size_bytes, "bytes");
            }
        }
        if (gzip_is("ccgz") || gzip_is("igzip")) {
            struct gzip_run r = compress(gzip_fastest(), in);
            gzip_report_wall("fast", sizes[i], r.wall_ms);
            gzip_report("fast_size", sizes[i], r.size_bytes, "bytes");
        }
    }
    (void)unlink(output);
    return 0;
}
