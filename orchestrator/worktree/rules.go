package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// checkoutKeys are the settings of git, other than filters, that decide which files a checkout has
// and what is in them.
var checkoutKeys = []string{
	"core.attributesfile", "core.autocrlf", "core.eol", "core.ignorecase", "core.precomposeunicode",
	"core.sparsecheckout", "core.sparsecheckoutcone", "core.symlinks",
}

// CheckoutRules lists what decides, beside the commit, which files a checkout of this copy has and
// what is in them: "KEY=VALUE" for a setting, "FILE=DIGEST" for a file. Files that only hide
// untracked files, such as info/exclude, are no part of it: a checkout has all that is tracked.
func (r *Repo) CheckoutRules(ctx context.Context) ([]string, error) {
	outer, own, err := r.entries(ctx)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(outer, own)
	rules := map[string]string{}
	for _, e := range all {
		if _, _, filter := e.part("filter"); filter || slices.Contains(checkoutKeys, e.key) {
			rules[e.key] = e.value
		}
	}
	files := map[string]string{
		"info/attributes": filepath.Join(r.Common, "info", "attributes"), "core.attributesFile": attributesFile(all),
	}
	if isTrue(all, "core.sparsecheckout") {
		files["info/sparse-checkout"] = filepath.Join(r.GitDir, "info", "sparse-checkout")
	}
	for name, path := range files {
		switch content, err := texts.ReadStart(path, math.MaxInt); {
		case err == nil && len(content) > 0:
			rules[name] = texts.Digest(content)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("read what decides about a checkout: %w", err)
		}
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		list = append(list, name+"="+rules[name])
	}
	return list, nil
}

// attributesFile returns the user's file of attributes.
func attributesFile(all []entry) string {
	home, _ := os.UserHomeDir() // without one, git finds none either
	path := last(all, "core.attributesfile")
	if below, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, below)
	}
	if path != "" {
		return path
	}
	if config := os.Getenv("XDG_CONFIG_HOME"); config != "" {
		return filepath.Join(config, "git", "attributes")
	}
	return filepath.Join(home, ".config", "git", "attributes")
}
