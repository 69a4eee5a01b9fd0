// SPDX-License-Identifier: MIT
//! spawn_1m_empty: one scope, a million spawns that leave a mark.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::time::Instant;

const TASKS: usize = 1_000_000;

fn main() {
    let workers = std::env::var("BENCH_WORKERS").map_or(1, |n| n.parse().unwrap());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().unwrap();
    let marks: Vec<AtomicU8> = (0..TASKS).map(|_| AtomicU8::new(0)).collect();
    let quickest = pool.install(|| {
        (0..6).map(|_| {
            let start = Instant::now();
            marks.iter().for_each(|m| m.store(0, Relaxed));
            rayon::scope(|s| {
                for m in &marks {
                    s.spawn(move |_| m.store(1, Relaxed));
                }
            });
            assert!(marks.iter().all(|m| m.load(Relaxed) == 1));
            start.elapsed().as_nanos() as f64
        }).fold(f64::INFINITY, f64::min)
    });
    println!("spawn_1m_empty {:.4} ns", quickest / TASKS as f64);
}
