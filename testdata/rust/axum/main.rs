// A server of axum with handlers that never answer. A line whose comment is "KIND N" is where function N of a chain,
// from the innermost, waits.
//
//   served SCHEDULER   SCHEDULER: current, multi; prints its port
use axum::{extract::State, routing::get, Router};
use std::sync::Arc;
use tokio::sync::{oneshot, Barrier, Mutex};

struct Bank {
    a: Mutex<u64>,
    b: Mutex<u64>,
    both: Barrier, // until each of two handlers has a lock
}

// deposit and withdraw take two locks in different order.
async fn deposit(State(bank): State<Arc<Bank>>) -> String {
    let from = bank.a.lock().await;
    bank.both.wait().await;
    let to = bank.b.lock().await; // deposit 1
    format!("{}", *from + *to)
}

async fn withdraw(State(bank): State<Arc<Bank>>) -> String {
    let from = bank.b.lock().await;
    bank.both.wait().await;
    format!("{}", *from + takes(&bank.a).await) // withdraw 2
}

async fn takes(m: &Mutex<u64>) -> u64 {
    *m.lock().await // withdraw 1
}

// checkout waits for a channel whose sender it has itself.
async fn checkout() -> String {
    let (_answer, asked) = oneshot::channel::<u64>();
    format!("{:?}", asked.await) // checkout 1
}

async fn run() {
    let bank = Arc::new(Bank { a: Mutex::new(1), b: Mutex::new(2), both: Barrier::new(2) });
    let routes = Router::new()
        .route("/deposit", get(deposit))
        .route("/withdraw", get(withdraw))
        .route("/checkout", get(checkout))
        .route("/health", get(|| async { "well" }))
        .with_state(bank);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("ready {}", listener.local_addr().unwrap().port());
    axum::serve(listener, routes).await.unwrap();
}

fn main() {
    let scheduler = std::env::args().nth(1).unwrap();
    let runtime = match scheduler.as_str() {
        "current" => tokio::runtime::Builder::new_current_thread().enable_all().build(),
        _ => tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build(),
    };
    runtime.unwrap().block_on(run());
}
