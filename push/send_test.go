package push

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/fpstack/fpstack/push/otlp"
	"github.com/fpstack/fpstack/push/wire"
)

// serve starts a store of a kind, and returns a Sender to it.
func serve(t *testing.T, kind Kind, answer http.HandlerFunc) *Sender {
	t.Helper()
	s := httptest.NewUnstartedServer(answer)
	var p http.Protocols
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	s.Config.Protocols = &p
	s.Start()
	t.Cleanup(s.Close)
	target, err := ParseTarget(string(kind) + s.URL[len("http"):])
	if err != nil {
		t.Fatal(err)
	}
	return NewSender(target, NewClient(target, nil),
		func() (http.Header, error) { return http.Header{"X-Scope-Orgid": {"team"}}, nil })
}

// TestAnswers: what each answer of a store by HTTP means.
func TestAnswers(t *testing.T) {
	rejected := wire.Element(nil, 1, wire.String(wire.Uint(nil, 1, 3), 2, "no\nroom"))
	for _, c := range []struct {
		status int
		after  string
		body   []byte
		again  bool
		wait   time.Duration
		taken  bool
		partly bool
	}{
		{status: 200, taken: true}, {status: 202, taken: true}, {status: 200, body: []byte{0xff}, again: true},
		{status: 200, body: []byte("<html>")}, {status: 302},
		{status: 200, body: rejected, partly: true},
		{status: 429, after: "7", again: true, wait: 7 * time.Second},
		{status: 429, after: "99999999999999999999", again: true},
		{status: 503, after: "1000000000", again: true, wait: maxAfter}, {status: 502, again: true},
		{status: 504, again: true}, {status: 503, after: "-3", again: true},
		{status: 400, body: []byte("bad\x1b[31m")}, {status: 401}, {status: 404}, {status: 413}, {status: 500},
		{status: 422},
	} {
		s := serve(t, OTLPHTTP, func(w http.ResponseWriter, r *http.Request) {
			if c.after != "" {
				w.Header().Set("Retry-After", c.after)
			}
			if r.Header.Get("Content-Encoding") != "gzip" || r.Header.Get("Content-Type") != "application/x-protobuf" ||
				r.Header.Get("X-Scope-OrgID") != "team" || r.URL.Path != otlp.Path {
				t.Errorf("%s with %v", r.URL, r.Header)
			}
			if !bytes.HasPrefix(c.body, []byte("<")) { // else it is a page
				w.Header().Set("Content-Type", "application/x-protobuf")
			}
			w.WriteHeader(c.status)
			w.Write(c.body)
		})
		err := s.Send(t.Context(), request("body", 1))
		var refusal *Refusal
		var part *PartError
		switch {
		case c.taken && err != nil, c.partly != errors.As(err, &part):
			t.Errorf("%+v: %v", c, err)
		case c.taken || c.partly:
		case !errors.As(err, &refusal) || refusal.Again != c.again || refusal.After != c.wait:
			t.Errorf("%+v: %#v", c, err)
		}
	}
}

// TestGRPC: a message goes in its frame over HTTP/2 without TLS, and the status in trailers or header decides.
func TestGRPC(t *testing.T) {
	for _, c := range []struct {
		status string
		header bool // where no body is
		again  bool
	}{{status: "0"}, {status: "8", again: true}, {status: "14", again: true, header: true}, {status: "3"},
		{status: "16", header: true}, {status: "", again: true}} {
		s := serve(t, Parca, func(w http.ResponseWriter, r *http.Request) {
			got, _ := io.ReadAll(r.Body)
			if r.ProtoMajor != 2 || len(got) < 5 || got[0] != 1 || binary.BigEndian.Uint32(got[1:]) != 4 ||
				!bytes.Equal(got[5:], []byte("body")) || r.Header.Get("TE") != "trailers" {
				t.Errorf("%s %v %q", r.Proto, r.Header, got)
			}
			if c.header {
				w.Header().Set("Grpc-Status", c.status)
				return
			}
			w.Header().Set("Trailer", "Grpc-Status")
			w.Write(make([]byte, 5))
			if c.status != "" {
				w.Header().Set("Grpc-Status", c.status)
			}
		})
		err := s.Send(t.Context(), request("body", 1))
		var refusal *Refusal
		if c.status == "0" {
			if err != nil {
				t.Errorf("%+v: %v", c, err)
			}
		} else if !errors.As(err, &refusal) || refusal.Again != c.again {
			t.Errorf("%+v: %#v", c, err)
		}
	}
}

// TestNobodyThere: a store that is away, or breaks off, may be there later.
func TestNobodyThere(t *testing.T) {
	s := serve(t, Pyroscope, func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) })
	var refusal *Refusal
	if err := s.Send(t.Context(), request("body", 1)); !errors.As(err, &refusal) || !refusal.Again {
		t.Errorf("%#v", err)
	}
}

// TestTargets: addresses that are taken, with the port of the store, and those that are not.
func TestTargets(t *testing.T) {
	for address, want := range map[string]string{"otlp+http://c": "http://c:4318",
		"otlp+https://c:1/x/": "https://c:1/x", "otlp+grpc://[::1]": "http://[::1]:4317",
		"pyroscope://p": "http://p:4040", "parca+https://p": "https://p:7070"} {
		if got, err := ParseTarget(address); err != nil || got.Base.String() != want {
			t.Errorf("%s: %v, %v", address, got, err)
		}
	}
	if got, err := ParseTarget("file:///var/x"); err != nil || got.Path != "/var/x" {
		t.Errorf("%v, %v", got, err)
	}
	for _, address := range []string{"http://c", "otlp+http://", "otlp+http://u:p@c", "parca://p?x=1", "file://host/x",
		"file:", "pyroscope://p#x", "%", ""} {
		if got, err := ParseTarget(address); err == nil {
			t.Errorf("%q is taken: %+v", address, got)
		}
	}
}

// TestEveryStore: a row of stores has all that is needed of one.
func TestEveryStore(t *testing.T) {
	for i := range stores {
		s := &stores[i]
		if s.contentType == "" || s.collector != (s.encode == nil) {
			t.Errorf("%s: content type %q, collector %v", s.kind, s.contentType, s.collector)
		}
		for _, scheme := range []string{s.plain, s.tls} {
			address := scheme + "://c:1/x"
			switch {
			case scheme == "":
				continue
			case s.folder:
				address = scheme + ":///var/x"
			}
			if got, err := ParseTarget(address); err != nil || got.Kind != s.kind || got.String() != address {
				t.Errorf("%s: %v, %v", address, got, err)
			}
		}
	}
}
