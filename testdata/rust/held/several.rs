// Tasks that wait for several things at once. Each scenario is one that its name says; a line whose comment is "KIND N"
// is where function N of a chain, from the innermost, waits.
//
//   several SCHEDULER COUNT SCENARIO...
use futures::channel::oneshot as foreign;
use futures::future::{join_all, select, BoxFuture, FutureExt};
use futures::stream::{FuturesUnordered, StreamExt};
use std::future::Future;
use std::pin::{pin, Pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, Barrier, Mutex, Notify};
use tokio::time::{sleep, timeout, Sleep};

const LONG: Duration = Duration::from_secs(3600);

async fn settle() {
    sleep(Duration::from_millis(100)).await;
}

async fn naps(n: u64) -> u64 {
    sleep(LONG).await; // naps 1
    n
}

async fn answers(r: oneshot::Receiver<u64>) -> u64 {
    r.await.unwrap_or(1) // answers 1
}

async fn locks(m: &Mutex<u64>) -> u64 {
    *m.lock().await // locks 1
}

// Futures of libraries alone.
async fn direct(mut q: mpsc::Receiver<u64>, n: Arc<Notify>) -> u64 {
    tokio::select! { // direct 1
        v = q.recv() => v.unwrap_or(0),
        _ = n.notified() => 1,
        _ = sleep(LONG) => 2,
    }
}

// One of the program's own, and one of a library.
async fn mixed(r: oneshot::Receiver<u64>, m: Arc<Mutex<u64>>) -> u64 {
    tokio::select! { // mixed 1
        n = answers(r) => n,
        g = m.lock() => *g,
    }
}

// Two of the same kind: two channels, two tasks.
async fn alike(mut a: mpsc::Receiver<u64>, mut b: mpsc::Receiver<u64>) -> u64 {
    tokio::select! { // alike 1
        v = a.recv() => v.unwrap_or(0),
        v = b.recv() => v.unwrap_or(1),
    }
}

async fn first() -> u64 {
    std::future::pending::<()>().await; // first 1
    1
}

async fn tasks() -> u64 {
    let (mut a, mut b) = (tokio::spawn(first()), tokio::spawn(first()));
    tokio::select! { // tasks 1
        n = &mut a => n.unwrap(),
        n = &mut b => n.unwrap(),
    }
}

// A future that lives longer than the select!, in a loop, in order.
async fn looped(r: oneshot::Receiver<u64>, mut q: mpsc::Receiver<u64>) -> u64 {
    let mut f = pin!(answers(r));
    let mut n = 0;
    loop {
        tokio::select! { // looped 1
            biased;
            v = &mut f => return v + n,
            v = q.recv() => n += v.unwrap_or(1),
        }
    }
}

// A branch that is switched off is not waited for.
async fn switched(mut q: mpsc::Receiver<u64>, n: Arc<Notify>, on: bool) -> u64 {
    tokio::select! { // switched 1
        v = q.recv(), if on => v.unwrap_or(0),
        _ = n.notified() => 1,
    }
}

// A select! in a join!, and the other way round.
async fn nested(r: oneshot::Receiver<u64>, n: Arc<Notify>) -> u64 {
    let (a, b) = tokio::join!(inner(r, n), naps(1)); // nested 1
    a + b
}

async fn inner(r: oneshot::Receiver<u64>, n: Arc<Notify>) -> u64 {
    tokio::select! { // inner 1
        v = r => v.unwrap_or(0),
        _ = n.notified() => 1,
    }
}

// A time limit on one of a library, and on a select!.
async fn limited(mut q: mpsc::Receiver<u64>) -> bool {
    timeout(LONG, q.recv()).await.is_ok() // limited 1
}

async fn bounded(r: oneshot::Receiver<u64>, n: Arc<Notify>) -> bool {
    timeout(LONG, inner(r, n)).await.is_ok() // bounded 1
}

// A set of several kinds, more than are woken; and one of locks.
async fn set(n: Arc<Notify>, all: Vec<oneshot::Receiver<u64>>) -> u64 {
    let mut f: FuturesUnordered<BoxFuture<'_, u64>> = FuturesUnordered::new();
    f.push(naps(1).boxed());
    f.push(async { n.notified().await; 1 }.boxed()); // note 1
    for r in all {
        f.push(answers(r).boxed());
    }
    f.next().await.unwrap() // set 1
}

async fn large(n: u64) -> u64 {
    let mut f: FuturesUnordered<_> = (0..n).map(naps).collect();
    f.next().await.unwrap() // large 1
}

async fn owner(all: Vec<Arc<Mutex<u64>>>, n: Arc<Notify>) -> usize {
    let mut guards = Vec::new();
    for m in &all {
        guards.push(m.lock().await);
    }
    n.notified().await; // owner 1
    guards.len()
}

async fn all_of(all: Vec<Arc<Mutex<u64>>>) -> u64 {
    join_all(all.iter().map(|m| locks(m))).await[0] // all_of 1
}

// select of the crate futures.
async fn either(r: oneshot::Receiver<u64>, q: mpsc::Receiver<u64>) -> u64 {
    let (a, b) = (pin!(answers(r)), pin!(drains(q)));
    select(a, b).await.factor_first().0 // either 1
}

