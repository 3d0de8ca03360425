package peers

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/fpstack/fpstack/push/wire"
)

// workload has a thread "worker" that computes, in a function that is inlined, and a main thread that sleeps.
const workload = `
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>
volatile unsigned sink;
static inline __attribute__((always_inline)) unsigned mix(unsigned x) { return x * 1664525u + 1013904223u + sink; }
__attribute__((noinline)) unsigned churn(unsigned n) { unsigned x = 1; while (n--) { x = mix(x); sink = x; } return x; }
static void *work(void *unused) { for (;;) sink = churn(100000); return unused; }
int main(void) {
	pthread_t t;
	pthread_create(&t, 0, work, 0);
	pthread_setname_np(t, "worker");
	for (;;) usleep(100000);
}
`

// start starts a program that ends with the test, and returns its id.
func start(t *testing.T, dir, name string, args ...string) int {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("%s wrote: %s", name, text[max(0, len(text)-2000):])
		}
	})
	return cmd.Process.Pid
}

// ports are free ports of this machine.
func ports(t *testing.T, n int) (free []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		free = append(free, port)
	}
	return free
}

// eventually tries f until it says nothing.
func eventually(t *testing.T, what string, f func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if err = f(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}

// madeName is the name of what has none: some stores get none, so it is compared as if it had none.
var madeName = regexp.MustCompile(`^[^ ]+\+0x[0-9a-f]+$`)

// stacks are the values of type k of p by stack, outermost first, inlined functions among them.
func stacks(p *pprof.Profile, k int) map[string]int64 {
	sums := map[string]int64{}
	for _, s := range p.Sample {
		var names []string
		for _, l := range s.Location {
			if len(l.Line) == 0 {
				names = append(names, "?")
			}
			for _, line := range l.Line {
				name := line.Function.Name
				if madeName.MatchString(name) || strings.HasPrefix(name, "0x") {
					name = "?"
				}
				names = append(names, name)
			}
		}
		slices.Reverse(names)
		if s.Value[k] != 0 {
			sums[strings.Join(names, ";")] += s.Value[k]
		}
	}
	return sums
}

// column is the index of the value of p with this name.
func column(t *testing.T, p *pprof.Profile, name string) int {
	t.Helper()
	k := slices.IndexFunc(p.SampleType, func(v *pprof.ValueType) bool { return v.Type == name })
	if k < 0 {
		t.Fatalf("no value %s", name)
	}
	return k
}

// record records the workload, sends it to addresses, and returns the same recording as a file has it.
func record(t *testing.T, addresses ...string) *pprof.Profile {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("gcc is not installed")
	}
	dir := t.TempDir()
	source, program := filepath.Join(dir, "work.c"), filepath.Join(dir, "workload")
	if err := os.WriteFile(source, []byte(workload), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(gcc, "-O2", "-g", "-pthread", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	pid := start(t, dir, program)
	time.Sleep(300 * time.Millisecond)
	file := filepath.Join(dir, "ref.pb.gz")
	args := []string{"record", "-q", "-p", strconv.Itoa(pid), "-d", "2", "-o", file}
	for _, address := range addresses {
		args = append(args, "--push", address)
	}
	cmd := exec.Command(os.Getenv("FPSTACK_PROGRAM"), args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pprof.ParseData(b)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for stack := range stacks(p, column(t, p, "cpu")) {
		found = found || strings.HasSuffix(stack, "work;churn;mix")
	}
	if !found {
		t.Fatalf("the recording has no inlined function: %v", stacks(p, column(t, p, "cpu")))
	}
	return p
}

// same compares what a store has of a value with what was recorded.
func same(t *testing.T, what string, got, want map[string]int64) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("%s: got\n%v, want\n%v", what, got, want)
		return
	}
	var sum int64
	for _, v := range got {
		sum += v
	}
	t.Logf("%s: %d stacks, %d ns, the same", what, len(got), sum)
}

// doctor asks fpstack whether the stores at addresses take profiles.
func doctor(t *testing.T, addresses ...string) {
	t.Helper()
	for _, address := range addresses {
		out, err := exec.Command(os.Getenv("FPSTACK_PROGRAM"), "doctor", "-v", "--push", address).CombinedOutput()
		if err != nil {
			t.Errorf("doctor --push %s: %v: %s", address, err, out)
		}
	}
}

// store is the path of a store's program.
func store(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("FPSTACK_STORES")
	if dir == "" {
		t.Skip("real stores are tried in a step of their own: scripts/stores-test")
	}
	return filepath.Join(dir, name)
}

// post sends a request and returns the body of the answer.
func post(client *http.Client, url, contentType string, body []byte) ([]byte, error) {
	q, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	q.Header.Set("Content-Type", contentType)
	q.Header.Set("TE", "trailers")
	answer, err := client.Do(q)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && (answer.StatusCode != http.StatusOK || answer.Trailer.Get("Grpc-Message") != "" ||
		answer.Header.Get("Grpc-Message") != "") {
		err = fmt.Errorf("%s: %s %s%s", answer.Status, text, answer.Trailer.Get("Grpc-Message"),
			answer.Header.Get("Grpc-Message"))
	}
	return text, err
}

// TestCollector: a collector writes what it got by HTTP and by gRPC as it was recorded.
func TestCollector(t *testing.T) {
	program, dir, port := store(t, "otelcol"), t.TempDir(), ports(t, 2)
	out := filepath.Join(dir, "out.json")
	config := fmt.Sprintf(`
receivers: {otlp: {protocols: {grpc: {endpoint: 127.0.0.1:%s}, http: {endpoint: 127.0.0.1:%s}}}}
exporters: {file: {path: %s}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {profiles: {receivers: [otlp], exporters: [file]}}
`, port[0], port[1], out)
	if err := os.WriteFile(filepath.Join(dir, "c.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, dir, program, "--config", filepath.Join(dir, "c.yaml"), "--feature-gates=service.profilesSupport")
	for _, p := range port {
		eventually(t, "collector", func() error {
			c, err := net.Dial("tcp", "127.0.0.1:"+p)
			if err == nil {
				c.Close()
			}
			return err
		})
	}
	addresses := []string{"otlp+grpc://127.0.0.1:" + port[0], "otlp+http://127.0.0.1:" + port[1]}
	doctor(t, addresses...)
	want := record(t, addresses...)
	var lines []string
	eventually(t, "collector's file", func() error {
		b, err := os.ReadFile(out)
		lines = strings.SplitAfter(string(b), "\n")
		if err == nil && (len(lines) != 3 || lines[2] != "") {
			err = fmt.Errorf("%d lines, want 2", len(lines))
		}
		return err
	})
	for _, line := range lines[:2] {
		collected(t, line, want)
	}
}

// collected compares a line of the file exporter with what was recorded.
func collected(t *testing.T, line string, want *pprof.Profile) {
	t.Helper()
	var doc struct {
		ResourceProfiles []struct {
			Resource      struct{ Attributes []json.RawMessage }
			ScopeProfiles []struct {
				Profiles []struct {
					SampleType struct{ TypeStrindex int }
					Samples    []struct {
						StackIndex int
						Values     []string
					}
				}
			}
		}
		Dictionary struct {
			LocationTable []struct{ Lines []struct{ FunctionIndex int } }
			FunctionTable []struct{ NameStrindex int }
			StackTable    []struct{ LocationIndices []int }
			StringTable   []string
		}
	}
	if err := json.Unmarshal([]byte(line), &doc); err != nil {
		t.Fatal(err)
	}
	d := &doc.Dictionary
	if !strings.Contains(line, `{"stringValue":"worker"}`) {
		t.Errorf("no own label or no name of a thread in %s", line)
	}
	for _, p := range doc.ResourceProfiles[0].ScopeProfiles[0].Profiles {
		name := d.StringTable[p.SampleType.TypeStrindex]
		got := map[string]int64{}
		for _, s := range p.Samples {
			var names []string
			for _, l := range d.StackTable[s.StackIndex].LocationIndices {
				lines := d.LocationTable[l].Lines
				if len(lines) == 0 {
					names = append(names, "?")
				}
				for _, line := range lines {
					names = append(names, d.StringTable[d.FunctionTable[line.FunctionIndex].NameStrindex])
				}
			}
			slices.Reverse(names)
			v, _ := strconv.ParseInt(s.Values[0], 10, 64)
			got[strings.Join(names, ";")] += v
		}
		same(t, "collector, "+name, got, stacks(want, column(t, want, name)))
	}
}

// TestPyroscope: Pyroscope gives back what was recorded, in a series for each thread name.
func TestPyroscope(t *testing.T) {
	program, dir, port := store(t, "pyroscope"), t.TempDir(), ports(t, 3)
	config := fmt.Sprintf(`
target: all
server: {http_listen_address: 127.0.0.1, http_listen_port: %s, grpc_listen_address: 127.0.0.1, grpc_listen_port: %s}
storage: {backend: filesystem, filesystem: {dir: %s/store}}
pyroscopedb: {data_path: %s/data}
self_profiling: {disable_push: true}
analytics: {reporting_enabled: false}
memberlist: {bind_addr: [127.0.0.1], bind_port: %s}
`, port[0], port[1], dir, dir, port[2])
	if err := os.WriteFile(filepath.Join(dir, "c.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-config.file=" + filepath.Join(dir, "c.yaml")}
	for _, flag := range []string{"distributor.ring.instance-addr", "ingester.lifecycler.addr",
		"query-frontend.instance-addr", "query-scheduler.ring.instance-addr",
		"store-gateway.sharding-ring.instance-addr", "compactor.ring.instance-addr"} {
		args = append(args, "-"+flag+"=127.0.0.1")
	}
	start(t, dir, program, args...)
	base := "http://127.0.0.1:" + port[0]
	eventually(t, "Pyroscope", func() error {
		answer, err := http.Get(base + "/ready")
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode != http.StatusOK {
				err = fmt.Errorf("%s", answer.Status)
			}
		}
		return err
	})
	address := "pyroscope://127.0.0.1:" + port[0]
	eventually(t, "doctor", func() error {
		return exec.Command(os.Getenv("FPSTACK_PROGRAM"), "doctor", "--push", address).Run()
	})
	want := record(t, address)
	for name, typ := range map[string]string{"cpu": "process_cpu:cpu:nanoseconds:cpu:nanoseconds",
		"wall": "wall:wall:nanoseconds:wall:nanoseconds"} {
		for _, selector := range []string{`{service_name="workload"}`, `{process="workload"}`} {
			now := time.Now()
			q := wire.String(wire.String(nil, 1, typ), 2, selector)
			q = wire.Int(wire.Int(q, 3, now.Add(-time.Hour).UnixMilli()), 4, now.Add(time.Minute).UnixMilli())
			var p *pprof.Profile
			eventually(t, typ, func() error {
				b, err := post(http.DefaultClient, base+"/querier.v1.QuerierService/SelectMergeProfile",
					"application/proto", q)
				if err == nil {
					p, err = pprof.ParseUncompressed(b)
				}
				return err
			})
			same(t, "Pyroscope, "+name+selector, stacks(p, 0), stacks(want, column(t, want, name)))
		}
	}
	b, err := post(http.DefaultClient, base+"/querier.v1.QuerierService/LabelNames", "application/json",
		fmt.Appendf(nil, `{"start": %d, "end": %d}`, time.Now().Add(-time.Hour).UnixMilli(),
			time.Now().Add(time.Minute).UnixMilli()))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"service_name", "process", "host", "thread"} {
		if !bytes.Contains(b, []byte(`"`+name+`"`)) {
			t.Errorf("no label %s in %s", name, b)
		}
	}
	if bytes.Contains(b, []byte("_id\"")) {
		t.Errorf("labels with ids: %s", b)
	}
}

// TestParca: Parca gives back what was recorded.
func TestParca(t *testing.T) {
	program, dir, port := store(t, "parca"), t.TempDir(), ports(t, 1)
	config := fmt.Sprintf("object_storage: {bucket: {type: FILESYSTEM, config: {directory: %s/bucket}}}\n"+
		"scrape_configs: []\n", dir)
	if err := os.WriteFile(filepath.Join(dir, "c.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, dir, program, "--config-path="+filepath.Join(dir, "c.yaml"), "--http-address=127.0.0.1:"+port[0],
		"--debuginfod-upstream-servers=", "--debuginfo-cache-dir="+dir)
	address := "parca://127.0.0.1:" + port[0]
	eventually(t, "doctor", func() error {
		return exec.Command(os.Getenv("FPSTACK_PROGRAM"), "doctor", "--push", address).Run()
	})
	want := record(t, address)
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: &protocols}}
	for _, name := range []string{"cpu", "wall"} {
		query := fmt.Sprintf(`fpstack_%s:%s:nanoseconds:%s:nanoseconds:delta{service_name="workload"}`, name,
			name, name)
		at := func(when time.Time) []byte { return wire.Int(nil, 1, when.Unix()) }
		merge := wire.String(nil, 1, query)
		merge = wire.Element(wire.Element(merge, 2, at(time.Now().Add(-time.Hour))), 3, at(time.Now().Add(time.Minute)))
		q := wire.Uint(wire.Element(wire.Uint(nil, 1, 2), 3, merge), 5, 1)
		framed := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(q))), q...)
		var p *pprof.Profile
		eventually(t, query, func() error {
			b, err := post(client, "http://127.0.0.1:"+port[0]+"/parca.query.v1alpha1.QueryService/Query",
				"application/grpc+proto", framed)
			if err == nil {
				p, err = report(b)
			}
			return err
		})
		same(t, "Parca, "+name, stacks(p, 0), stacks(want, column(t, want, name)))
	}
}

// report is the pprof in an answer of Parca: the field with a length that is one.
func report(b []byte) (*pprof.Profile, error) {
	for rest := b[min(5, len(b)):]; len(rest) > 0; {
		f, next, err := wire.Next(rest)
		if err != nil {
			return nil, err
		}
		if p, err := pprof.ParseData(f.Bytes); err == nil && len(p.Sample) > 0 {
			return p, nil
		}
		rest = next
	}
	return nil, fmt.Errorf("no profile in %d bytes", len(b))
}
