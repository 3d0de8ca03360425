// Tasks of known chains, each in one kind of wait, beside others that come and go. A line whose comment is
// "KIND N" is where function N of a chain, from the innermost, waits.
//
//   tasks SCHEDULER COUNT [MB]   SCHEDULER: current, multi; COUNT: tasks of each kind; MB: of a heap beside them
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot, Mutex, Notify, RwLock, Semaphore};

const LONG: Duration = Duration::from_secs(3600);

struct Shared {
    mutex: Mutex<u64>,
    semaphore: Semaphore,
    rwlock: RwLock<u64>,
    notify: Notify,
    full: mpsc::Sender<u64>,
}

#[inline(never)]
async fn sleeper(n: u64) -> u64 {
    nap(n).await + 1 // sleep 2
}

async fn nap(n: u64) -> u64 {
    tokio::time::sleep(LONG).await; // sleep 1
    n
}

async fn locker(s: Arc<Shared>) -> u64 {
    locks(&s).await + 1 // mutex 2
}

async fn locks(s: &Shared) -> u64 {
    let g = s.mutex.lock().await; // mutex 1
    *g
}

async fn permitted(s: Arc<Shared>) -> u64 {
    permit(&s).await + 1 // semaphore 2
}

async fn permit(s: &Shared) -> u64 {
    let p = s.semaphore.acquire().await.unwrap(); // semaphore 1
    drop(p);
    1
}

async fn reading(s: Arc<Shared>) -> u64 {
    reads(&s).await + 1 // rwlock 2
}

async fn reads(s: &Shared) -> u64 {
    let g = s.rwlock.read().await; // rwlock 1
    *g
}

async fn handle_request(r: oneshot::Receiver<u64>) -> u64 {
    load_order(r).await + 1 // oneshot 3
}

async fn load_order(r: oneshot::Receiver<u64>) -> u64 {
    fetch_row(r).await + 1 // oneshot 2
}

async fn fetch_row(r: oneshot::Receiver<u64>) -> u64 {
    r.await.unwrap() // oneshot 1
}

async fn consumer(mut r: mpsc::Receiver<u64>) -> u64 {
    next(&mut r).await + 1 // recv 2
}

async fn next(r: &mut mpsc::Receiver<u64>) -> u64 {
    r.recv().await.unwrap_or(0) // recv 1
}

async fn producer(s: Arc<Shared>) -> u64 {
    sends(&s).await + 1 // send 2
}

async fn sends(s: &Shared) -> u64 {
    s.full.send(1).await.unwrap(); // send 1
    1
}

async fn notified(s: Arc<Shared>) -> u64 {
    wakes(&s).await + 1 // notify 2
}

async fn wakes(s: &Shared) -> u64 {
    s.notify.notified().await; // notify 1
    1
}

async fn forever() -> u64 {
    std::future::pending::<()>().await; // pending 1
    1
}

async fn joiner() -> u64 {
    joins().await + 1 // join_handle 2
}

async fn joins() -> u64 {
    tokio::spawn(forever()).await.unwrap() // join_handle 1
}

async fn peer(s: TcpStream) -> u64 {
    bytes(s).await + 1 // read 2
}

async fn bytes(mut s: TcpStream) -> u64 {
    let mut b = [0u8; 64];
    s.read(&mut b).await.unwrap() as u64 // read 1
}

async fn server(l: TcpListener) -> u64 {
    accepts(&l).await + 1 // accept 2
}

async fn accepts(l: &TcpListener) -> u64 {
    let (_s, a) = l.accept().await.unwrap(); // accept 1
    a.port() as u64
}

async fn selecting(r: oneshot::Receiver<u64>) -> u64 {
    selects(r).await + 1 // select 3
}

async fn selects(r: oneshot::Receiver<u64>) -> u64 {
    tokio::select! { // select 2
        n = first_of(r) => n,
        n = second_of() => n,
    }
}

async fn first_of(r: oneshot::Receiver<u64>) -> u64 {
    r.await.unwrap() // select 1a
}

