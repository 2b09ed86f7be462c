package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// clone makes a clone of this repository with the tag v0.1.0 in a new folder.
func clone(t *testing.T) string {
	t.Helper()
	if !*builds {
		t.Skip("it builds covey, which takes a minute; -build does it")
	}
	dir := filepath.Join(t.TempDir(), "somewhere", "covey")
	output(t, "git", "clone", "--quiet", "--no-tags", "../..", dir)
	output(t, "git", "-C", dir, "tag", "v0.1.0")
	return dir
}

// TestBuild: a release of this system from two folders is the same, and what install.sh,
// the formula and dpkg install of it runs and says its version, its commit and its formats.
func TestBuild(t *testing.T) {
	host := target{runtime.GOOS, runtime.GOARCH}
	if !slices.Contains(targets(), host) {
		t.Skip("there is no release for this system")
	}
	var outs []string
	var commit string
	var made *release
	for range 2 {
		source, out := clone(t), t.TempDir()
		r := &release{source: source, out: out, log: t.Output()}
		if err := r.make(t.Context(), []target{host}); err != nil {
			t.Fatal(err)
		}
		outs, made = append(outs, out), r
		commit = strings.TrimSpace(output(t, "git", "-C", source, "rev-parse", "HEAD"))
	}
	sameFolders(t, outs[0], outs[1])
	t.Run("Homebrew", func(t *testing.T) { newStandIn(t).install(t, made, host) })

	m := newInstallation(t, "")
	m.env["COVEY_INSTALL_BASE"] = "file://" + outs[0]
	if err := os.Remove(filepath.Join(m.bin, "uname")); err != nil { // the real one says what this is
		t.Fatal(err)
	}
	if said, ok := m.run(t); !ok {
		t.Fatalf("install.sh says %s", said)
	}
	if left := m.left(t); left != m.local()+"/covey" {
		t.Errorf("install.sh leaves %s", left)
	}
	programs := []string{m.local() + "/covey"}
	if host.OS == "linux" && lookPath("dpkg-deb") != "" {
		root := t.TempDir()
		output(t, "dpkg-deb", "-x", filepath.Join(outs[0], "covey_0.1.0_"+host.Arch+".deb"), root)
		programs = append(programs, filepath.Join(root, "usr/bin/covey"))
		for _, name := range completionFiles() {
			if text := output(t, "cat", filepath.Join(root, name)); !strings.Contains(text, "covey") {
				t.Errorf("%s is %q", name, text)
			}
		}
	}
	for _, p := range programs {
		got := output(t, p, "--version")
		if !strings.HasPrefix(got, "covey v0.1.0 (commit "+commit[:12]+") go") || !strings.Contains(got, "\nformats: spec ") {
			t.Errorf("%s says %s", p, got)
		}
	}
}

// sameFolders compares the files of two folders.
func sameFolders(t *testing.T, one, two string) {
	t.Helper()
	files := map[string][2][]byte{}
	for i, dir := range []string{one, two} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			data, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			both := files[e.Name()]
			both[i] = data
			files[e.Name()] = both
		}
	}
	if len(files) < 4 {
		t.Errorf("the release has only %d files", len(files))
	}
	for name, both := range files {
		if !bytes.Equal(both[0], both[1]) || len(both[0]) == 0 {
			t.Errorf("%s has %d bytes in one folder and other %d in another", name, len(both[0]), len(both[1]))
		}
	}
}

// TestGoInstall installs covey as `go install` does, from a module proxy that is made of
// files: of the clone as v0.1.0, and of the module cache for everything else. A file that
// covey needs and a module may not have would be missing there.
func TestGoInstall(t *testing.T) {
	source := clone(t)
	proxy, bin := t.TempDir(), t.TempDir()
	versions := filepath.Join(proxy, ownModule, "@v")
	writeFile(t, filepath.Join(versions, "list"), "v0.1.0\n")
	writeFile(t, filepath.Join(versions, "v0.1.0.info"), `{"Version":"v0.1.0","Time":"2026-11-26T03:04:05Z"}`)
	writeFile(t, filepath.Join(versions, "v0.1.0.mod"), output(t, "cat", filepath.Join(source, "go.mod")))
	writeFile(t, filepath.Join(versions, "v0.1.0.zip"), string(moduleZip(t, source)))

	cache := strings.TrimSpace(output(t, "go", "env", "GOMODCACHE"))
	own := t.TempDir() // the user's cache would have a v0.1.0 that nobody has released
	cmd := exec.CommandContext(t.Context(), "go", "install", ownModule+"/cmd/covey@v0.1.0")
	cmd.Dir = bin
	cmd.Env = append(os.Environ(), "GOBIN="+bin, "GOMODCACHE="+own, "GOSUMDB=off", "CGO_ENABLED=0", "GOWORK=off",
		"GOPROXY=file://"+proxy+",file://"+cache+"/cache/download", "GOFLAGS=-modcacherw -trimpath")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go install: %v\n%s", err, out)
	}
	covey := filepath.Join(bin, "covey")
	if got := output(t, covey, "--version"); !strings.HasPrefix(got, "covey v0.1.0 go") {
		t.Errorf("it says %s", got)
	}
	var said struct{ Version string }
	if err := json.Unmarshal([]byte(output(t, covey, "version", "--json")), &said); err != nil || said.Version != "v0.1.0" {
		t.Errorf("in JSON it says %+v, %v", said, err)
	}
	dir := t.TempDir()
	output(t, covey, "-C", dir, "init", "--offline") // writes embedded files
}

// moduleZip packs a clone as a module proxy does: what git knows, without modules in it.
func moduleZip(t *testing.T, source string) []byte {
	t.Helper()
	names := strings.Split(strings.TrimSuffix(output(t, "git", "-C", source, "ls-files", "-z"), "\x00"), "\x00")
	var nested []string
	for _, name := range names {
		if dir, base := path.Split(name); base == "go.mod" && dir != "" {
			nested = append(nested, dir)
		}
	}
	var files []file
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(source, name))
		if err != nil {
			t.Fatal(err)
		}
		if !info.Mode().IsRegular() || slices.ContainsFunc(nested, func(dir string) bool { return strings.HasPrefix(name, dir) }) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file{ownModule + "@v0.1.0/" + name, isText, data})
	}
	data, err := zipFile(files, commitTime)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
