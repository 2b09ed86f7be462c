package orchestrator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/teammate/script"
)

var updateTexts = flag.Bool("update", false, "write testdata/modeltexts.txtar anew")

// maxTexts bounds what every request carries besides the conversation, in characters. About
// four are a token, and 4,000 tokens are an eighth of the window of a small model.
const maxTexts = 4 * 4000

// request is the part of a model request that does not change in a turn.
type request struct {
	System []struct{ Text string }
	Tools  []struct {
		Name, Description string
		Schema            json.RawMessage `json:"input_schema"`
	}
}

// TestTextsForModels: testdata/modeltexts.txtar holds what models read of covey before they
// begin, with all tools, so that whoever changes a text sees all of them. Agent programs have
// tools of their own and read the rest. The length of the builtin agent's is bounded.
func TestTextsForModels(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testkit.Put(t, dir, ".claude/skills/release/SKILL.md", "---\nname: release\ndescription: How we release\n---\nTag it.\n")
	first := modelRequests(t, dir)
	golden := &txtar.Archive{Comment: []byte("What models read of covey before they begin. go test -update writes it.\n")}
	shown := map[string]bool{} // each tool once: members have the same
	for _, name := range []string{"lead", "dev"} {
		r := first[name]
		text, n := strings.ReplaceAll(r.System[0].Text, dir, "WORKSPACE"), len(r.System[0].Text)
		for _, tool := range r.Tools {
			about := fmt.Sprintf("\n%s: %s\n%s\n", tool.Name, tool.Description, tool.Schema)
			n += len(about)
			if !shown[about] {
				text += about
			}
			shown[about] = true
		}
		if n >= maxTexts {
			t.Errorf("%s: %d characters; the limit is %d", name, n, maxTexts)
		}
		t.Logf("%s: %d characters", name, n)
		golden.Files = append(golden.Files, txtar.File{Name: name, Data: []byte(text)})
	}
	for _, kind := range []configs.Agent{{Kind: configs.ACP}, {Kind: configs.Command}} {
		member := &members.Member{Member: &configs.Member{Name: "dev", Agent: kind, PlanRequired: true}}
		team := &configs.Team{Name: "crew", Lead: configs.Member{Name: "lead"}}
		text := teamtools.SystemPrompt(team, member, teamtools.Place{Here: "You work in WORKSPACE."})
		golden.Files = append(golden.Files, txtar.File{Name: "dev, agent " + string(kind.Kind), Data: []byte(text)})
	}
	got, file := txtar.Format(golden), filepath.Join("testdata", "modeltexts.txtar")
	if *updateTexts {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the texts are not those of %s (%v): run go test ./orchestrator -run %s -update, and read what it changed",
			file, err, t.Name())
	}
}

// modelRequests runs a team and returns the first model request of each member.
func modelRequests(t *testing.T, dir string) map[string]request {
	t.Helper()
	scripts := map[string]*script.Script{}
	for _, name := range []string{"lead", "dev"} {
		played, err := script.Parse(name, []byte("steps: [{say: Done., times: -1}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		scripts[name] = played
		testkit.Put(t, dir, name+".key", name)
	}
	server, err := script.NewServer(scripts, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), testkit.Patience)
	defer stop()
	var mu sync.Mutex
	first := map[string]request{}
	models := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		var is request
		if err := json.Unmarshal(body, &is); err != nil {
			t.Error(err)
		}
		mu.Lock()
		if name := r.Header.Get("X-Api-Key"); len(first[name].System) == 0 {
			first[name] = is
		}
		if len(first) == len(scripts) {
			stop()
		}
		mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(models.Close)
	model := func(name string) string {
		return fmt.Sprintf("{provider: anthropic, model: m, base_url: %q, key_file: %s.key}", models.URL, name)
	}
	o, _, err := teamtest.NewGiven(t, dir, "covey: 1\nname: crew\ngoal: Ship it.\nlead: {model: "+model("lead")+"}\n"+
		"teammates:\n  dev: {model: "+model("dev")+", plan: required, description: writes the code}\n"+
		"tasks: [{subject: begin, owner: dev}]\n", orchestrator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if e, err := o.Run(ctx); err != nil && ctx.Err() == nil {
		t.Fatalf("%+v, %v", e, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(first) != len(scripts) {
		t.Fatalf("only %d members asked their models", len(first))
	}
	return first
}
