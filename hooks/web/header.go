package web

import (
	"net/http"
	"net/textproto"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// variableForm matches variables in the value of a header.
var variableForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))`)
})

// ownHeaders returns the headers that hooks cannot set, because they belong to the
// connection. A Host header, for example, would reach a site that no list of URLs has
// checked.
func ownHeaders() []string {
	return []string{"Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Authorization",
		"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}
}

// isToken reports whether name is a valid name of a header.
func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// header returns the headers of the request. Variables that may allows are replaced by
// their values, all others by "".
func (r *Request) header(may func(name string) bool, value func(name string) string) http.Header {
	header := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"covey-hooks"}}
	for name, text := range r.Headers {
		key := textproto.CanonicalMIMEHeaderKey(name)
		if !isToken(name) || slices.Contains(ownHeaders(), key) {
			continue
		}
		text = variableForm().ReplaceAllStringFunc(text, func(found string) string {
			variable := strings.Trim(found, "${}")
			if !slices.Contains(r.AllowedEnvVars, variable) || !may(variable) {
				return ""
			}
			return value(variable)
		})
		header[key] = []string{headerText(text)}
	}
	return header
}

// headerText removes characters from a value that would end its line.
func headerText(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, text))
}
