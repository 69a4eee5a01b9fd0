// SPDX-License-Identifier: MIT
//! spawn_join: one task spawns a task and awaits its handle, one after the other.

mod common;

const TIMES: u32 = 5;
const TURNS: usize = 100_000;

async fn run(turns: usize) {
    for id in 0..turns {
        assert_eq!(tokio::spawn(async move { id }).await.unwrap(), id);
    }
}

fn main() {
    println!(
        "spawn_join {:.4} ns",
        common::quickest_ns(run, TURNS, TIMES) / TURNS as f64
    );
}
