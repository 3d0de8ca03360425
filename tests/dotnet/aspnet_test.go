//go:build linux && amd64

package dotnet

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/harness"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
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
	s.open(t, cmd)
	s.Stop(t)
	r := s.runtime(t).(interface {
		vm.FiberLister
		vm.FiberStacker
		Frames(unwind.Site) []profile.Frame
	})
	want := []string{"HttpRequestJsonExtensions.ReadFromJsonAsync<",
		"StreamableHttpHandler.HandlePostRequestAsync (async)", "EndpointMiddleware.Invoke", "HttpProtocol.ProcessRequests<", "KestrelConnection<"}
	all := ""
	for range 60 { // until the request has come so far
		fibers, _ := r.Fibers(&snapshot.Snapshot{})
		all = ""
		for _, f := range fibers {
			var stack unwind.Stack
			r.FiberStack(f.ID, &stack)
			chain, left := "", want
			for i := range stack.Frames {
				for _, x := range r.Frames(stack.Frames[i].Site) {
					chain += x.Func + " < "
					if len(left) > 0 && strings.Contains(x.Func, left[0]) {
						left = left[1:]
					}
				}
			}
			if all += f.State + ": " + chain + "\n"; len(left) == 0 {
				return
			}
		}
		time.Sleep(time.Second)
	}
	t.Errorf("no request waits in %s:\n%s", want, all)
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
