package configs

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/testkit"
)

// BenchmarkParse reads a spec that has every key; its files are read and looked
// for as well. Each CLI command on a team pays for it once.
func BenchmarkParse(b *testing.B) {
	dir := testkit.Files(b, everyKeyFiles())
	name := filepath.Join(dir, "team.yaml")
	b.SetBytes(int64(len(everyKey)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(name, []byte(everyKey)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkParseHostile reads the slowest specs that are known.
func BenchmarkParseHostile(b *testing.B) {
	for name, spec := range map[string]string{
		"brackets": strings.Repeat("[", yaml.MaxSize),
		"keys":     numbered("k%d: \n", 9_999),
		"blanks":   "a: |\n" + strings.Repeat("        \n", 14000),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Parse("team.yaml", []byte(spec)); err == nil {
					b.Fatal("no error")
				}
			}
		})
	}
}

// TestParseIsQuick: no command takes over 10 ms of its own, and reading the
// spec is a small part of a command. The bound is loose for busy machines; the
// best of the runs of a minute counts.
func TestParseIsQuick(t *testing.T) {
	dir := testkit.Files(t, everyKeyFiles())
	best := time.Hour
	for first := time.Now(); best > 10*time.Millisecond && time.Since(first) < time.Minute; {
		start := time.Now()
		if _, err := Load(filepath.Join(dir, "team.yaml")); err != nil {
			t.Fatal(err)
		}
		best = min(best, time.Since(start))
	}
	if best > 10*time.Millisecond {
		t.Errorf("reading a spec takes %v", best)
	}
}
