package settings

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testkit"
)

// TestLoadManaged: managed settings apply in the order of the folders, and mistakes in
// them are reported.
func TestLoadManaged(t *testing.T) {
	dir := testkit.Files(t, map[string]string{
		"a/managed-settings.json": `{"allowManagedHooksOnly": true, "permissions": {"deny": ["Bash(rm *)"], "ask": ["WebFetch"]},
			"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "./a.sh"}]}]}}`,
		"b/managed-settings.json": `{"allowedHttpHookUrls": [], "permissions": {"deny": ["Edit"], "allow": ["Read"], "defaultMode": "plan"},
			"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "./b.sh"}, {"type": "comand"}]}]}}`,
		"empty/other.json": "{",
	})
	folder := func(name string) string { return filepath.Join(dir, name) }
	m, warnings, err := LoadManaged([]string{folder("none"), folder("a"), folder("empty"), folder("b")})
	if err != nil || len(warnings) != 2 || !strings.Contains(warnings[0].Error(), `no handler type "comand"`) ||
		!strings.Contains(warnings[1].Error(), "defaultMode has no effect") {
		t.Fatalf("warnings %v, error %v", warnings, err)
	}
	if got := commands(m.Sources, hooks.Stop); !reflect.DeepEqual(got, []string{"./a.sh", "./b.sh"}) {
		t.Errorf("commands %v", got)
	}
	want := Permissions{Allow: []string{"Read"}, Ask: []string{"WebFetch"}, Deny: []string{"Bash(rm *)", "Edit"}}
	if !reflect.DeepEqual(m.Permissions, want) {
		t.Errorf("permissions %+v, want %+v", m.Permissions, want)
	}
	a, b := m.Sources[0], m.Sources[1]
	if !a.Managed || !b.Managed || !a.Restrictions.AllowManagedHooksOnly || b.Restrictions.AllowedHTTPHookURLs == nil {
		t.Errorf("sources %+v", m.Sources)
	}
}

// TestLoadManagedFailsClosed: a managed file that exists and cannot be read is an
// error.
func TestLoadManagedFailsClosed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "managed-settings.json")
	check := func(what string) {
		t.Helper()
		m, _, err := LoadManaged([]string{dir})
		if !errors.Is(err, ErrManaged) || !strings.Contains(err.Error(), path) || len(m.Sources) > 0 {
			t.Errorf("%s: %+v, %v", what, m, err)
		}
	}
	for _, content := range []string{"", "{", "[]", "null", strings.Repeat(" ", maxSettings+1)} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		check(content[:min(len(content), 9)])
	}
	for what, make := range map[string]func() error{
		"a folder":      func() error { return os.Mkdir(path, 0o700) },
		"a broken link": func() error { return os.Symlink(filepath.Join(dir, "gone"), path) },
	} {
		if err := errors.Join(os.Remove(path), make()); err != nil {
			t.Fatal(err)
		}
		check(what)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if m, warnings, err := LoadManaged([]string{dir}); err != nil || warnings != nil || m.Sources != nil {
		t.Errorf("no file: %+v, %v, %v", m, warnings, err)
	}
}

// TestManagedFolders: the folders do not depend on the environment.
func TestManagedFolders(t *testing.T) {
	before := ManagedFolders()
	t.Setenv("HOME", "/elsewhere")
	t.Setenv("XDG_CONFIG_HOME", "/elsewhere")
	t.Setenv("ProgramFiles", `C:\elsewhere`)
	after := ManagedFolders()
	if len(after) != 2 || !reflect.DeepEqual(before, after) {
		t.Errorf("folders %q, then %q", before, after)
	}
	for _, folder := range after {
		if strings.Contains(folder, "elsewhere") || !strings.ContainsAny(folder, `/\`) {
			t.Errorf("folder %s", folder)
		}
	}
}
