package push

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
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
	return func(q *http.Request) (*url.URL, error) {
		u, err := http.ProxyFromEnvironment(q)
		if err != nil { // which quotes the address, with a password
			return nil, fmt.Errorf("%s holds no address of a proxy", variable(t))
		}
		return u, nil
	}
}

// variable is that of the environment which names the proxy for t.
func variable(t *Target) string { return strings.ToUpper(t.Base.Scheme) + "_PROXY" }

// ProxyName is what of a proxy's address may be shown: not who we are to it.
func ProxyName(u *url.URL) string { return (&url.URL{Scheme: u.Scheme, Host: u.Host}).String() }

// proxyOf names the proxy that client takes for q, "" for none.
func proxyOf(client *http.Client, q *http.Request) string {
	if t, ok := client.Transport.(*http.Transport); ok && t.Proxy != nil {
		if u, err := t.Proxy(q); err == nil && u != nil {
			return ProxyName(u)
		}
	}
	return ""
}

// connectError says what a proxy answered that was to connect us.
type connectError struct{ status int }

func (e *connectError) Error() string {
	return fmt.Sprintf("%d %s", e.status, http.StatusText(e.status))
}

// checkConnect keeps the status of such an answer, of which package http tells the text alone.
func checkConnect(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
	if answer.StatusCode != http.StatusOK {
		return &connectError{answer.StatusCode}
	}
	return nil
}

// throughProxy words why a request through a proxy went wrong, with what to do.
func throughProxy(t *Target, proxy string, err error) *Refusal {
	r := &Refusal{Why: fmt.Sprintf("through proxy %s: %v", proxy, err), Again: true}
	var connect *connectError
	var dial *net.OpError
	switch {
	case errors.As(err, &connect) && connect.status == http.StatusProxyAuthRequired:
		r.HTTP = connect.status
		r.Why += ": give its user and password, " + variable(t) + "=http://USER:PASSWORD@HOST:PORT"
	case errors.As(err, &connect):
		r.Why += ": it does not let us connect to " + t.Base.Host
	case errors.As(err, &dial) && dial.Op == "proxyconnect":
		r.Why += ": correct " + variable(t) + ", or except the store's host with NO_PROXY"
	}
	return r
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
		OnProxyConnectResponse: checkConnect,
		MaxIdleConnsPerHost:    underWay, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second}
	return &http.Client{Transport: transport, Timeout: timeout,
		// A redirect would send a token to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