async fn drains(mut q: mpsc::Receiver<u64>) -> u64 {
    q.recv().await.unwrap_or(0) // drains 1
}

// What is awaited beside a lock is of a crate that is not known.
async fn stranger(m: Arc<Mutex<u64>>, r: foreign::Receiver<u64>) -> u64 {
    tokio::select! { // stranger 1
        g = m.lock() => *g,
        v = r => v.unwrap_or(0),
    }
}

// A future by hand, which polls two.
struct Both {
    nap: Pin<Box<Sleep>>,
    r: oneshot::Receiver<u64>,
}

impl Future for Both {
    type Output = u64;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<u64> {
        if self.nap.as_mut().poll(cx).is_ready() { // hand 1a
            return Poll::Ready(0);
        }
        Pin::new(&mut self.r).poll(cx).map(|v| v.unwrap_or(1)) // hand 1b
    }
}

async fn hand(r: oneshot::Receiver<u64>) -> u64 {
    let nap = Box::pin(sleep(LONG));
    Both { nap, r }.await // hand 2
}

// escape: as a deadlock of two locks, but one may go on by another way.
async fn takes(a: Arc<Mutex<u64>>, b: Arc<Mutex<u64>>, have: Arc<Barrier>) -> u64 {
    let from = a.lock().await;
    have.wait().await;
    *from + *b.lock().await // takes 1
}

async fn escapes(a: Arc<Mutex<u64>>, b: Arc<Mutex<u64>>, have: Arc<Barrier>, n: Arc<Notify>) -> u64 {
    let from = b.lock().await;
    have.wait().await;
    tokio::select! { // escapes 1
        to = a.lock() => *from + *to,
        _ = n.notified() => *from,
    }
}

#[derive(Default)]
struct Kept {
    queues: Vec<mpsc::Sender<u64>>,
    once: Vec<oneshot::Sender<u64>>,
    foreign: Vec<foreign::Sender<u64>>,
}

impl Kept {
    fn queue(&mut self) -> mpsc::Receiver<u64> {
        let (tx, rx) = mpsc::channel(1);
        self.queues.push(tx);
        rx
    }

    fn once(&mut self) -> oneshot::Receiver<u64> {
        let (tx, rx) = oneshot::channel();
        self.once.push(tx);
        rx
    }
}

async fn run(count: u64, scenarios: Vec<String>) {
    let mut k = Kept::default();
    let n = Arc::new(Notify::new());
    let m = Arc::new(Mutex::new(0));
    let _guard = m.lock().await;
    let (locks, have) = ([Arc::new(Mutex::new(3)), Arc::new(Mutex::new(4))], Arc::new(Barrier::new(2)));
    let two = vec![Arc::new(Mutex::new(1)), Arc::new(Mutex::new(2))];
    for s in &scenarios {
        match s.as_str() {
            "all_of" => drop(tokio::spawn(owner(two.clone(), n.clone()))),
            "escape" => {
                tokio::spawn(takes(locks[0].clone(), locks[1].clone(), have.clone()));
                tokio::spawn(escapes(locks[0].clone(), locks[1].clone(), have.clone(), n.clone()));
            }
            _ => {}
        }
        settle().await;
        for _ in 0..count {
            match s.as_str() {
                "direct" => drop(tokio::spawn(direct(k.queue(), n.clone()))),
                "mixed" => drop(tokio::spawn(mixed(k.once(), m.clone()))),
                "alike" => drop(tokio::spawn(alike(k.queue(), k.queue()))),
                "tasks" => drop(tokio::spawn(tasks())),
                "looped" => drop(tokio::spawn(looped(k.once(), k.queue()))),
                "switched" => drop(tokio::spawn(switched(k.queue(), n.clone(), count == 0))),
                "nested" => drop(tokio::spawn(nested(k.once(), n.clone()))),
                "limited" => drop(tokio::spawn(limited(k.queue()))),
                "bounded" => drop(tokio::spawn(bounded(k.once(), n.clone()))),
                "set" => drop(tokio::spawn(set(n.clone(), vec![k.once(), k.once()]))),
                "large" => drop(tokio::spawn(large(40))),
                "all_of" => drop(tokio::spawn(all_of(two.clone()))),
                "either" => drop(tokio::spawn(either(k.once(), k.queue()))),
                "hand" => drop(tokio::spawn(hand(k.once()))),
                "stranger" => {
                    let (tx, rx) = foreign::channel();
                    k.foreign.push(tx);
                    tokio::spawn(stranger(m.clone(), rx));
                }
                "escape" => {}
                _ => panic!("no scenario {s}"),
            }
        }
    }
    sleep(Duration::from_millis(400)).await;
    println!("ready");
    first().await;
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let count = args[2].parse().unwrap();
    let runtime = match args[1].as_str() {
        "current" => tokio::runtime::Builder::new_current_thread().enable_all().build(),
        _ => tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build(),
    };
    runtime.unwrap().block_on(run(count, args[3..].to_vec()));
}
