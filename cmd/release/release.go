package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// release is a release in the making.
type release struct {
	source string // the clone
	out    string // the folder of the files
	log    io.Writer

	version string
	built   map[target]*program
	sums    map[string]string // SHA-256 by file name
}

// ownModule is the module of covey.
const ownModule = "github.com/coveyteam/covey"

// completionFiles are the places of the completion scripts in a Debian package.
func completionFiles() map[string]string {
	return map[string]string{
		"bash": "usr/share/bash-completion/completions/covey",
		"zsh":  "usr/share/zsh/vendor-completions/_covey",
		"fish": "usr/share/fish/vendor_completions.d/covey.fish",
	}
}

// archiveName returns the name of a target's archive without its suffix, which is also
// the name of the folder in it.
func archiveName(version string, t target) string {
	return strings.Join([]string{"covey", strings.TrimPrefix(version, "v"), t.OS, t.Arch}, "_")
}

// make makes the files of a release for some targets. There is a formula only in a release
// for all of them, because it names archives of several.
func (r *release) make(ctx context.Context, chosen []target) error {
	if err := emptyFolder(r.out); err != nil {
		return err
	}
	r.built, r.sums = map[target]*program{}, map[string]string{}
	completions, err := r.completions(ctx)
	if err != nil {
		return err
	}
	for _, t := range chosen {
		if err := r.makeFor(ctx, t, completions); err != nil {
			return err
		}
	}
	if len(chosen) == len(targets()) {
		text, err := brewFormula(r.version, r.sums)
		if err != nil {
			return err
		}
		if err := r.write("covey.rb", text); err != nil {
			return err
		}
	}
	script, err := os.ReadFile(filepath.Join(r.source, "install.sh"))
	if err != nil {
		return fmt.Errorf("copy the install script: %w", err)
	}
	if err := r.write("install.sh", script); err != nil {
		return err
	}
	return r.writeSums()
}

// completions returns the completion scripts as files of a Debian package. They come from
// covey for the system that the release is made on, which can run here; those of all systems are the same.
func (r *release) completions(ctx context.Context) ([]file, error) {
	dir, err := os.MkdirTemp("", "covey-release-")
	if err != nil {
		return nil, fmt.Errorf("write the completions: %w", err)
	}
	defer os.RemoveAll(dir)
	host := target{runtime.GOOS, runtime.GOARCH}
	p, err := r.build(ctx, host)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, host.program())
	if err := os.WriteFile(path, p.data, isProgram); err != nil {
		return nil, fmt.Errorf("write the completions: %w", err)
	}
	var files []file
	for shell, name := range completionFiles() {
		text, err := exec.CommandContext(ctx, path, "completion", shell).Output()
		if err != nil {
			return nil, fmt.Errorf("covey completion %s: %w", shell, err)
		}
		files = append(files, file{name, isText, text})
	}
	return files, nil
}

// makeFor makes the files of one target.
func (r *release) makeFor(ctx context.Context, t target, completions []file) error {
	p, err := r.build(ctx, t)
	if err != nil {
		return err
	}
	r.version = p.version
	mods, err := r.modulesOf(ctx, t)
	if err != nil {
		return err
	}
	terms, err := thirdParty(mods)
	if err != nil {
		return err
	}
	texts, err := r.texts(terms)
	if err != nil {
		return err
	}
	if err := r.pack(p, texts); err != nil {
		return err
	}
	if t.OS != "linux" {
		return nil
	}
	files := append(slices.Clone(completions), file{"usr/bin/covey", isProgram, p.data})
	for _, f := range texts {
		// Debian looks for the terms under this name.
		name := map[string]string{"LICENSE": "copyright"}[f.name]
		if name == "" {
			name = f.name
		}
		files = append(files, file{"usr/share/doc/covey/" + name, isText, f.data})
	}
	data, err := deb(p, files)
	if err != nil {
		return err
	}
	return r.write("covey_"+strings.TrimPrefix(p.version, "v")+"_"+p.Arch+".deb", data)
}

// texts returns the texts that go with each program; terms are those of its modules.
func (r *release) texts(terms []byte) ([]file, error) {
	texts := []file{{"THIRD_PARTY.txt", isText, terms}}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(filepath.Join(r.source, name))
		if err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
		texts = append(texts, file{name, isText, data})
	}
	return texts, nil
}

// pack makes the archive of a program, and the list of its modules beside it.
func (r *release) pack(p *program, texts []file) error {
	name := archiveName(p.version, p.target)
	files := []file{{name + "/" + p.program(), isProgram, p.data}}
	for _, f := range texts {
		files = append(files, file{name + "/" + f.name, f.mode, f.data})
	}
	suffix, archive := ".tar.gz", tarball
	if p.OS == "windows" {
		suffix, archive = ".zip", zipFile
	}
	data, err := archive(files, p.time)
	if err != nil {
		return err
	}
	if err := r.write(name+suffix, data); err != nil {
		return err
	}
	list, err := sbom(p, ownModule)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.log, "%s: covey %s of commit %s, %d bytes, %d in %s\n", p.target, p.version, p.commit[:12], len(p.data),
		len(data), name+suffix)
	return r.write(name+".cdx.json", list)
}

// write writes a file of the release, and keeps its sum.
func (r *release) write(name string, data []byte) error {
	sum := sha256.Sum256(data)
	r.sums[name] = hex.EncodeToString(sum[:])
	if err := os.WriteFile(filepath.Join(r.out, name), data, isText); err != nil {
		return fmt.Errorf("write the release: %w", err)
	}
	return nil
}

// writeSums writes SHA256SUMS, as `sha256sum -c` reads it.
func (r *release) writeSums() error {
	var list bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(r.sums)) {
		fmt.Fprintf(&list, "%s  %s\n", r.sums[name], name)
	}
	if err := os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), list.Bytes(), isText); err != nil {
		return fmt.Errorf("write the release: %w", err)
	}
	return nil
}
