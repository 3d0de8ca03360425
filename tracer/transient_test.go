//go:build linux

package tracer

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestWantOfDescriptors asks about a living process while not one descriptor is to be had: the error says so,
// and not that the process or the thread has ended or began another program.
func TestWantOfDescriptors(t *testing.T) {
	c := start(t, "threads", 1, 1, 1)
	p := openTarget(t, c.pid())
	w := openWatch(t, p, spinner(t, c.pid()))
	for _, f := range []*procFile{&w.sched, &w.call, &w.stat} {
		f.close() // as when many threads are followed
	}
	l := openSampler(t, SamplerOptions{})
	table := mapsOf(t, p)
	var got Copy
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	errs := map[string]error{}
	l.Do(func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Max: limit.Max}); err != nil {
			t.Fatal(err)
		}
		defer unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
		_, errs["Counters"] = w.Counters()
		_, _, errs["Asleep"] = w.Asleep()
		_, _, _, errs["State"] = w.State()
		errs["Stop"] = l.Stop(w, &got, table)
		errs["gone"] = w.gone()
		_, errs["Watch"] = p.Watch(c.pid())
		_, errs["ThreadIDs"] = p.ThreadIDs()
		_, errs["Maps"] = p.Maps()
		errs["Reopen"] = p.Reopen()
		errs["openMemory"] = p.openMemory()
		p.forked.Store(true)
		if p.Replaced() {
			t.Error("the process passes for replaced")
		}
	})
	for name, err := range errs {
		if !Transient(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := p.Reopen(); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	checkFree(t, c.pid())
}
