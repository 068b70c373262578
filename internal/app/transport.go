package app

import (
	"log/slog"
	"net/http"
	"net/netip"
	"slices"

	"tenet/internal/api/rest"
	"tenet/internal/config"
	"tenet/internal/rule"
	"tenet/internal/tlsfile"
)

// openTLS reads the certificates that the settings name; nil if they name none.
func openTLS(cfg config.Config, log *slog.Logger) (*tlsfile.Source, error) {
	if cfg.TLSCert == "" {
		return nil, nil //nolint:nilnil // no certificates
	}
	return tlsfile.Open(tlsfile.Files{
		Cert: cfg.TLSCert, Key: cfg.TLSKey, ClientCA: cfg.TLSClientCA, MinVersion: cfg.TLSMinVersion,
	}, log)
}

// scheme is how clients of a server speak to it: https:// if it has certificates, else http://.
func scheme(cfg config.Config) string {
	if cfg.TLSCert != "" {
		return "https://"
	}
	return "http://"
}

// URL is the address of a node that serves, for clients on this machine.
func URL(a *App) string {
	if a.tls != nil {
		return "https://" + a.Addr()
	}
	return "http://" + a.Addr()
}

// forwarding are the headers by which a proxy speaks for its clients.
var forwarding = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Port", "X-Forwarded-Proto", "X-Forwarded-Scheme", "X-Forwarded-Ssl", "X-Real-Ip"}

// forwardedBy removes what requests say about their way here, unless the last part of it is a trusted proxy.
func forwardedBy(proxies []netip.Prefix, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peer, err := netip.ParseAddrPort(r.RemoteAddr)
		addr := peer.Addr().Unmap().WithZone("")
		if err != nil || !slices.ContainsFunc(proxies, func(n netip.Prefix) bool { return n.Contains(addr) }) {
			for _, name := range forwarding {
				r.Header.Del(name)
			}
		}
		next.ServeHTTP(w, r)
	})
}

// withClientCertificate refuses requests without a certificate where clients must present one, except those of probes.
func withClientCertificate(s *tlsfile.Source, next http.Handler) http.Handler {
	if !s.AsksClients() {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if (r.TLS == nil || len(r.TLS.VerifiedChains) == 0) && r.URL.Path != "/health" && r.URL.Path != "/ready" {
			rest.Refuse(w, &rule.Error{Code: rule.CodeUnauthenticated, Message: "a client certificate is needed; present one that comes from an authority of tls_client_ca"})
			return
		}
		next.ServeHTTP(w, r)
	})
}
