package relay

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// TokenHeader is the header in which clients show that they may use a gateway that others can reach.
const TokenHeader = "X-Tenet-Gateway-Token" //nolint:gosec // the name of a header

// Guard refuses requests that a page of a browser sends to a gateway on this machine, and those without the token if there is one.
func Guard(next http.Handler, token string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case token != "" && subtle.ConstantTimeCompare([]byte(r.Header.Get(TokenHeader)), []byte(token)) != 1:
			http.Error(w, "the header "+TokenHeader+" lacks the token of this gateway", http.StatusUnauthorized)
		case token == "" && !Loopback(r.Host), foreign(r):
			http.Error(w, "this gateway answers programs on this machine alone", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// foreign reports whether a page of another site sent the request.
func foreign(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || !strings.EqualFold(u.Host, r.Host) && !Loopback(u.Host)
}

// Loopback reports whether an address with or without a port is of this machine alone.
func Loopback(address string) bool {
	host := address
	if h, _, err := net.SplitHostPort(address); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
