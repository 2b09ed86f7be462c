package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// lookPath returns where a program is; empty: there is none.
func lookPath(name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}

// output runs a command that must succeed.
func output(t *testing.T, command ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
	return string(out)
}

// installation is a machine for install.sh: a release in a folder, a home, and a PATH with
// programs that say which system it is.
type installation struct {
	release, home, bin string
	env                map[string]string
}

// newInstallation publishes a program that says a version, for Linux on amd64 and for macOS
// on arm64, and describes a machine with Linux.
func newInstallation(t *testing.T, says string) *installation {
	t.Helper()
	if lookPath("curl") == "" {
		t.Skip("there is no curl, and only that fetches files")
	}
	dir := t.TempDir()
	m := &installation{release: filepath.Join(dir, "release"), home: filepath.Join(dir, "home"), bin: filepath.Join(dir, "bin")}
	m.env = map[string]string{"HOME": m.home, "TMPDIR": filepath.Join(dir, "tmp"), "COVEY_INSTALL_BASE": "file://" + m.release,
		"PATH": m.local() + ":" + m.bin + ":" + os.Getenv("PATH")}
	var sums string
	for _, tgt := range []target{{"linux", "amd64"}, {"darwin", "arm64"}} {
		name := archiveName("v0.1.0", tgt)
		data, err := tarball([]file{{name + "/covey", isProgram, []byte("#!/bin/sh\n" + says)}}, commitTime)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(m.release, name+".tar.gz"), string(data))
		sums += fmt.Sprintf("%x  %s.tar.gz\n", sha256.Sum256(data), name)
	}
	writeFile(t, filepath.Join(m.release, "SHA256SUMS"), sums)
	for _, folder := range []string{m.home, m.env["TMPDIR"]} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m.program(t, "uname", `[ "$1" = -s ] && echo Linux || echo x86_64`)
	return m
}

// local is the folder that covey is installed into.
func (m *installation) local() string { return filepath.Join(m.home, ".local/bin") }

// program puts a program onto the PATH.
func (m *installation) program(t *testing.T, name, script string) {
	t.Helper()
	path := filepath.Join(m.bin, name)
	writeFile(t, path, "#!/bin/sh\n"+script+"\n")
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

// run runs install.sh and returns what it says, on both streams, and whether it succeeded.
func (m *installation) run(t *testing.T) (said string, ok bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "../../install.sh")
	for name, value := range m.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// left lists all files below the home and the folder of temporary files.
func (m *installation) left(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(output(t, "find", m.home, m.env["TMPDIR"], "-type", "f"))
}

// TestInstall installs a version, and another one over it.
func TestInstall(t *testing.T) {
	t.Parallel()
	m := newInstallation(t, "echo covey v0.1.0; echo formats: many\n")
	want := "installed covey v0.1.0\n  as " + m.local() + "/covey\n"
	for range 2 {
		if said, ok := m.run(t); !ok || said != want {
			t.Fatalf("it says\n%s\nwant\n%s", said, want)
		}
		if left := m.left(t); left != m.local()+"/covey" {
			t.Fatalf("it leaves %s", left)
		}
	}
}

// TestInstallOnMacOS: a shell under Rosetta gets the program for the real processor.
func TestInstallOnMacOS(t *testing.T) {
	t.Parallel()
	m := newInstallation(t, "echo covey v0.1.0\n")
	m.program(t, "uname", `[ "$1" = -s ] && echo Darwin || echo x86_64`)
	m.program(t, "sw_vers", "echo 12.0.1")
	m.program(t, "sysctl", "echo 1")
	if said, ok := m.run(t); !ok || !strings.HasPrefix(said, "installed covey v0.1.0\n") {
		t.Errorf("it says %s", said)
	}
}

// TestInstallRefuses: whatever is wrong, one line says so, and an older covey stays.
func TestInstallRefuses(t *testing.T) {
	t.Parallel()
	const archive = "covey_0.1.0_linux_amd64.tar.gz"
	for name, tc := range map[string]struct {
		spoil func(*testing.T, *installation)
		want  string
	}{
		"truncated download": {func(t *testing.T, m *installation) {
			data, err := os.ReadFile(filepath.Join(m.release, archive))
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, filepath.Join(m.release, archive), string(data[:len(data)/2]))
		}, "; it is incomplete or was changed, so try again"},
		"wrong sum": {func(t *testing.T, m *installation) {
			writeFile(t, filepath.Join(m.release, archive), "something else")
		}, "it is incomplete or was changed"},
		"truncated sums": {func(t *testing.T, m *installation) {
			writeFile(t, filepath.Join(m.release, "SHA256SUMS"), strings.Repeat("a", 64)+"  covey_0.1.0_lin")
		}, "SHA256SUMS names no archive for linux_amd64"},
		"no archive": {func(t *testing.T, m *installation) {
			if err := os.Remove(filepath.Join(m.release, archive)); err != nil {
				t.Fatal(err)
			}
		}, archive + " cannot be fetched: curl: "},
		"no release": {func(_ *testing.T, m *installation) {
			m.env["COVEY_INSTALL_BASE"] = "file://" + m.release + "/gone"
		}, "gone/SHA256SUMS cannot be fetched: curl: "},
		"no archive in the archive": {func(t *testing.T, m *installation) {
			writeFile(t, filepath.Join(m.release, archive), "x")
			writeFile(t, filepath.Join(m.release, "SHA256SUMS"), fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte("x")), archive))
		}, "it cannot be unpacked into "},
		"old macOS": {func(t *testing.T, m *installation) {
			m.program(t, "uname", "echo Darwin")
			m.program(t, "sw_vers", "echo 11.7.10")
		}, "macOS 11.7.10 is too old; covey needs macOS 12 or newer"},
		"Windows":        {func(t *testing.T, m *installation) { m.program(t, "uname", "echo MINGW64_NT-10.0") }, "install it inside WSL"},
		"another system": {func(t *testing.T, m *installation) { m.program(t, "uname", "echo Plan9") }, "there is no release for Plan9"},
		"another processor": {func(t *testing.T, m *installation) {
			m.program(t, "uname", `[ "$1" = -s ] && echo Linux || echo riscv64`)
		}, "there is no release for riscv64 processors"},
		"no home":      {func(_ *testing.T, m *installation) { m.env["HOME"] = "" }, "HOME is not set"},
		"no folder":    {func(_ *testing.T, m *installation) { m.env["COVEY_INSTALL_DIR"] = "/dev/null/x" }, "/dev/null/x cannot be made"},
		"a bad binary": {func(t *testing.T, m *installation) { spoilProgram(t, m) }, "it does not run on this system: GLIBC is too old"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newInstallation(t, "echo covey v0.1.0\n")
			old := filepath.Join(m.local(), "covey")
			writeFile(t, old, "older")
			tc.spoil(t, m)
			said, ok := m.run(t)
			if ok || !strings.HasPrefix(said, "covey was not installed: ") || !strings.Contains(said, tc.want) ||
				strings.Count(said, "\n") != 1 {
				t.Errorf("it says\n%s\nwant %s", said, tc.want)
			}
			if data, err := os.ReadFile(old); string(data) != "older" || m.left(t) != old {
				t.Errorf("the old covey has %q, %v; left are %s", data, err, m.left(t))
			}
		})
	}
}

