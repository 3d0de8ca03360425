package golang

import (
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// A goroutine that runs a test has on its stack, at the outermost end, the address of the test's testing.T, which has
// the function that runs tests as a string, and some words behind it the name of the test. Where these are changes from
// release to release: they are found by what they hold.
//
// Source: struct common in testing/testing.go.
const (
	testRunner  = "testing.tRunner"
	runnerEnd   = 1 << 10 // of a stack in which the address is, bytes
	testBytes   = 640     // of a testing.T in which the strings are
	maxTestName = 512     // bytes
	maxTests    = 64      // of a listing
)

// testNames is where the name is behind the runner, bytes: since Go 1.25, and before.
var testNames = []int{96, 64}

// test is the name of the test that g runs, whose stack is in stack; "" if it runs none, or if that is not known. It
// is read from the process as it is now: a test that goes on keeps its name.
func (s *listing) test(g goroutine, stack mem.Range) string {
	start := s.r.name(mem.Addr(g.word(g.l.g.start)))
	if !strings.HasPrefix(start, "testing.") || s.r.memory == nil || s.tests == maxTests {
		return ""
	}
	s.tests++
	v := view.Over(s.r.memory, s.r.memory, s.r.budget)
	v.Within(testSteps)
	data := stack.Data
	if high := mem.Addr(g.word(g.l.g.high)); stack.Start < high && uint64(high-stack.Start) < uint64(len(data)) {
		data = data[:high-stack.Start] // a thread's stack is copied as far as its mapping goes
	}
	data = data[max(0, len(data)-runnerEnd)&^(wordSize-1):]
	seen := map[uint64]bool{}
	for ; len(data) >= wordSize; data = data[wordSize:] {
		at := order.Uint64(data)
		if at%wordSize != 0 || seen[at] || at < 1<<16 || g.word(g.l.g.low) <= at && at < g.word(g.l.g.high) {
			continue
		}
		seen[at] = true
		if name := testAt(&v, mem.Addr(at)); name != "" {
			return name
		}
	}
	return ""
}

// testSteps bounds the reads for one name.
const testSteps = 1 << 12

// testAt is the name of the test whose testing.T is at a, "" if none is there.
func testAt(v *view.View, a mem.Addr) string {
	b, ok := v.Bytes(a, testBytes)
	for at := 0; ok && at+2*wordSize <= len(b); at += wordSize {
		if order.Uint64(b[at+wordSize:]) != uint64(len(testRunner)) {
			continue
		}
		if text, ok := v.Bytes(mem.Addr(order.Uint64(b[at:])), len(testRunner)); !ok || string(text) != testRunner {
			continue
		}
		for _, behind := range testNames {
			if name := testNameAt(v, b, at+behind); name != "" {
				return name
			}
		}
	}
	return ""
}

// testNameAt is the string at b[at:] if it is the name of a test.
func testNameAt(v *view.View, b []byte, at int) string {
	if at+2*wordSize > len(b) {
		return ""
	}
	n := order.Uint64(b[at+wordSize:])
	if n == 0 || n > maxTestName {
		return ""
	}
	text, ok := v.Bytes(mem.Addr(order.Uint64(b[at:])), int(n))
	for _, start := range []string{"Test", "Fuzz", "Example"} {
		if ok && strings.HasPrefix(string(text), start) {
			return string(text)
		}
	}
	return ""
}
