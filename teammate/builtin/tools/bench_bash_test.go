//go:build unix

package tools

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/coveyteam/covey/teammate/workspace"
)

// BenchmarkBash measures the overhead of the tool over a plain run of its shell.
func BenchmarkBash(b *testing.B) {
	root := b.TempDir()
	tools := New(Env{
		Workdir: workspace.NewWorkdir(root), Environ: []string{"PATH=/usr/bin:/bin"},
		OutputDir: filepath.Join(b.TempDir(), "out"),
	})
	defer tools.Close()
	b.Run("tool", func(b *testing.B) {
		for b.Loop() {
			if r := tools.bash(b.Context(), bashInput{Command: "cd . && echo x"}); r.IsError {
				b.Fatal(r.Content)
			}
		}
	})
	b.Run("spawn", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.CommandContext(b.Context(), tools.shell.path, "-c", "cd . && echo x")
			cmd.Dir, cmd.Env = root, tools.env.Environ
			if out, err := cmd.Output(); err != nil || string(out) != "x\n" {
				b.Fatal(err, out)
			}
		}
	})
}
