package main

import (
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFormula: the text of a formula, and there is none without one of its archives.
func TestFormula(t *testing.T) {
	sums := map[string]string{}
	for i, tgt := range targets()[:4] {
		sums[archiveName("v0.1.0", tgt)+".tar.gz"] = strings.Repeat(string(rune('a'+i)), 64)
	}
	text, err := brewFormula("v0.1.0", sums)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "covey.rb", text)
	delete(sums, "covey_0.1.0_darwin_arm64.tar.gz")
	if _, err := brewFormula("v0.1.0", sums); err == nil || !strings.Contains(err.Error(), "there is no covey_0.1.0_darwin_arm64.tar.gz") {
		t.Errorf("without an archive: %v", err)
	}
}

// standIn is a machine with the stand-in for Homebrew, testdata/homebrew.rb. Ruby there sees
// nothing of the environment that the tests run in, and in particular not its language, which
// changes how Ruby reads files.
type standIn struct {
	dir  string // has what the stand-in may write to: a home, temporary files and what is installed
	ruby []string
	env  []string
}

// newStandIn makes a machine with Ruby, and skips the test where there is none.
func newStandIn(t *testing.T) *standIn {
	t.Helper()
	var folders []string
	for _, name := range []string{"ruby", "tar", "gzip"} {
		path := lookPath(name)
		if path == "" {
			t.Skip("it runs the formula, which needs " + name + ", and there is none")
		}
		folders = append(folders, filepath.Dir(path))
	}
	s := &standIn{dir: t.TempDir(), ruby: []string{lookPath("ruby"), "--disable=gems", "-W0", "-E", "UTF-8"}}
	for _, name := range []string{"HOME", "TMPDIR"} {
		folder := filepath.Join(s.dir, name)
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		s.env = append(s.env, name+"="+folder)
	}
	s.env = append(s.env, "PATH="+strings.Join(folders, string(filepath.ListSeparator)), "LC_ALL=C", "LANG=C")
	// Some machines have a ruby that only starts another, which needs the user's own settings.
	if said, ok := s.run(t, "-rdigest", "-rfileutils", "-ropen3", "-rpathname", "-rtmpdir", "-e", "1"); !ok {
		t.Skipf("it runs the formula, and ruby alone does not run here: %s", said)
	}
	return s
}

// run runs Ruby and returns what it says, on both streams, and whether it succeeded.
func (s *standIn) run(t *testing.T, args ...string) (said string, ok bool) {
	t.Helper()
	args = append(s.ruby[1:len(s.ruby):len(s.ruby)], args...)
	cmd := exec.CommandContext(t.Context(), s.ruby[0], args...)
	cmd.Env = s.env
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// brew runs the formula of a release, with archives from its folder, for a target.
func (s *standIn) brew(t *testing.T, r *release, tgt target) (said string, ok bool) {
	t.Helper()
	sums := maps.Clone(r.sums)
	for _, other := range targets()[:4] { // with -build there is only one archive
		if name := archiveName(r.version, other) + ".tar.gz"; sums[name] == "" {
			sums[name] = strings.Repeat("0", 64)
		}
	}
	text, err := brewFormula(r.version, sums)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "covey.rb")
	writeFile(t, path, strings.ReplaceAll(string(text), downloads+r.version, "file://"+r.out))
	system := map[string]string{"darwin": "macos", "linux": "linux"}[tgt.OS]
	processor := map[string]string{"amd64": "intel", "arm64": "arm"}[tgt.Arch]
	return s.run(t, "testdata/homebrew.rb", path, filepath.Join(s.dir, "Cellar"), system, processor)
}

// left lists all files on the machine.
func (s *standIn) left(t *testing.T) string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, strings.TrimPrefix(path, s.dir+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, "\n")
}

// install runs the formula of a release, which must succeed, and returns the installed covey.
func (s *standIn) install(t *testing.T, r *release, tgt target) string {
	t.Helper()
	keg := "Cellar/covey/" + strings.TrimPrefix(r.version, "v")
	if said, ok := s.brew(t, r, tgt); !ok || said != filepath.Join(s.dir, keg)+"\n" {
		t.Fatalf("%s: it says %s", tgt, said)
	}
	want := keg + strings.Join([]string{"/bin/covey", "/etc/bash_completion.d/covey", "/share/doc/covey/CHANGELOG.md",
		"/share/doc/covey/LICENSE", "/share/doc/covey/README.md", "/share/doc/covey/THIRD_PARTY.txt",
		"/share/fish/vendor_completions.d/covey.fish", "/share/zsh/site-functions/_covey"}, "\n"+keg)
	if left := s.left(t); left != want {
		t.Fatalf("%s: it leaves\n%s\nwant\n%s", tgt, left, want)
	}
	return filepath.Join(s.dir, keg, "bin/covey")
}

