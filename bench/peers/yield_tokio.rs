// SPDX-License-Identifier: MIT
//! yield: two tasks on tokio's single-threaded runtime, a million `yield_now` each.

use std::time::{Duration, Instant};
use tokio::{runtime, task};

const TIMES: u32 = 3;
const YIELDS: u32 = 1_000_000;

async fn yield_many(yields: u32) {
    for _ in 0..yields {
        task::yield_now().await;
    }
}

async fn run(yields: u32) {
    let a = tokio::spawn(yield_many(yields));
    let b = tokio::spawn(yield_many(yields));
    a.await.unwrap();
    b.await.unwrap();
}

fn main() {
    let runtime = runtime::Builder::new_current_thread().build().unwrap();
    let time = |yields| -> Duration {
        let start = Instant::now();
        runtime.block_on(run(yields));
        start.elapsed()
    };
    time(YIELDS / 10); // warm-up
    let quickest = (0..TIMES).map(|_| time(YIELDS)).min().unwrap();
    println!(
        "yield {:.4} ns",
        quickest.as_nanos() as f64 / f64::from(2 * YIELDS)
    );
}
