package yaml

import (
	"net/netip"
	"net/url"
)

// WebURL resolves a URL that begins with http:// or https://, and reports mistakes; nil: there
// is none, or it is wrong.
func (d *Decoder) WebURL(v Value[string]) *url.URL {
	if v.V == "" {
		return nil
	}
	u, err := url.Parse(v.V)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		d.Fail(v.At.At, "%s is not a URL; write one such as https://example.com/covey", Quote(v.V))
		return nil
	case u.User != nil || u.Fragment != "":
		d.Fail(v.At.At, "the URL must have no user and no fragment; remove them")
		return nil
	}
	return u
}

// GoesOpen reports whether what is sent to a URL can be read on its way: it is neither encrypted
// nor stays on this machine.
func GoesOpen(u *url.URL) bool {
	addr, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "http" && u.Hostname() != "localhost" && (err != nil || !addr.IsLoopback())
}
