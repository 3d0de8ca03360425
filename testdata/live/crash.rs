// Panics and aborts, or reads where nothing is.
#[inline(never)]
fn fall(n: u64, at: *const u64) -> u64 {
    if n == 0 {
        return unsafe { std::ptr::read_volatile(at) };
    }
    std::hint::black_box(fall(n - 1, at)) + 1
}

fn main() {
    if std::env::args().nth(1).as_deref() == Some("panic") {
        std::panic::set_hook(Box::new(|_| std::process::abort()));
        panic!("on purpose");
    }
    std::process::exit(fall(3, 24 as *const u64) as i32);
}
