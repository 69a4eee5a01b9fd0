// SPDX-License-Identifier: MIT
//! What the tokio programs share.
#![allow(dead_code)] // no program needs all of it

use std::future::Future;
use std::time::Instant;
use tokio::runtime::{Builder, Runtime};

/// Tokio's runtime of so many workers as are to be measured, with timers where they were asked for.
pub fn runtime() -> Runtime {
    let workers = std::env::var("BENCH_WORKERS").map_or(1, |n| n.parse().unwrap());
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(workers).enable_all();
    builder.build().unwrap()
}

/// Run a future as a task on one of the workers and wait for it.
pub fn inside<F>(runtime: &Runtime, future: F) -> F::Output
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    runtime.block_on(runtime.spawn(future)).unwrap()
}

/// Warm up, then do run(count) so many times on a worker: how long each took, in ns, from the quickest on.
fn sorted_ns<F, R>(run: F, count: usize, times: u32) -> Vec<f64>
where
    F: Fn(usize) -> R + Send + 'static,
    R: Future<Output = ()> + Send,
{
    inside(&runtime(), async move {
        run(count / 10).await;
        let mut taken = Vec::new();
        for _ in 0..times {
            let start = Instant::now();
            run(count).await;
            taken.push(start.elapsed().as_nanos() as f64);
        }
        taken.sort_by(f64::total_cmp);
        taken
    })
}

/// How long the quickest took.
pub fn quickest_ns<F, R>(run: F, count: usize, times: u32) -> f64
where
    F: Fn(usize) -> R + Send + 'static,
    R: Future<Output = ()> + Send,
{
    sorted_ns(run, count, times)[0]
}

/// What a quarter of them do not exceed: see common.h.
pub fn quartile_ns<F, R>(run: F, count: usize, times: u32) -> f64
where
    F: Fn(usize) -> R + Send + 'static,
    R: Future<Output = ()> + Send,
{
    sorted_ns(run, count, times)[times as usize / 4]
}

/// A field of /proc/self/status that is given in kB, in bytes.
fn status_bytes(field: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<f64>()
        .unwrap()
        * 1024.0
}

/// The whole process's memory: resident, and page tables.
pub fn memory() -> f64 {
    status_bytes("VmRSS:") + status_bytes("VmPTE:")
}

/// The whole process's memory, as so much a task: resident, page tables, and both.
pub fn report_memory(tasks: f64) {
    let (resident, tables) = (
        status_bytes("VmRSS:") / tasks,
        status_bytes("VmPTE:") / tasks,
    );
    println!(
        "resident {resident:.1} bytes\ntables {tables:.1} bytes\nmemory {:.1} bytes",
        resident + tables
    );
}

/// Processor time of the whole process, all threads.
pub fn cpu_ns() -> f64 {
    #[repr(C)]
    struct Timespec {
        sec: i64,
        nsec: i64,
    }
    extern "C" {
        fn clock_gettime(clock: i32, at: *mut Timespec) -> i32;
    }
    const PROCESS_CPUTIME: i32 = 2; // the same number on every processor
    let mut t = Timespec { sec: 0, nsec: 0 };
    assert_eq!(unsafe { clock_gettime(PROCESS_CPUTIME, &mut t) }, 0);
    t.sec as f64 * 1e9 + t.nsec as f64
}
