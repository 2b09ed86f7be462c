package tools

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
)

// globInput is the input of Glob.
type globInput struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path,omitempty"`
}

// globOutput is Glob's tool_response.
type globOutput struct {
	// Filenames are relative to the member's directory if they are below it.
	Filenames  []string `json:"filenames"`
	DurationMS int64    `json:"durationMs"`
	NumFiles   int      `json:"numFiles"`
	// Truncated means that there are more files than those listed.
	Truncated bool `json:"truncated"`
}

// globFiles is how many files Glob lists. The most recently changed files are most
// likely to matter, and Bash can list them all.
const globFiles = 100

func (t *Set) globTool() agent.Tool {
	spec := agent.Spec{
		Name: "Glob",
		Description: "Finds files by a glob pattern, in which ** stands for any folders. Files that " +
			".gitignore ignores are left out; those changed last come first.",
		ReadOnly: true,
	}
	about := map[string]string{
		"pattern": "The glob pattern, such as **/*.go or cmd/*/main.{go,rs}",
		"path":    "The folder to look in; the current directory unless given",
	}
	tool := NewTyped(spec, about, nil, t.glob).withPaths(t.paths.canonical, "path")
	// The pattern may lead outside of path, so permissions must not check path
	// alone.
	tool.locate = func(in globInput) []string {
		dir, _ := t.paths.globStart(in)
		return []string{dir}
	}
	tool.Shown = Rendering(globOutput.text)
	return tool
}

// globStart returns the absolute folder at which a Glob begins, and the rest of its
// pattern. Leading folders without wildcards need no search.
func (p paths) globStart(in globInput) (dir, pattern string) {
	base, pattern := doublestar.SplitPattern(filepath.ToSlash(in.Pattern))
	return texts.Absolute(p.absolute(in.Path), base), pattern
}

// glob runs Glob.
func (t *Set) glob(ctx context.Context, in globInput) agent.ToolResult {
	begun := t.now()
	dir, pattern := t.paths.globStart(in)
	if err := checkGlob(in.Pattern); err != nil {
		return agent.Failed("Glob: %v", err)
	}
	s, only, err := t.paths.openSearch(dir)
	if err != nil {
		return t.searchFailure("Glob", dir, err)
	}
	defer s.close()
	if only != "" {
		return agent.Failed("Glob: path is the file %s; name the folder to look in",
			filepath.Join(s.base, only))
	}
	// Results are ordered by time, so all files must be found first.
	var files []found
	s.visit = func(name string, d fs.DirEntry) error {
		if ok, _ := doublestar.Match(pattern, name); !ok || t.withheld("Glob", s, name) {
			return nil
		}
		info, err := d.Info()
		if err != nil { // removed after its folder was listed
			return nil
		}
		files = append(files, found{filepath.Join(s.base, filepath.FromSlash(name)), info.ModTime()})
		return nil
	}
	if err := s.run(ctx); err != nil {
		return t.searchFailure("Glob", s.base, err)
	}
	return t.globbed(files, begun, s.notes())
}

// globbed returns Glob's result.
func (t *Set) globbed(files []found, begun time.Time, notes string) agent.ToolResult {
	newest(files)
	shown := files[:min(len(files), globFiles)]
	output := globOutput{
		Filenames: []string{}, NumFiles: len(shown), Truncated: len(files) > len(shown),
		DurationMS: t.now().Sub(begun).Milliseconds(),
	}
	for _, f := range shown {
		output.Filenames = append(output.Filenames, t.paths.shown(f.path))
	}
	return Success(output.text()+notes, output)
}

// text returns what a model sees: the list of files.
func (o globOutput) text() string {
	if len(o.Filenames) == 0 {
		return "No files found"
	}
	text := strings.Join(o.Filenames, "\n")
	if o.Truncated {
		text += fmt.Sprintf("\n(the %d that were changed last; use a narrower pattern to see others)",
			len(o.Filenames))
	}
	return text
}
