// SPDX-License-Identifier: MIT
//! sleep_1m: a million tasks that each sleep once, for 1 to 1,000 ms; from the first spawn until all have ended.

mod common;

use std::time::{Duration, Instant};
use tokio::time::sleep;

const LONGEST_MS: usize = 1000;
const TASKS: usize = 1_000_000;

async fn sleep_once(id: usize) -> usize {
    sleep(Duration::from_millis((1 + id % LONGEST_MS) as u64)).await;
    id
}

async fn run() {
    let (start, start_cpu) = (Instant::now(), common::cpu_ns());
    let tasks: Vec<_> = (0..TASKS).map(|id| tokio::spawn(sleep_once(id))).collect();
    for (id, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.await.unwrap(), id);
    }
    let (wall, cpu) = (
        start.elapsed().as_nanos() as f64,
        common::cpu_ns() - start_cpu,
    );

    assert!(wall >= LONGEST_MS as f64 * 1e6);
    println!("wall {:.3} ms\ncpu {:.3} ms", wall / 1e6, cpu / 1e6);
}

fn main() {
    common::inside(&common::runtime(), run());
}
