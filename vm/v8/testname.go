package v8

import (
	"slices"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/v8/heap"
)

const (
	maxSuites   = 32  // around a test
	maxTestName = 512 // UTF-16 units of the name of each
	maxArgs     = 8   // of a function of jest, in which its test is looked for
)

// testOf is the name of the test that a suspended function of a test runner, in that file, runs, behind those of the
// suites it is in; "" if it runs none, or if that cannot be read.
//
// What it reads moves. It was read right if the function has still the same object when it has been read.
//
// Source: class Test in lib/internal/test_runner/test.js of Node.js; _runTest in packages/jest-circus/src/run.ts of
// jest, whose parameter is the test.
func (n *naming) testOf(f *heap.Frame, file string) string {
	h := n.r.heap(n.late)
	switch {
	case strings.HasPrefix(file, "node:internal/test_runner/"):
		at, ok := h.IsReceiver(f.Receiver)
		if !ok {
			return ""
		}
		if class, _ := h.ClassOf(at); class != "Test" {
			return ""
		}
		name := n.titles(h, at)
		if again, err := h.SuspendedReceiver(f.Addr); err != nil || again != f.Receiver {
			return ""
		}
		return name
	case strings.Contains(file, "/jest-circus/"):
		args, err := h.Arguments(f, maxArgs)
		if err != nil {
			return ""
		}
		for _, arg := range args {
			at, ok := h.IsReceiver(arg)
			if !ok || n.title(h, at, "type") != "test" {
				continue
			}
			name := n.titles(h, at)
			if again, err := h.FrameOf(f.Addr, f.Kind); err != nil || again.Registers != f.Registers {
				return ""
			}
			return name
		}
	}
	return ""
}

// titles joins the names of the test at a and of all that it is in, but for the one that has all.
func (n *naming) titles(h heap.Heap, a mem.Addr) string {
	var names []string
	for range maxSuites {
		name := n.title(h, a, "name")
		parent, ok := h.PropertyOf(a, "parent")
		up, isObject := h.IsReceiver(parent)
		if name == "" || !ok || !isObject {
			break // what has all has no parent
		}
		names, a = append(names, name), up
	}
	slices.Reverse(names)
	return strings.Join(names, " > ")
}

// title is the text of a property of the object at a, "" if it has none.
func (n *naming) title(h heap.Heap, a mem.Addr, property string) string {
	value, ok := h.PropertyOf(a, property)
	if !ok {
		return ""
	}
	text, _ := h.Text(value, maxTestName)
	return text
}
