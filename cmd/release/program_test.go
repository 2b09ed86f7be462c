package main

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// stamp is what the compiler says of a binary that was built from a tagged commit.
func stamp() *debug.BuildInfo {
	return &debug.BuildInfo{
		GoVersion: "go1.26.8",
		Main:      debug.Module{Path: ownModule, Version: "v0.1.0"},
		Deps: []*debug.Module{
			{Path: "example.com/b/v2", Version: "v2.0.1", Sum: "h1:QJeZ4FY2CG4ZmzUlRI5L1OTdbZ1pSdfyAqzi9Tzd7Zs="},
			{Path: "github.com/oklog/run", Version: "v1.2.0", Sum: "h1:O8x3yXwah4A73hJdlrwo/2X6J62gE5qTMusH0dvz60E="},
		},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"},
			{Key: "vcs.time", Value: "2026-11-26T03:04:05Z"},
			{Key: "vcs.modified", Value: "false"},
		},
	}
}

// TestProgramOf: only a binary of a whole commit may be released.
func TestProgramOf(t *testing.T) {
	p, err := programOf(target{"linux", "arm64"}, nil, stamp())
	if err != nil || p.version != "v0.1.0" || !p.time.Equal(commitTime) || !strings.HasPrefix(p.commit, "0123") {
		t.Fatalf("%+v, %v", p, err)
	}
	for name, tc := range map[string]struct {
		spoil func(*debug.BuildInfo)
		want  string
	}{
		"changes":    {func(b *debug.BuildInfo) { b.Settings[2].Value = "true" }, "has changes that are not committed"},
		"no stamp":   {func(b *debug.BuildInfo) { b.Settings = nil }, "does not say of which commit it is"},
		"no version": {func(b *debug.BuildInfo) { b.Main.Version = "(devel)" }, "does not say of which commit it is"},
		"no time":    {func(b *debug.BuildInfo) { b.Settings[1].Value = "now" }, "the time of the commit"},
	} {
		info := stamp()
		tc.spoil(info)
		if _, err := programOf(target{"linux", "arm64"}, nil, info); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestProgramsAreSmall: a binary that has grown too large stops the release, and so does a
// folder that is no clone.
func TestProgramsAreSmall(t *testing.T) {
	_, err := programOf(target{"darwin", "amd64"}, make([]byte, maxProgram), stamp())
	if err == nil || !strings.Contains(err.Error(), "covey for darwin/amd64 has 64000000 bytes, and may have less") {
		t.Errorf("64 MB: %v", err)
	}
	r := &release{source: t.TempDir(), out: t.TempDir(), log: t.Output()}
	if err := r.make(t.Context(), targets()); err == nil || !strings.Contains(err.Error(), "go build for ") {
		t.Errorf("no clone: %v", err)
	}
}

func TestSBOM(t *testing.T) {
	p, err := programOf(target{"linux", "arm64"}, nil, stamp())
	if err != nil {
		t.Fatal(err)
	}
	list, err := sbom(p, ownModule)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "covey.cdx.json", list)
	p.modules[0].Sum = ""
	if _, err := sbom(p, ownModule); err == nil || !strings.Contains(err.Error(), "example.com/b/v2") {
		t.Errorf("a module without a sum: %v", err)
	}
}

// TestThirdParty: the terms in a module's folders count, those of its tests do not, and a
// module without terms is refused.
func TestThirdParty(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"std/LICENSE": "of Go\n", "std/src/vendor/LICENSE": "not shown",
		"a/LICENSE.md": "of a\n\n", "a/copied/COPYING": "of copied", "a/NOTICE": "a notice", "a/license.go": "package a",
		"a/testdata/LICENSE": "of tests", "a/web/htmx-LICENSE": "of htmx",
		"bare/README": "free", "bare/licensed_test.go": "package bare",
	} {
		writeFile(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	at := func(name, version string) module { return module{name, version, filepath.Join(dir, name)} }
	text, err := thirdParty([]module{at("std", ""), at("a", "v1.2.3")})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "THIRD_PARTY.txt", text)
	_, err = thirdParty([]module{at("a", "v1.2.3"), at("bare", "v0.0.1")})
	if err == nil || !strings.Contains(err.Error(), "bare v0.0.1 has no licence in ") {
		t.Errorf("a module without terms: %v", err)
	}
	if _, err = thirdParty([]module{at("gone", "v1.0.0")}); err == nil || !strings.Contains(err.Error(), "look for the licence of gone") {
		t.Errorf("a module that is not there: %v", err)
	}
}

// TestOwnModules: covey's own binary is made of modules that all have terms, htmx, which
// is embedded, among them.
func TestOwnModules(t *testing.T) {
	t.Parallel()
	r := &release{source: "../.."}
	mods, err := r.modulesOf(t.Context(), target{"linux", "amd64"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := thirdParty(mods)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"std: LICENSE", ownModule + ": LICENSE", ownModule + ": cmd/covey/web/static/htmx-LICENSE",
		"github.com/nats-io/nats-server/v2 v2."} {
		if !strings.Contains(string(text), "\n"+want) {
			t.Errorf("the terms have no %q", want)
		}
	}
}

// TestDeb: dpkg installs the package below another root, and removes it again.
func TestDeb(t *testing.T) {
	p, err := programOf(target{"linux", "amd64"}, []byte("#!/bin/sh\necho covey\n"), stamp())
	if err != nil {
		t.Fatal(err)
	}
	files := []file{{"usr/bin/covey", isProgram, p.data}, {"usr/share/doc/covey/copyright", isText, []byte("terms\n")}}
	data, err := deb(p, files)
	if err != nil {
		t.Fatal(err)
	}
	dpkg := lookPath("dpkg")
	if dpkg == "" {
		t.Skip("there is no dpkg")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "covey.deb")
	writeFile(t, path, string(data))
	golden(t, "control", []byte(output(t, "dpkg-deb", "--field", path)))
	root := filepath.Join(dir, "root")
	for _, name := range []string{"info/x", "updates/x", "status", "available"} {
		writeFile(t, filepath.Join(root, "var/lib/dpkg", name), "")
	}
	if err := os.Remove(filepath.Join(root, "var/lib/dpkg/updates/x")); err != nil {
		t.Fatal(err) // would be an interrupted change
	}
	do := []string{dpkg, "--root=" + root, "--force-not-root", "--force-script-chrootless", "--force-architecture", "--log=/dev/null"}
	output(t, append(do, "--install", path)...)
	if got := output(t, filepath.Join(root, "usr/bin/covey")); got != "covey\n" {
		t.Errorf("the installed program says %q", got)
	}
	if got := output(t, dpkg, "--root="+root, "--listfiles", "covey"); !strings.Contains(got, "/usr/share/doc/covey/copyright") {
		t.Errorf("the package has %s", got)
	}
	output(t, append(do, "--purge", "covey")...)
	if _, err := os.Stat(filepath.Join(root, "usr/bin/covey")); !os.IsNotExist(err) {
		t.Errorf("after purge: %v", err)
	}
}
