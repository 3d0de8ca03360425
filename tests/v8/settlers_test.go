//go:build linux

package v8

import (
	"slices"
	"strings"
	"testing"
)

// settlers are who can settle what functions of settlers.js await, by the function.
var settlers = map[string]string{
	"byTimer":    "awaits a timer",
	"byMap":      "awaits a promise held by a Map",
	"bySet":      "awaits a promise held by a Set",
	"byArray":    "awaits a promise held by an array",
	"byVariable": "awaits a promise held by a variable",
	"byBound":    "awaits a promise held by an array",
	"bySocket":   "awaits a promise held by ", // the emitter's object or array of listeners, by version
	"byRequest":  "awaits a request: FSReqPromise",
	"byNobody":   "awaits a promise that nothing can settle",
	"byWorker":   "awaits a promise held by a Map",
}

// TestSettlers: of each promise that is awaited it is said who can settle it, on the main thread and in a worker.
func TestSettlers(t *testing.T) {
	for _, version := range versions(t) {
		if majorOf(version) < 18 || !*full && !slices.Contains(quickMajors, majorOf(version)) {
			continue
		}
		t.Run(version, func(t *testing.T) {
			x := start(t, version, nil, "settlers.js")
			calls, err := x.settledCalls(t)
			if err != nil {
				t.Error(err)
			}
			got := map[string]string{}
			for i := range calls {
				if c := &calls[i]; len(c.frames) > 0 {
					for k := range c.frames {
						if name := c.frames[k].Func; strings.HasPrefix(name, "by") {
							got[name] = c.State
						}
					}
				}
			}
			for name, want := range settlers {
				if name == "byNobody" && got[name] == "" { // nothing leads to it: it may have been collected
					continue
				}
				if got[name] != want && !(strings.HasSuffix(want, " by ") && strings.HasPrefix(got[name], want)) {
					t.Errorf("%s: %q, want %q", name, got[name], want)
				}
			}
		})
	}
}
