// Package script is the offline model: it answers the builtin agent from a
// YAML file instead of a model API (DESIGN 5). A team on scripts does the same
// thing every time it runs, so it serves tests, demonstrations and examples.
//
// The package knows scripts and agent.Model, and nothing of tools, hooks or
// files other than the script itself. A Script is a value that never changes;
// the Model made from it counts which steps have served, and is told how often
// they had served before when a member is resumed.
package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/teammate/agent"
)

// MaxSize is the size of the largest script, in bytes.
const MaxSize = 1 << 20

// Script is what a script file says. Any number of models may play it at once.
type Script struct {
	name    string // for messages
	steps   []step
	helpers []helper
	// usage and delay hold for steps that do not say otherwise, and for passes
	// that no step is left for.
	usage agent.Usage
	delay time.Duration
	// stop says that such a pass gets an empty answer instead of an error.
	stop bool
}

// step is one answer, or one failure, that a pass may get.
type step struct {
	say   string
	calls []call
	// when must be found in what is new in the pass; nil: the step suits all.
	when *regexp.Regexp
	// times is how often the step may serve; -1: for ever.
	times int
	// fail is the error that it gives instead of an answer; nil: it answers.
	fail  *agent.APIError
	usage agent.Usage
	delay time.Duration
}

// call is a tool call of a step.
type call struct {
	tool  string
	input json.RawMessage // a JSON object, keys as they were written
	place Problem         // where tool stands, with no message
}

// helper is a script for those helpers whose first prompt holds when.
type helper struct {
	when   *regexp.Regexp // nil: every prompt
	script *Script        // inherits usage, delay and exhausted
}

// Load reads the script at path. A script with mistakes gives Errors; a file
// that is not there gives an error that matches fs.ErrNotExist.
func Load(path string) (*Script, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	// A named pipe would make us wait for ever.
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("script: %s is not a regular file; name the script's YAML file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("script: %s: %w", path, err)
	}
	return Parse(path, data)
}

// Parse reads a script from data; name stands in messages. All mistakes are
// reported at once, as Errors.
func Parse(name string, data []byte) (*Script, error) {
	p := &problems{file: name}
	var s *Script
	if root := p.document(data); root != nil {
		s = (&decoder{problems: p}).script(root)
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	s.name = name
	for i := range s.helpers {
		s.helpers[i].script.name = fmt.Sprintf("%s (helper %d)", name, i+1)
	}
	return s, nil
}

// CheckTools reports the calls of tools that are not known, in steps and helpers,
// as Errors. A script that is served to a program may call tools that only the
// program knows, so this is for who knows them all.
func (s *Script) CheckTools(known []string) error {
	var list Errors
	for _, script := range append([]*Script{s}, s.scripts()...) {
		for _, step := range script.steps {
			for _, c := range step.calls {
				if slices.Contains(known, c.tool) || strings.HasPrefix(c.tool, "mcp__") {
					continue
				}
				p := c.place
				p.Message = fmt.Sprintf("there is no tool %q; the tools are %s", c.tool, strings.Join(known, ", "))
				if near := nearest(c.tool, known); near != "" {
					p.Message = fmt.Sprintf("there is no tool %q; did you mean %s?", c.tool, near)
				}
				list = append(list, p)
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

// scripts are those of the helpers.
func (s *Script) scripts() []*Script {
	all := make([]*Script, len(s.helpers))
	for i, h := range s.helpers {
		all[i] = h.script
	}
	return all
}

// Helper returns the script of the helper whose first prompt that is: the
// first one whose `when` is found in it. It is false when none fits.
func (s *Script) Helper(firstPrompt string) (*Script, bool) {
	for _, h := range s.helpers {
		if h.when == nil || h.when.MatchString(firstPrompt) {
			return h.script, true
		}
	}
	return nil, false
}

// Steps is how many steps the script has, helpers not counted.
func (s *Script) Steps() int { return len(s.steps) }
