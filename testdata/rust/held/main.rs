// Tasks that wait for what others have, and tasks whose futures are in sets. Each scenario is one that its name says;
// a line whose comment is "KIND N" is where function N of a chain, from the innermost, waits.
//
//   held SCHEDULER COUNT SCENARIO...
use futures::future::join_all;
use futures::stream::{self, FuturesOrdered, FuturesUnordered, StreamExt};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, Barrier, Mutex, MutexGuard, Notify, OwnedMutexGuard, RwLock, Semaphore};

const LONG: Duration = Duration::from_secs(3600);

pub struct Pool {
    pub free: u64,
}

async fn settle() {
    tokio::time::sleep(Duration::from_millis(100)).await;
}

// pool: all wait for a mutex whose holder waits for a channel that it alone could send to.
async fn checkout(pool: Arc<Mutex<Pool>>) -> u64 {
    pool.lock().await.free // pool 1
}

async fn refill(pool: Arc<Mutex<Pool>>) -> u64 {
    let (_tx, mut rx) = mpsc::channel::<u64>(1);
    let mut p = pool.lock().await;
    p.free = rx.recv().await.unwrap(); // refill 1
    p.free
}

async fn pool(count: u64) {
    let pool = Arc::new(Mutex::new(Pool { free: 0 }));
    tokio::spawn(refill(pool.clone()));
    settle().await;
    for _ in 0..count {
        tokio::spawn(checkout(pool.clone()));
    }
}

// pair: two tasks take two locks in different order, the second when each has its first.
async fn deposit(a: Arc<Mutex<u64>>, b: Arc<Mutex<u64>>, have: Arc<Barrier>) -> u64 {
    let from = a.lock().await;
    have.wait().await;
    *from + *b.lock().await // deposit 1
}

async fn withdraw(a: Arc<Mutex<u64>>, b: Arc<Mutex<u64>>, have: Arc<Barrier>) -> u64 {
    let from = b.clone().lock_owned().await;
    have.wait().await;
    both(from, &a).await // withdraw 2
}

async fn both(from: OwnedMutexGuard<u64>, to: &Mutex<u64>) -> u64 {
    *from + *to.lock().await // withdraw 1
}

async fn pair(_count: u64) {
    let (a, b, have) = (Arc::new(Mutex::new(1)), Arc::new(Mutex::new(2)), Arc::new(Barrier::new(2)));
    tokio::spawn(deposit(a.clone(), b.clone(), have.clone()));
    tokio::spawn(withdraw(a, b, have));
}

// asked: a task waits for a channel whose sender it has itself.
async fn asks() -> u64 {
    let (_tx, rx) = oneshot::channel::<u64>();
    rx.await.unwrap() // asked 1
}

async fn asked(count: u64) {
    for _ in 0..count {
        tokio::spawn(asks());
    }
}

// twice: a task takes a lock that it has.
async fn twice(count: u64) {
    for _ in 0..count {
        let m = Arc::new(Mutex::new(1u64));
        tokio::spawn(async move {
            let first = m.lock().await;
            let second = m.lock().await; // twice 1
            *first + *second
        });
    }
}

// timed: as pair, but one gives up after a time.
async fn timed(_count: u64) {
    let (a, b, have) = (Arc::new(Mutex::new(1)), Arc::new(Mutex::new(2)), Arc::new(Barrier::new(2)));
    tokio::spawn(deposit(a.clone(), b.clone(), have.clone()));
    tokio::spawn(async move {
        let from = b.lock().await;
        have.wait().await;
        tokio::time::timeout(LONG, a.lock()).await.is_ok() && *from > 0 // timed 1
    });
}

// readers: one writes when those that read are done, and these wait for a channel whose sender another one has.
async fn reader(l: Arc<RwLock<u64>>, r: oneshot::Receiver<u64>) -> u64 {
    let g = l.read().await;
    *g + r.await.unwrap() // reader 1
}

async fn writer(l: Arc<RwLock<u64>>) -> u64 {
    *l.write().await // writer 1
}

