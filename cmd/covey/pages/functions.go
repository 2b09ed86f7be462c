package pages

import (
	"embed"
	"fmt"
	"html/template"
	"maps"
	"net/url"
	"strings"
	"time"

	"github.com/coveyteam/covey/cmd/covey/term"
	termview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// DomID makes a name fit for an id and a selector of the page.
func DomID(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "_%x", r)
		}
	}
	return b.String()
}

//go:embed templates/*.html
var templates embed.FS

//go:embed static/style.css
var style string

//go:embed static/report.css
var reportStyle string

// Style returns the style sheet of all pages.
func Style() string { return style }

// Templates returns the templates of sections and of the report. Their links lead to pages of the
// web page.
func Templates(root string) *template.Template {
	return template.Must(template.New("").Funcs(functions(root)).ParseFS(templates, "templates/*.html"))
}

// phrase returns a text that another one follows in the same sentence.
func phrase(text string) string { return strings.TrimRight(text, ".; ") }

// asked returns what a question about a member in trouble says, without the words for the commands that answer it: its buttons have their own.
func asked(text string) string {
	text, _, _ = strings.Cut(text, "(approve: ")
	return strings.TrimSpace(text)
}

// functions are what templates call.
func functions(root string) template.FuncMap {
	list := template.FuncMap{
		"plain":   term.Plain,
		"line":    term.PlainLine,
		"elapsed": term.Elapsed,
		"clock":   func(t time.Time) string { return t.Local().Format("15:04:05") },
		"stamp":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"thousands": func(n int64) string {
			switch {
			case n >= 10_000_000:
				return fmt.Sprintf("%d M", n/1_000_000)
			case n >= 10_000:
				return fmt.Sprintf("%d k", n/1000)
			}
			return fmt.Sprint(n)
		},
		"mergeword":  func(s tasks.MergeState) string { word, _ := termview.MergeWord(s); return term.PlainLine(word) },
		"mergeclass": func(s tasks.MergeState) string { return classOf(termview.MergeStyle(s)) },
		"path":       url.PathEscape,
		"usd":        func(v float64) string { return fmt.Sprintf("$%.2f", v) },
		"dom":        DomID,
		"plural":     texts.Plural,
		"day":        func(t time.Time) string { return t.Local().Format("2 January 2006, 15:04") },
		"lasted":     func(from, to time.Time) string { return term.Elapsed(to.Sub(from)) },
		"passes": func(n int) string {
			if n == 1 {
				return "1 pass"
			}
			return fmt.Sprintf("%d passes", n)
		},
		"took":        term.Took,
		"needword":    termview.NeedWord,
		"returnword":  termview.ReturnWord,
		"phrase":      phrase,
		"attention":   func(n api.Need) bool { return n.Kind == api.NeedsHelp || n.Asks == requests.AskAttention },
		"asked":       asked,
		"needclass":   func(n api.Need) string { return classOf(termview.NeedStyle(n)) },
		"needcommand": termview.NeedCommand,
		"denied":      termview.DeniedText,
		"hunkform":    func(page Commented, f FileView, h hints.Hunk) HunkForm { return HunkForm{page, f, h} },
		"answerform":  NewAnswerForm,
		"rendered":    rendered,
		"live":        func() bool { return true },
		"part": func(name string) template.HTMLAttr {
			return template.HTMLAttr(fmt.Sprintf(`id="task-%s" aria-labelledby="%[1]s-title"`, name)) //nolint:gosec // our own
		},
		"heading": func(name string) template.HTMLAttr {
			return template.HTMLAttr(fmt.Sprintf(`id="%s-title"`, name)) //nolint:gosec // our own
		},
	}
	maps.Copy(list, pageLinks(root))
	return list
}
