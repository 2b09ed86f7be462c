package web

import (
	"net/url"
	"strings"
	"testing"
)

// TestURLPatterns: a star stays within its part of the URL, and a host is a host.
func TestURLPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern string
		yes, no []string
	}{
		{"*", []string{"http://a/", "https://b:1/c?d"}, nil},
		{"https://*", []string{"https://a/", "https://a.b:8443/c?d"}, []string{"http://a/"}},
		{"http*://a/*", []string{"http://a/", "https://a/x", "https://a:443/x"}, []string{"http://b/", "http://a:8080/"}},
		{"https://hooks.example.com/*",
			[]string{"https://hooks.example.com/", "https://HOOKS.example.COM/x/y?z=1", "https://hooks.example.com./x",
				"https://hooks.example.com:443/x", "https://hooks.example.com", "https://user:pw@hooks.example.com/x"},
			[]string{"http://hooks.example.com/", "https://hooks.example.com.evil.com/", "https://evil.com/hooks.example.com/",
				"https://hooks.example.com@evil.com/", "https://hooks.example.com:8443/", "https://xhooks.example.com/"}},
		{"https://HOOKS.Example.com./*", []string{"https://hooks.example.com/a"}, nil},
		{"https://hooks.example.com:443/*", []string{"https://hooks.example.com/a"}, nil},
		{"https://*.example.com/*", []string{"https://a.example.com/", "https://a.b.example.com/x"},
			[]string{"https://example.com/", "https://evil.com/.example.com/", "https://evil.com?.example.com/",
				"https://evil.com#.example.com/", "https://a.example.com:8443/"}},
		{"*.example.com/*", []string{"http://a.example.com/", "https://a.example.com/"}, []string{"https://evil.com/.example.com/"}},
		{"http://localhost:*", []string{"http://localhost:8080/x", "http://localhost/x?y", "http://localhost"},
			[]string{"http://localhost.evil.com/", "http://localhost:8080@evil.com/", "https://localhost:1/"}},
		{"http://localhost:*/hooks/*", []string{"http://localhost:1/hooks/a", "http://localhost/hooks/"},
			[]string{"http://localhost:1/other", "http://localhost:1/hooks/../other", "http://localhost:1/hooks/%2e%2E/other",
				"http://localhost:1/hooks/./../other"}},
		{"http://a/x", []string{"http://a/x", "http://a/y/../x"}, []string{"http://a/X", "http://a/x/", "http://a/x?y", "http://a/"}},
		{"http://a", []string{"http://a", "http://a/"}, []string{"http://a/x", "http://a?x"}},
		{"http://a?x", []string{"http://a?x", "http://a/?x"}, []string{"http://a/"}},
		{"http://[::1]:*", []string{"http://[::1]:80/", "http://[0:0::1]:9/x"}, []string{"http://[::2]/"}},
		{"http://127.0.0.1:*", []string{"http://127.0.0.1:5/x"}, []string{"http://127.0.0.10/", "http://[::ffff:127.0.0.1]/"}},
	} {
		p, err := ParsePattern(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		for want, list := range map[bool][]string{true: c.yes, false: c.no} {
			for _, text := range list {
				to, err := ParseTarget(text)
				if err != nil {
					t.Errorf("%s: %v", text, err)
				} else if p.Matches(to) != want {
					t.Errorf("%s on %s: %v", c.pattern, text, !want)
				}
			}
		}
	}
	for pattern, want := range map[string]string{"": "lacks a scheme", "example.com/*": "lacks a scheme",
		"ftp://example.com/*": "neither http nor https", "https:///x": "names no host", "https://u@h/*": "names no host",
		"https:*": "lacks a scheme"} {
		if _, err := ParsePattern(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", pattern, err, want)
		}
	}
}

