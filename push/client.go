package push

import (
	"crypto/tls"
	"net/http"
	"time"
)

// timeout is how long a store may take for a request, and its answer.
const timeout = 30 * time.Second

// NewClient makes the client of a Sender. config is what TLS trusts and shows, nil for what the system trusts. A proxy
// is taken from the environment, as http.ProxyFromEnvironment says.
func NewClient(t *Target, config *tls.Config) *http.Client {
	var p http.Protocols
	if t.grpc() {
		p.SetHTTP2(true)
		p.SetUnencryptedHTTP2(true)
	} else {
		p.SetHTTP1(true)
		p.SetHTTP2(true)
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, Protocols: &p,
		MaxIdleConnsPerHost: 2, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second}
	return &http.Client{Transport: transport, Timeout: timeout,
		// A redirect would send a token to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
