package push

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
)

// proxy is one of HTTP/1 on this machine, which wants a password.
type proxy struct {
	address  string
	behave   func(c net.Conn, q *http.Request) // nil: it does what it is asked for
	requests atomic.Int32
}

const (
	proxyUser     = "user"
	proxyPassword = "s3cr3t-of-the-proxy"
)

func startProxy(t *testing.T, behave func(c net.Conn, q *http.Request)) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	p := &proxy{address: l.Addr().String(), behave: behave}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

func (p *proxy) serve(c net.Conn) {
	defer c.Close()
	q, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return
	}
	p.requests.Add(1)
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(proxyUser+":"+proxyPassword))
	switch {
	case q.Header.Get("Proxy-Authorization") != want:
		io.WriteString(c, "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n"+
			"Content-Length: 0\r\n\r\n")
	case p.behave != nil:
		p.behave(c, q)
	case q.Method == http.MethodConnect:
		tunnel(c, q.Host)
	default:
		q.RequestURI = ""
		q.Header.Del("Proxy-Authorization")
		answer, err := (&http.Transport{}).RoundTrip(q)
		if err == nil {
			answer.Write(c)
			answer.Body.Close()
		}
	}
}

// tunnel joins c with what listens at an address.
func tunnel(c net.Conn, address string) {
	to, err := net.Dial("tcp", address)
	if err != nil {
		io.WriteString(c, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
		return
	}
	defer to.Close()
	io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
	go io.Copy(to, c)
	io.Copy(c, to)
}

// through makes a client of t that takes every request by a proxy, as the environment would have it for hosts that are
// not this one.
func through(t *Target, proxy *url.URL, trust *tls.Config) *http.Client {
	c := NewClient(t, trust)
	if transport := c.Transport.(*http.Transport); transport.Proxy != nil {
		transport.Proxy = http.ProxyURL(proxy)
	}
	return c
}

// TestProxies: each store that is spoken to by HTTP is reached through a proxy, and where that fails the error says
// that it was the proxy, what to do, and no password.
func TestProxies(t *testing.T) {
	answers := func(w http.ResponseWriter, q *http.Request) {
		io.Copy(io.Discard, q.Body)
		if strings.HasPrefix(q.Header.Get("Content-Type"), "application/grpc") {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Grpc-Status", "0")
		}
	}
	plain := httptest.NewServer(http.HandlerFunc(answers))
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.HandlerFunc(answers))
	secure.EnableHTTP2 = true
	secure.StartTLS()
	defer secure.Close()
	pool := x509.NewCertPool()
	pool.AddCert(secure.Certificate())
	trust := &tls.Config{RootCAs: pool}
	closes := func(c net.Conn, _ *http.Request) {}
	cuts := func(c net.Conn, q *http.Request) {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
	}
	refuses := func(c net.Conn, _ *http.Request) {
		io.WriteString(c, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
	}
	const away = "127.0.0.1:1" // nobody listens
	for _, scheme := range []string{"pyroscope", "pyroscope+https", "otlp+http", "otlp+https", "otlp+grpcs",
		"parca+https"} {
		server := plain
		if strings.HasSuffix(scheme, "s") {
			server = secure
		}
		target, err := ParseTarget(scheme + "://" + server.Listener.Addr().String())
		if err != nil {
			t.Fatalf("%s: %v", scheme, err)
		}
		for _, tt := range []struct {
			name   string
			behave func(net.Conn, *http.Request)
			user   *url.Userinfo
			away   bool
			want   []string // nil: it is sent
		}{
			{"it lets us through", nil, url.UserPassword(proxyUser, proxyPassword), false, nil},
			{"no password", nil, nil, false, []string{"proxy", "407", "USER:PASSWORD"}},
			{"another password", nil, url.UserPassword(proxyUser, "not-"+proxyPassword), false,
				[]string{"proxy", "407"}},
			{"away", nil, url.UserPassword(proxyUser, proxyPassword), true, []string{"proxy", "refused", "_PROXY"}},
			// Without TLS it cannot be told from the store's own answer.
			{"it refuses the host", refuses, url.UserPassword(proxyUser, proxyPassword), false, []string{"403"}},
			{"it closes at once", closes, url.UserPassword(proxyUser, proxyPassword), false, []string{"proxy"}},
			{"it closes in the middle", cuts, url.UserPassword(proxyUser, proxyPassword), false, []string{"proxy"}},
		} {
			p := startProxy(t, tt.behave)
			at := &url.URL{Scheme: "http", Host: p.address, User: tt.user}
			if tt.away {
				at.Host = away
			}
			s := NewSender(target, through(target, at, trust), nil)
			err := s.Send(context.Background(), &Request{Path: "/x", ContentType: contentOf(target), Body: []byte{1}})
			what := scheme + ", " + tt.name
			if tt.want == nil {
				if err != nil || p.requests.Load() == 0 {
					t.Errorf("%s: %v, %d requests through it", what, err, p.requests.Load())
				}
				continue
			}
			var refusal *Refusal
			if !errors.As(err, &refusal) {
				t.Errorf("%s: %v, want a Refusal", what, err)
				continue
			}
			for _, word := range tt.want {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%s: %q does not say %q", what, err, word)
				}
			}
			if tt.user != nil && strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("%s: %q shows the password", what, err)
			}
			if !refusal.Again && !strings.HasPrefix(err.Error(), "403") {
				t.Errorf("%s: it is not tried again, and the store was not asked", what)
			}
		}
	}
}

func contentOf(t *Target) string {
	if t.GRPC() {
		return "application/grpc"
	}
	return "application/x-protobuf"
}

// TestProxyOfEnvironment: what is wrong with the address in the environment is said without it, and gRPC without TLS
// takes no proxy.
func TestProxyOfEnvironment(t *testing.T) {
	if os.Getenv("PROXY_TEST") == "" {
		c := exec.Command(os.Args[0], "-test.run=^TestProxyOfEnvironment$") // the environment is read once
		c.Env = append(os.Environ(), "PROXY_TEST=1", "NO_PROXY=", "HTTP_PROXY=http://user:"+proxyPassword+"@host:port",
			"HTTPS_PROXY=http://user:"+proxyPassword+"@host:port")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	for address, want := range map[string]string{"pyroscope://store.example": "HTTP_PROXY",
		"otlp+https://store.example": "HTTPS_PROXY", "parca+https://store.example": "HTTPS_PROXY",
		"otlp+grpc://127.0.0.1:1": "", "parca://127.0.0.1:1": ""} {
		target, err := ParseTarget(address)
		if err != nil {
			t.Fatal(err)
		}
		err = NewSender(target, NewClient(target, nil), nil).Send(context.Background(),
			&Request{Path: "/x", ContentType: contentOf(target)})
		if err == nil || strings.Contains(err.Error(), "s3cr3t") || !strings.Contains(err.Error(), want) ||
			want == "" && strings.Contains(err.Error(), "PROXY") {
			t.Errorf("%s: %v, want %q in it and no password", address, err, want)
		}
	}
}