async fn second_of() -> u64 {
    tokio::time::sleep(LONG).await; // select 1b
    2
}

async fn joining(r: oneshot::Receiver<u64>) -> u64 {
    both(r).await + 1 // join 3
}

async fn both(r: oneshot::Receiver<u64>) -> u64 {
    let (a, b) = tokio::join!(left(r), right()); // join 2
    a + b
}

async fn left(r: oneshot::Receiver<u64>) -> u64 {
    r.await.unwrap() // join 1a
}

async fn right() -> u64 {
    tokio::time::sleep(LONG).await; // join 1b
    2
}

// What follows is not one of the thirteen: futures behind pointers.
fn recursive(n: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(async move {
        if n == 0 {
            tokio::time::sleep(LONG).await; // boxed 1
            return 0;
        }
        recursive(n - 1).await + 1 // boxed 2
    })
}

async fn timed(r: oneshot::Receiver<u64>) -> u64 {
    match tokio::time::timeout(LONG, fetch_timed(r)).await { // timeout 2
        Ok(n) => n,
        Err(_) => 0,
    }
}

async fn fetch_timed(r: oneshot::Receiver<u64>) -> u64 {
    r.await.unwrap() // timeout 1
}

async fn passing(n: u64) -> u64 {
    tokio::time::sleep(Duration::from_millis(n % 5)).await;
    n
}

async fn churn() -> u64 {
    let mut n = 0;
    loop {
        let all: Vec<_> = (0..20).map(|k| tokio::spawn(passing(k))).collect();
        for one in all {
            n += one.await.unwrap(); // churn 1
        }
    }
}

pub async fn run(count: usize) {
    let (full, _kept) = mpsc::channel(1);
    let s = Arc::new(Shared {
        mutex: Mutex::new(1),
        semaphore: Semaphore::new(0),
        rwlock: RwLock::new(1),
        notify: Notify::new(),
        full,
    });
    s.full.send(1).await.unwrap();
    let _mutex = s.mutex.lock().await;
    let _written = s.rwlock.write().await;
    let mut senders = Vec::new();
    let mut queues = Vec::new();
    let mut streams = Vec::new();
    let here = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut oneshot = || {
        let (tx, rx) = oneshot::channel();
        senders.push(tx);
        rx
    };
    for n in 0..count {
        tokio::spawn(sleeper(n as u64));
        tokio::spawn(locker(s.clone()));
        tokio::spawn(permitted(s.clone()));
        tokio::spawn(reading(s.clone()));
        tokio::spawn(handle_request(oneshot()));
        let (tx, rx) = mpsc::channel(1);
        queues.push(tx);
        tokio::spawn(consumer(rx));
        tokio::spawn(producer(s.clone()));
        tokio::spawn(notified(s.clone()));
        tokio::spawn(joiner());
        let far = TcpStream::connect(here.local_addr().unwrap()).await.unwrap();
        streams.push(here.accept().await.unwrap());
        tokio::spawn(peer(far));
        tokio::spawn(server(TcpListener::bind("127.0.0.1:0").await.unwrap()));
        tokio::spawn(selecting(oneshot()));
        tokio::spawn(joining(oneshot()));
        tokio::spawn(recursive(3));
        tokio::spawn(timed(oneshot()));
    }
    tokio::spawn(churn());
    tokio::time::sleep(Duration::from_millis(200)).await;
    println!("ready");
    tokio::time::sleep(LONG).await;
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let count = args[2].parse().unwrap();
    let heap: usize = args.get(3).map_or(0, |s| s.parse().unwrap());
    let _heap: Vec<Vec<usize>> = (0..heap << 8).map(|n| vec![n; 512]).collect();
    runtime(&args[1]).block_on(run(count));
}

pub fn runtime(scheduler: &str) -> tokio::runtime::Runtime {
    match scheduler {
        "current" => tokio::runtime::Builder::new_current_thread().enable_all().build(),
        _ => tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build(),
    }
    .unwrap()
}
