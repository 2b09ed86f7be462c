package configs

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/testkit"
)

// TestPromptFile reads instructions from files of all forms.
func TestPromptFile(t *testing.T) {
	type want struct {
		instructions, description string
		tools                     []string
		warning                   string
	}
	tests := map[string]struct {
		file, member string
		want         want
	}{
		"plain": {"Write Go.\n", "", want{instructions: "Write Go."}},
		"agent file": {"---\nname: x\ndescription: Writes Go\ntools: Read, Edit\nmodel: opus\n---\n\nWrite Go.\n", "",
			want{"Write Go.", "Writes Go", []string{"Read", "Edit"}, ""}},
		"tools as a list": {"---\ntools:\n  - Read\n  - Bash\n---\nGo.", "", want{"Go.", "", []string{"Read", "Bash"}, ""}},
		"all tools":       {"---\ntools: \"*\"\n---\nGo.", "", want{instructions: "Go."}},
		"no tools named":  {"---\ntools: \"\"\n---\nGo.", "", want{instructions: "Go."}},
		"own keys win": {"---\ndescription: theirs\ntools: Read\n---\nGo.", ", description: mine, tools: [Bash]",
			want{"Go.", "mine", []string{"Bash"}, ""}},
		"own empty tools win": {"---\ntools: Read\n---\nGo.", ", tools: []", want{"Go.", "", []string{}, ""}},
		"CRLF and mark":       {"\ufeff---\r\ndescription: d\r\n---\r\nGo.\r\n", "", want{instructions: "Go.", description: "d"}},
		"empty head":          {"---\n---\nGo.", "", want{instructions: "Go."}},
		"a rule, no head":     {"Go.\n---\nMore.", "", want{instructions: "Go.\n---\nMore."}},
		"head never closed":   {"---\nGo.", "", want{instructions: "---\nGo."}},
		"head that is no YAML": {"---\ndescription: Use this: when it: burns\n---\nGo.", "",
			want{instructions: "Go.", warning: "is not YAML that covey can read"}},
		"head with an anchor": {"---\ndescription: &a x\n---\nGo.", "",
			want{instructions: "Go.", warning: "is not YAML that covey can read"}},
		"head of text":          {"---\njust words\n---\nGo.", "", want{instructions: "Go.", warning: "is not YAML that covey can read"}},
		"tools of another kind": {"---\ntools: {a: b}\ndescription: 3\n---\nGo.", "", want{instructions: "Go."}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := testkit.Files(t, map[string]string{"demo.yaml": "steps: []\n", "p/x.md": test.file})
			team, err := Parse(filepath.Join(dir, "team.yaml"), []byte(
				"covey: 1\nlead: {model: {provider: script, script: demo.yaml}, prompt_file: p/x.md"+test.member+"}\n"))
			if err != nil {
				t.Fatal(err)
			}
			m := team.Lead
			got := want{instructions: m.Instructions, description: m.Description, tools: m.Tools}
			for _, w := range team.Warnings {
				got.warning += w.Message
			}
			if !strings.Contains(got.warning, test.want.warning) || test.want.warning == "" && got.warning != "" {
				t.Errorf("warning %q, want %q", got.warning, test.want.warning)
			}
			got.warning = test.want.warning
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			if m.PromptFile != filepath.Join(dir, "p/x.md") {
				t.Errorf("prompt file %q", m.PromptFile)
			}
		})
	}
}

