// SPDX-License-Identifier: MIT
//! fib: rayon::join for each call but the leaves, without a cutoff; so long a join.

use std::time::Instant;

const N: u32 = 35;
const FORKS: f64 = 14930351.0;

fn fib(n: u32) -> u64 {
    if n < 2 {
        return n as u64;
    }
    let (a, b) = rayon::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn main() {
    let workers = std::env::var("BENCH_WORKERS").map_or(1, |n| n.parse().unwrap());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().unwrap();
    let quickest = pool.install(|| {
        (0..6).map(|_| {
            let start = Instant::now();
            assert_eq!(fib(N), 9227465);
            start.elapsed().as_nanos() as f64
        }).fold(f64::INFINITY, f64::min)
    });
    println!("fib {:.4} ns", quickest / FORKS);
}
