package reach

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/doctor"
	"github.com/fpstack/fpstack/push"
)

// serve starts a server with HTTP/2, with TLS if certificate is not nil.
func serve(t *testing.T, certificate *tls.Certificate, http2 bool, answer http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(answer)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	var p http.Protocols
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	s.Config.Protocols = &p
	if certificate == nil {
		s.Start()
	} else {
		p.SetHTTP2(http2)
		s.EnableHTTP2 = http2
		s.TLS = &tls.Config{Certificates: []tls.Certificate{*certificate}}
		s.StartTLS()
	}
	t.Cleanup(s.Close)
	return s
}

// certificate makes one of 127.0.0.1 that ends after so long, and what trusts it.
func certificate(t *testing.T, lasts time.Duration) (*tls.Certificate, *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-48 * time.Hour),
		NotAfter: time.Now().Add(lasts), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames: []string{"store.test"}, Issuer: pkix.Name{CommonName: "us"},
		Subject: pkix.Name{CommonName: "us"}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, &tls.Config{RootCAs: pool}
}

// goTo goes to the store at an address.
func goTo(t *testing.T, scheme, host string, trust *tls.Config) []doctor.Gate {
	t.Helper()
	target, err := push.ParseTarget(scheme + "://" + host)
	if err != nil {
		t.Fatal(err)
	}
	return Store(t.Context(), &push.Settings{Target: target, TLS: trust})
}

// check compares the verdict of gates: the step that is closed, "" for none, and words in what it says or advises.
func check(t *testing.T, what string, gates []doctor.Gate, step, says string) {
	t.Helper()
	state, gate := doctor.Verdict(gates)
	switch {
	case step == "" && state == doctor.Closed:
		t.Errorf("%s: %+v", what, *gate)
	case step == "":
	case state != doctor.Closed || gate.Name != step || !strings.Contains(gate.Says+" "+gate.Remedy, says):
		t.Errorf("%s: %+v, want %s closed with %q", what, gates, step, says)
	}
	names := ""
	for _, g := range gates {
		names += g.Name + " "
		if g.Says == "" {
			t.Errorf("%s: %s says nothing", what, g.Name)
		}
	}
	if names != "name connection TLS service access " {
		t.Errorf("%s: steps %s", what, names)
	}
}

// TestAnswers: what a store answers, and which step that closes.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		scheme string
		status int
		body   string
		step   string
		says   string
	}{
		{"otlp+http", 200, "", "", ""}, {"pyroscope", 200, "", "", ""},
		{"pyroscope", 400, `{"code":"invalid_argument","message":"no profiles received"}`, "", ""},
		{"otlp+http", 400, `{"code":"invalid_argument"}`, "service", "another version"},
		{"pyroscope", 400, "Client sent an HTTP request to an HTTPS server", "service", "wants TLS"},
		{"pyroscope", 401, "", "access", "X-Scope-OrgID"}, {"otlp+http", 401, "", "access", "--push-token-file"},
		{"otlp+http", 403, "", "access", "may not write"}, {"otlp+http", 404, "", "service", "profilesSupport"},
		{"pyroscope", 405, "", "service", "1.0"}, {"otlp+http", 413, "", "service", "proxy"},
		{"otlp+http", 415, "", "service", "another kind"}, {"pyroscope", 429, "", "access", "limit"},
		{"pyroscope", 503, "", "service", "later"}, {"pyroscope", 500, "", "service", "log"},
		{"pyroscope", 307, "", "service", "points to"}, {"pyroscope", 200, "<html>", "service", "right port"},
		{"pyroscope", 418, "", "service", "418"},
	} {
		s := serve(t, nil, false, func(w http.ResponseWriter, r *http.Request) {
			if body, _ := io.ReadAll(r.Body); len(body) > 0 {
				t.Errorf("a request with %q in it", body)
			}
			kind := "application/json"
			if strings.HasPrefix(c.body, "<") {
				kind = "text/html"
			}
			w.Header().Set("Content-Type", kind)
			if c.status == 307 {
				w.Header().Set("Location", "https://elsewhere.test/")
			}
			w.WriteHeader(c.status)
			io.WriteString(w, c.body)
		})
		check(t, c.scheme+" "+http.StatusText(c.status), goTo(t, c.scheme, s.Listener.Addr().String(), nil), c.step,
			c.says)
	}
}

