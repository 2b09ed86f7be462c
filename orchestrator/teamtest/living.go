package teamtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/trust"
)

const LivingSpec = `covey: 1
name: crew
goal: Ship it.
keep: true
models:
  lead: {provider: script, script: lead.yaml}
  dev: {provider: script, script: dev.yaml}
lead: {model: lead}
teammates:
  dev: {model: dev}
`

// Living is a team that stays up, whose spec a test rewrites.
type Living struct {
	*Underway
	Client *api.Client
}

// NewLiving starts the team and waits until it is at rest.
func NewLiving(t *testing.T, files map[string]string) *Living {
	t.Helper()
	all := map[string]string{
		"team.yaml": LivingSpec, "lead.yaml": "steps: [{say: Fine., times: -1}]", "dev.yaml": "steps: [{say: Fine., times: -1}]",
	}
	for name, text := range files {
		all[name] = text
	}
	return LivingOn(NewRig(t, all))
}

// LivingOn is newLiving for a rig that stands.
func LivingOn(r *Rig) *Living {
	t := r.T
	t.Helper()
	l := &Living{Underway: Start(r, &HandClock{})}
	l.Until("team_started", 1)
	l.Lines.Wait(t, "the lead's first turn", func(line events.Line) bool { return events.Is[events.TurnEnded](line) && line.Member == "lead" })
	client, err := api.Dial(t.Context(), l.O.Place())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	l.Client = client
	return l
}

// Rewrite puts another spec in place and asks the team to take it up.
func (l *Living) Rewrite(spec string) (events.SpecChanged, error) {
	l.T.Helper()
	if err := os.WriteFile(filepath.Join(l.Dir, "team.yaml"), []byte(spec), 0o644); err != nil {
		l.T.Fatal(err)
	}
	return l.Ask(api.ApplySpec{})
}

// Ask asks the team to take up the spec as it is on disk.
func (l *Living) Ask(r api.ApplySpec) (events.SpecChanged, error) {
	l.T.Helper()
	r.Spec = filepath.Join(l.Dir, "team.yaml")
	if !r.DryRun && r.Digest == "" {
		if team, err := configs.Load(r.Spec); err == nil {
			report, err := trust.Check(l.T.Context(), team)
			if err != nil {
				l.T.Fatal(err)
			}
			r.Digest = report.Digest()
		}
	}
	return l.Client.ApplySpec(l.T.Context(), r)
}

// Down ends the team in order.
func (l *Living) Down() {
	l.T.Helper()
	if _, err := l.Client.Down(l.T.Context(), "enough"); err != nil {
		l.T.Error(err)
	}
	if e := l.End(); e.Code != orchestrator.CodeUnfinished {
		l.T.Errorf("ending %+v", e)
	}
}
