// SPDX-License-Identifier: MIT
//! The load of the echo rows and of the one of idle connections, for the tokio program that serves it.

use crate::common;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

pub struct Load {
    child: Child,
    connections: usize,
    idle: bool,  // the connections rest after one message each
    before: f64, // memory of this process when it began to listen
}

/// Start it, by the program that stands beside this one.
pub fn start() -> Load {
    let connections = std::env::var("BENCH_CONNECTIONS").unwrap();
    let idle = std::env::var("BENCH_IDLE").is_ok();
    let child = Command::new(std::env::current_exe().unwrap().with_file_name("load"))
        .arg(&connections)
        .args(if idle { &["idle"][..] } else { &[] })
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    Load {
        child,
        connections: connections.parse().unwrap(),
        idle,
        before: 0.0,
    }
}

impl Load {
    /// The server listens there.
    pub fn begin(&mut self, port: u16) {
        self.before = common::memory();
        self.child
            .stdin
            .as_mut()
            .unwrap()
            .write_all(&port.to_le_bytes())
            .unwrap();
    }

    /// As `struct load_result` of load.h.
    fn result(&mut self) -> [f64; 6] {
        let mut bytes = [0u8; 48];
        self.child
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut bytes)
            .unwrap();
        let mut r = [0.0; 6];
        for (i, x) in r.iter_mut().enumerate() {
            *x = f64::from_le_bytes(bytes[i * 8..i * 8 + 8].try_into().unwrap());
        }
        r
    }

    /// All connections rest: what memory this process has got since it listens, by their number. Then they are closed.
    fn report_idle(mut self) {
        self.result();
        let got = (common::memory() - self.before) / self.connections as f64;
        println!("memory {got:.1} bytes");
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }

    /// The result comes twice: when all is warm, and at the end.
    pub fn report(mut self) {
        if self.idle {
            return self.report_idle();
        }
        self.result();
        let cpu = common::cpu_ns();
        let [measured, ns, p50, p99, p999, answered] = self.result();
        let cpu = common::cpu_ns() - cpu;
        assert!(measured > 0.0);
        println!("echo_{} {:.4} ns", self.connections, ns / measured);
        println!(
            "p50 {p50:.4} ns\np99 {p99:.4} ns\np999 {p999:.4} ns\ncpu {:.4} ns",
            cpu / answered
        );
        self.child.wait().unwrap();
    }
}
