package cases

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/configs/yaml"
)

// TestParts: parts of a spec make a team of the members that cases name, and a whole spec stays as it is.
func TestParts(t *testing.T) {
	const cases = "cases: [{name: a, member: ana, calls: [{tool: Bash, expect: deny}, {tool: Bash, expect: deny, member: ben}]}]\n"
	for name, tc := range map[string]struct{ team, members, deny string }{
		"nothing":            {"team: {}\n", "lead ana ben", ""},
		"rules of all":       {"team: {permissions: {deny: [Bash]}}\n", "lead ana ben", "Bash"},
		"rules of a member":  {"team: {teammates: {ana: {permissions: {deny: [Read]}}}}\n", "lead ana ben", "Read"},
		"defaults and hooks": {"team: {defaults: {permissions: {deny: [Edit]}}, hooks: {}}\n", "lead ana ben", "Edit"},
		"a whole spec":       {"team: {covey: 1, lead: covey-test, teammates: {ana: covey-test}}\n", "lead ana", ""},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a.yaml")
			f, err := Parse(file, []byte("covey-test: 1\n"+tc.team+cases))
			if err != nil {
				t.Fatal(err)
			}
			team, err := configs.ParsePart(file, f.doc, f.partsOf(t.TempDir()), configs.Options{Given: []string{given}})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(team.MemberNames(), " "); got != tc.members {
				t.Errorf("the members are %s, want %s", got, tc.members)
			}
			if got := strings.Join(team.Teammates[0].Permissions.Deny, " "); got != tc.deny {
				t.Errorf("ana may not use %q, want %q", got, tc.deny)
			}
		})
	}
}

// TestFind: a folder's files of cases are found, and no scripts; one that cannot be read is not left out.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	const one = "covey-test: 1\nteam: {}\ncases: [{name: a, calls: [{tool: Bash, expect: deny}]}]\n"
	for name, text := range map[string]string{
		"a.yaml": one, "below/b.yml": one, ".hidden/c.yaml": one, "script.yaml": "steps: [{say: a}]\n", "team.yaml": "covey: 1\n",
		"notes.md": one, "broken-script.yaml": "steps: [\n",
	} {
		if err := write(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		name, _ := filepath.Rel(dir, f.Path)
		names = append(names, filepath.ToSlash(name))
	}
	if got := strings.Join(names, " "); got != "a.yaml below/b.yml" {
		t.Errorf("found %s", got)
	}
	for name, text := range map[string]string{
		"syntax.yaml": "covey-test: 1\ncases: [\n", "version.yaml": "cases: []\n", "typo.yaml": "covey-tets: 1\ncases: []\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var mistakes yaml.Errors
		if _, err := Find(dir); !errors.As(err, &mistakes) || mistakes[0].File != path {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// FuzzParse: whatever a case file has, it is read or refused with places in it, and so is its team.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"../../../examples/policy-tests/covey-tests/*.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			f.Fatal("no case files", err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	for _, text := range []string{
		"covey-test: 1\nteam: {permissions: {deny: [Bash]}, teammates: {ana: 1}, defaults: [a]}\ncases: [{name: a, member: lead}]",
		"covey-test: 1\nteam: {lead: a, workspace: [], teammates: a}\ncases: [{name: a, calls: [{tool: Bash, input: {a: .inf}, expect: ask}]}]",
		"covey-test: 1\ncases: [{name: a, expect: [{gate: Stop, task: {}}, {call: \"Bash(\", command: )}, {end: 0, text: (}], files: {..: a}}]",
		"cases:\n- name: a\n  members: {a: [b], recording: recording}\n  never: [{message: a, from: covey}]\n  timeout: 1s\n",
	} {
		f.Add([]byte(text))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(filepath.Join(dir, "a.yaml"), data)
		var mistakes yaml.Errors
		switch {
		case errors.As(err, &mistakes):
			for _, p := range mistakes {
				if p.Line < 1 || p.Message == "" {
					t.Errorf("a mistake without a place or a text: %+v", p)
				}
			}
			return
		case err != nil:
			t.Fatal(err)
		case file.team == nil:
			return
		}
		_, err = configs.ParsePart(file.Path, file.doc, file.partsOf(dir), configs.Options{Given: []string{given}})
		if err != nil && !errors.As(err, &mistakes) {
			t.Fatal(err)
		}
	})
}
