package webhook

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"code.dny.dev/ssrf"

	"tenet/internal/rule"
)

// maxURL bounds the address of an endpoint, in bytes.
const maxURL = 2048

// parseNetworks reads a list of networks with commas between.
func parseNetworks(list string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for part := range strings.SplitSeq(list, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		p, err := netip.ParsePrefix(part)
		if err != nil {
			return nil, rule.Errorf(rule.CodeInvalid, "%q is not a network such as 10.1.0.0/16 or fd00::/8", part)
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

// newGuard makes what lets connections to the public internet through, and to networks that are allowed.
func newGuard(allowed []netip.Prefix) *ssrf.Guardian {
	var v4, v6 []netip.Prefix
	for _, p := range allowed {
		if p.Addr().Is4() {
			v4 = append(v4, p)
		} else {
			v6 = append(v6, p)
		}
	}
	return ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))
}

// checkURL says what is wrong with the address of an endpoint, or nothing. A host name may yet lead anywhere: what it leads
// to is checked when the connection is made.
func checkURL(guard *ssrf.Guardian, raw string) error {
	u, err := url.Parse(raw)
	switch {
	case len(raw) > maxURL:
		return fmt.Errorf("has %d bytes; at most %d are allowed", len(raw), maxURL)
	case err != nil || u.Host == "" || u.Hostname() == "":
		return fmt.Errorf("is not an address such as https://hooks.example.com/tenet")
	case u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("must begin with https:// or http://")
	case u.User != nil:
		return fmt.Errorf("must not hold a user name or password; receivers verify the signature instead")
	case u.Fragment != "" || strings.Contains(raw, "#"):
		return fmt.Errorf("must not have a part behind #, which is never sent")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return fmt.Errorf("has a port that is not between 1 and 65535")
		}
	}
	return checkHost(guard, u.Hostname())
}

// checkHost refuses hosts that plainly lead where nothing may be sent.
func checkHost(guard *ssrf.Guardian, host string) error {
	if addr, err := netip.ParseAddr(host); err == nil {
		return checkAddr(guard, addr)
	}
	for i := range len(host) {
		if c := host[i]; !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_') {
			return fmt.Errorf("has a host with other characters than letters, digits, - and .; write it in punycode (xn--...)")
		}
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	last := name[strings.LastIndexByte(name, '.')+1:]
	if last == "" || numeric(last) {
		return fmt.Errorf("has a host that some programs read as an address; write IPv4 addresses as four decimal numbers without leading zeros")
	}
	if last == "localhost" {
		if checkAddr(guard, netip.MustParseAddr("127.0.0.1")) != nil && checkAddr(guard, netip.IPv6Loopback()) != nil {
			return errNotPublic
		}
	}
	return nil
}

// numeric reports whether the last part of a host makes it an IPv4 address to programs that read numbers in all forms:
// decimal, octal (0177) or hexadecimal (0x7f).
func numeric(s string) bool {
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(s, "0123456789") == ""
}

var errNotPublic = fmt.Errorf("leads to an address that is not on the public internet; an administrator of the server can allow networks with webhook_allow_networks")

func checkAddr(guard *ssrf.Guardian, addr netip.Addr) error {
	if addr.Zone() != "" || guard.SafeAddr(addr) != nil {
		return errNotPublic
	}
	return nil
}
