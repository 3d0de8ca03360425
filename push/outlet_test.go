package push

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fpstack/fpstack/push/otlp"
)

// server is a store over HTTP that answers as a test says, and remembers what it was sent.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	bodies   [][]byte
	answer   func(n int, w http.ResponseWriter)
}

// newServer starts a server with TLS. A nil answer takes everything.
func newServer(t *testing.T, encrypted bool, answer func(n int, w http.ResponseWriter)) *server {
	t.Helper()
	s := &server{answer: answer}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.requests, s.bodies = append(s.requests, r), append(s.bodies, body)
		n := len(s.requests)
		s.mu.Unlock()
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		if s.answer != nil {
			s.answer(n, w)
		}
		if r.ProtoMajor == 2 && w.Header().Get("Grpc-Status") == "" {
			w.Header().Set("Grpc-Status", "0")
		}
	}))
	var p http.Protocols
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	s.Config.Protocols = &p
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	if encrypted {
		s.EnableHTTP2 = true
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// settings are those of an Outlet to s.
func (s *server) settings(t *testing.T, scheme string) Settings {
	t.Helper()
	target, err := ParseTarget(scheme + "://" + strings.SplitN(s.URL, "://", 2)[1])
	if err != nil {
		t.Fatal(err)
	}
	return Settings{Target: target, Limits: roomy, Scope: otlp.Scope{Name: "fpstack", Version: "v1"}}
}

// trusting trusts s alone.
func (s *server) trusting() *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return &tls.Config{RootCAs: pool}
}

func opened(t *testing.T, s Settings) *Outlet {
	t.Helper()
	o, odd, err := Open(s)
	if err != nil || len(odd) > 0 {
		t.Fatal(err, odd)
	}
	return o
}

// putOne puts one interval of one process.
func putOne(o *Outlet) {
	from := time.Now().Add(-15 * time.Second)
	o.Put([]Recorded{recorded(drawn(5, 3))}, from, from.Add(15*time.Second))
}

// TestOutlets: by each way, with TLS that trusts one certificate alone, a token and a tenant.
func TestOutlets(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []string{"otlp+https", "otlp+grpcs", "pyroscope+https", "parca+https", "otlp+http",
		"otlp+grpc", "pyroscope", "parca"} {
		encrypted := strings.HasSuffix(scheme, "s") && strings.Contains(scheme, "+")
		s := newServer(t, encrypted, nil)
		set := s.settings(t, scheme)
		set.TokenFile, set.Header = token, http.Header{"X-Scope-Orgid": {"team"}}
		if encrypted {
			stranger := opened(t, set)
			putOne(stranger)
			if stranger.Flush(t.Context()) || stranger.Trouble() == nil || len(s.requests) > 0 {
				t.Errorf("%s: a certificate that nobody trusts is taken: %v", scheme, stranger.Trouble())
			}
			set.TLS = s.trusting()
		}
		o := opened(t, set)
		putOne(o)
		if !o.Flush(t.Context()) {
			t.Errorf("%s: %v", scheme, o.Trouble())
			continue
		}
		if b := o.Balance(); b.Sent != 2 || b.Taken != 2 || b.Lost() != 0 {
			t.Errorf("%s: %v", scheme, b)
		}
		r, path := s.requests[0], ""
		path, _ = set.Target.Form()
		if r.Header.Get("Authorization") != "Bearer secret-1" || r.Header.Get("X-Scope-OrgID") != "team" ||
			r.URL.Path != path || set.Target.GRPC() != (r.ProtoMajor == 2 && r.Header.Get("TE") == "trailers") {
			t.Errorf("%s: %s %s %v", scheme, r.Proto, r.URL.Path, r.Header)
		}
	}
}

// TestTokens: a token is read again when it was replaced; a file that others may read, or that holds none, is refused;
// no message has the token.
func TestTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	write := func(text string, mode os.FileMode) {
		t.Helper()
		os.Remove(path)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	s := newServer(t, false, nil)
	set := s.settings(t, "pyroscope")
	set.TokenFile = path
	write("secret-1", 0o400)
	o := opened(t, set)
	putOne(o)
	o.Flush(t.Context())
	write("secret-2", 0o640)
	putOne(o)
	o.Flush(t.Context())
	for i, r := range s.requests {
		if got, want := r.Header.Get("Authorization"), []string{"Bearer secret-1", "Bearer secret-2"}[i]; got != want {
			t.Errorf("request %d with %q, want %q", i, got, want)
		}
	}
	os.Remove(path) // while it is replaced it waits
	putOne(o)
	if o.Flush(t.Context()) || o.Balance().Waiting != 2 {
		t.Errorf("without a token: %v", o.Balance())
	}
	for text, mode := range map[string]os.FileMode{"secret-3": 0o604, "secret-4": 0o620, "": 0o600, "secret-5 x": 0o600,
		"secret-6\nsecret-7": 0o600, strings.Repeat("secret", maxToken): 0o600} {
		write(text, mode)
		_, _, err := Open(set)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.20q of mode %o: %v", text, mode, err)
		}
	}
	set.TokenFile = filepath.Dir(path)
	if _, _, err := Open(set); err == nil {
		t.Error("a folder is taken for a token")
	}
	write("secret-8", 0o600)
	set.TokenFile = path
	set.Target, _ = ParseTarget("pyroscope://store.example")
	if _, odd, err := Open(set); err != nil || len(odd) != 1 {
		t.Errorf("a token without TLS: %v, %v", odd, err)
	}
}

