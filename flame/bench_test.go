package flame

import (
	"os"
	"runtime"
	"testing"
)

// BenchmarkReadFolded reads the file that FPSTACK_FOLDED names, as scripts/folded writes it.
func BenchmarkReadFolded(b *testing.B) {
	name := os.Getenv("FPSTACK_FOLDED")
	if name == "" {
		b.Skip("FPSTACK_FOLDED is not set: go run ./scripts/folded -lines 1000000 makes such a file")
	}
	for b.Loop() {
		f, err := os.Open(name)
		if err != nil {
			b.Fatal(err)
		}
		p, report, err := ReadFolded(f)
		f.Close()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(report.Lines), "lines")
		b.ReportMetric(float64(p.Tree.Len()), "nodes")
		b.ReportMetric(float64(len(p.Frames)), "names")
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/(1<<20), "MiB-sys")
}
