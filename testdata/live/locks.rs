//! locks.rs: what Rust waits for. The first argument says how; see locks.c.

use std::io::Write;
use std::sync::{mpsc, Barrier, Condvar, Mutex, RwLock};
use std::thread;
use std::time::Duration;

static LOCK: [Mutex<()>; 2] = [Mutex::new(()), Mutex::new(())];
static SHARED: RwLock<()> = RwLock::new(());
static CONDITION: Condvar = Condvar::new();

extern "C" {
    fn alarm(seconds: u32) -> u32;
    fn prctl(option: i32, argument: u64, b: u64, c: u64, d: u64) -> i32;
}

fn say(text: &str) {
    let mut out = std::io::stdout();
    out.write_all(text.as_bytes()).unwrap();
    out.flush().unwrap();
}

fn main() {
    let how = std::env::args().nth(1).unwrap_or("mutex".to_string());
    unsafe {
        prctl(1, 9, 0, 0, 0); // the parent's end is ours
        alarm(120);
    }
    match how.as_str() {
        "mutex" => {
            let both: &'static Barrier = Box::leak(Box::new(Barrier::new(2)));
            for i in 0..2 {
                thread::spawn(move || {
                    let _first = LOCK[i].lock();
                    both.wait();
                    let _second = LOCK[1 - i].lock();
                });
            }
        }
        "rwlock" => {
            let kept = SHARED.write();
            thread::spawn(|| drop(SHARED.read()));
            std::mem::forget(kept);
        }
        "condvar" => {
            thread::spawn(|| drop(CONDITION.wait(LOCK[0].lock().unwrap())));
        }
        "park" => {
            thread::spawn(|| thread::park());
        }
        "channel" => {
            let (keep, receive) = mpsc::channel::<()>();
            std::mem::forget(keep);
            thread::spawn(move || receive.recv().ok());
        }
        _ => std::process::exit(3),
    }
    thread::sleep(Duration::from_millis(400));
    say("R\n");
    thread::sleep(Duration::from_secs(100));
}