// TestRedirect: a token goes nowhere else.
func TestRedirect(t *testing.T) {
	other := newServer(t, false, nil)
	s := newServer(t, false, func(_ int, w http.ResponseWriter) {
		w.Header().Set("Location", other.URL)
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	o := opened(t, s.settings(t, "otlp+http"))
	putOne(o)
	o.Flush(t.Context())
	if err := o.Trouble(); len(other.requests) > 0 || err == nil || !strings.Contains(err.Error(), other.URL) ||
		o.Balance().Dropped[Refused] != 2 {
		t.Errorf("%d requests elsewhere, %v, %v", len(other.requests), err, o.Balance())
	}
}

// TestBadStores: one that breaks off in the middle, answers garbage, or cuts its answer, gets the same again, with the
// same ids; one that answers 500, 408, UNKNOWN or INTERNAL does too if it is Pyroscope or Parca, and no collector.
func TestBadStores(t *testing.T) {
	abort := func(w http.ResponseWriter) { panic(http.ErrAbortHandler) }
	half := func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", "1000")
		w.Write([]byte("half"))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	garbage := func(w http.ResponseWriter) { w.Write([]byte{0xff, 0xff, 0xff}) }
	status := func(code int) func(http.ResponseWriter) { return func(w http.ResponseWriter) { w.WriteHeader(code) } }
	grpc := func(code string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { w.Header().Set("Grpc-Status", code) }
	}
	for _, c := range []struct {
		scheme string
		first  func(http.ResponseWriter)
		again  bool
	}{
		{"otlp+http", abort, true}, {"otlp+http", half, true}, {"otlp+http", garbage, true}, {"pyroscope", abort, true},
		{"parca", abort, true}, {"otlp+grpc", abort, true}, {"otlp+http", status(429), true},
		{"pyroscope", status(429), true}, {"pyroscope", status(503), true}, {"pyroscope", status(500), true},
		{"pyroscope", status(408), true}, {"parca", status(500), true}, {"parca", grpc("2"), true},
		{"parca", grpc("13"), true}, {"otlp+grpc", grpc("2"), false}, {"otlp+grpc", grpc("13"), false},
		{"otlp+http", status(408), false}, {"pyroscope", status(422), false},
		{"otlp+http", status(500), false}, {"parca", status(502), true},
		{"parca", status(404), false},
	} {
		s := newServer(t, false, func(n int, w http.ResponseWriter) {
			if n == 1 {
				c.first(w)
			}
		})
		o := opened(t, s.settings(t, c.scheme))
		putOne(o)
		first := o.Flush(t.Context())
		if first == c.again {
			t.Errorf("%+v: the first try went: %v, %v", c, first, o.Trouble())
		}
		o.Flush(t.Context())
		b := o.Balance()
		if c.again != (b.Sent == 2) || !c.again && b.Dropped[Refused] != 2 || b.Lost() != 0 {
			t.Errorf("%+v: %v, %v", c, b, o.Trouble())
		}
		if c.again && (len(s.bodies) < 2 || string(s.bodies[0]) != string(s.bodies[len(s.bodies)-1])) {
			t.Errorf("%+v: %d tries, not of the same bytes", c, len(s.bodies))
		}
	}
}

// TestStuck: an Outlet to which nothing was sent for long ends when profiles are lost, and not before.
func TestStuck(t *testing.T) {
	for _, c := range []struct {
		limits Limits
		ends   bool
	}{{Limits{Bytes: 3 * block, Age: 24 * time.Hour}, true}, {roomy, false}} {
		synctest.Test(t, func(t *testing.T) {
			spool, _, _, err := OpenSpool(nil, collector, c.limits)
			if err != nil {
				t.Fatal(err)
			}
			away := func(context.Context, *Request) error { return &Refusal{Why: "away", Again: true} }
			p := NewPump(away, 1, spool, &Accounts{}, 10*time.Minute)
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			go func() {
				for ctx.Err() == nil {
					r := request("x", 0)
					r.Made = time.Now()
					p.Put(r)
					time.Sleep(15 * time.Second)
				}
			}()
			begin := time.Now()
			err = p.Run(ctx)
			took := time.Since(begin)
			if c.ends != (err != nil && strings.Contains(err.Error(), "away")) || c.ends && (took < 10*time.Minute ||
				took > 21*time.Minute) {
				t.Errorf("%+v: %v after %v", c, err, took)
			}
			cancel()
			time.Sleep(time.Minute) // the other one ends
			if b := p.Balance(); b.Lost() != 0 {
				t.Errorf("%+v: %v", c, b)
			}
		})
	}
}

// TestQuietIsNotStuck: after an hour without anything to send the first refusal is no reason to end.
func TestQuietIsNotStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spool, _, _, err := OpenSpool(nil, collector, roomy)
		if err != nil {
			t.Fatal(err)
		}
		refuse := func(context.Context, *Request) error { return &Refusal{Why: "400"} }
		p := NewPump(refuse, 1, spool, &Accounts{}, 10*time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour+5*time.Minute)
		defer cancel()
		go func() {
			time.Sleep(time.Hour)
			r := request("x", 0)
			r.Made = time.Now()
			p.Put(r)
		}()
		if err := p.Run(ctx); err != nil || p.Balance().Dropped[Refused] != 2 {
			t.Errorf("%v, %v", err, p.Balance())
		}
	})
}