// TestGRPCAnswers: the same by the status of gRPC.
func TestGRPCAnswers(t *testing.T) {
	for status, want := range map[string][2]string{"0": {"", ""}, "16": {"access", "--push-token-file"},
		"7": {"access", "may not write"}, "12": {"service", "7070"}, "14": {"service", "later"},
		"8": {"access", "limit"}, "99": {"service", "99"}, "": {"service", "gRPC"}} {
		s := serve(t, nil, false, func(w http.ResponseWriter, _ *http.Request) {
			if status != "" {
				w.Header().Set("Grpc-Status", status)
			}
		})
		check(t, "gRPC "+status, goTo(t, "parca", s.Listener.Addr().String(), nil), want[0], want[1])
	}
}

// TestTLS: certificates that are good, that nobody trusts, that have ended or are of another name; a port without TLS;
// and gRPC without HTTP/2.
func TestTLS(t *testing.T) {
	takes := func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Grpc-Status", "0") }
	good, trust := certificate(t, 24*time.Hour)
	ended, trustEnded := certificate(t, -time.Hour)
	address := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	encrypted := serve(t, good, true, takes)
	gates := goTo(t, "pyroscope+https", address(encrypted), trust)
	check(t, "good", gates, "", "")
	if g := gates[2]; !strings.Contains(g.Says, "store.test") || !strings.Contains(g.Says, "until ") ||
		!strings.Contains(g.Remedy, "23 hours") {
		t.Errorf("certificate: %+v", g)
	}
	check(t, "good, gRPC", goTo(t, "parca+https", address(encrypted), trust), "", "")
	check(t, "unknown", goTo(t, "pyroscope+https", address(encrypted), nil), "TLS", "--push-ca")
	check(t, "ended", goTo(t, "pyroscope+https", address(serve(t, ended, true, takes)), trustEnded), "TLS", "Renew")
	_, port, _ := net.SplitHostPort(address(encrypted))
	check(t, "another name", goTo(t, "pyroscope+https", "localhost:"+port, trust), "TLS", "name that the certificate")
	check(t, "no TLS there", goTo(t, "pyroscope+https", address(serve(t, nil, false, takes)), trust), "TLS", "no TLS")
	check(t, "no HTTP/2", goTo(t, "parca+https", address(serve(t, good, false, takes)), trust), "TLS", "HTTP/2")
	check(t, "TLS there alone", goTo(t, "pyroscope", address(encrypted), trust), "service", "TLS")
}

// TestUnreachable: a name that nobody knows, a port where nobody listens, one that says nothing, a token that is none.
func TestUnreachable(t *testing.T) {
	check(t, "no name", goTo(t, "pyroscope", "no-such-host.invalid", nil), "name", "Is the name right")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	check(t, "nobody there", goTo(t, "otlp+grpc", l.Addr().String(), nil), "connection", "refused")
	s := serve(t, nil, false, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	check(t, "breaks off", goTo(t, "pyroscope", s.Listener.Addr().String(), nil), "service", "without the answer")
	target, _ := push.ParseTarget("pyroscope://127.0.0.1:1")
	gates := Store(context.Background(), &push.Settings{Target: target, TokenFile: "/nonexistent"})
	if len(gates) != 1 || gates[0].State != doctor.Closed || gates[0].Name != "access" {
		t.Errorf("no token: %+v", gates)
	}
}

// TestFolder: one where files can be made, and one where not; nothing is left.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if g := Folder(&push.Settings{Folder: root}); len(g) != 1 || g[0].State != doctor.Open {
		t.Errorf("%+v", g)
	}
	if left, _ := filepath.Glob(dir + "/*"); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	root.Close()
	if g := Folder(&push.Settings{Folder: root}); len(g) != 1 || g[0].State != doctor.Closed || g[0].Remedy == "" {
		t.Errorf("%+v", g)
	}
}
