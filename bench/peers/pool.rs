// SPDX-License-Identifier: MIT
//! What the rayon programs share.
#![allow(dead_code)] // no program needs all of it

use std::time::Instant;

/// Measure on a thread of a pool with as many threads as are asked for.
pub fn inside<R: Send>(measure: impl FnOnce() -> R + Send) -> R {
    let workers = std::env::var("BENCH_WORKERS").map_or(1, |n| n.parse().unwrap());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().unwrap();
    pool.install(measure)
}

/// Warm up, then run it so many times: how long the quickest took, in ns.
pub fn quickest_ns(times: u32, mut run: impl FnMut() + Send) -> f64 {
    inside(|| {
        run();
        (0..times)
            .map(|_| {
                let start = Instant::now();
                run();
                start.elapsed().as_nanos() as f64
            })
            .fold(f64::INFINITY, f64::min)
    })
}