// TestFullDisk: what the disk does not take waits in memory, within a bound, is sent when the store is back, and the
// accounts add up.
func TestFullDisk(t *testing.T) {
	dir := root(t, t.TempDir())
	dir.Close() // every write fails from now on
	p := NewPump(nil, 1, &Spool{folder: dir, limits: Limits{Bytes: 1 << 30, Age: 24 * time.Hour}}, &Accounts{}, 0)
	body := strings.Repeat("x", 1<<20)
	for i := range 30 {
		p.Put(request(body, time.Now().Unix()+int64(i)))
	}
	b := p.Balance()
	if b.Waiting == 0 || b.Dropped[Unwritten] == 0 || b.Waiting > 2*MaxInMemory>>20 || b.Lost() != 0 {
		t.Errorf("%v", b)
	}
	if err := p.Trouble(); err == nil || !strings.Contains(err.Error(), string(Unwritten)) {
		t.Errorf("trouble: %v", err)
	}
	sent := 0
	p.send = func(context.Context, *Request) error { sent++; return nil }
	if !p.Flush(t.Context()) || sent != b.Waiting/2 {
		t.Errorf("%d of %d sent", sent, b.Waiting/2)
	}
	if after := p.Balance(); after.Lost() != 0 || after.Waiting != 0 || !maps.Equal(after.Dropped, b.Dropped) {
		t.Errorf("%v", after)
	}
}

// TestPoison: a request that a store never answers does not hold those behind it.
func TestPoison(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spool, _, _, err := OpenSpool(nil, collector, roomy)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		p := NewPump(func(_ context.Context, r *Request) error {
			if string(r.Body) == "poison" {
				return &Refusal{Why: "time-out", Again: true}
			}
			got = append(got, string(r.Body))
			return nil
		}, 1, spool, &Accounts{}, 0)
		for _, body := range []string{"poison", "a", "b"} {
			r := request(body, 0)
			r.Made = time.Now()
			p.Put(r)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Hour)
		defer cancel()
		if err := p.Run(ctx); err != nil {
			t.Error(err)
		}
		if b := p.Balance(); strings.Join(got, "") != "ab" || b.Dropped[TooOld] != 2 || b.Lost() != 0 {
			t.Errorf("sent %q, %v", got, b)
		}
	})
}

// TestClockSetForward: what waits is as old as it is, however far the wall clock was set since its interval ended.
func TestClockSetForward(t *testing.T) {
	busy := newServer(t, false, func(_ int, w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) })
	s := busy.settings(t, "pyroscope")
	s.Limits.Age = time.Hour
	o := opened(t, s)
	to := time.Now().Add(-24 * time.Hour)
	o.Put([]Recorded{recorded(drawn(5, 3))}, to.Add(-15*time.Second), to)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	o.Run(ctx)
	if b := o.Balance(); b.Taken == 0 || b.Waiting != b.Taken {
		t.Errorf("taken %d, waiting %d, dropped %v", b.Taken, b.Waiting, b.Dropped)
	}
}
