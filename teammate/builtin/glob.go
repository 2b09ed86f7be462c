package builtin

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/coveyteam/covey/teammate"
)

type globInput struct {
	Pattern string `json:"pattern" jsonschema:"The glob pattern, such as **/*.go or cmd/*/main.{go,rs}"`
	Path    string `json:"path,omitempty" jsonschema:"The folder to look in; the current directory unless given"`
}

// globOutput is Glob's tool_response.
type globOutput struct {
	Filenames  []string `json:"filenames"`
	DurationMS int64    `json:"durationMs"`
	NumFiles   int      `json:"numFiles"`
	Truncated  bool     `json:"truncated"`
}

// globFiles is how many files Glob lists.
const globFiles = 100

func (t *Tools) globTool() teammate.Tool {
	spec := teammate.Spec{
		Name: "Glob",
		Description: "Finds files by a glob pattern, in which ** stands for any folders. Files that .gitignore " +
			"ignores are left out; those changed last come first.",
		ReadOnly: true,
	}
	return newTool(spec, nil, t.glob).withPaths(t.paths.canonical, "path")
}

func (t *Tools) glob(ctx context.Context, in globInput) teammate.ToolResult {
	begun := t.now()
	dir, pattern := in.Path, filepath.ToSlash(in.Pattern)
	if filepath.IsAbs(in.Pattern) {
		dir, pattern = doublestar.SplitPattern(pattern)
	}
	pattern = strings.TrimPrefix(pattern, "./")
	if !doublestar.ValidatePattern(pattern) || pattern == "" {
		return failed(fmt.Sprintf("Glob: %q is no glob pattern; are all brackets and braces closed?", in.Pattern))
	}
	s, only, err := t.paths.openSearch(dir)
	if err != nil {
		return t.noted("Glob", dir, err)
	}
	defer s.close()
	if only != "" {
		return failed(fmt.Sprintf("Glob: path is the file %s; name the folder to look in", filepath.Join(s.base, only)))
	}
	var files []found
	s.visit = func(name string, d fs.DirEntry) error {
		if ok, _ := doublestar.Match(pattern, name); !ok {
			return nil
		}
		info, err := d.Info()
		if err != nil { // removed meanwhile
			return nil
		}
		files = append(files, found{filepath.Join(s.base, filepath.FromSlash(name)), info.ModTime()})
		return nil
	}
	if err := s.run(ctx); err != nil {
		return t.noted("Glob", s.base, err)
	}
	return t.globbed(files, begun, s.notes())
}

// globbed is Glob's result.
func (t *Tools) globbed(files []found, begun time.Time, notes string) teammate.ToolResult {
	newest(files)
	shown := files[:min(len(files), globFiles)]
	output := globOutput{
		Filenames: []string{}, NumFiles: len(shown), Truncated: len(files) > len(shown),
		DurationMS: t.now().Sub(begun).Milliseconds(),
	}
	for _, f := range shown {
		output.Filenames = append(output.Filenames, t.paths.shown(f.path))
	}
	text := strings.Join(output.Filenames, "\n")
	if len(files) == 0 {
		text = "No files found"
	}
	if output.Truncated {
		text += fmt.Sprintf("\n(the %d changed last of %d files; use a narrower pattern to see others)",
			len(shown), len(files))
	}
	return success(text+notes, output)
}
