// Package jitdump reads jitdumps: the binary files jit-PID.dump in which runtimes write the code that they make, with
// the time when it was made, moved and, for some, source lines. The runtime maps a page of the file executable, so
// that profilers find it.
//
// It is a form of jit/codelog, which opens and follows the file. The bytes are hostile: sizes are checked against
// what is left of the file, and code is skipped, never read.
//
// Source: linux/tools/perf/Documentation/jitdump-specification.txt and linux/tools/perf/util/jitdump.c.
package jitdump

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/fpstack/fpstack/jit/codelog"
	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
)

// Format is the form of jitdumps.
type Format struct{}

func (Format) String() string { return "jitdump" }

// Locate implements codelog.Format. The folder of the file is the runtime's choice, so that the mapping alone shows
// it; the number in its name is the one that the process has for itself.
func (Format) Locate(p *module.Live, table *maps.Table) (where string, open func() (module.Log, error)) {
	for i := range table.All() {
		m := &table.All()[i]
		if isMarker(m, p.PID) {
			return m.Path, func() (module.Log, error) { return p.MappedLog(m) }
		}
	}
	return "", nil
}

// isMarker reports whether m is the mapping by which the process number pid shows its jitdump.
func isMarker(m *maps.Mapping, pid int) bool {
	if !m.IsFile() || m.Perm&maps.Exec == 0 || m.Offset != 0 {
		return false
	}
	name, ok := strings.CutPrefix(path.Base(m.Path), "jit-")
	number, ok2 := strings.CutSuffix(name, ".dump")
	if thread, process, both := strings.Cut(number, "-"); both { // as JavaScriptCore writes it
		_, err := strconv.ParseUint(thread, 10, 31)
		number, ok = process, ok && err == nil
	}
	return ok && ok2 && number == strconv.Itoa(pid)
}

// Parser implements codelog.Format.
func (Format) Parser(p *module.Live) codelog.Parser {
	return &parser{start: p.Start, now: p.Monotonic}
}

// maxRead is how much of a file is gone through. There is no way to begin in the middle.
const maxRead = 1 << 30

var errTooLarge = fmt.Errorf("has more than %d MiB", maxRead>>20)
