// SPDX-License-Identifier: MIT
//! spawn_batch: one task spawns a hundred thousand and awaits all their handles. Each returns its number.

mod common;

const TASKS: usize = 100_000;
const TIMES: u32 = 10;

async fn run(tasks: usize) {
    let mut handles = Vec::with_capacity(tasks);
    for id in 0..tasks {
        handles.push(tokio::spawn(async move { id }));
    }
    for (id, handle) in handles.into_iter().enumerate() {
        assert_eq!(handle.await.unwrap(), id);
    }
}

fn main() {
    println!(
        "spawn_batch {:.4} ns",
        common::quickest_ns(run, TASKS, TIMES) / TASKS as f64
    );
}
