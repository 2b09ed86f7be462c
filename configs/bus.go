package configs

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
)

// Bus is the section `bus`: the servers that keep the team's data. The zero value means this host.
type Bus struct {
	URL    []string // never empty, unless the section is not there
	Creds  string   // absolute path; empty: none
	Unsafe bool     // the servers need not be safe
}

// Given reports whether the team's data is on servers.
func (b Bus) Given() bool { return len(b.URL) > 0 }

// busSpec is the section `bus`.
type busSpec struct {
	at     *yaml.Node
	url    yaml.List[yaml.Value[string]]
	creds  yaml.Value[string]
	unsafe bool
}

// fields returns the keys of the section.
func (s *busSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "url", Need: true, Part: yaml.Texts(&s.url),
			Doc: "The addresses of the servers, such as tls://a:4222."},
		{Key: "creds", Part: yaml.Text(&s.creds),
			Doc: "The file with the coordinator's key, an nkey or credentials of NATS, relative to the spec."},
		{Key: "unsafe", Part: yaml.Into(&s.unsafe, yaml.Truth),
			Doc: "Also run on servers that may lose data: fewer than three, or such that do not sync each write. Default: false."},
	}
}

// bus resolves the section `bus`.
func (r *resolver) bus(s *busSpec) Bus {
	b := Bus{Unsafe: s.unsafe}
	if s.at != nil && len(s.url.Items) == 0 {
		r.Fail(s.at.At, "bus names no server; write url: [\"tls://HOST:4222\"]")
	}
	var plain []yaml.Value[string] // not encrypted
	for _, v := range s.url.Items {
		if v.V == "" {
			continue // it was no text
		}
		u, err := url.Parse(v.V)
		switch {
		case err != nil || u.Hostname() == "" || u.Scheme != "nats" && u.Scheme != "tls" || u.Path != "" || u.RawQuery != "":
			r.Fail(v.At.At, "%s is not the address of a server; write one such as tls://nats.example.com:4222", yaml.Quote(v.V))
			continue
		case u.User != nil:
			r.Fail(v.At.At, "the address must have no user and no password; use creds")
			continue
		case u.Scheme == "nats" && !staysHere(u.Hostname()):
			plain = append(plain, v)
		}
		if u.Port() == "" {
			u.Host = net.JoinHostPort(u.Hostname(), "4222")
		}
		b.URL = append(b.URL, u.String())
	}
	if len(plain) > 0 {
		names := make([]string, len(plain))
		for i, v := range plain {
			names[i] = v.V
		}
		r.Warn(plain[0].At.At, "what the team does goes to %s unencrypted, unless the servers ask for TLS; write tls://", strings.Join(names, ", "))
	}
	if !r.opts.Node {
		b.Creds = r.Path(s.creds, "creds file")
	}
	return b
}

// staysHere reports whether what is sent to a host does not leave this machine.
func staysHere(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}
