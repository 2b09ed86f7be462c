package tools

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"

	"github.com/coveyteam/covey/teammate/agent"
)

// writeInput is the input of Write.
type writeInput struct {
	FilePath string `json:"file_path"`
	Content  string `json:"content"`
}

// writeOutput is Write's tool_response.
type writeOutput struct {
	// Type is create or update.
	Type     string `json:"type"`
	FilePath string `json:"filePath"`
	Content  string `json:"content"`
	Patch    []hunk `json:"structuredPatch"`
	// Original is null for a new file, and for one that is too large.
	Original *string `json:"originalFile"`
}

func (t *Set) writeTool() agent.Tool {
	spec := agent.Spec{
		Name: "Write",
		Description: "Writes a whole file, and the folders that it needs. A file that is there already " +
			"must have been read with Read first. To change parts of a file, Edit is the better tool.",
		Edits: true,
	}
	about := map[string]string{
		"file_path": "The file to write, absolute or relative to the current directory",
		"content":   "All that the file is to hold",
	}
	tool := NewTyped(spec, about, nil, t.write).withPaths(t.paths.canonical, "file_path")
	tool.Shown = Rendering(writeOutput.text)
	return tool
}

// text returns what a model sees of a written file.
func (o writeOutput) text() string {
	if o.Type == "create" {
		return "File created successfully at: " + o.FilePath
	}
	return fmt.Sprintf("The file %s has been updated successfully.", o.FilePath)
}

// write runs Write.
func (t *Set) write(_ context.Context, in writeInput) agent.ToolResult {
	s, err := t.paths.spot(in.FilePath)
	if err != nil {
		return agent.Failed("Write: %s", t.paths.explain(in.FilePath, err))
	}
	defer func() { s.close() }()
	old, before, err := t.known(s, maxOriginal)
	if err != nil {
		return agent.Failed("Write: %s", t.paths.explain(s.path, err))
	}
	output := writeOutput{Type: "create", FilePath: s.path, Content: in.Content, Patch: []hunk{}}
	if old != nil {
		output.Type = "update"
		if old.Size() <= maxOriginal {
			output.Original, output.Patch = &before, patch(before, in.Content)
		}
	}
	if err := t.replace(&s, []byte(in.Content), old); err != nil {
		return agent.Failed("Write: %v; the file is as it was", err)
	}
	return Success(output.text(), output)
}

// maxOriginal is the size in bytes of the largest file whose earlier content hooks get.
const maxOriginal = 1 << 20

// known returns the state of s and, if it has at most that many bytes, its content. The
// state is nil if s does not exist. It fails if s is not a file that may be written, or if
// the agent does not know its content.
func (t *Set) known(s spot, most int64) (fs.FileInfo, string, error) {
	info, err := s.root.Lstat(s.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", nil
	case err != nil:
		return nil, "", err
	case info.IsDir():
		return nil, "", errIsDir
	case !info.Mode().IsRegular():
		return nil, "", errNotRegular
	}
	want, ok := t.stamps.of(s.path)
	if !ok {
		return nil, "", errUnread
	}
	f, _, err := openRegular(s)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	sum := sha256.New()
	var content strings.Builder
	to := io.Writer(sum)
	if info.Size() <= most {
		content.Grow(int(info.Size()))
		to = io.MultiWriter(sum, &content)
	}
	if _, err := io.Copy(to, f); err != nil {
		return nil, "", err
	}
	if !bytes.Equal(sum.Sum(nil), want) {
		return nil, "", errChanged
	}
	return info, content.String(), nil
}

// replace writes data to s, whose state is old or nil. It writes a new file next to it and
// renames that, so that a reader sees either the old or the new content, and a full disk
// loses nothing. The mode is kept.
func (t *Set) replace(s *spot, data []byte, old fs.FileInfo) error {
	mode := fs.FileMode(0o644)
	if old != nil {
		mode = old.Mode().Perm()
	}
	var err error
	if *s, err = s.withFolder(); err != nil {
		return fmt.Errorf("%s: making its folder: %w", s.path, cause(err))
	}
	temp := ".covey-" + rand.Text()
	err = writeSynced(s.root, temp, data, mode)
	if err == nil && old != nil {
		err = s.root.Chmod(temp, mode) // the umask may have reduced it
	}
	if err == nil {
		err = rename(*s, temp, old)
	}
	if err != nil {
		_ = s.root.Remove(temp)
		return fmt.Errorf("%s: %w", s.path, cause(err))
	}
	// The agent knows what it has written, and may change it again.
	sum := sha256.Sum256(data)
	t.stamps.record(s.path, sum[:])
	return nil
}

// renaming lets one member at a time look at a file and replace it.
var renaming sync.Mutex

// rename puts temp in the place of s, unless s is no longer as old, or nil, describes it:
// another member may have changed it while temp was written.
func rename(s spot, temp string, old fs.FileInfo) error {
	renaming.Lock()
	defer renaming.Unlock()
	now, err := s.root.Lstat(s.name)
	switch {
	case errors.Is(err, fs.ErrNotExist): // removed, or never there: nothing can be lost
	case err != nil:
		return err
	case old == nil || !os.SameFile(old, now) || old.Size() != now.Size() || !old.ModTime().Equal(now.ModTime()):
		return errChanged
	}
	return s.root.Rename(temp, s.name)
}

// writeSynced writes a new file and syncs it, because a rename that reaches the disk first
// would leave an empty file after a power cut.
func writeSynced(root *os.Root, name string, data []byte, mode fs.FileMode) error {
	// O_EXCL: an existing file with that name is not ours to write to.
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}
