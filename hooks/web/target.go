package web

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Target is the URL of a request, in the parts that patterns are applied to.
type Target struct {
	url    *url.URL
	scheme string
	host   string     // see canonicalHost
	addr   netip.Addr // if the host is an address
	port   string     // empty: the scheme's own
	rest   string     // path and query
}

// ParseTarget parses the URL of a request, and normalizes it to one that all parsers
// understand alike. The error says what is wrong with it.
func ParseTarget(text string) (*Target, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("the hook has no url: write where it posts to, such as https://example.com/hooks")
	}
	u, err := url.Parse(strings.TrimSpace(text))
	var fault *url.Error
	switch {
	case errors.As(err, &fault):
		return nil, fmt.Errorf("%.80q is no URL: %w", text, fault.Err)
	case err != nil:
		return nil, fmt.Errorf("%.80q is no URL: %w", text, err)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%.80q begins with neither http:// nor https://", text)
	case u.Hostname() == "":
		return nil, fmt.Errorf("%.80q names no host: write it behind %s://", text, u.Scheme)
	}
	t := &Target{scheme: u.Scheme, port: u.Port(), host: canonicalHost(u.Hostname())}
	if err := t.checkHost(); err != nil {
		return nil, err
	}
	if t.port == defaultPort(t.scheme) {
		t.port = ""
	}
	u.Host, u.Fragment, u.RawFragment = t.host, "", ""
	if t.port != "" {
		u.Host += ":" + t.port
	}
	t.url, err = withoutDots(u)
	if err != nil {
		return nil, fmt.Errorf("%.80q is no URL: %w", text, err)
	}
	t.rest = t.url.RequestURI()
	return t, nil
}

// String returns the normalized URL.
func (t *Target) String() string { return t.url.String() }

// checkHost refuses what parsers of URLs interpret differently: numbers that some take for an
// address, and invalid ports.
func (t *Target) checkHost() error {
	if n, err := strconv.Atoi(t.port); t.port != "" && (err != nil || n < 1 || n > 65535) {
		return fmt.Errorf("there is no port %.20s: write 1 to 65535", t.port)
	}
	if addr, err := netip.ParseAddr(strings.Trim(t.host, "[]")); err == nil {
		t.addr = addr
		if addr.Zone() != "" {
			return fmt.Errorf("the address %s has a zone: leave it out", t.host)
		}
		return nil
	}
	last := t.host[strings.LastIndexByte(t.host, '.')+1:]
	if looksNumeric(last) {
		return fmt.Errorf("the host %.60s is a number that may mean an address: write four decimal numbers, as in 127.0.0.1",
			t.host)
	}
	return nil
}

// looksNumeric reports whether the last part of a host is a number in a form that some
// resolvers accept. To them the whole host is an address then.
func looksNumeric(label string) bool {
	digits, hex := strings.CutPrefix(label, "0x")
	if label == "" || hex && digits == "" {
		return hex
	}
	allowed := "0123456789"
	if hex {
		allowed += "abcdef"
	}
	return strings.Trim(digits, allowed) == ""
}

// withoutDots resolves "." and ".." in the path, also escaped ones, as servers may do: the
// URL that is checked must be the one that is called.
func withoutDots(u *url.URL) (*url.URL, error) {
	path := strings.NewReplacer("%2e", ".", "%2E", ".").Replace(u.EscapedPath())
	plain, err := url.PathUnescape(cmp.Or(path, "/"))
	if err != nil {
		return nil, err
	}
	return u.ResolveReference(&url.URL{Path: plain, RawPath: path, RawQuery: u.RawQuery,
		ForceQuery: u.ForceQuery}), nil
}

// local reports whether the URL itself names this machine.
func (t *Target) local() bool {
	return t.host == "localhost" || strings.HasSuffix(t.host, ".localhost") || t.addr.IsLoopback()
}
