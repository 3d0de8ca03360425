// The tasks of ../tasks/main.rs, in a build that can tell by itself where they wait: tokio's taskdump polls each task
// while its futures take backtraces.
//
//   taskdump SCHEDULER COUNT FILE   where FILE.ask appears, writes to FILE a line for each backtrace of each task: its
//                                   id, and the lines of tasks/main.rs in it, innermost first
#[allow(dead_code)]
#[path = "../tasks/main.rs"]
mod tasks;

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;
use tokio::runtime::Handle;

async fn told(handle: &Handle) -> String {
    let mut out = String::new();
    for task in handle.dump().await.tasks().iter() {
        for trace in task.trace().resolve_backtraces() {
            write!(out, "{}:", task.id()).unwrap();
            for symbol in trace.frames().flat_map(|f| f.symbols()) {
                let file = symbol.filename().map(|f| f.to_string_lossy().into_owned());
                if file.is_some_and(|f| f.ends_with("tasks/main.rs")) {
                    write!(out, " {}", symbol.lineno().unwrap_or(0)).unwrap();
                }
            }
            out.push('\n');
        }
    }
    out
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let runtime = tasks::runtime(&args[1]);
    let (handle, file) = (runtime.handle().clone(), args[3].clone());
    std::thread::spawn(move || loop {
        std::thread::sleep(Duration::from_millis(50));
        if Path::new(&format!("{file}.ask")).exists() {
            let waits = handle.clone();
            let (tx, rx) = std::sync::mpsc::channel();
            handle.spawn(async move { tx.send(told(&waits).await).unwrap() });
            std::fs::write(format!("{file}.new"), rx.recv().unwrap()).unwrap();
            std::fs::rename(format!("{file}.new"), &file).unwrap();
            return;
        }
    });
    runtime.block_on(tasks::run(args[2].parse().unwrap()));
}
