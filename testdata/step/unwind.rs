// Panics that are caught, destructors on the way, trait objects, closures, collections.
use std::collections::BTreeMap;
use std::panic;

// keep makes the compiler believe that v is used; std::hint::black_box is too new for Debian 12.
fn keep<T>(v: &T) {
    unsafe { std::ptr::read_volatile(&(v as *const T)) };
}

struct Guard(u64);
impl Drop for Guard {
    #[inline(never)]
    fn drop(&mut self) {
        keep(&self.0);
    }
}

trait Shape {
    fn area(&self) -> u64;
}
struct Square(u64);
impl Shape for Square {
    #[inline(never)]
    fn area(&self) -> u64 {
        self.0 * self.0
    }
}

#[inline(never)]
fn down(n: u32) -> u64 {
    let g = Guard(n as u64);
    if n == 0 {
        panic!("bottom");
    }
    let r = down(n - 1);
    keep(&g);
    r + 1
}

#[inline(never)]
fn apply(f: &dyn Fn(u64) -> u64, x: u64) -> u64 {
    f(x) + 1
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    for n in 0..3 {
        let r = panic::catch_unwind(|| down(n));
        assert!(r.is_err());
    }
    let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square(3)), Box::new(Square(4))];
    let mut map = BTreeMap::new();
    for (i, s) in shapes.iter().enumerate() {
        map.insert(format!("shape {i}"), apply(&|x| x + s.area(), i as u64));
    }
    let mut v: Vec<u64> = map.values().copied().collect();
    v.sort_by(|a, b| b.cmp(a));
    println!("{:?} {:.2}", v, 1.5f64);
}
