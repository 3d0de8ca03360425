package push

import (
	"crypto/tls"
	"net/http"
	"net/url"
	"time"
)

// timeout is how long a store may take for a request, and its answer.
const timeout = 30 * time.Second

// Proxy gives the proxy for requests to t, nil for none: that of the environment, as http.ProxyFromEnvironment says.
// gRPC without TLS knows no proxy: those of HTTP/1 do not pass it on.
func Proxy(t *Target) func(*http.Request) (*url.URL, error) {
	if t.GRPC() && t.Base.Scheme == "http" {
		return nil
	}
	return http.ProxyFromEnvironment
}

// NewClient makes the client of a Sender. config is what TLS trusts and shows, nil for what the system trusts.
func NewClient(t *Target, config *tls.Config) *http.Client {
	var p http.Protocols
	if t.GRPC() {
		p.SetHTTP2(true)
		p.SetUnencryptedHTTP2(true)
	} else {
		p.SetHTTP1(true)
		p.SetHTTP2(true)
	}
	transport := &http.Transport{Proxy: Proxy(t), TLSClientConfig: config, Protocols: &p,
		MaxIdleConnsPerHost: 2, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second}
	return &http.Client{Transport: transport, Timeout: timeout,
		// A redirect would send a token to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
