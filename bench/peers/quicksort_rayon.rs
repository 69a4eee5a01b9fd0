// SPDX-License-Identifier: MIT
//! quicksort: rayon::join for both parts of each split, down to a thousand numbers; on slices, which are checked.

mod pool;

use std::time::Instant;

const COUNT: usize = 10_000_000;
const CUTOFF: usize = 1000;
const TIMES: usize = 3;
const INSERTION: usize = 16;

fn split(a: &mut [i32]) -> usize {
    let mut three = [a[0], a[a.len() / 2], a[a.len() - 1]];
    three.sort_unstable();
    let pivot = three[1];
    let (mut lo, mut hi) = (0, a.len() - 1);
    loop {
        while a[lo] < pivot {
            lo += 1;
        }
        while a[hi] > pivot {
            hi -= 1;
        }
        if lo >= hi {
            return hi + 1;
        }
        a.swap(lo, hi);
        lo += 1;
        hi -= 1;
    }
}

fn sort_alone(a: &mut [i32]) {
    if a.len() > INSERTION {
        let below = split(a);
        let (lower, upper) = a.split_at_mut(below);
        sort_alone(lower);
        return sort_alone(upper);
    }
    for i in 1..a.len() {
        let x = a[i];
        let mut at = i;
        while at > 0 && a[at - 1] > x {
            a[at] = a[at - 1];
            at -= 1;
        }
        a[at] = x;
    }
}

fn sort(a: &mut [i32]) {
    if a.len() <= CUTOFF {
        return sort_alone(a);
    }
    let below = split(a);
    let (lower, upper) = a.split_at_mut(below);
    rayon::join(|| sort(lower), || sort(upper));
}

fn fill(a: &mut [i32]) -> i64 {
    let mut x = 88172645463325252u64;
    for n in a.iter_mut() {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        *n = (x >> 33) as i32;
    }
    a.iter().map(|&n| n as i64).sum()
}

fn main() {
    let mut numbers = vec![0; COUNT];
    let quickest = pool::inside(|| {
        (0..TIMES)
            .map(|_| {
                let sum = fill(&mut numbers);
                let start = Instant::now();
                sort(&mut numbers);
                let taken = start.elapsed().as_nanos() as f64;
                assert!(numbers.windows(2).all(|w| w[0] <= w[1]), "not sorted");
                assert_eq!(sum, numbers.iter().map(|&n| n as i64).sum::<i64>());
                taken
            })
            .fold(f64::INFINITY, f64::min)
    });
    println!("quicksort {:.4} ms", quickest / 1e6);
}
