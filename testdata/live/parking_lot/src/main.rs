//! locks SCENARIO: two threads at locks of parking_lot.
//!
//! Truth: it writes "NAME ADDRESS" for its objects, and "R" on a line of its own when all stay where they are soon.
use parking_lot::{Condvar, Mutex, Once, RwLock};
use std::io::Write;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

static LOCKS: [Mutex<u32>; 2] = [Mutex::new(0), Mutex::new(0)];
static RW: RwLock<u32> = RwLock::new(0);
static GUARD: Mutex<u32> = Mutex::new(0);
static CONDITION: Condvar = Condvar::new();
static ONCE: Once = Once::new();

fn forever() -> ! {
    loop {
        thread::sleep(Duration::from_secs(1000));
    }
}

fn stay(scenario: &str, i: usize, met: &Barrier) {
    match (scenario, i) {
        ("mutex", _) => {
            let _mine = LOCKS[i].lock();
            met.wait();
            let _other = LOCKS[1 - i].lock();
        }
        ("rwlock", 0) => {
            let _writes = RW.write();
            met.wait();
            forever();
        }
        ("rwlock", _) => {
            met.wait();
            let _reads = RW.read();
        }
        ("condvar", _) => {
            met.wait();
            CONDITION.wait(&mut GUARD.lock());
        }
        ("once", 0) => ONCE.call_once(|| {
            met.wait();
            forever();
        }),
        ("once", _) => {
            met.wait();
            ONCE.call_once(|| ());
        }
        _ => panic!("no such scenario"),
    }
}

extern "C" {
    fn alarm(seconds: u32) -> u32;
    fn prctl(option: i32, signal: u64) -> i32;
}

fn main() {
    unsafe {
        alarm(120);
        prctl(1, 9); // PR_SET_PDEATHSIG, SIGKILL
    }
    let scenario: &'static str = std::env::args().nth(1).expect("a scenario").leak();
    let met: &'static Barrier = Box::leak(Box::new(Barrier::new(2)));
    for i in 0..2 {
        thread::Builder::new().name(format!("t{i}")).spawn(move || stay(scenario, i, met)).expect("a thread");
    }
    println!("m0 {:p}\nm1 {:p}\nrw {:p}\ncondition {:p}\nonce {:p}\nR", &LOCKS[0], &LOCKS[1], &RW, &CONDITION, &ONCE);
    std::io::stdout().flush().expect("standard output");
    forever();
}