// publish makes the archives of a release with programs that say a version and their system.
func publish(t *testing.T, version string) *release {
	t.Helper()
	r := &release{source: "../..", out: t.TempDir(), log: io.Discard, version: "v0.1.0", sums: map[string]string{}}
	texts, err := r.texts([]byte("terms, in many languages: ä, 語\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tgt := range targets()[:4] {
		script := "#!/bin/sh\ncase $1 in\nversion) echo 'covey " + version + " of " + tgt.String() + " – a team';;\n" +
			"completion) echo \"$2 – completes\";;\n*) exit 2;;\nesac\n"
		p, err := programOf(tgt, []byte(script), stamp())
		if err != nil {
			t.Fatal(err)
		}
		if err := r.pack(p, texts); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// TestFormulaInstalls: the formula takes the archive of the system that it runs on, covey,
// texts and completions go where Homebrew has them, and the test of the formula passes.
func TestFormulaInstalls(t *testing.T) {
	s, r := newStandIn(t), publish(t, "v0.1.0")
	for _, tgt := range targets()[:4] {
		covey := s.install(t, r, tgt)
		if got := output(t, covey, "version"); !strings.Contains(got, tgt.String()) {
			t.Errorf("for %s it installs %s", tgt, got)
		}
		if got := output(t, "cat", filepath.Join(covey, "../../share/zsh/site-functions/_covey")); got != "zsh – completes\n" {
			t.Errorf("the completions of zsh are %q", got)
		}
		if err := os.RemoveAll(filepath.Join(s.dir, "Cellar")); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFormulaRefuses: whatever is wrong, one line says so, and nothing is installed.
func TestFormulaRefuses(t *testing.T) {
	s := newStandIn(t)
	const archive = "covey_0.1.0_linux_amd64.tar.gz"
	half := func(t *testing.T, r *release) []byte {
		data, err := os.ReadFile(filepath.Join(r.out, archive))
		if err != nil {
			t.Fatal(err)
		}
		return data[:len(data)/2]
	}
	pack := func(t *testing.T, r *release, files ...file) {
		data, err := tarball(files, commitTime)
		if err == nil {
			err = r.write(archive, data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		spoil func(*testing.T, *release)
		want  string
	}{
		"wrong sum": {func(_ *testing.T, r *release) { r.sums[archive] = strings.Repeat("1", 64) },
			", and the formula says " + strings.Repeat("1", 64)},
		"truncated archive": {func(t *testing.T, r *release) { writeFile(t, filepath.Join(r.out, archive), string(half(t, r))) },
			archive + " has the sum "},
		"truncated before its sum": {func(t *testing.T, r *release) {
			if err := r.write(archive, half(t, r)); err != nil {
				t.Fatal(err)
			}
		}, archive + " cannot be unpacked: "},
		"no archive": {func(t *testing.T, r *release) {
			if err := os.Remove(filepath.Join(r.out, archive)); err != nil {
				t.Fatal(err)
			}
		}, archive + " is not a local file"},
		"no covey": {func(t *testing.T, r *release) { pack(t, r, file{"x/LICENSE", isText, nil}) }, "the archive has no covey"},
		"no terms": {func(t *testing.T, r *release) { pack(t, r, file{"x/covey", isProgram, nil}) }, "the archive has no README.md"},
		"another version": {func(t *testing.T, r *release) { *r = *publish(t, "v0.2.0") },
			`the test of the formula wants "covey v0.1.0 ", and got "covey v0.2.0 of linux/amd64 – a team\n"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := publish(t, "v0.1.0")
			tc.spoil(t, r)
			said, ok := s.brew(t, r, target{"linux", "amd64"})
			if ok || !strings.HasPrefix(said, "covey was not installed: ") || !strings.Contains(said, tc.want) ||
				strings.Count(said, "\n") != 1 {
				t.Errorf("it says\n%s\nwant %s", said, tc.want)
			}
			if left := s.left(t); left != "" {
				t.Errorf("it leaves %s", left)
			}
		})
	}
}
