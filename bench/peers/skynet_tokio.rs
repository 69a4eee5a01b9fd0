// SPDX-License-Identifier: MIT
//! skynet: a tree of tasks, each with ten children, down to a million leaves. Each sends a number to its parent by a
//! channel: a leaf its own, another the sum of what it receives.

mod common;

use std::future::Future;
use std::pin::Pin;
use tokio::sync::mpsc::{self, Sender};

const TIMES: u32 = 3;
const LEAVES: usize = 1_000_000;
const FAN_OUT: usize = 10;

async fn sum_of_children(first: usize, leaves: usize) -> usize {
    let (to, mut from) = mpsc::channel(FAN_OUT);
    let part = leaves / FAN_OUT;
    for i in 0..FAN_OUT {
        tokio::spawn(node(to.clone(), first + i * part, part));
    }
    let mut sum = 0;
    for _ in 0..FAN_OUT {
        sum += from.recv().await.unwrap();
    }
    sum
}

/// Boxed, for it is recursive.
fn node(
    parent: Sender<usize>,
    first: usize,
    leaves: usize,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let x = if leaves == 1 {
            first
        } else {
            sum_of_children(first, leaves).await
        };
        parent.send(x).await.unwrap();
    })
}

async fn run(leaves: usize) {
    assert_eq!(sum_of_children(0, leaves).await, leaves * (leaves - 1) / 2);
}

fn main() {
    println!(
        "skynet {:.4} ms",
        common::quickest_ns(run, LEAVES, TIMES) / 1e6
    );
}
