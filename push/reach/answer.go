package reach

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fpstack/fpstack/doctor"
	"github.com/fpstack/fpstack/push"
)

// request sends a request without a profile, and says what the answer tells.
func (w *way) request(ctx context.Context, sender *push.Sender, warning error) []doctor.Gate {
	path, contentType := w.s.Target.Form()
	err := sender.Send(ctx, &push.Request{Path: path, ContentType: contentType, Made: time.Now()})
	service := doctor.Gate{Name: stepService, State: doctor.Open, Says: "the store takes requests to " + path}
	access := doctor.Gate{Name: stepAccess, State: doctor.Open,
		Says: "we may send: it read a request without a profile"}
	if warning != nil {
		access.Says += "; " + warning.Error()
	}
	var refusal *push.Refusal
	if !errors.As(err, &refusal) || wantsProfile(w.s.Target, refusal) {
		return []doctor.Gate{service, access}
	}
	m := meaningOf(refusal)
	g := doctor.Gate{State: doctor.Closed, Says: refusal.Why, Remedy: m.remedy(w.s)}
	if m.step == stepAccess {
		g.Name = stepAccess
		return []doctor.Gate{service, g}
	}
	g.Name = stepService
	return []doctor.Gate{g, {Name: stepAccess, Says: "not tried"}}
}

// wantsProfile reports whether a store says that it would have taken the request if a profile were in it: Pyroscope
// does, when it has found who sends, with the error of Connect for an argument.
// Source: connectrpc.com/docs/protocol, "Error codes"; seen with Pyroscope 1.2.
func wantsProfile(t *push.Target, r *push.Refusal) bool {
	return t.Kind == push.Pyroscope && r.HTTP == http.StatusBadRequest && strings.Contains(r.Why, `"invalid_argument"`)
}

// meaning is what an answer means, and what a person does about it.
type meaning struct {
	http, grpc []int
	step       string
	does       string
	of         map[push.Kind]string // more, by the kind of store
}

// remedy words what to do about an answer of the store of s.
func (m *meaning) remedy(s *push.Settings) string {
	return strings.TrimSpace(m.does + " " + m.of[s.Target.Kind])
}

const (
	oldCollector = "A collector takes profiles with --feature-gates=service.profilesSupport and a pipeline of " +
		"profiles, and must know OTLP 1.10 (0.162 does)."
	needsTenant = "Pyroscope with more than one tenant wants --push-header 'X-Scope-OrgID: NAME'."
)

// meanings are what stores answer. docs/push.md has the same table for people.
// Source: opentelemetry.io/docs/specs/otlp; grpc.github.io/grpc/core/md_doc_statuscodes.html.
var meanings = []meaning{
	{http: []int{401}, grpc: []int{16}, step: stepAccess,
		does: "It wants to know who sends: give a token by --push-token-file FILE, or a header by --push-header.",
		of:   map[push.Kind]string{push.Pyroscope: needsTenant}},
	{http: []int{407}, step: stepAccess,
		does: "The proxy wants a user and a password: HTTPS_PROXY or HTTP_PROXY=http://USER:PASSWORD@HOST:PORT."},
	{http: []int{403}, grpc: []int{7}, step: stepAccess,
		does: "The token or the tenant may not write here: have it allowed to, or use another."},
	{http: []int{404, 405}, grpc: []int{12, 5}, step: stepService,
		does: "Something answers there that has no such service: is it the right port and path?",
		of: map[push.Kind]string{push.OTLPHTTP: oldCollector, push.OTLPGRPC: oldCollector,
			push.Pyroscope: "It must be Pyroscope 1.0 or later, not the old pyroscope server.",
			push.Parca:     "Parca serves gRPC on the port of its pages, 7070 by default."}},
	{http: []int{301, 302, 303, 307, 308}, step: stepService,
		does: "Use the address that it points to, if you trust it."},
	{http: []int{429}, grpc: []int{8}, step: stepAccess,
		does: "It limits how much it takes, and says so to an empty request: raise its limit, or send less. fpstack " +
			"tries again later."},
	{http: []int{502, 503, 504}, grpc: []int{14, 4}, step: stepService,
		does: "It is starting, or overloaded, or a proxy does not reach it. fpstack tries again later."},
	{http: []int{415}, step: stepService, does: "It does not read that form: is it another kind of store?"},
	{http: []int{400, 422}, grpc: []int{3}, step: stepService,
		does: "It does not understand the request: another version, another kind of store, or a port that wants TLS."},
	{http: []int{413}, step: stepService, does: "A proxy between takes no request of that size: raise its limit."},
	{http: []int{500, 501, 505}, grpc: []int{2, 13}, step: stepService, does: "Its log says why."},
	{http: []int{http.StatusOK}, grpc: []int{0}, step: stepService,
		does: "Something answers there that is no such store: is it the right port and path?"},
	{step: stepService, does: "The connection ended without the answer of such a store: HTTP and gRPC have ports of " +
		"their own; or does that port want TLS?"},
}

// meaningOf finds what a refusal means.
func meaningOf(r *push.Refusal) *meaning {
	for i := range meanings {
		m := &meanings[i]
		switch {
		case r.GRPC != 0:
			if slices.Contains(m.grpc, r.GRPC) {
				return m
			}
		case slices.Contains(m.http, r.HTTP), r.HTTP == 0 && m.http == nil:
			return m
		}
	}
	return &meaning{step: stepService,
		does: fmt.Sprintf("fpstack does not know this answer (HTTP %d, gRPC %d).", r.HTTP, r.GRPC)}
}
