package cases

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/texts"
)

// Folder is the name of the folder beside a spec that has its cases, unless another is named.
const Folder = "covey-tests"

// Find reads a file of cases, or all of a folder and the folders in it. Other YAML files there, such as the
// scripts of members, are left out. Mistakes are yaml.Errors, those of all files at once.
func Find(path string) ([]*File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		f, err := Load(path)
		if err != nil {
			return nil, err
		}
		return []*File{f}, nil
	}
	var files []*File
	var mistakes yaml.Errors
	err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != path && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)) || !isCaseFile(name):
			return nil
		}
		f, err := Load(name)
		var list yaml.Errors
		if errors.As(err, &list) {
			mistakes = append(mistakes, list...)
			return nil
		}
		files = append(files, f)
		return err
	})
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	return files, err
}

// Load reads a file of cases.
func Load(path string) (*File, error) {
	data, err := texts.ReadStart(path, MaxSize+1)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return Parse(path, data)
}

// isCaseFile reports whether a YAML file is meant to have cases: it says so, or has cases. The cases of a file
// that cannot be read must not be left out unnoticed.
func isCaseFile(path string) bool {
	data, err := texts.ReadStart(path, MaxSize+1)
	if err != nil {
		return true // Load reports it
	}
	root := yaml.ParseAs(form(), path, data).Root
	if root == nil || root.Kind != yaml.MappingKind {
		return strings.Contains(string(data), "covey-test")
	}
	return root.Lookup("covey-test") != nil || root.Lookup("cases") != nil
}
