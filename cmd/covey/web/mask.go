package web

import (
	"html/template"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
)

// masked are the functions by which templates show texts. All texts of members and programs pass a
// cli.Masker, because the templates call these.
func masked(m *cli.Masker) template.FuncMap {
	return template.FuncMap{
		"plain":  func(text string) string { return term.Plain(m.Mask(text)) },
		"line":   func(text string) string { return term.PlainLine(m.Mask(text)) },
		"masked": m.Mask,
	}
}
