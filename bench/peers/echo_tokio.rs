// SPDX-License-Identifier: MIT
//! The echo rows, and idle_conns: a task with a buffer of 4 KiB for each connection, as one writes a server.

mod common;
mod load;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn session(mut connection: TcpStream) {
    let mut buf = [0u8; 4096];
    connection.set_nodelay(true).unwrap();
    while let Ok(n) = connection.read(&mut buf).await {
        if n == 0 || connection.write_all(&buf[..n]).await.is_err() {
            break;
        }
    }
}

fn main() {
    let mut load = load::start();
    let runtime = common::runtime();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let port = listener.local_addr().unwrap().port();
    runtime.spawn(async move {
        loop {
            let (connection, _) = listener.accept().await.unwrap();
            tokio::spawn(session(connection));
        }
    });
    load.begin(port);
    load.report();
}
