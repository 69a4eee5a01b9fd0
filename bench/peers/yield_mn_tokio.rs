// SPDX-License-Identifier: MIT
//! yield_mn: a hundred tasks of tokio's multi-threaded runtime, each so many `yield_now`.

mod common;

const TASKS: usize = 100;
const TIMES: u32 = 5;
const YIELDS: usize = 10_000;

async fn yield_many(yields: usize) -> usize {
    let mut done = 0;
    while done < yields {
        tokio::task::yield_now().await;
        done += 1;
    }
    done
}

async fn run(yields: usize) {
    let tasks: Vec<_> = (0..TASKS)
        .map(|_| tokio::spawn(yield_many(yields)))
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap(), yields);
    }
}

fn main() {
    let taken = common::quickest_ns(run, YIELDS, TIMES);
    println!("yield_mn {:.4} ns", taken / (TASKS * YIELDS) as f64);
}
