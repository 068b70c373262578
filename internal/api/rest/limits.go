package rest

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// actingOf reads from the headers of a request for whom it is made.
func actingOf(h http.Header) wire.Acting {
	return wire.Acting{OnBehalfOf: h.Get(wire.OnBehalfOfHeader), Agent: h.Get(wire.AgentHeader), Session: h.Get(wire.SessionHeader)}
}

// Act returns a context in which the actor of a request acts for whom its body names, or else its headers.
func Act(ctx context.Context, on wire.Acting) (context.Context, error) {
	if on == (wire.Acting{}) {
		return ctx, nil
	}
	named := actingOf(Request(ctx).Header)
	for _, f := range []struct{ value, header *string }{
		{&on.OnBehalfOf, &named.OnBehalfOf}, {&on.Agent, &named.Agent}, {&on.Session, &named.Session},
	} {
		if *f.value == "" {
			*f.value = *f.header
		}
	}
	id, err := auth.Identify(auth.ActorFrom(ctx), on)
	return audit.WithIdentity(ctx, id), err
}

type withinKey struct{}

// Within marks a context as that of a request from this process, made for a request that was admitted already.
func Within(ctx context.Context) context.Context { return context.WithValue(ctx, withinKey{}, true) }

// MayCome returns a forbidden error if the key of an actor may not be used from the address of a request. A caller in this process, which
// has put the actor into the context of the request, has asked before.
func (s *Server) MayCome(r *http.Request, who auth.Actor) error {
	if who.Limits == nil || len(who.Limits.Networks) == 0 || r.Context().Value(withinKey{}) != nil || auth.ActorFrom(r.Context()) != (auth.Actor{}) {
		return nil
	}
	addr := s.ClientAddr(r)
	if who.Limits.From(addr) {
		return nil
	}
	from := "an address that the proxies do not name"
	if addr.IsValid() {
		from = addr.String()
	}
	return rule.Errorf(rule.CodeForbidden, "this key works from the networks %s only, and the request comes from %s; use it there, or make a key for this network",
		strings.Join(who.Limits.Wire().Networks, ", "), from)
}

// ClientAddr is the address of the client of a request: of the peer, or, where that is a trusted proxy, of the last address in
// X-Forwarded-For that is none. It is not valid where the proxies do not name it.
func (s *Server) ClientAddr(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr := peer.Addr().Unmap().WithZone("")
	if !s.trusted(addr) {
		return addr
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		if hop = strings.TrimSpace(hop); hop == "" && len(hops) == 1 {
			return addr // the proxy itself asks
		}
		next, err := netip.ParseAddr(hop)
		if err != nil {
			both, errPort := netip.ParseAddrPort(hop)
			if errPort != nil {
				return netip.Addr{}
			}
			next = both.Addr()
		}
		if addr = next.Unmap().WithZone(""); !s.trusted(addr) {
			return addr
		}
	}
	return addr
}

func (s *Server) trusted(addr netip.Addr) bool {
	return slices.ContainsFunc(s.cfg.TrustedProxies, func(n netip.Prefix) bool { return n.Contains(addr) })
}

// mayCall returns a forbidden error if the limits of the actor's key leave out the operation.
func (e *Endpoint) mayCall(who auth.Actor) error {
	var scopes []auth.Scope
	if e.Role == auth.Viewer || e.reads {
		scopes = append(scopes, auth.ScopeRead)
	}
	if e.asks || e.inner {
		scopes = append(scopes, auth.ScopeEvaluate)
	}
	if who.Limits.Allows(scopes...) {
		return nil
	}
	have := rule.Names(who.Limits.Scopes)
	if len(scopes) == 0 {
		return rule.Errorf(rule.CodeForbidden, "this key has the scope %s only, and this operation needs a key without scopes", have)
	}
	return rule.Errorf(rule.CodeForbidden, "this key has the scope %s only, and this operation needs the scope %s", have, rule.Names(scopes))
}

// countRefusal counts a use of a key that was refused.
func (s *Server) countRefusal(x *exchange, status int) {
	if x.who.KeyID == "" || status != http.StatusForbidden && status != http.StatusTooManyRequests {
		return
	}
	reason := x.refusal
	switch {
	case reason != "":
	case status == http.StatusTooManyRequests:
		reason = auth.RefusedRate
	case x.who.Limits.Node() != "":
		reason = auth.RefusedNode
	default:
		reason = auth.RefusedRole
	}
	s.cfg.Keys.Refused(x.who.KeyID, reason)
}
