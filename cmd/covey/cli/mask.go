package cli

import (
	"os"
	"sync"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/state"
)

// readSecretsEvery is how often the spec is read for what is secret: it can change while a page is open.
const readSecretsEvery = 30 * time.Second

// Masker masks secrets in what pages and the board show of a team, as reports do.
type Masker struct {
	Env   *Env
	Place state.Place

	mu    sync.Mutex
	known []string
	read  time.Time
}

// secrets returns what is secret: values of covey's environment, and of the spec if it can be read.
func (m *Masker) secrets() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.read) > readSecretsEvery {
		team, err := m.Env.specOf(m.Place) // a warning would itself be masked
		if err != nil {
			team = (*configs.Team)(nil)
		}
		m.known, m.read = launch.Secrets(team, os.Environ()), time.Now()
	}
	return m.known
}

// Mask returns a text without secrets.
func (m *Masker) Mask(text string) string {
	if len(text) < texts.MinSecret {
		return text
	}
	return texts.Mask(text, m.secrets())
}
