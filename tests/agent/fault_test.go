//go:build linux

package agent

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// everySecond makes intervals short.
var everySecond = []string{"--interval", "1s"}

// fails is a store on a bad day: each answer may be any.
func fails(int) int {
	answers := []int{http.StatusOK, http.StatusOK, http.StatusServiceUnavailable, http.StatusTooManyRequests, cutBefore,
		cutAfter}
	return answers[rand.IntN(len(answers))]
}

// waiting are the files that wait in a spool.
func waiting(t testing.TB, spool string) (n int) {
	t.Helper()
	err := filepath.WalkDir(spool, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".push") {
			n++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// balance is the last account in what an agent wrote.
type balance struct{ taken, sent, waiting, dropped int }

var (
	account = regexp.MustCompile(`(\d+) taken, (\d+) sent, (\d+) waiting((?:, \d+ dropped \([^)]*\))*)\n`)
	loss    = regexp.MustCompile(`(\d+) dropped`)
)

// balance asks for the accounts, and fails if they do not add up.
func (a *agent) balance(t testing.TB) (b balance) {
	t.Helper()
	await(t, "it records", func() bool { return strings.Contains(a.text(), "recording; ") })
	before := len(account.FindAllString(a.text(), -1))
	if err := a.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	var all [][]string
	await(t, "the accounts are written", func() bool {
		all = account.FindAllStringSubmatch(a.text(), -1)
		return len(all) > before
	})
	last := all[len(all)-1]
	for i, into := range []*int{&b.taken, &b.sent, &b.waiting} {
		*into, _ = strconv.Atoi(last[1+i])
	}
	for _, m := range loss.FindAllStringSubmatch(last[4], -1) {
		n, _ := strconv.Atoi(m[1])
		b.dropped += n
	}
	if b.taken != b.sent+b.waiting+b.dropped {
		t.Errorf("the account does not add up: %s", last[0])
	}
	return b
}

// TestKilledAgents kills agents by SIGKILL at random moments, while the store takes, refuses, and cuts connections in
// the middle. What an interval held must arrive in the end, under one id; and the processes notice nothing.
func TestKilledAgents(t *testing.T) {
	t.Parallel()
	kills := 8
	if *full {
		kills = 200
	}
	store, spool := newStore(t, fails), filepath.Join(folder(t), "spool")
	again, intervals, run := 0, 0, 0
	for done := 0; done < kills; run++ {
		checkers := []*checker{startChecker(t, fmt.Sprintf("one%d", run)), startChecker(t, fmt.Sprintf("two%d", run))}
		var lived time.Duration
		for first := time.Now(); done < kills && time.Since(first) < time.Minute; done++ { // checkers live for two
			begin := time.Now()
			a := startAgent(t, store, spool, checkers, everySecond...)
			time.Sleep(rand.N(2500 * time.Millisecond))
			a.kill()
			lived += time.Since(begin)
		}
		store.set(takes)
		last := startAgent(t, store, spool, checkers, everySecond...)
		await(t, "what waited is sent", func() bool { return waiting(t, spool) == 0 })
		if b := last.balance(t); b.dropped > 0 {
			t.Errorf("the last of these agents: %+v", b)
		}
		last.end(t)
		if n := waiting(t, spool); n > 0 {
			t.Errorf("%d requests wait still", n)
		}
		for _, c := range checkers {
			y := store.count(t, c.name)
			y.checkOnce(t)
			if y.untaken > 0 || y.covered > lived+patience || len(y.wall) == 0 {
				t.Errorf("%s: %d profiles came and were not taken, %d intervals of %v in %v", c.name, y.untaken,
					len(y.wall), y.covered, lived)
			}
			again, intervals = again+y.again, intervals+len(y.wall)
			c.finish(t)
		}
		store.set(fails)
	}
	t.Logf("%d agents killed: %d intervals came, %d profiles more than once, each under one id", kills, intervals,
		again)
}

// TestStoreAway: what is recorded while the store is away arrives when it is back, and none is dropped.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	c := startChecker(t, "away")
	store, spool := newStore(t, takes), filepath.Join(folder(t), "spool")
	a := startAgent(t, store, spool, []*checker{c}, everySecond...)
	await(t, "an interval arrives", func() bool { return len(store.count(t, c.name).wall) > 0 })
	store.away()
	before := len(store.count(t, c.name).wall)
	await(t, "intervals wait", func() bool { return waiting(t, spool) >= 3 })
	store.back(t)
	await(t, "all arrive", func() bool {
		return len(store.count(t, c.name).wall) >= before+3 && waiting(t, spool) == 0
	})
	b := a.balance(t)
	a.end(t)
	y := store.count(t, c.name)
	y.checkOnce(t)
	gaps := time.Duration(y.wall[len(y.wall)-1].to-y.wall[0].from) - y.covered
	if b.dropped > 0 || gaps > 100*time.Millisecond {
		t.Errorf("%+v, and %v between the intervals", b, gaps)
	}
	c.finish(t)
}

// TestDiskFull: what cannot be written to the spool waits in memory, is counted, and arrives when the store is back.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("a file system is mounted by root alone")
	}
	disk := folder(t)
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64k,mode=0700"); err != nil {
		t.Skipf("a file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
	c := startChecker(t, "full")
	store, spool := newStore(t, takes), filepath.Join(disk, "spool")
	store.away()
	a := startAgent(t, store, spool, []*checker{c}, everySecond...)
	await(t, "an interval waits", func() bool { return waiting(t, spool) > 0 })
	filler, err := os.Create(filepath.Join(disk, "filler"))
	for err == nil { // as much as goes
		_, err = filler.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	before, files := a.balance(t), waiting(t, spool)
	await(t, "more is recorded", func() bool { return a.balance(t).taken >= before.taken+4 })
	if n := waiting(t, spool); n > files+1 {
		t.Errorf("%d files in the spool, and %d when the disk was full", n, files)
	}
	store.back(t)
	await(t, "all arrives", func() bool { return a.balance(t).waiting == 0 && waiting(t, spool) == 0 })
	if b := a.balance(t); b.dropped > 0 || b.sent < before.taken+4 {
		t.Errorf("%+v", b)
	}
	a.end(t)
	c.finish(t)
}
