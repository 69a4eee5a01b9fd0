// SPDX-License-Identifier: MIT
//! yield: two tasks on tokio's single-threaded runtime, a million `yield_now` each.

use std::time::Instant;
use tokio::{runtime, task};

const WARM_UP: u32 = 100_000;
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
    runtime.block_on(run(WARM_UP));
    let start = Instant::now();
    runtime.block_on(run(YIELDS));
    println!("yield {:.4} ns", start.elapsed().as_nanos() as f64 / (2.0 * f64::from(YIELDS)));
}
