// threads.c in Rust: threads N DEPTH starts N threads, each asleep under DEPTH calls
// of descend.
//
// Truth: every one of them has, from the inside out, libc's pause, threads::bottom,
// DEPTH times threads::descend, threads::sleeper and what std puts around a thread.

use std::io::Write;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{channel, Sender};
use std::time::Duration;

extern "C" {
    fn alarm(seconds: u32) -> u32;
    fn gettid() -> i32;
    fn pause() -> i32;
    fn prctl(option: i32, ...) -> i32;
}

const PR_SET_PDEATHSIG: i32 = 1;
const SIGKILL: u64 = 9;

static SINK: AtomicI64 = AtomicI64::new(0);

#[inline(never)]
fn bottom() {
    while SINK.load(Ordering::Relaxed) >= 0 {
        unsafe { pause() };
        SINK.fetch_add(1, Ordering::Relaxed);
    }
}

#[inline(never)]
fn descend(depth: i64) -> i64 {
    if depth <= 1 {
        bottom();
        return SINK.load(Ordering::Relaxed);
    }
    descend(depth - 1) + SINK.load(Ordering::Relaxed)
}

#[inline(never)]
fn sleeper(depth: i64, tid: Sender<i32>) {
    tid.send(unsafe { gettid() }).unwrap();
    SINK.fetch_add(descend(depth), Ordering::Relaxed);
}

/// Returns when the kernel says that thread `tid` sleeps.
fn await_sleep(tid: i32) {
    for _ in 0..20000 {
        let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")).unwrap_or_default();
        if stat.rfind(')').map_or(false, |end| stat[end + 1..].starts_with(" S")) {
            return;
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    panic!("thread {tid} does not fall asleep");
}

fn main() {
    let argument = |i: usize, fallback: i64| {
        std::env::args().nth(i).map_or(fallback, |text| text.parse().unwrap())
    };
    let (n, depth) = (argument(1, 4), argument(2, 10));
    unsafe {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(120);
    }
    let (tid, tids) = channel();
    for _ in 0..n {
        let tid = tid.clone();
        std::thread::Builder::new()
            .stack_size(256 * 1024 + depth as usize * 256)
            .spawn(move || sleeper(depth, tid))
            .unwrap();
    }
    for _ in 0..n {
        await_sleep(tids.recv().unwrap());
    }
    println!("R");
    std::io::stdout().flush().unwrap();
    loop {
        unsafe { pause() };
    }
}
