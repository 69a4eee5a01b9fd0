/* SPDX-License-Identifier: MIT */
/* Decompression to nowhere by ccgz, or by what BENCH_GZIP names, of what pigz has made, by zlib: wall and processor
 * time and peak memory; by the fastest engine; and of what ccgz has made, which has an index. So does the twin by plain
 * threads. Another's program does the first of them, and its figure is for all three. */
#include "gzip.h"

/* Make a compressed file, unless there is one that is newer than the program and the corpus. */
static void make(const char *const *command, const char *out, const char *in) {
    struct stat made, program, from;
    if (stat(out, &made) == 0 && stat(BENCH_CCGZ, &program) == 0 && stat(in, &from) == 0 &&
        made.st_mtime > program.st_mtime && made.st_mtime > from.st_mtime)
        return;
    (void)gzip_run(command, out);
}

static struct gzip_run decompress(const char *engine, const char *in) {
    const char *const ccgz[] = {BENCH_CCGZ, "-p", gzip_workers(), "--engine", engine, "-dc", in, NULL};
    const char *const pthread[] = {BENCH_CCGZ_PTHREAD_INFLATE, engine, gzip_workers(), in, NULL};
    const char *const pigz[] = {"pigz", "-dc", in, NULL};
    const char *const pigz_1[] = {"pigz", "-p", "1", "-dc", in, NULL};
    const char *const gzip[] = {"gzip", "-dc", in, NULL};
    const char *const libdeflate[] = {"libdeflate-gzip", "-dc", in, NULL};
    const char *const igzip[] = {"igzip", "-dc", in, NULL};
    const char *const *command = gzip_is("pthread")      ? pthread
                                 : gzip_is("pigz")       ? pigz
                                 : gzip_is("pigz-p1")    ? pigz_1
                                 : gzip_is("gzip")       ? gzip
                                 : gzip_is("libdeflate") ? libdeflate
                                 : gzip_is("igzip")      ? igzip
                                                         : ccgz;
    return gzip_quickest(command, "/dev/null", 3);
}

int main(void) {
    static const char *const sizes[] = {"50", "200"};
    for (size_t i = 0; i < 2; i++) {
        const char *in = gzip_corpus(sizes[i]);
        char foreign[512], own[512];
        (void)snprintf(foreign, sizeof foreign, "%s/%s.pigz.gz", BENCH_CORPUS, sizes[i]);
        (void)snprintf(own, sizeof own, "%s/%s.ccgz.gz", BENCH_CORPUS, sizes[i]);
        const char *const pigz[] = {"pigz", "-c", in, NULL}, *const ccgz[] = {BENCH_CCGZ, "-c", in, NULL};
        make(pigz, foreign, in);
        make(ccgz, own, in);
        struct gzip_run r = decompress("zlib", foreign), fast = r, indexed = r;
        const int own_engines = gzip_is("ccgz") || gzip_is("pthread");
        if (own_engines) {
            fast = decompress(gzip_fastest(), foreign);
            indexed = decompress(gzip_fastest(), own);
        }
        gzip_report_wall("wall", sizes[i], r.wall_ms);
        gzip_report("cpu", sizes[i], r.cpu_ms, "ms");
        gzip_report("memory", sizes[i], r.memory_bytes, "bytes");
        if (own_engines) {
            gzip_report_wall("fast", sizes[i], fast.wall_ms);
            gzip_report_wall("index", sizes[i], indexed.wall_ms);
        } else {
            gzip_report("fast", sizes[i], fast.wall_ms, "ms");
            gzip_report("index", sizes[i], indexed.wall_ms, "ms");
        }
    }
    return 0;
}