// TestMemoryOfAgentFile: where the memory of a member is, by the head of its agent file.
func TestMemoryOfAgentFile(t *testing.T) {
	t.Setenv("HOME", "/home/op")
	for head, want := range map[string]string{
		"":                               MemoryInState,
		"memory: local":                  MemoryInState,
		"memory: project":                ".claude/agent-memory/x",
		"memory: project\nname: rev-1":   ".claude/agent-memory/rev-1",
		"memory: user":                   "/home/op/.claude/agent-memory/x",
		"memory: team":                   `memory is "team" in the head of the prompt file "p/x.md"; write user, project or local`,
		"memory: user\nname: ../../.ssh": `is called "../../.ssh", which cannot be the folder of its memory; write a-z, 0-9 and -`,
		"memory: project\nname: a/b":     `is called "a/b", which cannot be`,
	} {
		dir := testkit.Files(t, map[string]string{"demo.yaml": "steps: []\n", "p/x.md": "---\ndescription: d\n" + head + "\n---\nGo.\n"})
		for memory, want := range map[string]string{"": "", ", memory: off": "", ", memory: on": want} {
			team, err := Parse(filepath.Join(dir, "team.yaml"), []byte(
				"covey: 1\nlead: {model: {provider: script, script: demo.yaml}, prompt_file: p/x.md"+memory+"}\n"))
			if err == nil && team.Lead.Memory != want || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
				t.Errorf("%q%s: %+v, %v; want %q", head, memory, team, err, want)
			}
		}
	}
}

// TestPromptFileRefused: what no model could be told.
func TestPromptFileRefused(t *testing.T) {
	for content, want := range map[string]string{
		strings.Repeat("x", (1<<20)+1): "is larger than 1 MiB; shorten it",
		"caf\xe9":                      "is not UTF-8 text",
		"a\x00b":                       "is not UTF-8 text",
		" \n\t\n":                      "holds no instructions",
	} {
		dir := testkit.Files(t, map[string]string{"demo.yaml": "steps: []\n", "x.md": content})
		_, err := Parse(filepath.Join(dir, "team.yaml"), []byte("covey: 1\n"+
			"defaults: {prompt_file: x.md, model: {provider: script, script: demo.yaml}}\nlead: {}\nteammates: {a: {}}\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: error %v, want %q", content, err, want)
		} else if strings.Count(err.Error(), want) != 1 {
			t.Errorf("%.20q is said more than once:\n%v", content, err)
		}
	}
}

// TestUnreadableFiles: what the user may not read is reported at its place.
func TestUnreadableFiles(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("the superuser reads everything")
	}
	dir := testkit.Files(t, map[string]string{"demo.yaml": "steps: []\n", "x.md": "x"})
	for _, name := range []string{"demo.yaml", "x.md"} {
		if err := os.Chmod(filepath.Join(dir, name), 0); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Parse(filepath.Join(dir, "team.yaml"), []byte(
		"covey: 1\nlead: {model: {provider: script, script: demo.yaml}, prompt_file: x.md}\n"))
	if err == nil || strings.Count(err.Error(), "cannot be read (permission denied); change its permissions") != 2 {
		t.Errorf("error %v", err)
	}
}

// TestWorkspaceNotWritable asks the real question where that can be asked, and
// a false one everywhere.
func TestWorkspaceNotWritable(t *testing.T) {
	dir := testkit.Files(t, map[string]string{"demo.yaml": "steps: []\n", "work/x": ""})
	spec := []byte("covey: 1\nworkspace: work\nlead: {model: {provider: script, script: demo.yaml}}\n")
	const want = `team.yaml:2:12: the workspace "work" cannot be written to (permission denied); change its ` +
		`permissions, or name another folder`
	d := yaml.NewDecoder("team.yaml", spec)
	resolve(&resolver{Files: yaml.Files{Decoder: d, Dir: dir}, file: filepath.Join(dir, "team.yaml"), writable: func(asked string) error {
		if asked != filepath.Join(dir, "work") {
			t.Errorf("asked for %s", asked)
		}
		return os.ErrPermission
	}})
	if len(d.Problems) != 1 || !strings.HasPrefix(d.Problems[0].String(), strings.ReplaceAll(want, "permission denied",
		os.ErrPermission.Error())) {
		t.Errorf("problems %v", d.Problems)
	}
	if err := proc.Writable(filepath.Join(dir, "work")); err != nil {
		t.Errorf("a writable folder: %v", err)
	}
	if err := os.Chmod(filepath.Join(dir, "work"), 0o555); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		t.Skip("the superuser writes everywhere")
	}
	if _, err := Parse(filepath.Join(dir, "team.yaml"), spec); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v", err)
	}
}
