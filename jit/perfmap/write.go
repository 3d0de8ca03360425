package perfmap

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/text"
)

// Writer writes a perf map.
type Writer struct{ w *bufio.Writer }

// NewWriter returns a Writer to w. Flush ends it.
func NewWriter(w io.Writer) *Writer { return &Writer{bufio.NewWriter(w)} }

// Add writes the line of the code [start, end). What would end the line, or what a terminal would obey, is replaced.
func (w *Writer) Add(start, end mem.Addr, name string) {
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "") + "…"
	}
	fmt.Fprintf(w.w, "%x %x %s\n", uint64(start), uint64(end-start), text.Clean(name, '?'))
}

// maxName is how much of a name is written, bytes before the mark of the cut. perf cuts lines of some kilobytes.
const maxName = 1 << 10

// Flush writes what is left, and returns the first error.
func (w *Writer) Flush() error { return w.w.Flush() }
