// mixed.rs is built by tests: traits, closures, generic functions, iterators, panics.
use std::collections::{BTreeMap, HashMap};

trait Shape {
    fn area(&self) -> f64;
}
struct Square(f64);
struct Circle {
    r: f64,
}
impl Shape for Square {
    fn area(&self) -> f64 {
        self.0 * self.0
    }
}
impl Shape for Circle {
    fn area(&self) -> f64 {
        3.14 * self.r * self.r
    }
}

mod words {
    use super::*;
    pub fn count(text: &str) -> BTreeMap<String, usize> {
        let mut out = BTreeMap::new();
        for w in text.split_whitespace() {
            *out.entry(w.to_string()).or_insert(0) += 1;
        }
        out
    }
    #[inline(always)]
    pub fn lengths<'a>(it: impl Iterator<Item = &'a str>) -> HashMap<&'a str, usize> {
        it.map(|w| (w, w.len())).collect()
    }
}

#[inline(never)]
fn total(v: &[Box<dyn Shape>]) -> f64 {
    v.iter().map(|s| s.area()).filter(|a| *a > 0.5).sum()
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mut shapes: Vec<Box<dyn Shape>> = Vec::new();
    for (i, a) in args.iter().enumerate() {
        if i % 2 == 0 {
            shapes.push(Box::new(Square(a.len() as f64)));
        } else {
            shapes.push(Box::new(Circle { r: i as f64 }));
        }
    }
    let mut sorted: Vec<_> = words::count(&args.join(" ")).into_iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let lens = words::lengths(args.iter().map(|s| s.as_str()));
    println!("{} {:?} {:?}", total(&shapes), sorted, lens);
}
