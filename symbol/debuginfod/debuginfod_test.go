package debuginfod

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps/module"
)

const id = "0123456789abcdef0123456789abcdef01234567"

func readFile(path string) (*module.File, error) {
	b, err := os.ReadFile(path)
	return &module.File{Data: b, Path: path}, err
}

// client asks a server that answers by handler, with an empty cache.
func client(t *testing.T, handler http.HandlerFunc) (*Client, *atomic.Int32) {
	t.Helper()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		handler(w, r)
	}))
	t.Cleanup(server.Close)
	return &Client{URLs: []string{server.URL + "/"}, Cache: t.TempDir(), Open: readFile, Missing: time.Minute,
		Timeout: 10 * time.Second}, &asked
}

func TestFetchKeepsTheFile(t *testing.T) {
	c, asked := client(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/buildid/"+id+"/debuginfo" {
			t.Errorf("asked for %q", r.URL.Path)
		}
		w.Write([]byte("contents"))
	})
	var told int64
	c.Progress = func(_ string, got, all int64) { told = got }
	for range 2 {
		f, err := c.Fetch(id)
		if err != nil || string(f.Data) != "contents" {
			t.Fatalf("Fetch = %v, %v", f, err)
		}
		if want := filepath.Join(c.Cache, id, "debuginfo"); f.Path != want {
			t.Errorf("the file is %q, want %q", f.Path, want)
		}
	}
	if asked.Load() != 1 || told != int64(len("contents")) {
		t.Errorf("asked %d times, told of %d bytes, want 1 and %d", asked.Load(), told, len("contents"))
	}
}

// TestFetchObject: the object itself is another file than its debug file.
func TestFetchObject(t *testing.T) {
	c, _ := client(t, func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(r.URL.Path)) })
	f, err := c.FetchObject(id)
	if want := filepath.Join(c.Cache, id, "executable"); err != nil || f.Path != want ||
		string(f.Data) != "/buildid/"+id+"/executable" {
		t.Errorf("FetchObject = %v, %v, want %q", f, err, want)
	}
}

func TestMissingIsRememberedForAWhile(t *testing.T) {
	c, asked := client(t, http.NotFound)
	for range 3 {
		if _, err := c.Fetch(id); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("error %v, want one that says that there is no such file", err)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("asked %d times, want 1", asked.Load())
	}
	c.Missing = 0
	if _, err := c.Fetch(id); !errors.Is(err, fs.ErrNotExist) || asked.Load() != 2 {
		t.Errorf("error %v after %d questions, want to be asked again", err, asked.Load())
	}
}

func TestAnswersThatBringNothing(t *testing.T) {
	stuck := make(chan struct{})
	defer close(stuck)
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		change func(*Client)
		want   string
	}{
		"server's error": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, nil, "500"},
		"empty":          {func(w http.ResponseWriter, _ *http.Request) {}, nil, "empty"},
		"too large, announced": {func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 2000)) },
			func(c *Client) { c.MaxSize = 1000 }, "more than 1000"},
		"too large, not announced": {func(w http.ResponseWriter, _ *http.Request) {
			for range 20 {
				w.Write(make([]byte, 100))
				w.(http.Flusher).Flush()
			}
		}, func(c *Client) { c.MaxSize = 1000 }, "more than 1000"},
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.Write([]byte("half"))
		}, nil, "EOF"},
		"silent": {func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-stuck:
			case <-r.Context().Done():
			}
		}, func(c *Client) { c.Timeout = 50 * time.Millisecond }, "no answer within"},
		"slow": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write([]byte{1}); err != nil {
					return
				}
				w.(http.Flusher).Flush()
				time.Sleep(time.Millisecond)
			}
		}, func(c *Client) { c.MaxTime = 100 * time.Millisecond }, "not whole within"},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := client(t, c.answer)
			if c.change != nil {
				c.change(client)
			}
			f, err := client.Fetch(id)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Fetch = %v, %v, want an error with %q", f, err, c.want)
			}
			if left, _ := filepath.Glob(filepath.Join(client.Cache, id, "*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func TestAServerThatIsAwayIsAskedOnce(t *testing.T) {
	c, asked := client(t, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("x")) })
	c.URLs = append([]string{"http://127.0.0.1:1"}, c.URLs...) // a port that nobody gets by chance
	for _, id := range []string{id, strings.Repeat("ab", 20)} {
		if f, err := c.Fetch(id); err != nil || string(f.Data) != "x" {
			t.Errorf("Fetch = %v, %v, want the second server's file", f, err)
		}
	}
	if asked.Load() != 2 || len(c.down) != 1 {
		t.Errorf("asked the second %d times, %d servers are away, want 2 and 1", asked.Load(), len(c.down))
	}
}

