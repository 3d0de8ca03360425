// The tasks of ../tasks in a shared library, whose runtime a thread of its own drives.
#[allow(dead_code)]
#[path = "../tasks/main.rs"]
mod tasks;

/// Starts count tasks of each kind; multi: on a scheduler of several threads, else on one.
#[no_mangle]
pub extern "C" fn start_tasks(count: u32, multi: bool) {
    let scheduler = if multi { "multi" } else { "current" };
    std::thread::spawn(move || tasks::runtime(scheduler).block_on(tasks::run(count as usize)));
}
