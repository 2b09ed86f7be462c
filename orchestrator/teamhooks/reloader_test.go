package teamhooks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/trust"
	"github.com/coveyteam/covey/teammate/workspace"
)

func mustLoad(t *testing.T, spec string) *configs.Team {
	t.Helper()
	team, err := configs.Load(spec)
	testkit.Must(t, err)
	return team
}

func mustTrust(t *testing.T, team *configs.Team) {
	t.Helper()
	report, err := trust.Check(t.Context(), team)
	testkit.Must(t, err)
	testkit.Must(t, trust.Remember(t.Context(), team, report))
}

// stopHook is a settings file whose Stop hook runs a command.
func stopHook(command string) string {
	return fmt.Sprintf(`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": %q}]}]}}`, command)
}

// reloadRig is a reloader of a team with files of all kinds, without a team that
// runs: what it fires, tells and applies is kept.
type reloadRig struct {
	*Reloader
	t       *testing.T
	dir     string // the workspace
	away    string // a folder that is none of the workspace's
	fired   []string
	told    []string
	applied []Layers
	answer  hooks.Outcome // of the ConfigChange hooks
	failing error         // of apply
}

func newReloadRig(t *testing.T) *reloadRig {
	t.Helper()
	t.Setenv("COVEY_STATE_HOME", t.TempDir())
	r := &reloadRig{t: t, dir: t.TempDir(), away: t.TempDir(), answer: hooks.Outcome{Decision: hooks.Pass}}
	for name, text := range map[string]string{
		"settings.json": stopHook("inside"), "settings.local.json": "{}", "skill/SKILL.md": "# none\n",
		"plugin/hooks/hooks.json": stopHook("plugged"), "agent.md": "---\nname: a\n---\nWork.\n",
		"lead.yaml": "steps: [{say: hello}]\n", "check.sh": "exit 0\n",
		"team.yaml": fmt.Sprintf(`covey: 1
name: crew
models: {demo: {provider: script, script: lead.yaml}}
lead: {model: demo, prompt_file: agent.md}
gates: {stop: [sh check.sh]}
settings: [settings.json, settings.local.json, skill/SKILL.md, %s/user.json]
plugins: [plugin]
`, r.away),
	} {
		testkit.Put(t, r.dir, name, text)
	}
	testkit.Put(t, r.away, "user.json", "{}")
	team := mustLoad(t, filepath.Join(r.dir, "team.yaml"))
	files := Files{}
	if _, err := ReadLayers(team, files.Record); err != nil {
		t.Fatal(err)
	}
	w := workspace.NewWatcher()
	t.Cleanup(func() { _ = w.Close() })
	r.Reloader = NewReloader(ReloaderDeps{
		Team: team, Layers: Layers{Files: files}, Managed: []string{filepath.Join(r.away, "etc")}, Watch: w.Watch(),
		Trusted: func(api.TrustNotice) bool { return true },
		Fire: func(_ context.Context, _ string, p hooks.Payload) (hooks.Outcome, error) {
			in := p.(hooks.ConfigChangeInput)
			r.fired = append(r.fired, in.Source+" "+filepath.Base(in.FilePath))
			return r.answer, nil
		},
		Warn: func(format string, args ...any) { r.told = append(r.told, fmt.Sprintf(format, args...)) },
		Apply: func(_ *configs.Team, l Layers) error {
			if r.failing == nil {
				r.applied = append(r.applied, l)
			}
			return r.failing
		},
	})
	return r
}

// stops are the Stop commands that count by what was applied last.
func (r *reloadRig) stops() string {
	r.t.Helper()
	if len(r.applied) == 0 {
		return ""
	}
	var all []string
	for _, s := range r.applied[len(r.applied)-1].Sources {
		for _, g := range s.Settings[hooks.Stop] {
			for _, h := range g.Hooks {
				all = append(all, h.Command)
			}
		}
	}
	return strings.Join(all, ",")
}

// expect looks at the files and compares what came of it.
func (r *reloadRig) expect(applied, kept []string) {
	r.t.Helper()
	reply := r.report(r.t.Context())
	var got, left []string
	for _, path := range reply.Applied {
		got = append(got, filepath.Base(path))
	}
	for _, k := range reply.Kept {
		left = append(left, filepath.Base(k.Path))
	}
	if !slices.Equal(got, applied) || !slices.Equal(left, kept) {
		r.t.Fatalf("applied %v, want %v; kept %v, want %v; told %q", got, applied, left, kept, r.told)
	}
}