func TestWhatIsNoBuildIDIsNotAsked(t *testing.T) {
	c, asked := client(t, http.NotFound)
	for _, id := range []string{"", "../../etc", "zz", "ABCD", strings.Repeat("00", 65), "0"} {
		if _, err := c.Fetch(id); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Fetch(%q): error %v", id, err)
		}
	}
	if asked.Load() != 0 {
		t.Errorf("asked %d times", asked.Load())
	}
}

func TestContextEndsIt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	c, _ := client(t, func(w http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
	c.Context = ctx
	if _, err := c.Fetch(id); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context canceled", err)
	}
}

func TestFromEnvironment(t *testing.T) {
	env := map[string]string{}
	getenv := func(k string) string { return env[k] }
	home := t.TempDir()
	if c := FromEnvironment(getenv, home, nil); len(c.URLs) != 0 ||
		c.Cache != filepath.Join(home, ".cache/debuginfod_client") || c.Timeout != 90*time.Second {
		t.Errorf("empty environment: %+v", c)
	}
	env["XDG_CACHE_HOME"] = "/x"
	if c := FromEnvironment(getenv, home, nil); c.Cache != "/x/debuginfod_client" {
		t.Errorf("XDG_CACHE_HOME: %q", c.Cache)
	}
	env["DEBUGINFOD_CACHE_PATH"], env["DEBUGINFOD_URLS"], env["DEBUGINFOD_TIMEOUT"], env["DEBUGINFOD_MAXSIZE"] = "/y",
		" http://a  http://b ", "7", "123"
	if c := FromEnvironment(getenv, home, nil); c.Cache != "/y" || len(c.URLs) != 2 || c.Timeout != 7*time.Second ||
		c.MaxSize != 123 {
		t.Errorf("full environment: %+v", c)
	}
}

// "Nobody has it" is kept only where every server was asked.
func TestMissingIsNotKeptWhereAServerWasNotAsked(t *testing.T) {
	other := strings.Repeat("ab", 20)
	nothing := func(t *testing.T, c *Client, id string) {
		t.Helper()
		if left, _ := filepath.Glob(filepath.Join(c.Cache, id, "*")); len(left) > 0 {
			t.Errorf("the cache says of %s: %q, want nothing", id, left)
		}
	}
	t.Run("one that is away", func(t *testing.T) {
		c, asked := client(t, http.NotFound)
		away := httptest.NewServer(http.NotFoundHandler())
		away.Close()
		c.URLs = append([]string{away.URL}, c.URLs...)
		if _, err := c.Fetch(id); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("first: error %v, want that a server is away", err)
		}
		if _, err := c.Fetch(other); !errors.Is(err, fs.ErrNotExist) { // it was reported
			t.Errorf("second: error %v, want that nobody has it", err)
		}
		if asked.Load() != 2 {
			t.Errorf("the other server was asked %d times, want 2", asked.Load())
		}
		nothing(t, c, id)
		nothing(t, c, other)
	})
	t.Run("ended by the caller", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		c, _ := client(t, func(w http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
		c.Context = ctx
		for _, id := range []string{id, other} {
			if _, err := c.Fetch(id); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want context canceled", err)
			}
			nothing(t, c, id)
		}
	})
}

