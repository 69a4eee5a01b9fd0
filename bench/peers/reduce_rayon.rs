// SPDX-License-Identifier: MIT
//! reduce: the sum of a parallel iterator; the order of additions is not determined.

mod pool;

use rayon::prelude::*;

const LENGTH: usize = 10_000_000;
const TIMES: u32 = 20;

fn main() {
    let x: Vec<f64> = (0..LENGTH).map(|i| (1 + i % 3) as f64).collect();
    let quickest = pool::quickest_ns(TIMES, || {
        assert_eq!(x.par_iter().sum::<f64>(), (LENGTH / 3 * 6 + 1) as f64);
    });
    println!("reduce {:.4} ms", quickest / 1e6);
}
