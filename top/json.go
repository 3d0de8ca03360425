package top

import "github.com/fpstack/fpstack/profile"

// Schema is the value of "schema" in the documents that Print writes; its number changes when
// a reader of the old form would misread the new one.
const Schema = "fpstack.top/1"

// The types below are the document, described in docs/top.md. Times are nanoseconds, shares
// are of 1. What is not known is absent.

type document struct {
	Schema     string      `json:"schema"`
	Title      string      `json:"title"`
	Value      string      `json:"value"` // "wall", "cpu", …
	Unit       string      `json:"unit"`
	By         string      `json:"by"`
	Covered    int64       `json:"covered_ns"` // the time that the rows cover
	SinceStart bool        `json:"since_start"`
	Total      int64       `json:"total"` // what the shares are of
	Idle       bool        `json:"idle"`  // waits in the kernel are among the rows
	Hidden     int64       `json:"hidden_idle"`
	CPU        *float64    `json:"cpu_share,omitempty"` // of one CPU
	Ended      bool        `json:"ended"`
	Threads    threadsDoc  `json:"threads"`
	Sampling   samplingDoc `json:"sampling"`
	Missing    []string    `json:"missing"`
	Rows       []rowDoc    `json:"rows"`
}

type threadsDoc struct {
	Ran    int `json:"ran"`
	Waited int `json:"waited"`
	Gone   int `json:"gone"`
}

type samplingDoc struct {
	Wanted   float64 `json:"wanted_hz"` // 0: as fast as it goes
	Reached  float64 `json:"reached_hz"`
	PauseP50 int64   `json:"pause_p50_ns"`
	PauseMax int64   `json:"pause_max_ns"`
	Stood    float64 `json:"stood"`
	Ticks    uint64  `json:"ticks"`
	Late     uint64  `json:"late"`
	Samples  uint64  `json:"samples"`
	Lost     uint64  `json:"lost"`
	Walked   uint64  `json:"walked"`
	Cut      uint64  `json:"cut"`
}

type rowDoc struct {
	Name       string  `json:"name"`
	Kind       string  `json:"kind,omitempty"`
	Waits      bool    `json:"waits,omitempty"`
	Module     string  `json:"module,omitempty"`
	File       string  `json:"file,omitempty"`
	Line       int     `json:"line,omitempty"`
	Self       int64   `json:"self"`
	Total      int64   `json:"total"`
	SelfShare  float64 `json:"self_share"`
	TotalShare float64 `json:"total_share"`
	Trend      string  `json:"trend"`
	// CPUShare is the CPU time of its own, of a thread all that it used, over covered_ns.
	CPUShare *float64 `json:"cpu_share,omitempty"`
}

// document is what is shown, as JSON has it.
func (m *model) document() *document {
	s, t, unit := &m.stats, m.table, m.valueType()
	missing := m.head().missing()
	if missing == nil {
		missing = []string{}
	}
	d := &document{
		Schema: Schema, Title: m.opt.Title, Value: unit.Type, Unit: unit.Unit, By: m.view.by.String(),
		Covered: int64(t.covered), SinceStart: m.view.sinceBegin, Total: int64(t.sum.value), Idle: m.view.idle,
		Hidden: int64(t.idle.value), Ended: m.ended, Missing: missing, Rows: make([]rowDoc, len(t.rows)),
		Threads: threadsDoc{m.ran, max(0, s.Threads-m.ran), m.gone},
		Sampling: samplingDoc{s.Wanted, s.Reached, int64(s.PauseP50), int64(s.PauseMax), s.Stood,
			s.Ticks, s.Late, s.Samples, s.Lost, s.Walked, s.Cut},
	}
	d.CPU = t.knownCPU(t.cpu)
	for i := range t.rows {
		d.Rows[i] = rowDocument(&t.rows[i], t, m.view.by)
	}
	return d
}

// knownCPU is cpuShare, nil where it is not known.
func (t *table) knownCPU(cpu float64) *float64 {
	share, ok := t.cpuShare(cpu)
	if !ok {
		return nil
	}
	return &share
}

func rowDocument(r *row, t *table, by Grouping) rowDoc {
	d := rowDoc{Name: r.name, Waits: r.waits, Module: r.module, File: r.file, Line: r.line, Self: int64(r.self.value),
		Total:     int64(r.total.value),
		SelfShare: t.share(r.self), TotalShare: t.share(r.total), Trend: r.trend.String(),
		CPUShare: t.knownCPU(r.self.cpu)}
	if by != ByThread {
		d.Kind = profile.Kind.String(r.kind)
	}
	return d
}
