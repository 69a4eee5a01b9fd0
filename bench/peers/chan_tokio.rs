// SPDX-License-Identifier: MIT
//! chan: one sender and one receiver at one buffered channel until it is closed; so long a message. Its channels have
//! one receiver, so there is no 4x4.

mod common;

use tokio::sync::mpsc;

const TIMES: u32 = 31;
const MESSAGES: usize = 400_000;

async fn run(messages: usize, capacity: usize) {
    let (to, mut from) = mpsc::channel::<i64>(capacity);
    let sender = tokio::spawn(async move {
        for x in 0..messages as i64 {
            to.send(x).await.unwrap();
        }
    });
    let receiver = tokio::spawn(async move {
        let mut sum = 0;
        while let Some(x) = from.recv().await {
            sum += x;
        }
        sum
    });
    sender.await.unwrap();
    let messages = messages as i64;
    assert_eq!(receiver.await.unwrap(), messages * (messages - 1) / 2);
}

fn main() {
    for capacity in [128, 1024] {
        let taken = common::quartile_ns(move |n| run(n, capacity), MESSAGES, TIMES);
        println!("1x1_{capacity} {:.4} ns", taken / MESSAGES as f64);
    }
}