// A file that is refused says nothing of the server's others.
func TestAServerIsAskedAgainAfterAFileTooLarge(t *testing.T) {
	for name, first := range map[string]string{"too large": strings.Repeat("x", 2000), "empty": ""} {
		c, _ := client(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, id) {
				w.Write([]byte(first))
				return
			}
			w.Write([]byte("contents"))
		})
		c.MaxSize = 1000
		if _, err := c.Fetch(id); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: error %v", name, err)
		}
		if f, err := c.Fetch(strings.Repeat("ab", 20)); err != nil || string(f.Data) != "contents" {
			t.Errorf("behind one that is %s: %v, %v, want the file", name, f, err)
		}
	}
}

// Another client may have brought the file meanwhile: it may be mapped by that one already.
func TestAFileThatCameMeanwhileStays(t *testing.T) {
	var file string
	c, _ := client(t, func(w http.ResponseWriter, r *http.Request) {
		if err := os.WriteFile(file, []byte("contents"), 0o600); err != nil {
			t.Error(err)
		}
		http.NotFound(w, r)
	})
	file = filepath.Join(c.Cache, id, "debuginfo")
	c.Fetch(id)
	if b, err := os.ReadFile(file); err != nil || string(b) != "contents" {
		t.Errorf("the file holds %q, %v", b, err)
	}
}

// An old "nobody has it", which its owner may not open, is made new.
func TestMissingIsRenewed(t *testing.T) {
	c, asked := client(t, http.NotFound)
	file := filepath.Join(c.Cache, id, "debuginfo")
	old := time.Now().Add(-2 * c.Missing)
	err := errors.Join(os.Mkdir(filepath.Dir(file), 0o700), os.WriteFile(file, nil, 0), os.Chtimes(file, old, old))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := c.Fetch(id); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("error %v, want that nobody has it", err)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("asked %d times, want 1", asked.Load())
	}
}

// A server that drips holds nobody: elfutils' client wants 100 KB within each bound too. One that gives these goes on.
func TestDrippingServer(t *testing.T) {
	for _, c := range []struct {
		name  string
		piece int
		whole bool
	}{{"a byte at a time", 1, false}, {"enough at a time", 200 << 10, true}} {
		t.Run(c.name, func(t *testing.T) {
			const pieces = 6
			client, _ := client(t, func(w http.ResponseWriter, r *http.Request) {
				for i := 0; (i < pieces || !c.whole) && r.Context().Err() == nil; i++ {
					if _, err := w.Write(make([]byte, c.piece)); err != nil {
						return
					}
					w.(http.Flusher).Flush()
					select { // the pace of the server
					case <-time.After(100 * time.Millisecond):
					case <-r.Context().Done():
					}
				}
			})
			client.Timeout = 400 * time.Millisecond
			var stop context.CancelFunc
			client.Context, stop = context.WithTimeout(context.Background(), 30*time.Second)
			defer stop()
			f, err := client.Fetch(id)
			if c.whole && (err != nil || len(f.Data) != pieces*c.piece) {
				t.Errorf("got %v, want the file", err)
			}
			if !c.whole && (err == nil || !strings.Contains(err.Error(), "within 400ms")) {
				t.Errorf("got error %v, want one about the bound", err)
			}
		})
	}
}

// Fedora's list of servers holds marks that are no servers.
func TestPolicyMarksAreNoServers(t *testing.T) {
	env := map[string]string{"DEBUGINFOD_URLS": "ima:enforcing https://a/ ima:ignore https://b/"}
	c := FromEnvironment(func(k string) string { return env[k] }, t.TempDir(), nil)
	if got := strings.Join(c.URLs, " "); got != "https://a/ https://b/" {
		t.Errorf("servers %q, want the two", got)
	}
}
