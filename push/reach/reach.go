// Package reach goes the way to a profile store step by step, and says what each step found and what a person can do
// where it ends: `fpstack doctor --push`.
//
// It sends one request that has no profile in it. A store answers that it took it, as the token and the tenant are
// right and the service is there; nothing is stored. Whether it takes a profile of a certain size or age is not known
// by that.
package reach

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/fpstack/fpstack/doctor"
	"github.com/fpstack/fpstack/push"
)

// patience bounds each step.
const patience = 10 * time.Second

// The steps.
const (
	stepName       = "name"
	stepConnection = "connection"
	stepTLS        = "TLS"
	stepService    = "service"
	stepAccess     = "access"
	stepFolder     = "folder"
)

// Store goes to the store of s, which is no Folder. Steps behind one that is closed are unknown.
func Store(ctx context.Context, s *push.Settings) []doctor.Gate {
	w := &way{s: s, host: s.Target.Base.Hostname(), port: s.Target.Base.Port()}
	sender, warning, err := s.Sender()
	if err != nil {
		return []doctor.Gate{{Name: stepAccess, State: doctor.Closed, Says: err.Error()}}
	}
	if find := push.Proxy(s.Target); find != nil {
		proxy, err := find(&http.Request{URL: s.Target.Base})
		if err != nil {
			return []doctor.Gate{{Name: stepConnection, State: doctor.Closed, Says: "read proxy: " + err.Error(),
				Remedy: "Correct HTTP_PROXY, HTTPS_PROXY or NO_PROXY."}}
		}
		if proxy != nil {
			w.proxy = push.ProxyName(proxy)
			w.host, w.port = proxy.Hostname(), proxy.Port()
		}
	}
	steps := []struct {
		name string
		do   func(context.Context) doctor.Gate
	}{{stepName, w.resolve}, {stepConnection, w.connect}, {stepTLS, w.handshake}}
	open := true
	for _, step := range steps {
		g := doctor.Gate{Says: "not tried"}
		if open {
			bounded, cancel := context.WithTimeout(ctx, patience)
			g = step.do(bounded)
			cancel()
		}
		g.Name = step.name
		open = open && g.State != doctor.Closed
		w.gates = append(w.gates, g)
	}
	if !open {
		return append(w.gates, doctor.Gate{Name: stepService, Says: "not tried"},
			doctor.Gate{Name: stepAccess, Says: "not tried"})
	}
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return append(w.gates, w.request(bounded, sender, warning)...)
}

// way is one way to a store.
type way struct {
	s          *push.Settings
	host, port string // what is connected to: the store or a proxy
	proxy      string // "" for none
	gates      []doctor.Gate
}

// resolve looks up the name.
func (w *way) resolve(ctx context.Context) doctor.Gate {
	if net.ParseIP(w.host) != nil {
		return doctor.Gate{State: doctor.Absent, Says: w.host + " is an address"}
	}
	found, err := net.DefaultResolver.LookupHost(ctx, w.host)
	if err != nil {
		return doctor.Gate{State: doctor.Closed, Says: reason(err),
			Remedy: "Is the name right, and known here? In a container names of its network alone are."}
	}
	return doctor.Gate{State: doctor.Open, Says: w.host + " is " + strings.Join(found[:min(len(found), 4)], ", ")}
}

// connect opens a connection, and closes it.
func (w *way) connect(ctx context.Context) doctor.Gate {
	address := net.JoinHostPort(w.host, w.port)
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return doctor.Gate{State: doctor.Closed, Says: reason(err),
			Remedy: "Does the store listen there, on that address and port, and does a firewall let us through?"}
	}
	c.Close()
	if w.proxy != "" {
		return doctor.Gate{State: doctor.Open, Says: "through the proxy " + w.proxy}
	}
	return doctor.Gate{State: doctor.Open, Says: "connected to " + c.RemoteAddr().String()}
}

// handshake looks at the store's certificate. Through a proxy the request itself does.
func (w *way) handshake(ctx context.Context) doctor.Gate {
	switch {
	case w.s.Target.Base.Scheme == "http":
		return doctor.Gate{State: doctor.Absent, Says: "the address is one without TLS"}
	case w.proxy != "":
		return doctor.Gate{State: doctor.Unknown, Says: "not looked at through a proxy; the request does"}
	}
	config := w.s.TLS.Clone()
	if config == nil {
		config = &tls.Config{}
	}
	config.ServerName = w.host
	config.NextProtos = []string{"h2", "http/1.1"}
	c, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", net.JoinHostPort(w.host, w.port))
	if err != nil {
		return doctor.Gate{State: doctor.Closed, Says: reason(err), Remedy: tlsRemedy(err)}
	}
	defer c.Close()
	state := c.(*tls.Conn).ConnectionState()
	leaf := state.PeerCertificates[0]
	says := fmt.Sprintf("%s; certificate of %s by %s, until %s", tls.VersionName(state.Version), owner(leaf),
		name(leaf.Issuer.CommonName, leaf.Issuer.Organization), leaf.NotAfter.UTC().Format(time.DateOnly))
	g := doctor.Gate{State: doctor.Open, Says: says}
	if left := time.Until(leaf.NotAfter); left < week {
		g.Remedy = fmt.Sprintf("It ends in %d hours.", int(left.Hours()))
	}
	if w.s.Target.GRPC() && state.NegotiatedProtocol != "h2" {
		g.State, g.Remedy = doctor.Closed, "It offers no HTTP/2, which gRPC needs: is a proxy between that ends TLS?"
	}
	return g
}

const week = 7 * 24 * time.Hour

func owner(c *x509.Certificate) string {
	if len(c.DNSNames) > 0 {
		return strings.Join(c.DNSNames[:min(len(c.DNSNames), 3)], ", ")
	}
	return name(c.Subject.CommonName, c.Subject.Organization)
}

func name(common string, organization []string) string {
	if common == "" && len(organization) > 0 {
		return organization[0]
	}
	return fmt.Sprintf("%q", common)
}

// tlsRemedy is what to do about a handshake that failed.
func tlsRemedy(err error) string {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &unknown):
		return "Give the certificate of the authority that signed it: --push-ca FILE."
	case errors.As(err, &host):
		return "Use a name that the certificate has."
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "Renew the certificate, or correct the clock of this machine."
	case errors.As(err, &record):
		return "That port speaks no TLS: use a scheme without it, or another port."
	}
	return "Does the store want TLS on that port, of version 1.2 or later?"
}

// reason is err without the address that another column shows.
func reason(err error) string {
	var at *net.OpError
	if errors.As(err, &at) && at.Op == "dial" {
		return fmt.Sprintf("%s: %v", at.Addr, at.Err)
	}
	return err.Error()
}

// Folder tries whether a file can be made in the open folder of s.
func Folder(s *push.Settings) []doctor.Gate {
	const trial = "fpstack-doctor"
	g := doctor.Gate{Name: stepFolder, State: doctor.Open, Says: "a file was made there, and removed"}
	f, err := s.Folder.OpenFile(trial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = f.Write(make([]byte, 4096))
		err = errors.Join(err, f.Close(), s.Folder.Remove(trial))
	}
	if err != nil {
		g.State, g.Says, g.Remedy = doctor.Closed, err.Error(), "Make room there, or use another folder."
	}
	return []doctor.Gate{g}
}
