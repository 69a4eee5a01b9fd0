// SPDX-License-Identifier: MIT
//! nursery: a `JoinSet`, a thousand tasks of it, and joining them, again and again.

mod common;

use tokio::task::JoinSet;

const SETS: usize = 200;
const TASKS: usize = 1000;
const TIMES: u32 = 5;

async fn one() {
    let mut set = JoinSet::new();
    for id in 0..TASKS {
        set.spawn(async move { id });
    }
    let mut sum = 0;
    while let Some(id) = set.join_next().await {
        sum += id.unwrap();
    }
    assert_eq!(sum, TASKS * (TASKS - 1) / 2);
}

async fn run(sets: usize) {
    for _ in 0..sets {
        one().await;
    }
}

fn main() {
    println!(
        "nursery {:.4} ns",
        common::quickest_ns(run, SETS, TIMES) / (SETS * TASKS) as f64
    );
}
