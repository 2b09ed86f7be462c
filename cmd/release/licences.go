package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// module is a module whose code is in a binary, with the folder of its files.
type module struct{ path, version, dir string }

// modulesOf returns the modules that covey for a target is built from, covey's own among
// them, and the standard library as the module "std". The files are those of the module
// cache. It asks for the modules of the packages, because the list of all modules that
// go.mod leads to needs the network.
func (r *release) modulesOf(ctx context.Context, t target) ([]module, error) {
	list, err := r.goCommand(ctx, t, "list", "-deps", "-f", "{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}", "./cmd/covey")
	if err != nil {
		return nil, err
	}
	root, err := r.goCommand(ctx, t, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	mods := []module{{path: "std", dir: root}}
	seen := map[string]bool{}
	for line := range strings.Lines(list) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) == 3 && !seen[fields[0]] {
			seen[fields[0]] = true
			mods = append(mods, module{fields[0], fields[1], fields[2]})
		}
	}
	return mods, nil
}

// licenceName matches the names of files with terms: LICENSE, LICENCE.md, COPYING,
// htmx-LICENSE, NOTICE.txt, PATENTS.
var licenceName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^([\w.]+[-_])?(licen[cs]e|copying|notice|patents)([-_.][\w.-]*)?$`)
})

// licenceFiles returns the names of a module's files with terms, those in its folders
// included: code that a module has copied often has terms of its own there.
func (m module) licenceFiles() ([]string, error) {
	if m.path == "std" {
		return []string{"LICENSE"}, nil // a walk through all of Go would find those of its tests
	}
	var names []string
	err := fs.WalkDir(os.DirFS(m.dir), ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (base == "testdata" || name != "." && strings.HasPrefix(base, ".")):
			return fs.SkipDir
		case d.Type().IsRegular() && path.Ext(base) != ".go" && licenceName().MatchString(base):
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// thirdParty returns the text with the terms of all modules. It fails for a module without
// any, because nobody may pass its code on then.
func thirdParty(mods []module) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString("covey contains code of these modules, under these terms.\n")
	for _, m := range mods {
		names, err := m.licenceFiles()
		if err != nil {
			return nil, fmt.Errorf("look for the licence of %s: %w", m.path, err)
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("%s %s has no licence in %s; its code must not be in a release", m.path, m.version, m.dir)
		}
		for _, name := range names {
			text, err := os.ReadFile(filepath.Join(m.dir, filepath.FromSlash(name)))
			if err != nil {
				return nil, fmt.Errorf("read the licence of %s: %w", m.path, err)
			}
			title := strings.TrimSpace(m.path+" "+m.version) + ": " + name
			fmt.Fprintf(&out, "\n%s\n%s\n\n%s\n", title, strings.Repeat("=", len(title)), bytes.TrimSpace(text))
		}
	}
	return out.Bytes(), nil
}
