package teamtest

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/view"
)

// Payloads are texts that would do harm if a view showed them as they are: they act on a page, on
// Markdown or on a terminal, look like something else, or break what is around them. Every view is
// tested with all of them.
func Payloads() []string {
	list := []string{
		// Markdown
		"`", "```", "~~~", "|", "\\|", "a|b|c\n|-|-|-|", "# x", "- x", "1. x", "> x", "---", "***", "[a](javascript:alert(1))", "![a](//evil)",
		"[a]: //evil", "[a](JaVaScRiPt&colon;alert(1))", "<javascript:alert(1)>", "@octocat", "@org/team", "#1", "GH-1", "org/repo#1", "fixes #1",
		"https://evil.example", "www.evil.example", "mailto:a@b.c",
		// HTML: ends of what is around a text, templates, attributes, entities
		"<!--", "-->", "<![CDATA[", "]]>", "</style>", "</title>", "</pre>", "</svg>", "</textarea></form>", "</details></article>", "</hx-partial>", "{{.}}",
		"${x}", "$x$", "&#60;script&#62;", "&lt;script&gt;", `" onmouseover="alert(1)`, `' onfocus='alert(1)`, "`onload=alert(1)`", `" style="position:fixed`,
		`" hx-get="//evil" hx-trigger="load`, "javascript:alert(1)", "\tjava\nscript:alert(1)", "data:text/html,<script>alert(1)</script>", "//evil.example/../",
		// CSS
		"*{background:url(//evil)}", "expression(alert(1))", `\3c script\3e `, "@import '//evil';",
		// events of a stream
		"\n\ndata: <script>alert(1)</script>\n\n", "\rid: 9\revent: hx:release\r", "x\r\n\r\nretry: 1\r\n",
		// characters: controls, of terminals too, wrong UTF-8, marks of direction, invisible and
		// combining ones
		"\x00", "\x1b]0;x\x07", "\x1b[2J\x1b[31m", "\x1b]8;;http://evil\x1b\\x\x1b]8;;\x1b\\", "\u009b31m", "\x7f\b\b\b", "\xff\xfe", "\xc3", "\xed\xa0\x80", "\u202etxt.exe",
		"\u2067x\u2069", "\u200e\u200f", "\u061c", "\ufeff", "a\u200bb\u200cc\u2060d", "\u00ad", "\U000e0041\U000e0042", "\u2028x\u2029", "Z" + strings.Repeat("\u0335\u0489", 500),
	}
	for _, tag := range []string{
		"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)>", "<iframe src=//evil>", "<a href=javascript:alert(1)>",
		"<style>*{}</style>", "<link rel=stylesheet href=//evil>", "<meta http-equiv=refresh content=0>", "<base href=//evil>", "<form action=//evil>",
		"<body onload=alert(1)>", "<details ontoggle=alert(1) open>", "<math><mi xlink:href=//evil>", "<object data=//evil>", "<video src=//evil>",
		"<svg><use href=//evil#x></svg>", "<svg><animate onbegin=alert(1)>", "<div hx-get=//evil hx-trigger=load>", "<hx-partial hx-target=#main>",
	} {
		list = append(list, tag, `">`+tag)
	}
	return list
}

// LongPayload is a line of ten megabytes.
func LongPayload() string { return strings.Repeat("x\u202e<b>\x1b[2J ", 10<<20/12) }

// Hostile returns a text with a payload at its end. What covey alone sets stays as it is.
func Hostile(old, payload string) string {
	if slices.Contains([]view.Verdict{view.Judging, view.Agreed, view.Refused, view.Awaits, view.Halted, view.Cut}, view.Verdict(old)) {
		return old
	}
	return old + payload
}

// What a page may have: elements, attributes, and what leads somewhere or is sent somewhere.
const (
	elements = "html head meta title style body header nav main section article footer figure " +
		"figcaption h1 h2 h3 p b a br span div time dl dt dd ul ol li code pre details summary svg g rect path text label meter progress table caption tbody tr td " +
		"form input textarea button select option hx-partial strong em blockquote hr thead th"
	attributes = "lang class charset http-equiv content name id aria-label aria-labelledby aria-level aria-hidden " +
		"href datetime data-age data-keep tabindex role title viewBox width height x y rx d preserveAspectRatio open hidden min max value high for " +
		"method action hx-post hx-swap hx-target type placeholder autocomplete required rows inputmode pattern rel form aria-pressed aria-invalid aria-required aria-describedby data-key checked selected"
	posts = "/answer /merge /send /return /comment /hold /viewed /fill"
)

// CheckHTML fails a test if a page or a part of one, in which a payload was shown, has an element or an
// attribute that could do something, a link that leads elsewhere, or characters that are not as plain
// as they look.
func CheckHTML(t testing.TB, payload, page string) {
	t.Helper()
	page = unseen().ReplaceAllString(page, "")
	CheckPlain(t, payload, page)
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Errorf("%.60q: %v", payload, err)
			return
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if !slices.Contains(strings.Fields(elements), e.Name.Local) {
			t.Errorf("%.60q: an element %s", payload, e.Name.Local)
		}
		for _, a := range e.Attr {
			if !slices.Contains(strings.Fields(attributes), a.Name.Local) || !leadsHere(a) {
				t.Errorf("%.60q: %s %s=%.100q", payload, e.Name.Local, a.Name.Local, a.Value)
			}
		}
	}
}

// unseen matches what nobody sees: classes, and fields that a form sends back as they were.
var unseen = texts.Pattern(`class="[^"]*"|<input type="hidden" [^>]*>`)

// leadsHere reports whether an attribute leads nowhere but to a place of covey's own page.
func leadsHere(a xml.Attr) bool {
	switch a.Name.Local {
	case "href":
		return a.Value == "" || strings.HasPrefix(a.Value, "#") || strings.HasPrefix(a.Value, "?") ||
			strings.HasPrefix(a.Value, "/") && !strings.HasPrefix(a.Value, "//") && !strings.Contains(a.Value, "\\")
	case "action", "hx-post":
		return slices.Contains(strings.Fields(posts), a.Value)
	case "hx-swap":
		return slices.Contains([]string{"none", "outerMorph", "innerHTML", "beforeend"}, a.Value)
	}
	return true
}

// CheckPlain fails a test if a text, in which a payload was shown, has characters that a terminal or a
// browser would obey, or that nobody sees.
func CheckPlain(t testing.TB, payload, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%.60q: the text is no UTF-8", payload)
	}
	if at := strings.IndexFunc(text, obeyed); at >= 0 {
		t.Errorf("%.60q: it has %.10q after %.200q", payload, text[at:], text[max(0, at-200):at])
	}
}

// obeyed reports whether a character does something or is not seen. Joiners are harmless: emoji and
// some scripts need them.
func obeyed(r rune) bool {
	switch r {
	case '\n', '\t', '\u200c', '\u200d':
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) && (r < 0xe0000 || r > 0xe007f)
}
