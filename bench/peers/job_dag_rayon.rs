// SPDX-License-Identifier: MIT
//! job_dag: a spawn for each tile, by the last of those that it depends on.

mod pool;

use rayon::Scope;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering::*};
use std::time::Instant;

const SIDE: usize = 100;
const TILES: usize = SIDE * SIDE;
const WIDTH: usize = 16;
const LENGTH: usize = SIDE * WIDTH;
const LONGEST: u16 = 1041;
const TIMES: usize = 5;

struct Dag {
    text: [Vec<u8>; 2],
    table: Vec<AtomicU16>, // with a row and a column of zeros; relaxed, so plain loads and stores
    waits_for: Vec<AtomicUsize>,
}

impl Dag {
    fn cell(&self, y: usize, x: usize) -> &AtomicU16 {
        &self.table[y * (LENGTH + 1) + x]
    }

    fn tile(&self, row: usize, column: usize) {
        for y in row * WIDTH..(row + 1) * WIDTH {
            for x in column * WIDTH..(column + 1) * WIDTH {
                let above = self.cell(y, x + 1).load(Relaxed);
                let left = self.cell(y + 1, x).load(Relaxed);
                let here = if self.text[0][y] == self.text[1][x] {
                    self.cell(y, x).load(Relaxed) + 1
                } else {
                    above.max(left)
                };
                self.cell(y + 1, x + 1).store(here, Relaxed);
            }
        }
    }

    fn spawn<'s>(&'s self, scope: &Scope<'s>, i: usize) {
        scope.spawn(move |scope| {
            let (row, column) = (i / SIDE, i % SIDE);
            self.tile(row, column);
            if row + 1 < SIDE {
                self.done(scope, i + SIDE);
            }
            if column + 1 < SIDE {
                self.done(scope, i + 1);
            }
        });
    }

    fn done<'s>(&'s self, scope: &Scope<'s>, i: usize) {
        if self.waits_for[i].fetch_sub(1, AcqRel) == 1 {
            self.spawn(scope, i);
        }
    }

    fn compute(&self) -> f64 {
        self.table.iter().for_each(|cell| cell.store(0, Relaxed));
        let start = Instant::now();
        for i in 0..TILES {
            self.waits_for[i].store((i / SIDE > 0) as usize + (i % SIDE > 0) as usize, Relaxed);
        }
        rayon::scope(|scope| self.spawn(scope, 0));
        let taken = start.elapsed().as_nanos() as f64;
        assert_eq!(self.cell(LENGTH, LENGTH).load(Relaxed), LONGEST);
        taken
    }
}

fn main() {
    let mut text = [vec![0; LENGTH], vec![0; LENGTH]];
    let mut x = 88172645463325252u64;
    for i in 0..2 * LENGTH {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        text[i % 2][i / 2] = (x >> 62) as u8;
    }
    let table = (0..(LENGTH + 1) * (LENGTH + 1)).map(|_| AtomicU16::new(0)).collect();
    let waits_for = (0..TILES).map(|_| AtomicUsize::new(0)).collect();
    let dag = Dag { text, table, waits_for };
    let quickest = pool::inside(|| (0..=TIMES).map(|_| dag.compute()).skip(1).fold(f64::INFINITY, f64::min));
    println!("job_dag {:.4} ns", quickest / TILES as f64);
}
