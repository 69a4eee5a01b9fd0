// SPDX-License-Identifier: MIT
//! parked_1m: a million tasks that all wait to be notified, then end: time to create one, and its memory.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Notify;

const TASKS: usize = 1_000_000;

#[derive(Default)]
struct Shared {
    begun: AtomicUsize,
    all_begun: Notify,
    released: AtomicBool,
    release: Notify,
}

async fn wait_once(shared: Arc<Shared>) -> usize {
    if shared.begun.fetch_add(1, SeqCst) == TASKS - 1 {
        shared.all_begun.notify_one();
    }
    let release = shared.release.notified();
    if !shared.released.load(SeqCst) {
        release.await;
    }
    1
}

async fn run() {
    let shared = Arc::new(Shared::default());
    let start = Instant::now();
    let tasks: Vec<_> = (0..TASKS)
        .map(|_| tokio::spawn(wait_once(shared.clone())))
        .collect();
    shared.all_begun.notified().await;
    println!(
        "create {:.4} ns",
        start.elapsed().as_nanos() as f64 / TASKS as f64
    );
    common::report_memory(TASKS as f64);

    shared.released.store(true, SeqCst);
    shared.release.notify_waiters();
    let mut ended = 0;
    for task in tasks {
        ended += task.await.unwrap();
    }
    assert_eq!(ended, TASKS);
}

fn main() {
    common::inside(&common::runtime(), run());
}