// TestTargets: what URLs of hooks can have wrong, numbers that stand for
// addresses among it, and what becomes of those that are right.
func TestTargets(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "has no url",
		"  ":                            "has no url",
		"example.com/hook":              "neither http:// nor https://",
		"ftp://example.com":             "neither http:// nor https://",
		"file:///etc/passwd":            "neither http:// nor https://",
		"gopher://127.0.0.1:25/":        "neither http:// nor https://",
		"http:opaque":                   "names no host",
		"http:///x":                     "names no host",
		"http://:80/":                   "names no host",
		"http://a b/":                   "is no URL",
		"http://a:port/":                "is no URL",
		"http://a/%zz":                  "is no URL",
		"http://a\\@b/":                 "is no URL",
		"http://a\n.b/":                 "is no URL",
		"http://a:0/":                   "there is no port 0",
		"http://a:65536/":               "there is no port 65536",
		"http://2130706433/":            "a number that may mean an address",
		"http://017700000001/":          "a number that may mean an address",
		"http://0x7f000001/":            "a number that may mean an address",
		"http://0x7f.0.0.1/":            "a number that may mean an address",
		"http://0X7F.1/":                "a number that may mean an address",
		"http://0177.0.0.1/":            "a number that may mean an address",
		"http://127.1/":                 "a number that may mean an address",
		"http://127.0.0.0x1/":           "a number that may mean an address",
		"http://127.0.0.1.5/":           "a number that may mean an address",
		"http://1.2.3.256/":             "a number that may mean an address",
		"http://0x/":                    "a number that may mean an address",
		"http://[fe80::1%25eth0]/":      "has a zone",
		"http://" + "127.0.0.01" + "/x": "a number that may mean an address",
	} {
		if to, err := ParseTarget(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %q", text, to, err, want)
		}
	}
	for text, want := range map[string]string{
		" https://Example.COM.:443/a/b?c=d#e ": "https://example.com/a/b?c=d",
		"http://example.com":                   "http://example.com/",
		"http://example.com:8080?x":            "http://example.com:8080/?x",
		"http://example.com/a/../../b/./c":     "http://example.com/b/c",
		"http://example.com/%2E%2e/a%2Fb":      "http://example.com/a%2Fb",
		"http://example.com//evil.com/x":       "http://example.com//evil.com/x",
		"http://127.0.0.1:80/":                 "http://127.0.0.1/",
		"http://[0:0:0::1]:81/x":               "http://[::1]:81/x",
		"http://a1.b2/":                        "http://a1.b2/",
		"http://u:p@h/x":                       "http://u:p@h/x",
	} {
		to, err := ParseTarget(text)
		if err != nil || to.url.String() != want {
			t.Errorf("%q: %+v, %v, want %s", text, to, err, want)
		}
	}
}

// FuzzURLPattern: no pattern and no URL panics, and a pattern that names a host
// matches no other host, whoever reads the URL.
func FuzzURLPattern(f *testing.F) {
	for _, seed := range [][2]string{{"https://hooks.example.com/*", "https://hooks.example.com@evil.com/"},
		{"http://localhost:*", "http://localhost:1/../x"}, {"*", "http://[::1]:1/"}, {"https://*.a/*", "https://b/.a/"},
		{"http://a?x", "http://a/%2e%2e/?x"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		p, err := ParsePattern(pattern)
		to, wrong := ParseTarget(text)
		if err != nil || wrong != nil {
			return
		}
		if again, err := ParseTarget(to.url.String()); err != nil || again.url.String() != to.url.String() {
			t.Fatalf("%q becomes %q and then %+v, %v", text, to.url, again, err)
		}
		if strings.Contains(to.rest, "/../") || strings.Contains(to.url.EscapedPath(), "/./") {
			t.Fatalf("%q keeps dots: %s", text, to.rest)
		}
		if !p.Matches(to) || !p.LiteralHost() {
			return
		}
		called, err := url.Parse(to.url.String())
		if err != nil || canonicalHost(called.Hostname()) != strings.Trim(p.host, "[]") && called.Host != p.host &&
			canonicalHost(called.Hostname()) != p.host {
			t.Fatalf("%q matches %q, which goes to %s", pattern, text, called.Host)
		}
	})
}
