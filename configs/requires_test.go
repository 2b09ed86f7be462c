package configs

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestRequires: a covey that is too old or too new for a spec says only that, with the
// place. A build without the number of a release meets everything.
func TestRequires(t *testing.T) {
	t.Parallel()
	const newer = "t.yaml:3:11: this spec requires covey "
	for _, tc := range []struct{ requires, version, want string }{
		{">=0.1", "0.1.0", ""},
		{">=0.1", "v0.1.0", ""},
		{">=0.1", "0.1.0+dirty", ""},
		{">=0.1 <2", "1.9.3", ""},
		{">=0.1, <2", "2.0.0", newer + ">=0.1, <2, and this is covey 2.0.0; use a covey that fits"},
		{">=0.2", "0.1.9", newer + ">=0.2, and this is covey 0.1.9"},
		{">0.1.0", "0.1.0", newer + ">0.1.0"},
		{"<=0.1.0", "0.1.1", newer + "<=0.1.0"},
		{"=0.1", "0.1.0", ""},
		{"=v0.1.0", "0.1.1", newer + "=v0.1.0"},
		{">=0.1", "0.1.0-rc.1", newer + ">=0.1"}, // it comes before 0.1.0
		{">=0.1.0-rc.1", "0.1.0-rc.2", ""},
		{">=9", "devel", ""},
		{">=9", "", ""},
		{">=9", "v0.0.0-20261126013127-dbd03fc2ba2d", ""},
		{">=9", "v0.1.1-0.20261126013127-dbd03fc2ba2d+dirty", ""},
		{"0.1", "9.0.0", `t.yaml:3:11: requires must be versions of covey such as ">=0.1" or ">=0.1 <2"; "0.1" is none`},
		{">= 0.1", "9.0.0", `">=" is none`},
		{"~>0.1", "", `"~>0.1" is none`},
		{">=01", "", `">=01" is none`},
		{">=0.1 <x", "", `"<x" is none`},
	} {
		spec := "covey: 1\nname: crew\nrequires: \"" + tc.requires + "\"\nlead: {model: demo}\nmodels: {demo: {provider: script, script: s.yaml}}\n"
		_, err := ParseWith("t.yaml", []byte(spec), Options{Version: tc.version})
		switch {
		case tc.want == "" && err != nil && strings.Contains(err.Error(), "requires"):
			t.Errorf("%s with %q: %v", tc.requires, tc.version, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s with %q: %v, want %q", tc.requires, tc.version, err, tc.want)
		}
	}
	for version, want := range map[string]string{"0.1.0": "", "devel": ">=0.1"} {
		spec := "covey: 1\nrequires: '>=0.1'\nlead: {model: {provider: anthropic, model: m}}\n"
		team, err := ParseWith(filepath.Join(t.TempDir(), "t.yaml"), []byte(spec), Options{Version: version})
		if err != nil || team.Unchecked != want {
			t.Errorf("%s has not checked %+v, %v; want %q", version, team, err, want)
		}
	}
	_, err := ParseWith("t.yaml", []byte("covey: 1\nrequires: '>=7'\nlead: x\nnews: of 7\n"), Options{Version: "0.1.0"})
	if err == nil || strings.Contains(err.Error(), "news") {
		t.Errorf("a newer spec: %v", err)
	}
}
