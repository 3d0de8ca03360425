package top

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fpstack/fpstack/text"
)

// PrintOptions say how Print writes.
type PrintOptions struct {
	JSON  bool          // a document a line instead of text
	Once  time.Duration // write once, after so long; 0: again and again
	Width int           // cells that a line may have; 0: any
	Rows  int           // rows of text; 0: all
}

// Print writes the table as text or JSON without drawing: once after a time, with
// everything seen until then, or after each take. It returns when that is done, when ctx
// or the sampling ends; then what was seen last is written too. Its error is that of w, or
// a [*PanicError].
func Print(ctx context.Context, src Source, w io.Writer, opt Options, how PrintOptions) error {
	opt = opt.withDefaults()
	if how.Once > 0 {
		opt.SinceBegin, opt.Every = true, how.Once
	}
	m := newModel(opt)
	f := newFeeder(src, &opt, opt.Every)
	defer f.timer.Stop()
	for first := true; ; first = false {
		u, ok := f.next(ctx)
		if !ok && how.Once == 0 {
			return nil
		} else if !ok {
			f.take(&u)
		}
		if err := m.receive(u); err != nil {
			return err
		}
		if err := m.print(w, &how, first); err != nil {
			return err
		}
		if u.ended || how.Once > 0 {
			return nil
		}
	}
}

// print writes the table once.
func (m *model) print(w io.Writer, how *PrintOptions, first bool) error {
	b := bufio.NewWriter(w)
	if how.JSON {
		if err := json.NewEncoder(b).Encode(m.document()); err != nil {
			return err
		}
		return b.Flush()
	}
	if !first {
		b.WriteByte('\n')
	}
	for _, l := range m.textLines(how) {
		whole := ""
		for _, s := range l {
			whole += s.text
		}
		if how.Width > 0 {
			whole = text.ShortenEnd(whole, how.Width)
		}
		b.WriteString(strings.TrimRight(whole, " ") + "\n")
	}
	return b.Flush()
}

// textLines are the head and the rows, and how many rows are not shown.
func (m *model) textLines(how *PrintOptions) []line {
	rows := m.table.rows
	if how.Rows > 0 {
		rows = rows[:min(len(rows), how.Rows)]
	}
	l, cells := fitAll(rows, &m.view), 1<<20
	if how.Width > 0 {
		l, cells = fit(how.Width, &m.view), how.Width
	}
	list := append(m.head().headLines(cells), l.heading(&m.view))
	for i := range rows {
		list = append(list, line{{l.rowText(&rows[i], m.table, m.valueType()), plain}})
	}
	if len(rows) == 0 {
		list = append(list, line{{m.emptyText(), plain}})
	}
	if more := len(m.table.rows) - len(rows); more > 0 {
		list = append(list, line{{fmt.Sprintf("… %d more rows", more), plain}})
	}
	return list
}
