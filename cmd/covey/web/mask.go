package web

import (
	"html/template"
	"os"
	"sync"
	"time"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/state"
)

// readSecretsEvery is how often the spec is read for what is secret: it can change while a page is open.
const readSecretsEvery = 30 * time.Second

// masker masks secrets in what pages show, as reports do. All texts of members and programs pass it,
// because the templates' functions call it.
type masker struct {
	env   *cli.Env
	place state.Place

	mu    sync.Mutex
	known []string
	read  time.Time
}

// secrets returns what is secret: values of covey's environment, and of the spec if it can be read.
func (m *masker) secrets() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.read) > readSecretsEvery {
		team, err := m.env.TeamOf(m.place)
		if err != nil {
			team = (*configs.Team)(nil)
		}
		m.known, m.read = launch.Secrets(team, os.Environ()), time.Now()
	}
	return m.known
}

// mask returns a text without secrets.
func (m *masker) mask(text string) string {
	if len(text) < texts.MinSecret {
		return text
	}
	return texts.Mask(text, m.secrets())
}

// functions are those by which templates show texts.
func (m *masker) functions() template.FuncMap {
	return template.FuncMap{
		"plain":  func(text string) string { return term.Plain(m.mask(text)) },
		"line":   func(text string) string { return term.PlainLine(m.mask(text)) },
		"masked": m.mask,
	}
}