// TestReloadOutside: a file that is not the workspace's counts at once, unless
// nobody can read it any more; then the old content counts on.
func TestReloadOutside(t *testing.T) {
	r := newReloadRig(t)
	r.expect(nil, nil)
	testkit.Put(t, r.away, "user.json", stopHook("one"))
	r.expect([]string{"user.json"}, nil)
	if got := r.stops(); got != "sh check.sh,inside,one,plugged" {
		t.Errorf("Stop runs %s", got)
	}
	for _, bad := range []string{"{", "[1]", `{"permissions": {"deny": [7]}}`, `{"permissions": []}`} {
		testkit.Put(t, r.away, "user.json", bad)
		r.expect(nil, []string{"user.json"})
	}
	if err := os.Remove(filepath.Join(r.away, "user.json")); err != nil {
		t.Fatal(err)
	}
	r.expect(nil, []string{"user.json"})
	told := len(r.told)
	r.expect(nil, []string{"user.json"})
	if len(r.told) != told {
		t.Errorf("people are told again: %q", r.told[told:])
	}
	testkit.Put(t, r.away, "user.json", `{"permissions": {"deny": ["Bash(x"]}, "hooks": {"Stop": 7}}`)
	r.expect([]string{"user.json"}, nil)
	if deny := r.applied[1].Settings.Deny; !slices.Equal(deny, []string{"Bash"}) {
		t.Errorf("deny %q", deny)
	}
	if text := strings.Join(r.told, "\n"); !strings.Contains(text, "hooks.Stop") {
		t.Errorf("the entry that is left out is not told of: %s", text)
	}
	if want := []string{"user_settings user.json", "user_settings user.json"}; !slices.Equal(r.fired, want) {
		t.Errorf("fired %q, want %q", r.fired, want)
	}
}

// TestReloadBeforeTheQuestion: who asks learns of a file that was applied before the question,
// once, and only if its content still counts.
func TestReloadBeforeTheQuestion(t *testing.T) {
	r := newReloadRig(t)
	testkit.Put(t, r.away, "user.json", stopHook("one"))
	r.look(t.Context(), true)
	r.expect([]string{"user.json"}, nil)
	r.expect(nil, nil)
	testkit.Put(t, r.away, "user.json", stopHook("two"))
	r.look(t.Context(), true)
	testkit.Put(t, r.away, "user.json", "{")
	r.expect(nil, []string{"user.json"})
}

// TestReloadInside: what the workspace brings counts once it is trusted, and only
// with the content that is.
func TestReloadInside(t *testing.T) {
	r := newReloadRig(t)
	changes := map[string]string{
		"settings.json": stopHook("new"), "settings.local.json": stopHook("local"),
		"plugin/hooks/hooks.json": stopHook("plugged in"),
		"agent.md":                "---\nhooks: {Stop: [{hooks: [{type: command, command: head}]}]}\n---\nWork.\n",
		"skill/SKILL.md":          "---\nhooks: {Stop: [{hooks: [{type: command, command: skill}]}]}\n---\n",
	}
	names := []string{"SKILL.md", "agent.md", "hooks.json", "settings.json", "settings.local.json"}
	for name, text := range changes {
		testkit.Put(t, r.dir, name, text)
	}
	reply := r.look(t.Context(), false)
	if len(reply.Applied) != 0 || len(reply.Kept) != len(changes) || len(r.fired) != 0 {
		t.Fatalf("%+v, fired %q", reply, r.fired)
	}
	mustTrust(t, r.team)
	testkit.Put(t, r.dir, "settings.json", stopHook("newer")) // trusted was another content
	reply = r.look(t.Context(), false)
	if len(reply.Applied) != len(changes)-1 || len(reply.Kept) != 1 ||
		!strings.Contains(reply.Kept[0].Reason, "trust") {
		t.Fatalf("%+v", reply)
	}
	if got := r.stops(); got != "sh check.sh,inside,local,skill,plugged in,head" {
		t.Errorf("Stop runs %s", got)
	}
	if last := r.applied[0].Sources; last[len(last)-1].Member != "lead" {
		t.Errorf("the head's hooks are for %q", last[len(last)-1].Member)
	}
	slices.Sort(r.fired)
	want := []string{"local_settings settings.local.json", "skills SKILL.md", "skills agent.md", "skills hooks.json"}
	if !slices.Equal(r.fired, want) {
		t.Errorf("fired %q, want %q", r.fired, want)
	}
	mustTrust(t, mustLoad(t, r.team.File))
	r.fired = nil
	reply = r.look(t.Context(), false)
	if len(reply.Applied) != 1 || !slices.Equal(r.fired, []string{"project_settings settings.json"}) {
		t.Errorf("%+v, fired %q of %v", reply, r.fired, names)
	}
}

