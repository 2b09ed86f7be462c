package web

import (
	"errors"
	"net/netip"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// Pattern is a pattern of allowedHttpHookUrls, split into the parts of a URL. A "*" matches
// any characters within its part, so that https://*.example.com/* never matches
// https://evil.com/.example.com/.
type Pattern struct {
	scheme string
	host   string // lower case, without a trailing dot; an IPv6 address in brackets
	port   string // digits, with wildcards; empty: the scheme's own
	rest   string // path and query, from the slash on
}

// ParsePattern parses a pattern. The error says why it can match no URL.
func ParsePattern(text string) (Pattern, error) {
	text = strings.TrimSpace(text)
	if strings.Trim(text, "*") == "" && text != "" {
		return Pattern{scheme: "*", host: "*", port: "*", rest: "*"}, nil
	}
	scheme, after, found := strings.Cut(text, "://")
	if !found {
		if !strings.HasPrefix(text, "*") {
			return Pattern{}, errors.New("it lacks a scheme: begin it with https://")
		}
		scheme, after = "*", text
	}
	p := Pattern{scheme: strings.ToLower(scheme)}
	authority := after
	if i := strings.IndexAny(after, "/?"); i >= 0 {
		authority, p.rest = after[:i], after[i:]
	}
	host, port := splitPort(authority)
	p.host, p.port = canonicalHost(host), port
	switch {
	case p.host == "" || strings.ContainsAny(p.host, "@#\\ "):
		return Pattern{}, errors.New("it names no host")
	case !texts.Wild(p.scheme, "http") && !texts.Wild(p.scheme, "https"):
		return Pattern{}, errors.New("its scheme is neither http nor https")
	case p.rest == "" && strings.HasSuffix(authority, "*"):
		p.rest = "*" // https://example.com:* means all that is there
	case strings.HasPrefix(p.rest, "?") || p.rest == "":
		p.rest = "/" + p.rest
	}
	if p.port == "" && strings.HasSuffix(host, "*") {
		p.port = "*" // as far as its star reaches, the host may end in a port
	} else if p.port == defaultPort(p.scheme) {
		p.port = ""
	}
	return p, nil
}

// splitPort splits off a port. The colons of an IPv6 address are in brackets.
func splitPort(authority string) (host, port string) {
	i := strings.LastIndexByte(authority, ':')
	if i < 0 || strings.HasSuffix(authority, "]") {
		return authority, ""
	}
	return authority[:i], authority[i+1:]
}

// canonicalHost returns the same text for equal hosts: lower case, no dot at the end, and an
// address in its shortest form, an IPv6 one in brackets.
func canonicalHost(host string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	switch {
	case err != nil:
		return host
	case addr.Is6():
		return "[" + addr.String() + "]"
	}
	return addr.String()
}

// defaultPort returns the port that URLs of a scheme need not name.
func defaultPort(scheme string) string {
	return map[string]string{"http": "80", "https": "443"}[scheme]
}

// Matches reports whether the pattern matches all of u.
func (p Pattern) Matches(u *Target) bool {
	return texts.Wild(p.scheme, u.scheme) && texts.Wild(p.host, u.host) && texts.Wild(p.port, u.port) && texts.Wild(p.rest, u.rest)
}

// LiteralHost reports whether the pattern names one host.
func (p Pattern) LiteralHost() bool { return !strings.Contains(p.host, "*") }