async fn sender(all: Vec<oneshot::Sender<u64>>, never: Arc<Notify>) -> usize {
    never.notified().await; // sender 1
    all.len()
}

async fn readers(count: u64) {
    let l = Arc::new(RwLock::new(1));
    let mut all = Vec::new();
    for _ in 0..count {
        let (tx, rx) = oneshot::channel();
        all.push(tx);
        tokio::spawn(reader(l.clone(), rx));
    }
    let never = Arc::new(Notify::new());
    tokio::spawn(sender(all, never));
    settle().await;
    tokio::spawn(writer(l));
}

// permits: those that have all permits sleep, in a box and behind a reference.
fn boxed(s: Arc<Semaphore>) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(async move {
        let _p = s.acquire().await.unwrap();
        tokio::time::sleep(LONG).await; // boxed 1
        1
    })
}

async fn wants(s: Arc<Semaphore>) -> u64 {
    let _p = s.acquire().await.unwrap(); // permit 1
    1
}

async fn permits(count: u64) {
    let s = Arc::new(Semaphore::new(2));
    for _ in 0..2 {
        let s = s.clone();
        tokio::spawn(async move { boxed(s).await });
    }
    settle().await;
    for _ in 0..count {
        tokio::spawn(wants(s.clone()));
    }
}

// given: who had the lock has given it to a function that waits for another thing; one that only knows of it waits, too.
async fn keeps(g: MutexGuard<'_, u64>, never: &Notify) -> u64 {
    never.notified().await; // keeps 1
    *g
}

async fn knows(m: &Mutex<u64>, never: &Notify) -> u64 {
    never.notified().await; // knows 1
    *m.lock().await
}

async fn given(count: u64) {
    let (m, never) = (Arc::new(Mutex::new(1u64)), Arc::new(Notify::new()));
    let (m1, n1) = (m.clone(), never.clone());
    tokio::spawn(async move { keeps(m1.lock().await, &n1).await });
    settle().await;
    for _ in 0..count {
        let (m, never) = (m.clone(), never.clone());
        tokio::spawn(async move { knows(&m, &never).await });
    }
    tokio::spawn(async move { *m.lock().await }); // given 1
}

// Sets of futures: what is polled only when it is woken.
async fn item(n: u64) -> u64 {
    tokio::time::sleep(LONG).await; // item 1
    n
}

async fn unordered() -> u64 {
    let mut all: FuturesUnordered<_> = (0..3).map(item).collect();
    all.next().await.unwrap() // unordered 1
}

async fn ordered() -> u64 {
    let mut all: FuturesOrdered<_> = (0..3).map(item).collect();
    all.next().await.unwrap() // ordered 1
}

async fn buffered() -> u64 {
    let mut all = stream::iter(0..9).map(item).buffer_unordered(3);
    all.next().await.unwrap() // buffered 1
}

async fn few() -> u64 {
    join_all((0..3).map(item)).await[0] // few 1
}

async fn many() -> u64 {
    join_all((0..40).map(item)).await[0] // many 1
}

async fn spawned() -> u64 {
    let mut all = tokio::task::JoinSet::new();
    for n in 0..3 {
        all.spawn(item(n));
    }
    all.join_next().await.unwrap().unwrap() // spawned 1
}

async fn sets(count: u64) {
    for _ in 0..count {
        tokio::spawn(unordered());
        tokio::spawn(ordered());
        tokio::spawn(buffered());
        tokio::spawn(few());
        tokio::spawn(many());
        tokio::spawn(spawned());
    }
}

async fn run(count: u64, scenarios: Vec<String>) {
    for s in scenarios {
        match s.as_str() {
            "pool" => pool(count).await,
            "pair" => pair(count).await,
            "asked" => asked(count).await,
            "twice" => twice(count).await,
            "timed" => timed(count).await,
            "readers" => readers(count).await,
            "permits" => permits(count).await,
            "given" => given(count).await,
            "sets" => sets(count).await,
            _ => panic!("no scenario {s}"),
        }
    }
    tokio::time::sleep(Duration::from_millis(400)).await;
    println!("ready");
    std::future::pending::<()>().await
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
