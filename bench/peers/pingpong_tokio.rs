// SPDX-License-Identifier: MIT
//! pingpong: two tasks and two channels; one sends a number, the other sends the next one back. Tokio's channels have
//! room for one value at least, so its sends need not wait for the other side.

mod common;

use tokio::sync::mpsc;

const TIMES: u32 = 15;
const TURNS: usize = 200_000;

async fn run(turns: usize) {
    let (to, mut there) = mpsc::channel::<i64>(1);
    let (reply, mut back) = mpsc::channel::<i64>(1);
    let pong = tokio::spawn(async move {
        while let Some(x) = there.recv().await {
            reply.send(x + 1).await.unwrap();
        }
    });
    let ping = tokio::spawn(async move {
        let mut x = 0;
        for _ in 0..turns {
            to.send(x).await.unwrap();
            x = back.recv().await.unwrap();
        }
        x
    });
    assert_eq!(ping.await.unwrap(), turns as i64);
    pong.await.unwrap();
}

fn main() {
    println!(
        "pingpong {:.4} ns",
        common::quickest_ns(run, TURNS, TIMES) / TURNS as f64
    );
}
