package waits

import "testing"

const drawnMutex = heap + 0x100

// behindOne draws 1,000 threads that wait for one mutex, whose owner is in pause(2).
func behindOne() *drawn {
	owner := futexThread(101, 0, 0, 0)
	owner.First.Call.Number = 34
	threads := []*Thread{owner}
	for i := range 1000 {
		threads = append(threads, futexThread(102+i, drawnMutex, private, 2))
	}
	d := draw(threads...)
	d.mutex(drawnMutex, 2, 101, 0)
	return d
}

// BenchmarkExamine is the work of a graph of 1,000 threads behind one mutex, without reading them.
func BenchmarkExamine(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		d := behindOne()
		b.StartTimer()
		if g := d.examine(b); len(g.Waits) != 1001 || len(g.Roots) != 1 || len(g.Roots[0].Behind) != 1000 {
			b.Fatalf("%d waits, roots %+v", len(g.Waits), g.Roots)
		}
	}
}

// BenchmarkShow is the work of showing them.
func BenchmarkShow(b *testing.B) {
	g := behindOne().examine(b)
	b.ReportAllocs()
	for b.Loop() {
		g.Show()
	}
}
