package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"time"
)

// target is a system and a processor that covey is released for.
type target struct{ OS, Arch string }

// targets returns all targets. Linux on other processors builds, too, but nobody has asked
// for it, and each target costs minutes.
func targets() []target {
	return []target{
		{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"},
	}
}

// String returns the target as the go command writes it.
func (t target) String() string { return t.OS + "/" + t.Arch }

// program returns the file name of covey there.
func (t target) program() string {
	if t.OS == "windows" {
		return "covey.exe"
	}
	return "covey"
}

// maxProgram is the size in bytes that no binary may reach, so that a dependency does not
// double the download unnoticed.
const maxProgram = 64_000_000

// linkFlags leave out debugging information, a quarter of the binary.
const linkFlags = "-ldflags=-s -w"

// program is a built covey. What a release says of itself comes from what the compiler has
// stamped into it, so that archives and binaries cannot disagree.
type program struct {
	target
	data    []byte
	version string // such as v0.1.0, or a pseudo-version if no tag is at the commit
	commit  string
	time    time.Time // of the commit
	modules []*debug.Module
	goes    string // the version of Go, such as go1.26.0
}

// environment returns the environment of a go command for a target. It fixes what may
// change the bytes of a binary, and leaves out flags of the user's own.
func (t target) environment() []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off", "GOEXPERIMENT=",
		"GOOS="+t.OS, "GOARCH="+t.Arch, "GOAMD64=v1", "GOARM64=v8.0")
}

// goCommand runs the go command in the clone and returns its output. Its errors hold what
// it has written to stderr, of which the end is the cause.
func (r *release) goCommand(ctx context.Context, t target, args ...string) (string, error) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env, cmd.Stderr = r.source, t.environment(), &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s for %s: %w: %s", args[0], t, err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// build returns covey for a target, compiled once. It fails if the clone has changes,
// because the commit in the binary would not be what it was built from.
func (r *release) build(ctx context.Context, t target) (*program, error) {
	if p := r.built[t]; p != nil {
		return p, nil
	}
	p, err := r.compile(ctx, t)
	if err != nil {
		return nil, err
	}
	r.built[t] = p
	return p, nil
}

// compile compiles covey for a target.
func (r *release) compile(ctx context.Context, t target) (*program, error) {
	dir, err := os.MkdirTemp("", "covey-release-")
	if err != nil {
		return nil, fmt.Errorf("build for %s: %w", t, err)
	}
	defer os.RemoveAll(dir)
	path := dir + "/" + t.program()
	args := []string{"build", "-buildvcs=true", "-trimpath", "-o", path, linkFlags}
	if _, err := r.goCommand(ctx, t, append(args, "./cmd/covey")...); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("build for %s: %w", t, err)
	}
	info, err := buildinfo.Read(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("read the stamp of covey for %s: %w", t, err)
	}
	return programOf(t, data, info)
}

// programOf reads a binary's stamp, and checks that the binary may be released.
func programOf(t target, data []byte, info *debug.BuildInfo) (*program, error) {
	if len(data) >= maxProgram {
		return nil, fmt.Errorf("covey for %s has %d bytes, and may have less than %d; "+
			"`go tool nm -size -sort size` of a build without -ldflags shows what is large", t, len(data), maxProgram)
	}
	p := &program{target: t, data: data, version: info.Main.Version, modules: info.Deps, goes: info.GoVersion}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			p.commit = s.Value
		case "vcs.time":
			at, err := time.Parse(time.RFC3339, s.Value)
			if err != nil {
				return nil, fmt.Errorf("the time of the commit: %w", err)
			}
			p.time = at.UTC()
		case "vcs.modified":
			if s.Value == "true" {
				return nil, fmt.Errorf("the clone has changes that are not committed, or files that git does not know; " +
					"a release is made of a commit: git status lists them")
			}
		}
	}
	if p.commit == "" || p.time.IsZero() || !strings.HasPrefix(p.version, "v") {
		return nil, fmt.Errorf("the binary does not say of which commit it is; run this in a clone, and with a git that reads it")
	}
	return p, nil
}
