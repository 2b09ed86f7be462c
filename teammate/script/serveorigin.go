package script

import (
	"net"
	"net/http"
	"net/url"
	"strings"
)

// OwnOnly refuses requests of web pages, because a client of the server makes
// agents run what its scripts say. Agents send no Origin, and their Host is the
// address that they were given. The Host check stops a page whose own name resolves
// to this machine (DNS rebinding).
func OwnOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site := r.Header.Get("Sec-Fetch-Site")
		switch {
		case !loopbackHost(r.Host):
			refuseForeign(w, "requests to a host that is not of this machine are refused; ask for 127.0.0.1")
		case !ownOrigin(r.Header["Origin"], r.Host) || site == "cross-site" || site == "same-site":
			refuseForeign(w, "requests of web pages are refused")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// refuseForeign answers with 403, in the form that most clients can read.
func refuseForeign(w http.ResponseWriter, why string) {
	writeJSON(w, http.StatusForbidden, openaiFault("permission_error", why))
}

// loopbackHost reports whether a Host header names this machine.
func loopbackHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// ownOrigin reports whether the Origin header is missing or is the server's own.
func ownOrigin(origin []string, host string) bool {
	if len(origin) == 0 {
		return true
	}
	u, err := url.Parse(origin[0])
	return len(origin) == 1 && err == nil && u.Scheme == "http" && u.Host == host
}
