package web

import (
	"net/http"
	"net/textproto"
	"regexp"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
)

// variableForm finds variables in the value of a header.
var variableForm = regexp.MustCompile(`\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))`)

// ownHeaders lists the headers that belong to the connection and not to hooks.
// What a file says of them is left out: a Host of its own would reach a site that
// no list of URLs has seen.
func ownHeaders() []string {
	return []string{"Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Authorization",
		"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}
}

// isToken reports whether name may name a header.
func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// headersOf makes the headers of an http hook. Of variables it puts in those that
// may says; all others become nothing.
func headersOf(h *hooks.Handler, may func(name string) bool, value func(name string) string) http.Header {
	header := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"covey-hooks"}}
	for name, text := range h.Headers {
		key := textproto.CanonicalMIMEHeaderKey(name)
		if !isToken(name) || slices.Contains(ownHeaders(), key) {
			continue
		}
		text = variableForm.ReplaceAllStringFunc(text, func(found string) string {
			variable := strings.Trim(found, "${}")
			if !slices.Contains(h.AllowedEnvVars, variable) || !may(variable) {
				return ""
			}
			return value(variable)
		})
		header[key] = []string{headerText(text)}
	}
	return header
}

// headerText takes out of a value what would end its line.
func headerText(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, text))
}
