//go:build unix

package tools

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/workspace"
)

// bench holds a member's tools in their own workspace.
type bench struct {
	t     *testing.T
	tools *Set
	wd    *workspace.Workdir
	root  string
	byTag map[string]agent.Tool
}

func newBench(t *testing.T, adjust func(*Env)) *bench {
	t.Helper()
	root := t.TempDir()
	env := Env{
		Workdir:   workspace.NewWorkdir(root),
		Environ:   []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root},
		OutputDir: filepath.Join(t.TempDir(), "out"),
	}
	if adjust != nil {
		adjust(&env)
	}
	b := &bench{t: t, tools: New(env), wd: env.Workdir, root: root, byTag: map[string]agent.Tool{}}
	t.Cleanup(func() {
		if err := b.tools.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, tool := range b.tools.List() {
		b.byTag[tool.Spec().Name] = tool
	}
	return b
}

type fields map[string]any

// call runs a tool the way a member does: its input normalised, and checked to be JSON.
func (b *bench) call(ctx context.Context, name string, in fields) agent.ToolResult {
	b.t.Helper()
	input, err := json.Marshal(in)
	if err != nil {
		b.t.Fatal(err)
	}
	tool := b.byTag[name]
	if n, ok := tool.(agent.Normalizer); ok {
		input = n.Normalize(input)
	}
	r := tool.Run(ctx, agent.ToolCall{ID: "toolu_1", Name: name, Input: input})
	if r.IsError != (r.Response == nil) {
		b.t.Errorf("%s: is_error %v with response %s", name, r.IsError, r.Response)
	}
	return r
}

// ok runs a tool that must succeed, and returns what the model sees.
func (b *bench) ok(name string, in fields) string {
	b.t.Helper()
	r := b.call(b.t.Context(), name, in)
	if r.IsError {
		b.t.Fatalf("%s %v: %s", name, in, r.Content)
	}
	return r.Content
}

// fails runs a tool that must fail, and returns what the model sees.
func (b *bench) fails(name string, in fields) string {
	b.t.Helper()
	r := b.call(b.t.Context(), name, in)
	if !r.IsError {
		b.t.Fatalf("%s %v succeeded: %s", name, in, r.Content)
	}
	return r.Content
}

// refuses runs a tool that must fail with a result that holds want.
func (b *bench) refuses(name string, in fields, want string) {
	b.t.Helper()
	if got := b.fails(name, in); !strings.Contains(got, want) {
		b.t.Errorf("%s %.200v\n got %q\nwant …%s…", name, in, got, want)
	}
}

// shows runs a tool that must succeed with the result want.
func (b *bench) shows(name string, in fields, want string) {
	b.t.Helper()
	if got := b.ok(name, in); got != want {
		b.t.Errorf("%s %.200v\n got %q\nwant %q", name, in, got, want)
	}
}

func (b *bench) write(name, content string) string {
	b.t.Helper()
	path := filepath.Join(b.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
	return path
}
