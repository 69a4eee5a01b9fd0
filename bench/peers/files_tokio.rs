// SPDX-License-Identifier: MIT
//! files by tokio::fs: 64 tasks that take the next file each, when they are in memory since they were written.
mod common;

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use tokio::fs::File;
use tokio::io::AsyncReadExt;

const FILES: usize = 1000;
const BYTES: usize = 65536;
const TASKS: usize = 64;
const TIMES: u32 = 7;

fn write(path: &str, data: &[u8]) {
    let mut file = std::fs::File::create(path).unwrap();
    file.write_all(data).unwrap();
    file.sync_all().unwrap();
}

async fn read_some(folder: Arc<String>, next: Arc<AtomicUsize>, count: usize) -> usize {
    let mut buf = vec![0u8; BYTES];
    let mut sum = 0;
    loop {
        let i = next.fetch_add(1, Ordering::Relaxed);
        if i >= count {
            return sum;
        }
        let mut file = File::open(format!("{folder}/{i}")).await.unwrap();
        file.read_exact(&mut buf).await.unwrap();
        sum += u32::from_le_bytes(buf[..4].try_into().unwrap()) as usize;
    }
}

fn main() {
    let folder = Arc::new(format!("/var/tmp/bench_files_tokio_{}", std::process::id()));
    std::fs::create_dir(&*folder).unwrap();
    let mut data = vec![0u8; BYTES];
    for i in 0..FILES {
        data[..4].copy_from_slice(&(i as u32).to_le_bytes());
        write(&format!("{folder}/{i}"), &data);
    }
    let shared = folder.clone();
    let ns = common::quickest_ns(
        move |count| {
            let folder = shared.clone();
            async move {
                let next = Arc::new(AtomicUsize::new(0));
                let all: Vec<_> = (0..TASKS)
                    .map(|_| tokio::spawn(read_some(folder.clone(), next.clone(), count)))
                    .collect();
                let mut sum = 0;
                for task in all {
                    sum += task.await.unwrap();
                }
                assert_eq!(sum, count * (count - 1) / 2);
            }
        },
        FILES,
        TIMES,
    );
    std::fs::remove_dir_all(&*folder).unwrap();
    println!("files {:.6} ms", ns / 1e6);
}
