//go:build linux

package dotnet

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/cmd"
	"github.com/fpstack/fpstack/tests/harness"
	"github.com/fpstack/fpstack/unwind"
)

// TestAspNet: a request to a server of ASP.NET whose body does not come is shown from what reads it to the connection,
// through the handler of the route.
func TestAspNet(t *testing.T) {
	harness.Long(t)
	const version = "10.0.9"
	path, err := filepath.Abs(filepath.Join(fetched, version, "azmcp"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("the server of .NET 10.0.9 is not built: scripts/build-dotnet")
	}
	address := freeAddress(t)
	cmd := exec.Command(path, "server", "start", "--transport", "http", "--dangerously-disable-http-incoming-auth")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "AZURE_MCP_COLLECT_TELEMETRY=false", "HOME="+cmd.Dir,
		"DOTNET_BUNDLE_EXTRACT_BASE_DIR="+cmd.Dir, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1",
		"ASPNETCORE_URLS=http://"+address)
	s := startWaiting(t, cmd)
	client := dialed(t, address)
	defer client.Close()
	fmt.Fprint(client, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nContent-Length: 1000\r\n\r\n{")
	want := []string{"HttpRequestJsonExtensions.ReadFromJsonAsync<",
		"StreamableHttpHandler.HandlePostRequestAsync (async)", "EndpointMiddleware.Invoke",
		"HttpProtocol.ProcessRequests<", "KestrelConnection<"}
	all := ""
	for range 30 { // until the request has come so far
		s.open(t, cmd)
		found := 0
		if found, all = s.chains(t, want); found > 0 {
			return
		}
		time.Sleep(time.Second)
	}
	t.Errorf("no request waits in %s:\n%s", want, all)
}

// TestStuckRequest: requests that a handler of a route does not answer are shown, as many as there are, from what it
// waits for to the server, with the lines of the handler; hang says so.
func TestStuckRequest(t *testing.T) {
	const n = 3
	s, _, all := startRequests(t, n, "GET /checkout HTTP/1.1\r\nHost: localhost\r\n\r\n", "Shop.Orders.Query (async)",
		"Shop.Orders.Load (async)", "Shop.Program.Checkout (async)")
	for _, method := range []string{"SocketConnectionListener.AcceptAsync", "SocketConnection.DoReceive"} {
		if !regexp.MustCompile("(?m)^awaits a socket: [^ ]*" + regexp.QuoteMeta(method)).MatchString(all) {
			t.Errorf("%s awaits no socket:\n%s", method, all)
		}
	}
	s.Close()
	says := fmt.Sprintf("waits for connections; %d async calls in Shop.Orders.Query (async) (web.cs:%d) for "+
		"Shop.Program.Checkout (async) (web.cs:%d) [awaits the result of a Task", n,
		webLines(t)["Query"], webLines(t)["Checkout"])
	sentence := ""
	for range 5 { // until the runtime has compiled what it compiles in the background
		var out, complaints bytes.Buffer // frames of libraries without symbols have no names
		cmd.Execute([]string{"hang", fmt.Sprint(s.PID())}, &out, &complaints)
		if sentence, _, _ = strings.Cut(out.String(), "\n"); strings.Contains(sentence, says) {
			return
		}
	}
	t.Errorf("hang says %q, want %q in it", sentence, says)
}

// TestPooled: of async methods whose state machines are kept for the next call those that wait are shown, between what
// they wait for and who waits for them; those that are kept are not.
func TestPooled(t *testing.T) {
	const n, size = 3, 100
	functions := []string{"Http1ContentLengthMessageBody.ReadAsyncInternal (async)",
		"HttpRequestStream.ReadAsyncInternal (async)", "StreamPipeReader.ReadInternalAsync.Core (async local function)",
		"Shop.Program.Upload (async)"}
	s, clients, all := startRequests(t, n, fmt.Sprintf("POST /upload HTTP/1.1\r\nHost: localhost\r\n"+
		"Content-Length: %d\r\n\r\n", size), functions...)
	count := func(want int) (ok bool) {
		for _, name := range functions {
			ok = strings.Count(all, name) == want && (ok || name == functions[0])
		}
		return ok
	}
	if !count(n) {
		t.Errorf("each waits %d times:\n%s", n, all)
	}
	fmt.Fprint(clients[0], strings.Repeat("x", size)) // so that these are kept
	for end := time.Now().Add(patience); !count(n-1) && time.Now().Before(end); {
		s.Forget(t)
		_, all = s.chains(t, functions)
	}
	if !count(n - 1) {
		t.Errorf("each waits %d times, when one has gone on:\n%s", n-1, all)
	}
}

func webLines(t *testing.T) map[string]int { return markedLines(t, "../../testdata/dotnet/web.cs") }

// startRequests starts testdata/dotnet/web.cs, makes n requests, and waits until so many async calls are in these
// functions, at their lines, below the server; all is every one there is.
func startRequests(t *testing.T, n int, request string, functions ...string) (s *server, clients []net.Conn,
	all string) {
	t.Helper()
	s = startHost(t, filepath.Join(fetched, library), own, nil, "web.dll", "--urls", "http://127.0.0.1:0",
		"--Logging:LogLevel:Default=None")
	line, err := s.out.ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "http://")
	if err != nil || !ok {
		t.Fatalf("the server says %q: %v", line, err)
	}
	for range n {
		client := dialed(t, address)
		t.Cleanup(func() { client.Close() })
		clients = append(clients, client)
		fmt.Fprint(client, request)
	}
	lines, found := webLines(t), 0
	var want []string
	for _, f := range functions {
		name, _, _ := strings.Cut(f, " ")
		if at := lines[name[strings.LastIndexByte(name, '.')+1:]]; at > 0 {
			f = fmt.Sprintf("%s web.cs:%d", f, at)
		}
		want = append(want, f)
	}
	want = append(want, "HttpProtocol.ProcessRequests<", "KestrelConnection<")
	for end := time.Now().Add(patience); found < n && time.Now().Before(end); { // until they have come so far
		s.Forget(t)
		found, all = s.chains(t, want)
	}
	if found != n {
		t.Fatalf("%d requests are shown, want %d in %q:\n%s", found, n, want, all)
	}
	return s, clients, all
}

// chains counts the async methods that wait in calls whose functions are those, with their lines, in that order and
// with others between them; all is every one there is.
func (s *server) chains(t *testing.T, want []string) (found int, all string) {
	t.Helper()
	r, fibers, _ := s.suspended(t)
	for _, f := range fibers {
		var stack unwind.Stack
		r.FiberStack(f.ID, &stack)
		chain, left := "", want
		for i := range stack.Frames {
			for _, x := range r.Frames(stack.Frames[i].Site) {
				shown := x.Func
				if x.Line > 0 {
					shown += fmt.Sprintf(" %s:%d", filepath.Base(x.File), x.Line)
				}
				chain += shown + " < "
				if len(left) > 0 && strings.Contains(shown, left[0]) {
					left = left[1:]
				}
			}
		}
		if all += f.State + ": " + chain + "\n"; len(left) == 0 {
			found++
		}
	}
	return found, all
}

// freeAddress is one that nobody listens at.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// dialed is a connection to a server that begins.
func dialed(t *testing.T, address string) net.Conn {
	t.Helper()
	var err error
	for range 120 {
		var c net.Conn
		if c, err = net.Dial("tcp", address); err == nil {
			return c
		}
		time.Sleep(time.Second)
	}
	t.Fatalf("the server does not listen: %v", err)
	return nil
}
