package launch_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
)

// supported returns what this system can hold up to a level; the test is skipped where that is less.
func supported(t *testing.T, level sandbox.Level) *sandbox.Support {
	t.Helper()
	s := sandbox.Probe()
	if s.Level() < level {
		t.Skipf("level %d is not held here: %v", level, s.Missing)
	}
	if level == sandbox.Files {
		s.Namespaces, s.Missing = false, []sandbox.Lacks{{Part: "namespaces", Why: "they are switched off", Cure: "switch them on"}}
	}
	return &s
}

// TestProgramInABox: an agent program does its work from a box, whose network reaches nothing but the team,
// and what it starts is held by the box and ends with it.
func TestProgramInABox(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		level   sandbox.Level
		network string
	}{{sandbox.Files, "off"}, {sandbox.Mounts, "off"}, {sandbox.Mounts, "on"}} {
		t.Run(fmt.Sprintf("level %d network %s", c.level, c.network), func(t *testing.T) {
			t.Parallel()
			level := c.level
			support := supported(t, level)
			secret := filepath.Join(t.TempDir(), "secret")
			if err := os.WriteFile(secret, []byte("SECRET"), 0o600); err != nil {
				t.Fatal(err)
			}
			r, dir := newFakeRig(t, teamtest.LeadLetsWork, "tasks: [{id: a, subject: One, owner: dev}]\n", act{When: "You own task #1", Do: []string{
				teamtest.Claims, "edit proof here", "sneak cat " + secret, "sneak touch $HOME/mine && echo $HOME",
				"sneak sleep 600 </dev/null >/dev/null 2>&1 & echo child=$!", `mcp team_send_message {"to":"lead","message":"proof is written","summary":"proof"}`,
				teamtest.Finishes,
			}})
			r.Rewrite("team.yaml", "lead: {model: lead}", fmt.Sprintf("sandbox: {level: best, network: %s, write: [%q]}\nlead: {model: lead}", c.network, dir))
			e := r.Run(orchestrator.Options{Overrides: orchestrator.Overrides{Sandbox: support}})
			r.Want(e, orchestrator.CodeDone, "all work is done")
			if list := r.List(); list[0].Status != tasks.Completed || r.Read("proof") != "here" {
				t.Errorf("the task is %+v", list[0])
			}
			told := teamtest.Of[events.Sandboxed](r, "sandbox") // of the lead and of dev
			lost := level == sandbox.Files
			if len(told) != 2 || told[0].Level != int(level) || slices.ContainsFunc(told, func(e events.Sandboxed) bool {
				return strings.Contains(strings.Join(e.Lost, "\n"), "the network is not off")
			}) != lost {
				t.Errorf("told %+v", told)
			}
			said := strings.Join(toldFake(t, dir, "sneaked"), "\n")
			home := filepath.Join(r.Place().Scratch(), "dev.home")
			if strings.Contains(said, "SECRET") || !strings.Contains(said, "true "+home) {
				t.Errorf("from the box: %s", said)
			}
			_, child, _ := strings.Cut(said, "child=")
			var pid int
			if _, err := fmt.Sscan(child, &pid); err != nil || proc.Alive(pid) {
				t.Errorf("what it left behind is %q, and lives: %v", child, err)
			}
		})
	}
}

// TestProgramWithoutABox: where nothing can be held, best starts a program as without a box, and required
// does not start it.
func TestProgramWithoutABox(t *testing.T) {
	t.Parallel()
	none := &sandbox.Support{Missing: []sandbox.Lacks{{Part: "landlock", Why: "there is none", Cure: "get one"}}}
	r, dir := newFakeRig(t, teamtest.LeadLetsWork, "tasks: [{id: a, subject: One, owner: dev}]\n",
		act{When: "You own task #1", Do: []string{teamtest.Claims, "sneak echo $HOME", teamtest.Finishes}})
	r.Rewrite("team.yaml", "lead: {model: lead}", "sandbox: {level: best}\nlead: {model: lead}")
	r.Want(r.Run(orchestrator.Options{Overrides: orchestrator.Overrides{Sandbox: none}}), orchestrator.CodeDone, "all work is done")
	if said := toldFake(t, dir, "sneaked"); !slices.Contains(said, "true "+os.Getenv("HOME")) {
		t.Errorf("it has another home: %q", said)
	}
	r.Rewrite("team.yaml", "level: best", "level: required")
	team, err := configs.Load(filepath.Join(r.Dir, "team.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = orchestrator.New(team, orchestrator.Options{StateHome: t.TempDir(), Overrides: orchestrator.Overrides{Sandbox: none}})
	if err == nil || !strings.Contains(err.Error(), "member dev: the sandbox cannot be held") {
		t.Errorf("required: %v", err)
	}
}

// TestGatewayInABox: from a box without a network, a program reaches its models by its own door of the gateway and
// nothing else: not the door of another member, the vendor, or a server that its environment names.
func TestGatewayInABox(t *testing.T) {
	support := supported(t, sandbox.Mounts)
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	r := newAskerRig(t, "}, eve: {agent: asker")
	r.both = make(chan struct{}) // the doors of both are open when the first tries to reach them
	r.Rewrite("team.yaml", "lead: {model: lead}", fmt.Sprintf("sandbox: {level: required, network: off, write: [%q]}\nlead: {model: lead}", r.dir))
	r.Rewrite("team.yaml", "owner: dev}", "owner: dev}, {id: b, subject: Two, owner: eve}")
	r.Rewrite("team.yaml", "env: {", fmt.Sprintf("env: {OTHER_BASE_URL: %q, ", "http://"+other.Addr().String()))
	outside := other.Addr().String() + "\n" + strings.TrimPrefix(os.Getenv("ANTHROPIC_BASE_URL"), "http://") + "\n"
	if err := os.WriteFile(filepath.Join(r.dir, "reaches"), []byte(outside), 0o600); err != nil {
		t.Fatal(err)
	}
	r.Run(orchestrator.Options{Overrides: orchestrator.Overrides{Sandbox: support}})
	doors := map[string]string{}
	for _, name := range []string{"dev", "eve"} {
		i := slices.IndexFunc(r.Lines.All(), func(l events.Line) bool { return l.Member == name && events.Is[events.TextSaid](l) })
		if i < 0 {
			t.Fatalf("%s has said nothing:\n%s", name, teamtest.Show(r.Lines.All()))
		}
		said := r.Lines.All()[i].Event().Data.(events.TextSaid).Text
		for line := range strings.Lines(said) {
			if address, ok := strings.CutSuffix(line, " reached: true\n"); ok && !strings.Contains(outside, address) {
				doors[address] = name
			}
		}
		if strings.Count(said, "Answer") != 3 || strings.Count(said, " reached: true") != 1 || strings.Count(said, " reached: false") != 3 {
			t.Errorf("%s said %s", name, said)
		}
	}
	if len(doors) != 2 {
		t.Errorf("they have reached %v", doors)
	}
}
