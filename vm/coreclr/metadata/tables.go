package metadata

import (
	"fmt"
	"sort"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// table is where the rows of a table are.
type table struct {
	at      mem.Addr
	rows    uint32
	width   uint32 // bytes of a row
	columns []uint8
}

// row is the columns of one row.
type row [maxColumns]uint32

// layOut sets how wide the columns and rows of tb are.
func (tb *table) layOut(columns []column, heaps uint8, rows *[tableCount]uint32) {
	tb.columns, tb.width = make([]uint8, len(columns)), 0
	for i, c := range columns {
		tb.columns[i] = c.width(heaps, rows)
		tb.width += uint32(tb.columns[i])
	}
}

// row reads row rid, from 1, of table n.
func (t *Tables) row(n int, rid uint32) (row, error) { return t.rowOf(t.view, n, rid) }

func (t *Tables) rowOf(v *view.View, n int, rid uint32) (r row, err error) {
	tb := &t.tables[n]
	if rid == 0 || rid > tb.rows {
		return r, fmt.Errorf("%w: row %d of the %d of table %#x", ErrFormat, rid, tb.rows, n)
	}
	b, ok := v.Bytes(tb.at+mem.Addr(rid-1)*mem.Addr(tb.width), int(tb.width))
	if !ok {
		return r, fmt.Errorf("read row %d of .NET metadata table %#x: %w", rid, n, v.Fault())
	}
	for i, w := range tb.columns {
		if w == 2 {
			r[i] = uint32(order.Uint16(b))
		} else {
			r[i] = order.Uint32(b)
		}
		b = b[w:]
	}
	return r, nil
}

// firstNotBelow is the first row of table n whose column, by which the table is sorted, is not below v; behind the last
// row if there is none. Rows that are not sorted give any row.
func (t *Tables) firstNotBelow(n, column int, v uint32) (uint32, error) {
	var failed error
	at := sort.Search(int(t.tables[n].rows), func(i int) bool {
		if failed != nil {
			return true
		}
		r, err := t.row(n, uint32(i)+1)
		failed = err
		return r[column] >= v
	})
	return uint32(at) + 1, failed
}

// matching gives yield each row of table n whose column, by which the table is sorted, is v, until it returns false.
func (t *Tables) matching(n, column int, v uint32, yield func(row) bool) error {
	rid, err := t.firstNotBelow(n, column, v)
	for ; err == nil && rid <= t.tables[n].rows; rid++ {
		var r row
		if r, err = t.row(n, rid); err != nil || r[column] != v || !yield(r) {
			return err
		}
	}
	return err
}

// decoded is the table and row that the coded index v of kind c means; table is unused for none that is known.
func decoded(c column, v uint32) (table int, rid uint32) {
	tables := coded[c-typeDefOrRef]
	bits := tagBits(len(tables))
	tag := v & (1<<bits - 1)
	if int(tag) >= len(tables) {
		return unused, 0
	}
	return int(tables[tag]), v >> bits
}
