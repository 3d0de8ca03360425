package agent

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// page writes metrics.
type page struct{ b bytes.Buffer }

// metric begins a metric; kind is counter or gauge.
func (p *page) metric(name, kind, help string) {
	fmt.Fprintf(&p.b, "# HELP fpstack_agent_%[1]s %[3]s\n# TYPE fpstack_agent_%[1]s %[2]s\n", name, kind, help)
}

// value writes a sample of a metric; labels are names and values in turn.
func (p *page) value(name string, v float64, labels ...string) {
	p.b.WriteString("fpstack_agent_" + name)
	for i := 0; i+1 < len(labels); i += 2 {
		sep := ","
		if i == 0 {
			sep = "{"
		}
		fmt.Fprintf(&p.b, `%s%s="%s"`, sep, labels[i], escapeLabel(labels[i+1]))
	}
	if len(labels) > 0 {
		p.b.WriteByte('}')
	}
	p.b.WriteString(" " + strconv.FormatFloat(v, 'g', -1, 64) + "\n")
}

func (p *page) one(name, kind, help string, v float64) {
	p.metric(name, kind, help)
	p.value(name, v)
}

var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func escapeLabel(s string) string { return labelEscapes.Replace(strings.ToValidUTF8(s, "?")) }

// WriteMetrics writes r in the text format of Prometheus.
// Source: prometheus.io/docs/instrumenting/exposition_formats, version 0.0.4.
func (r *Report) WriteMetrics(w io.Writer) error {
	p := &page{}
	slowed, lowest := r.Slowed()
	p.one("processes", "gauge", "Processes that are recorded.", float64(len(r.Counts.Targets)))
	p.one("threads", "gauge", "Threads that are recorded.", float64(r.Threads))
	p.metric("left_out_processes", "gauge", "Processes that are chosen and not recorded, by reason.")
	for _, why := range slices.Sorted(maps.Keys(r.LeftOut)) {
		p.value("left_out_processes", float64(r.LeftOut[why]), "reason", why)
	}
	p.one("wanted_rate", "gauge", "Samples a second that are wanted.", r.Counts.Wanted)
	p.one("lowest_rate", "gauge", "Samples a second of the process that is sampled least often.", lowest)
	p.one("slowed_processes", "gauge", "Processes that are sampled less often, for the budget.", float64(slowed))
	p.one("samples_total", "counter", "Samples taken.", float64(r.Counts.Samples))
	p.one("stops_total", "counter", "Threads stopped for a sample.", float64(r.Counts.Stops))
	p.one("intervals_total", "counter", "Intervals that were ended.", float64(r.Intervals))
	p.one("cpu_seconds_total", "counter", "CPU time of this program.", r.CPU.Seconds())
	p.one("cpu_share", "gauge", "Share of one CPU that this program took in the last interval.", r.Share)
	p.one("cpu_budget", "gauge", "Share of one CPU that it may take, 0: any.", r.Budget)
	p.one("resident_memory_bytes", "gauge", "Memory of this program.", float64(r.Memory))
	p.one("start_time_seconds", "gauge", "When it began, seconds since 1970.", float64(r.Since.UnixMilli())/1000)
	p.one("interval_trouble", "gauge", "1 if the last profile could not be made.", truth(r.Trouble != nil))
	p.metric("profiles_taken_total", "counter", "Profiles made: those sent, dropped and waiting.")
	for _, s := range r.Stores {
		p.value("profiles_taken_total", float64(s.Balance.Taken), "store", s.Name)
	}
	p.metric("profiles_sent_total", "counter", "Profiles that the store took.")
	for _, s := range r.Stores {
		p.value("profiles_sent_total", float64(s.Balance.Sent), "store", s.Name)
	}
	p.metric("profiles_spooled", "gauge", "Profiles that wait for the store.")
	for _, s := range r.Stores {
		p.value("profiles_spooled", float64(s.Balance.Waiting), "store", s.Name)
	}
	p.metric("profiles_dropped_total", "counter", "Profiles given up, by reason.")
	for _, s := range r.Stores {
		for _, why := range slices.Sorted(maps.Keys(s.Balance.Dropped)) {
			p.value("profiles_dropped_total", float64(s.Balance.Dropped[why]), "store", s.Name, "reason", string(why))
		}
	}
	p.metric("store_trouble", "gauge", "1 if the store did not take the last request.")
	for _, s := range r.Stores {
		p.value("store_trouble", truth(s.Trouble != nil), "store", s.Name)
	}
	p.async(r.Async)
	_, err := w.Write(p.b.Bytes())
	return err
}

// async writes what was counted of processes.
func (p *page) async(all []AsyncReport) {
	if len(all) == 0 {
		return
	}
	for _, m := range []struct {
		name, help string
		of         func(n *AsyncReport) float64
	}{
		{"async_calls", "Async calls that wait, by the last count.",
			func(n *AsyncReport) float64 { return float64(n.Waiting) }},
		{"async_calls_abandoned", "Async calls that nothing can let go on as far as is seen, by the last count.",
			func(n *AsyncReport) float64 { return float64(n.Abandoned) }},
		{"async_calls_whole", "1 if the last count lacks none.",
			func(n *AsyncReport) float64 { return truth(n.Whole) }},
		{"async_calls_counted_seconds", "When the last count was made, seconds since 1970.",
			func(n *AsyncReport) float64 { return float64(n.At.UnixMilli()) / 1000 }},
	} {
		p.metric(m.name, "gauge", m.help)
		for i := range all {
			p.value(m.name, m.of(&all[i]), "pid", strconv.Itoa(all[i].PID), "service", all[i].Service)
		}
	}
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
