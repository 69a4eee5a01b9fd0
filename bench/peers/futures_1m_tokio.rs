// SPDX-License-Identifier: MIT
//! futures_1m: a million tasks of tokio's that are all there at once, each polled four times, waking itself three
//! times; then a million that each sleep once.

mod common;

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::time::sleep;

const FUTURES: usize = 1_000_000;
const POLLS: u32 = 4;
const LONGEST_MS: usize = 1000;
const TIMES: u32 = 3;

struct Ticker {
    step: u32,
}

impl Future for Ticker {
    type Output = u32;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<u32> {
        self.step += 1;
        if self.step == POLLS {
            return Poll::Ready(self.step);
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

async fn polls_ns() -> f64 {
    let start = Instant::now();
    let tasks: Vec<_> = (0..FUTURES)
        .map(|_| tokio::spawn(Ticker { step: 0 }))
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap(), POLLS);
    }
    start.elapsed().as_nanos() as f64
}

async fn sleep_once(id: usize) -> usize {
    sleep(Duration::from_millis((1 + id % LONGEST_MS) as u64)).await;
    id
}

async fn run() {
    let mut quickest = f64::INFINITY;
    for _ in 0..TIMES {
        quickest = quickest.min(polls_ns().await);
    }
    println!("poll {:.4} ns", quickest / (FUTURES as f64 * POLLS as f64));

    let (start, start_cpu) = (Instant::now(), common::cpu_ns());
    let tasks: Vec<_> = (0..FUTURES)
        .map(|id| tokio::spawn(sleep_once(id)))
        .collect();
    for (id, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.await.unwrap(), id);
    }
    let (wall, cpu) = (
        start.elapsed().as_nanos() as f64,
        common::cpu_ns() - start_cpu,
    );
    assert!(wall >= LONGEST_MS as f64 * 1e6);
    println!(
        "sleeping {:.3} ms\nsleeping_cpu {:.3} ms",
        wall / 1e6,
        cpu / 1e6
    );
}

fn main() {
    common::inside(&common::runtime(), run());
}
