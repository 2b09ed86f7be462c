package orchestrator

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/state"
)

// warned waits for so many warnings with these words.
func (l *living) warned(words string, times int) {
	l.t.Helper()
	n := 0
	l.lines.Wait(l.t, "a warning: "+words, func(line events.Line) bool {
		if line.Type == "warning" && strings.Contains(string(line.Data), words) {
			n++
		}
		return n == times
	})
}

// A member that cannot be seated has no seat, so that nothing calls upon it, and gets one by the
// next covey up after the trouble is over.
func TestNewMemberCannotBeSeated(t *testing.T) {
	t.Parallel()
	l := newLiving(t, map[string]string{"ana.yaml": "steps: [{say: Fine., times: -1}]"})
	blocked := filepath.Join(l.o.Place().Transcripts(), "ana")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	grown := livingSpec + "  ana: {model: {provider: script, script: ana.yaml}}\n"
	put(t, l.dir, "team.yaml", grown)
	if _, err := l.ask(api.ApplySpec{}); err != nil {
		t.Fatal(err)
	}
	l.warned("no place in the team yet", 1)
	put(t, l.dir, "team.yaml", strings.Replace(grown, "Ship it.", "Sail it.", 1))
	if _, err := l.ask(api.ApplySpec{}); err != nil {
		t.Fatal(err)
	}
	l.warned("no place in the team yet", 2)
	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	if change, err := l.ask(api.ApplySpec{}); err != nil || len(change.Members) != 1 || change.Members[0].Name != "ana" {
		t.Fatalf("%+v, %v", change, err)
	}
	l.lines.Wait(t, "ana to begin", func(line events.Line) bool {
		return line.Type == "member_started" &&
			line.Member == "ana"
	})
}

// A member that cannot begin anew stays in its old seat without turns.
func TestMemberCannotBeginAnew(t *testing.T) {
	t.Parallel()
	l := newLiving(t, nil)
	found, err := filepath.Glob(filepath.Join(l.o.Place().Transcripts(), "dev", "*.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if err := errors.Join(os.Remove(found[0]), os.Mkdir(found[0], 0o700)); err != nil {
		t.Fatal(err)
	}
	for i, description := range []string{"one", "two"} {
		put(t, l.dir, "team.yaml", strings.Replace(livingSpec, "{model: dev}",
			"{model: dev, description: "+description+"}", 1))
		if _, err := l.ask(api.ApplySpec{}); err != nil {
			t.Fatal(err)
		}
		l.warned("it could not be started", i+1)
	}
	if err := os.Remove(found[0]); err != nil {
		t.Fatal(err)
	}
	put(t, l.dir, "team.yaml", livingSpec)
	if _, err := l.ask(api.ApplySpec{}); err != nil {
		t.Fatal(err)
	}
	began := 0
	l.lines.Wait(t, "dev to begin anew", func(line events.Line) bool {
		if line.Type == "member_started" && line.Member == "dev" {
			began++
		}
		return began == 2
	})
}

// A change of the spec that is committed counts, also when run.json cannot be written.
func TestSpecCountsWithoutItsRunFile(t *testing.T) {
	t.Parallel()
	l := newLiving(t, map[string]string{"ana.yaml": "steps: [{say: Fine., times: -1}]"})
	path := l.o.Place().RunFile()
	put(t, l.dir, "team.yaml", livingSpec+"  ana: {model: {provider: script, script: ana.yaml}}\n")
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.ask(api.ApplySpec{}); err != nil {
		t.Errorf("it was not taken up: %v", err)
	}
	l.warned("run.json does not say so yet", 1)
	l.lines.Wait(t, "ana to begin", func(line events.Line) bool {
		return line.Type == "member_started" &&
			line.Member == "ana"
	})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	l.warned("it was rewritten", 1)
	if run, err := state.ReadRunFile(l.o.Place()); err != nil || len(run.Members) != 3 {
		t.Errorf("%+v, %v", run, err)
	}
}

// A run that ends before its loop begins keeps nobody waiting who wants something done there.
func TestRunThatNeverBegins(t *testing.T) {
	t.Parallel()
	r := newCrewRig(t, mcpFiles(""))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.rooms.crew.Run(ctx); err == nil {
		t.Fatal("it has run")
	}
	err := r.rooms.loop.Do(t.Context(), func(context.Context) error { return nil })
	if !errors.Is(err, members.ErrOver) {
		t.Errorf("who waits for the loop is told %v", err)
	}
}

// A member of the spec that has no seat yet is nobody in whose name something is done, and
// nothing can be done with it.
func TestNobodyActsWithoutASeat(t *testing.T) {
	t.Parallel()
	r := newCrewRig(t, mcpFiles(""))
	r.rooms.board.SetTeam(&configs.Team{Lead: configs.Member{Name: "lead"}, Teammates: []configs.Member{{Name: "dev"}, {Name: "ghost"}}})
	q := commands{r: r.rooms}
	for what, do := range map[string]func(context.Context) error{
		"it sends": func(ctx context.Context) error {
			_, err := q.send(ctx, api.Send{As: "ghost", To: "lead", Text: "hi"})
			return err
		},
		"its call is guarded": func(ctx context.Context) error {
			return r.rooms.tools.GuardCommand(ctx, "ghost", api.Send{To: "lead", Text: "hi"})
		},
		"it is held":     func(ctx context.Context) error { _, err := q.hold(ctx, api.HoldRequest{Member: "ghost"}); return err },
		"nobody is held": func(ctx context.Context) error { _, err := q.hold(ctx, api.HoldRequest{}); return err },
		"it is interrupted": func(ctx context.Context) error {
			_, err := q.interrupt(ctx, api.InterruptRequest{Member: "ghost"})
			return err
		},
		"it is asked to end": func(ctx context.Context) error {
			_, err := r.rooms.crew.EndMember(ctx, api.EndMember{Member: "ghost"})
			return err
		},
		"it is ended": func(ctx context.Context) error {
			_, err := r.rooms.crew.EndMember(ctx, api.EndMember{Member: "ghost", Now: true})
			return err
		},
		"it gets a mode": func(ctx context.Context) error {
			_, err := q.send(ctx, api.Send{To: "ghost", Text: `{"type":"mode_set_request","mode":"plan"}`})
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := do(ctx)
		cancel()
		want := "ghost has no place in the team yet"
		if what == "nobody is held" {
			want = `no member is called ""; the members are lead, dev`
		}
		if !errors.Is(err, api.ErrNoMember) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	if open, err := r.rooms.store.Requests().List(t.Context()); len(open) > 0 || err != nil {
		t.Errorf("asked is %+v, %v", open, err)
	}
}
