// SPDX-License-Identifier: MIT
//! uts: a parallel iterator over the children of each node.

mod pool;

use rayon::prelude::*;

const NODES: u64 = 2768986;
const DEPTH: u32 = 10;
const MOST: u32 = 100;
const TIMES: u32 = 3;
const ROOT: u64 = 0x118e846ea93bc949;

fn child(node: u64, i: u32) -> u64 {
    let mut x = node.wrapping_add((i as u64 + 1).wrapping_mul(0x9e3779b97f4a7c15));
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d049bb133111eb);
    x ^ (x >> 31)
}

fn children(node: u64, depth: u32) -> u32 {
    let (draw, mut bound) = (node >> 32, 3435973836u64);
    let mut count = 0;
    if depth == DEPTH {
        return 0;
    }
    while draw < bound && count < MOST {
        bound = bound * 52429 >> 16;
        count += 1;
    }
    count
}

fn visit(node: u64, depth: u32) -> u64 {
    match children(node, depth) {
        0 => 1,
        n => 1 + (0..n).into_par_iter().map(|i| visit(child(node, i), depth + 1)).sum::<u64>(),
    }
}

fn main() {
    let quickest = pool::quickest_ns(TIMES, || assert_eq!(visit(ROOT, 0), NODES));
    println!("uts {:.4} ns", quickest / NODES as f64);
}
