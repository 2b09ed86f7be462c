package trust

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// baseScript makes a repository whose spec is below its top. Git keeps neither the workspace, which
// a script of the project makes, nor the folder of state.
const baseScript = `mkdir -p team/gates team/plug/hooks team/hidden
echo work/ >.gitignore
cat >team/team.yaml <<'END'
covey: 1
name: crew
goal: x
workspace: ../work
models: {demo: {provider: script, script: lead.yaml}}
lead: {model: demo}
plugins: [plug]
budget: {usd: 1, prices: prices.yaml}
gates: {task: ['"$CLAUDE_PROJECT_DIR"/../team/gates/check.sh']}
mcp_servers: {docs: {command: [../team/gates/check.sh]}}
END
echo 'steps: [{say: hello}]' >team/lead.yaml
printf '#!/bin/sh\nexit 1\n' >team/gates/check.sh
echo '{"hooks": {}}' >team/plug/hooks/hooks.json
printf 'covey_prices: 1\ndate: 2026-11-01\nprices: [{model: openai/gpt-5*, input: 1.25, output: 10}]\n' >team/prices.yaml
chmod +x team/gates/check.sh`

// baseRig is such a repository, with a change that a script makes, and its team.
func baseRig(t *testing.T, change string) (dir string, team *configs.Team) {
	t.Helper()
	dir = testkit.Repository(t, baseScript)
	testkit.Shell(t, dir, "mkdir work; "+change)
	return dir, mustLoad(t, filepath.Join(dir, "team", "team.yaml"))
}

// Each thing that a change adds to what runs, takes from it or does to it is a difference to the
// commit, with its lines; all else is none.
func TestCheckAt(t *testing.T) {
	testkit.QuietGit()
	for name, tc := range map[string]struct {
		change string
		want   []string // kind of the change, kind of the thing, path from the top; a line of the difference
		line   string
	}{
		"nothing":       {"true", nil, ""},
		"the work":      {"echo x >work/a; echo y >README; git add README; git commit -qm topic", nil, ""},
		"a gate script": {`printf '#!/bin/sh\nexit 0\n' >team/gates/check.sh; git commit -qam topic`, []string{"changed file team/gates/check.sh"}, "+exit 0"},
		"a gate that is gone": {"rm team/gates/check.sh; sed -i /gates:/d team/team.yaml; sed -i /mcp_/d team/team.yaml",
			[]string{"changed spec team/team.yaml", "removed server ", "removed file team/gates/check.sh", "removed gate "}, "-gates:"},
		"a file of a plugin": {"echo x >team/plug/run.js", []string{"changed plugin team/plug"}, "new file run.js"},
		"a script":           {"echo 'steps: [{say: bye}]' >team/lead.yaml", []string{"changed script team/lead.yaml"}, "+steps: [{say: bye}]"},
		"the prices":         {"sed -i s/1.25/0.01/ team/prices.yaml", []string{"changed prices team/prices.yaml"}, "-prices: [{model: openai/gpt-5*, input: 1.25, output: 10}]"},
		"an override":        {"echo 'goal: y' >team/team.override.yaml", []string{"new spec team/team.override.yaml"}, ""},
		"a gate behind a link": {"printf '#!/bin/sh\nexit 0\n' >other.sh; chmod +x other.sh; ln -sf ../../other.sh team/gates/check.sh",
			[]string{"changed file team/gates/check.sh"}, "+exit 0"},
		"a file in the workspace that runs": {`mkdir -p work/.claude/agents; printf -- '---\nname: h\ndescription: d\nhooks: {Stop: [{hooks: [{type: command, command: x}]}]}\n---\nh\n' >work/.claude/agents/h.md`,
			[]string{"new head work/.claude/agents/h.md", "new hook "}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, team := baseRig(t, tc.change)
			first := testkit.Shell(t, dir, "git rev-list --max-parents=0 HEAD")
			r, commit, err := CheckAt(t.Context(), team, first[:10], "")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			text := ""
			for _, c := range r.Changes {
				got = append(got, string(c.Kind)+" "+string(c.Run.Kind)+" "+strings.TrimPrefix(c.Run.Path, dir+"/"))
				text += c.Diff
			}
			if !slices.Equal(got, tc.want) || r.Trusted != (len(tc.want) == 0) || !r.Known || commit != first {
				t.Errorf("%+v at %s: %q, want %q", r, commit, got, tc.want)
			}
			if !strings.Contains("\n"+text, "\n"+tc.line) {
				t.Errorf("no line %q in\n%s", tc.line, text)
			}
			if left := testkit.Shell(t, dir, "git worktree list"); strings.Count(left, "\n") != 0 {
				t.Errorf("copies are left:\n%s", left)
			}
		})
	}
}

// Without the spec in the commit all of it is new. Without the commit, a repository, or a spec that
// can be read there, there is no answer.
func TestCheckAtOfNothing(t *testing.T) {
	testkit.QuietGit()
	dir, team := baseRig(t, "git rm -rq --cached team; git commit -qm without; git add team; git commit -qm with")
	r, _, err := CheckAt(t.Context(), team, "HEAD^", "")
	if err != nil || r.Trusted || len(r.Changes) != len(r.Items) || len(r.Items) == 0 {
		t.Errorf("without the spec: %+v, %v", r, err)
	}
	for _, ref := range []string{"nowhere", "--output=x", "", "HEAD:team"} {
		if _, _, err := CheckAt(t.Context(), team, ref, ""); !errors.Is(err, worktree.ErrNoRef) {
			t.Errorf("the commit %q: %v", ref, err)
		}
	}
	testkit.Shell(t, dir, "echo x >>team/team.yaml; git commit -qam broken; git checkout -q HEAD^ team")
	if _, _, err := CheckAt(t.Context(), team, "HEAD", ""); err == nil || !strings.Contains(err.Error(), "list what would run at HEAD: ") {
		t.Errorf("a broken spec: %v", err)
	}
	testkit.Must(t, os.RemoveAll(filepath.Join(dir, ".git")))
	if _, _, err := CheckAt(t.Context(), team, "HEAD", ""); !errors.Is(err, worktree.ErrNoRepo) {
		t.Errorf("without a repository: %v", err)
	}
}

// A commit that has the head of a pull request in its history is no base: neither that head, nor the
// merge that a runner checks out. Where the history is cut off, nothing is known.
func TestCheckAtWithoutTheHead(t *testing.T) {
	testkit.QuietGit()
	const gone = "0123456789012345678901234567890123456789"
	dir, team := baseRig(t, "git checkout -qb topic; echo x >a; git add a; git commit -qm topic; git checkout -qb merged main; git merge -q --no-ff -m merge topic")
	head := testkit.Shell(t, dir, "git rev-parse topic")
	for ref, want := range map[string]error{"main": nil, "topic": ErrUntrustedBase, "merged": ErrUntrustedBase, "merged^1": nil} {
		if _, _, err := CheckAt(t.Context(), team, ref, head); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", ref, err, want)
		}
	}
	if _, _, err := CheckAt(t.Context(), team, "merged", gone); err != nil {
		t.Errorf("without a commit that is not in the clone: %v", err)
	}
	shallow := testkit.Folder(t)
	testkit.Shell(t, shallow, "git clone -q --depth 1 --branch merged 'file://"+dir+"' clone; mkdir clone/work")
	team = mustLoad(t, filepath.Join(shallow, "clone", "team", "team.yaml"))
	if _, _, err := CheckAt(t.Context(), team, "HEAD", head); !errors.Is(err, worktree.ErrNoRef) {
		t.Errorf("in a clone without history: %v", err)
	}
}