// spoilProgram publishes a program that does not run.
func spoilProgram(t *testing.T, m *installation) {
	t.Helper()
	other := newInstallation(t, "echo GLIBC is too old >&2; exit 1\n")
	m.env["COVEY_INSTALL_BASE"] = other.env["COVEY_INSTALL_BASE"]
}

// TestInstallInPart: of a script that was cut off on its way nothing runs.
func TestInstallInPart(t *testing.T) {
	t.Parallel()
	m := newInstallation(t, "echo covey v0.1.0\n")
	script, err := os.ReadFile("../../install.sh")
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(script)-len("main \"$@\"\n"); n += 389 {
		cmd := exec.CommandContext(t.Context(), "/bin/sh")
		cmd.Stdin = strings.NewReader(string(script[:n]))
		for name, value := range m.env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		out, _ := cmd.Output()
		if left := m.left(t); len(out) > 0 || left != "" {
			t.Fatalf("the first %d bytes of the script say %q and leave %s", n, out, left)
		}
	}
}

// TestInstallBesideAnother: the script says which covey a shell starts, and how to mend it.
func TestInstallBesideAnother(t *testing.T) {
	t.Parallel()
	m := newInstallation(t, "echo covey v0.1.0\n")
	m.program(t, "covey", "echo another")
	m.env["PATH"] = m.bin + ":" + m.local() + ":" + os.Getenv("PATH")
	said, ok := m.run(t)
	want := fmt.Sprintf("\"covey\" still starts %s/covey, which comes before %s on your PATH; delete it, or put %[2]s first\n",
		m.bin, m.local())
	if !ok || !strings.HasSuffix(said, want) {
		t.Errorf("it says %s\nwant %s", said, want)
	}
	m.env["PATH"] = m.bin + ":" + os.Getenv("PATH")
	said, ok = m.run(t)
	if want := `export PATH="` + m.local() + `:$PATH"`; !ok || !strings.Contains(said, want) {
		t.Errorf("not on the PATH: it says %s\nwant %s", said, want)
	}
}
