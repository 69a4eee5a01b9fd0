// SPDX-License-Identifier: MIT
//! axpy: parallel iterators over both vectors.

mod pool;

use rayon::prelude::*;

const LENGTH: usize = 10_000_000;
const TIMES: u32 = 20;

fn main() {
    let x: Vec<f64> = (0..LENGTH).map(|i| (1 + i % 3) as f64).collect();
    let mut y = vec![0.0; LENGTH];
    let quickest = pool::quickest_ns(TIMES, || {
        y.par_iter_mut().zip(&x).for_each(|(y, x)| *y += 0.5 * x);
    });
    let all = 0.5 * (TIMES + 1) as f64;
    assert!(x.iter().zip(&y).all(|(x, y)| *y == all * x));
    println!("axpy {:.4} ms", quickest / 1e6);
}
