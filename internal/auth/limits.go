package auth

import (
	"net/netip"
	"slices"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Reasons for which the use of a key is refused, by which refusals are counted.
const (
	RefusedRevoked = "revoked"
	RefusedExpired = "expired"
	RefusedNetwork = "network"
	RefusedScope   = "scope"
	RefusedNode    = "node"
	RefusedRate    = "rate"
	RefusedRole    = "role"
)

// Scope is a set of operations to which a key is limited, within what its role allows.
type Scope string

// Scopes of keys.
const (
	ScopeEvaluate Scope = "evaluate" // ask for evaluations, and for the rules that would apply
	ScopeRead     Scope = "read"     // read, change nothing
)

// Scopes lists the scopes.
var Scopes = []Scope{ScopeEvaluate, ScopeRead}

// Limits narrow the role of a key. Zero fields limit nothing. They do not change after they are made.
type Limits struct {
	Scopes   []Scope        // operations of any of them
	NodeID   string         // federation node at which, or below which, it evaluates
	Networks []netip.Prefix // from which it may come
	Rate     float64        // requests per second, on each node
	Burst    int            // requests at once above the rate
}

// Allows reports whether the limits allow operations of a scope. Nil limits allow all.
func (l *Limits) Allows(scopes ...Scope) bool {
	if l == nil || len(l.Scopes) == 0 {
		return true
	}
	return slices.ContainsFunc(l.Scopes, func(s Scope) bool { return slices.Contains(scopes, s) })
}

// From reports whether the limits allow requests from an address. Nil limits allow all.
func (l *Limits) From(addr netip.Addr) bool {
	if l == nil || len(l.Networks) == 0 {
		return true
	}
	addr = addr.Unmap().WithZone("")
	return slices.ContainsFunc(l.Networks, func(n netip.Prefix) bool { return n.Contains(addr) })
}

// Node is the federation node to which evaluations are limited; empty for none.
func (l *Limits) Node() string {
	if l == nil {
		return ""
	}
	return l.NodeID
}

// Bounds of the limits of a key.
const (
	maxNetworks = 100
	maxRate     = 100_000
)

// LimitsOf reads limits as the API takes them. It returns nil for those that limit nothing.
func LimitsOf(p *rule.Problems, in wire.KeyLimits) *Limits {
	l := &Limits{NodeID: strings.TrimSpace(in.NodeID), Rate: in.Rate, Burst: in.Burst}
	for _, name := range in.Scopes {
		s, ok := rule.Parse(name, Scopes)
		if !ok {
			p.Add("scopes", "has %q; use some of %s", name, rule.Names(Scopes))
		} else if !slices.Contains(l.Scopes, s) {
			l.Scopes = append(l.Scopes, s)
		}
	}
	if len(in.Networks) > maxNetworks {
		p.Add("networks", "has %d entries; at most %d are allowed", len(in.Networks), maxNetworks)
		return nil
	}
	for _, text := range in.Networks {
		n, err := ParseNetwork(text)
		if err != nil {
			p.Add("networks", "has %q, which is no network such as 10.1.0.0/16 or 2001:db8::/32", text)
			continue
		}
		l.Networks = append(l.Networks, n)
	}
	if l.NodeID != "" && !slices.Equal(l.Scopes, []Scope{ScopeEvaluate}) {
		p.Add("node_id", "goes with scopes evaluate alone: other operations are not by node")
	}
	switch {
	case in.Rate < 0 || in.Rate > maxRate:
		p.Add("rate", "is %g; give requests per second up to %d", in.Rate, maxRate)
	case in.Burst < 0 || in.Burst > maxRate:
		p.Add("burst", "is %d; give requests up to %d", in.Burst, maxRate)
	case in.Burst > 0 && in.Rate == 0:
		p.Add("burst", "needs a rate")
	}
	if len(l.Scopes) == 0 && l.NodeID == "" && len(l.Networks) == 0 && l.Rate == 0 {
		return nil
	}
	return l
}

// Wire returns the limits as the API shows them; nil limits give none.
func (l *Limits) Wire() wire.KeyLimits {
	var out wire.KeyLimits
	if l == nil {
		return out
	}
	out.NodeID, out.Rate, out.Burst = l.NodeID, l.Rate, l.Burst
	for _, s := range l.Scopes {
		out.Scopes = append(out.Scopes, string(s))
	}
	for _, n := range l.Networks {
		out.Networks = append(out.Networks, n.String())
	}
	return out
}

// ParseNetwork reads a network, or one address, which is a network of its own.
func ParseNetwork(text string) (netip.Prefix, error) {
	text = strings.TrimSpace(text)
	if addr, err := netip.ParseAddr(text); err == nil {
		addr = addr.Unmap().WithZone("")
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	n, err := netip.ParsePrefix(text)
	if err != nil {
		return n, err
	}
	if n.Addr().Is4In6() {
		if n.Bits() < 96 {
			return n, rule.Errorf(rule.CodeInvalid, "it is no network of version 4 or 6")
		}
		n = netip.PrefixFrom(n.Addr().Unmap(), n.Bits()-96)
	}
	return n.Masked(), nil
}

// ParseNetworks reads networks with commas between.
func ParseNetworks(list string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for part := range strings.SplitSeq(list, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		n, err := ParseNetwork(part)
		if err != nil {
			return nil, rule.Errorf(rule.CodeInvalid, "%q is not a network such as 10.1.0.0/16 or fd00::/8", part)
		}
		out = append(out, n)
	}
	return out, nil
}