// TestReloadHeads: agent files without hooks change as they like, and one that loses
// its hooks keeps them until an operator agrees.
func TestReloadHeads(t *testing.T) {
	r := newReloadRig(t)
	testkit.Put(t, r.dir, "agent.md", "---\nname: a\n---\nWork otherwise.\n")
	testkit.Put(t, r.dir, ".claude/agents/new.md", "---\nname: new\n---\nHelp.\n")
	r.expect(nil, nil)
	testkit.Put(t, r.dir, "agent.md", "---\nhooks: {Stop: [{hooks: [{type: command, command: head}]}]}\n---\nWork.\n")
	testkit.Put(t, r.dir, ".claude/agents/new.md", "---\nname: new\nhooks: {Stop: [{hooks: [{type: command, command: help}]}]}\n---\nHelp.\n")
	r.expect(nil, []string{"new.md", "agent.md"})
	mustTrust(t, r.team)
	r.expect([]string{"new.md", "agent.md"}, nil)
	testkit.Put(t, r.dir, "agent.md", "Work.\n")
	r.expect(nil, []string{"agent.md"})
	if got := r.stops(); !strings.HasSuffix(got, "head") {
		t.Errorf("Stop runs %s", got)
	}
	mustTrust(t, r.team)
	r.expect([]string{"agent.md"}, nil)
	if len(r.told) != 6 {
		t.Errorf("told %q", r.told)
	}
}

// TestReloadBlocked: a ConfigChange hook can keep a change away, is asked once, and
// has no say in what an administrator lays down.
func TestReloadBlocked(t *testing.T) {
	r := newReloadRig(t)
	r.answer.Decision = hooks.Block
	testkit.Put(t, r.away, "user.json", stopHook("one"))
	r.expect(nil, []string{"user.json"})
	r.expect(nil, []string{"user.json"})
	if len(r.fired) != 1 {
		t.Errorf("asked %d times", len(r.fired))
	}
	testkit.Put(t, r.away, "etc/managed-settings.json", `{"permissions": {"deny": ["Bash"]}}`)
	r.expect([]string{"managed-settings.json"}, []string{"user.json"})
	if deny := r.applied[0].Settings.Deny; !slices.Equal(deny, []string{"Bash"}) ||
		r.fired[1] != "policy_settings managed-settings.json" {
		t.Errorf("deny %q, fired %q", deny, r.fired)
	}
	testkit.Put(t, r.away, "etc/managed-settings.json", "{")
	r.expect(nil, []string{"managed-settings.json", "user.json"})
	if err := os.Remove(filepath.Join(r.away, "etc/managed-settings.json")); err != nil {
		t.Fatal(err)
	}
	r.expect([]string{"managed-settings.json"}, []string{"user.json"})
	r.answer.Decision = hooks.Pass
	testkit.Put(t, r.away, "user.json", stopHook("two"))
	r.expect([]string{"user.json"}, nil)
}

// TestReloadFails: when what has changed cannot count, all of it stays as it was.
func TestReloadFails(t *testing.T) {
	r := newReloadRig(t)
	r.failing = errors.New("no")
	testkit.Put(t, r.away, "user.json", stopHook("one"))
	r.expect(nil, []string{"user.json"})
	r.failing = nil
	r.expect([]string{"user.json"}, nil)
}

// TestReloadProgram: people are told once of a program that agents have changed
// under a team that runs it.
func TestReloadProgram(t *testing.T) {
	r := newReloadRig(t)
	path := filepath.Join(r.dir, "check.sh")
	r.program(filepath.Join(r.dir, "settings.json")) // no program
	testkit.Put(t, r.dir, "check.sh", "exit 0 # other\n")
	r.program(path)
	r.program(path)
	if len(r.told) != 1 || !strings.Contains(r.told[0], path) {
		t.Errorf("told %q", r.told)
	}
	delete(r.ran, path)
	mustTrust(t, r.team)
	if r.program(path); len(r.told) != 1 {
		t.Errorf("told of what is trusted: %q", r.told)
	}
}
