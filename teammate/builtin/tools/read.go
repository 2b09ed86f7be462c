package tools

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/coveyteam/covey/teammate/agent"
)

// readInput is the input of Read.
type readInput struct {
	FilePath string `json:"file_path"`
	Offset   int    `json:"offset,omitempty"`
	Limit    int    `json:"limit,omitempty"`
}

// readOutput is Read's tool_response. Names and order follow recorded hosts, because
// PostToolUse hooks read them.
type readOutput struct {
	Type string   `json:"type"`
	File readFile `json:"file"`
}

// readFile is the part of a file that was read.
type readFile struct {
	FilePath string `json:"filePath"`
	// Content is the text shown to the model, without line numbers.
	Content    string `json:"content"`
	NumLines   int    `json:"numLines"`
	StartLine  int    `json:"startLine"`
	TotalLines int    `json:"totalLines"`
}

func (t *Set) readTool() agent.Tool {
	spec := agent.Spec{
		Name: "Read",
		Description: "Reads a text file, or shows a PNG, JPEG, GIF or WebP image. Each line of a text has " +
			"its number and a tab before it; they are not part of the file. At most 2000 lines are shown at " +
			"once, and of each line 2000 characters; use offset and limit to see more.",
		ReadOnly: true,
	}
	adjust := func(s *jsonschema.Schema) {
		s.Properties["offset"].Minimum = jsonschema.Ptr(0.0)
		s.Properties["limit"].Minimum = jsonschema.Ptr(0.0)
	}
	about := map[string]string{
		"file_path": "The file to read, absolute or relative to the current directory",
		"offset":    "The line to begin with, counted from 1; for files too long to read at once",
		"limit":     "How many lines to read; 2000 unless given",
	}
	tool := NewTyped(spec, about, adjust, t.read).withPaths(t.paths.canonical, "file_path")
	tool.Shown = shownRead
	return tool
}

// read runs Read. The agent may change a file after it has read it, even in part.
func (t *Set) read(ctx context.Context, in readInput) agent.ToolResult {
	if in.Offset < 0 || in.Limit < 0 {
		return agent.Failed("Read: offset and limit are counted from 1; leave them out to read from the beginning.")
	}
	s, err := t.paths.spot(in.FilePath)
	if err != nil {
		return agent.Failed("Read: %s", t.paths.explain(in.FilePath, err))
	}
	defer s.close()
	f, _, err := openRegular(s)
	if err != nil {
		return agent.Failed("Read: %s", t.paths.explain(s.path, err))
	}
	defer f.Close()
	head := make([]byte, 512)
	if n, _ := f.ReadAt(head, 0); agent.ImageType(head[:n]) != "" { // what cannot be read is reported below
		r, sum := readImage(s.path, f)
		if !r.IsError {
			t.stamps.record(s.path, sum[:])
		}
		return r
	}
	// Models write offset 0 for "from the beginning".
	p := page{from: max(in.Offset, 1), count: in.Limit}
	if p.count == 0 {
		p.count = readLines
	}
	sum := sha256.New()
	if err := p.read(ctx, io.TeeReader(f, sum)); err != nil {
		return agent.Failed("Read: %s: %v", s.path, err)
	}
	t.stamps.record(s.path, sum.Sum(nil))
	return p.result(s.path)
}

// readImage returns an image to look at, and its sum. One byte more than models take is enough to
// refuse it.
func readImage(path string, file io.Reader) (r agent.ToolResult, sum [sha256.Size]byte) {
	data, err := io.ReadAll(io.LimitReader(file, agent.MaxImage+1))
	if err != nil {
		return agent.Failed("Read: %s: %v", path, cause(err)), sum
	}
	i, err := agent.NewImage(data)
	if err != nil {
		return agent.Failed("Read: the image %s cannot be shown: %v", path, err), sum
	}
	r = Success(i.String(), i.AsRead())
	r.Images = []agent.Image{i}
	return r, sha256.Sum256(data)
}

// shownRead renders a response, which a hook may have changed: a text, or an image such as a smaller one.
func shownRead(response json.RawMessage) (agent.ToolResult, error) {
	var out agent.ImageRead
	if json.Unmarshal(response, &out) != nil || out.Type != "image" {
		return Rendering(readOutput.text)(response)
	}
	i, err := agent.NewImage(out.File.Base64)
	if err != nil {
		return agent.ToolResult{}, fmt.Errorf("an image that cannot be shown: %w", err)
	}
	return agent.ToolResult{Content: i.String(), Images: []agent.Image{i}}, nil
}

// openRegular opens a regular file for reading. Reading anything else, such as a named
// pipe, could block for ever.
func openRegular(s spot) (*os.File, fs.FileInfo, error) {
	for range 100 { // another member may put a new file in its place, a program a link
		info, err := s.root.Lstat(s.name)
		switch {
		case err != nil:
			return nil, nil, err
		case info.IsDir():
			return nil, nil, errIsDir
		case !info.Mode().IsRegular():
			return nil, nil, errNotRegular
		}
		f, err := s.root.Open(s.name)
		if err != nil {
			return nil, nil, err
		}
		if now, err := f.Stat(); err == nil && os.SameFile(info, now) {
			return f, info, nil
		}
		f.Close()
	}
	return nil, nil, errChanged
}
