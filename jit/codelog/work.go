package codelog

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/unwind"
)

// catchUp reads what the files say more since they were read last, if that was before taken.
func (r *Runtime) catchUp(taken time.Time) {
	if taken.IsZero() {
		taken = time.Now()
	}
	r.mu.Lock()
	due := r.working == nil && !r.closed && r.began.Before(taken) &&
		time.Since(r.ended) >= restShare*(r.cost-restFrom) &&
		(r.look || slices.ContainsFunc(r.files, (*file).grown))
	waits := r.working != nil && !r.late
	r.mu.Unlock()
	if due || waits {
		r.work(taken, walkWait)
	}
}

// Settle implements resolve.Settler: it waits until what was written up to now is read, but not for long.
func (r *Runtime) Settle() {
	r.mu.Lock()
	idle := len(r.pending) == 0 || r.closed
	r.mu.Unlock()
	if !idle {
		r.work(time.Now(), settleWait)
	}
}

// work reads on until work has ended that began after since, and waits no longer than that.
func (r *Runtime) work(since time.Time, wait time.Duration) {
	bound := time.NewTimer(wait)
	defer bound.Stop()
	for {
		r.mu.Lock()
		if r.began.After(since) || r.closed || r.late && r.working != nil {
			r.mu.Unlock()
			return
		}
		if r.working == nil {
			r.working = make(chan struct{})
			go r.run(r.table)
		}
		done := r.working
		r.mu.Unlock()
		select {
		case <-done:
		case <-bound.C:
			r.mu.Lock()
			r.late = r.working == done
			r.mu.Unlock()
			return
		}
	}
}

// run reads all files on and names what waited for them. It is the one goroutine that works.
func (r *Runtime) run(table *maps.Table) {
	began := time.Now()
	err := r.read(table)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problem = err
	r.none = !slices.ContainsFunc(r.files, func(f *file) bool { return f.log != nil })
	r.began, r.ended = began, time.Now()
	r.cost = r.ended.Sub(began)
	if r.closed { // while this was late
		r.closeFiles()
	}
	close(r.working)
	r.working, r.late = nil, false
}

func (r *Runtime) read(table *maps.Table) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("a fault of fpstack, please report it: %v\n%s", v, debug.Stack())
		}
	}()
	r.mu.Lock()
	live := r.live
	r.look = false
	r.mu.Unlock()
	if live == nil {
		if live, err = r.image.Live(); err != nil {
			return err
		}
		r.mu.Lock()
		r.live = live
		r.mu.Unlock()
	}
	var errs []error
	for _, f := range r.files {
		f.follow(live, table)
		errs = append(errs, f.problem())
	}
	r.namePending()
	return errors.Join(errs...)
}

// namePending names the sites that had no name yet, and looks up lines.
func (r *Runtime) namePending() {
	r.mu.Lock()
	pending := r.pending
	r.pending = nil
	r.mu.Unlock()
	var left []unwind.Site
	for _, n := range pending {
		r.mu.Lock()
		s, ok := r.sites.Get(n)
		r.mu.Unlock()
		if !ok { // forgotten
			continue
		}
		unknown := s.place
		named := r.nameLate(&s)
		if !named {
			left = append(left, n)
			continue
		}
		r.mu.Lock()
		r.sites.Set(n, s, s.size())
		if unknown.file < 0 { // who sees that address again may see other code
			r.sites.Unlink(unknown)
		}
		r.mu.Unlock()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = append(r.pending, left...)
}

// nameLate names s by the record that had its address when it was seen.
func (r *Runtime) nameLate(s *site) bool {
	found, record := r.find(&s.place, s.at, s.replaced)
	if !found {
		return s.named
	}
	s.fill(&record)
	f := r.files[s.file]
	lines, ok := f.parser.(LineReader)
	if !ok || record.Detail == 0 || f.log == nil {
		return true
	}
	if file, line, ok := lines.Line(f.log, &record, s.lookup); ok {
		s.frame.File, s.frame.Line = file, line
	}
	return true
}

// Close reads what was written at last, and closes the files. Sites keep their names.
func (r *Runtime) Close() error {
	r.Settle()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	if r.working == nil {
		r.closeFiles()
	}
	return nil
}

func (r *Runtime) closeFiles() {
	for _, f := range r.files {
		f.close()
	}
}

// hasRead reports whether the files were read.
func (r *Runtime) hasRead() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.began.IsZero()
}
