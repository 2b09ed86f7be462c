// Package script is the offline model: it answers the builtin agent from a YAML
// file instead of a model API (see docs/script-model.md). A team that uses scripts does the same in
// every run, so scripts serve tests, demonstrations and examples.
//
// The package depends on agent.Model only; it uses no tools and no hooks, and reads
// no file except the script. A Script is immutable. The Model made from it counts
// which steps have served; a resumed member passes the counts of its earlier run.
package script

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
)

// MaxSize is the size of the largest script, in bytes.
const MaxSize = 1 << 20

// Format is the version of the scripts' format. A script may name it in its key `covey`, and
// keys may be added under the same number.
const Format = 1

// Script is a parsed script file. Any number of models may use it at the same time.
type Script struct {
	name    string // for messages
	steps   []step
	helpers []helper
	// usage and delay apply to steps that do not set them, and to passes for which
	// no step is left.
	usage agent.Usage
	delay time.Duration
	// stop makes the answer to such a pass empty instead of an error.
	stop bool
}

// step is one answer or one error for a pass.
type step struct {
	say   string
	calls []call
	// when must match what is new in the pass; nil matches everything.
	when *regexp.Regexp
	// times is how often the step may serve; -1 means without limit.
	times int
	// fail is the error returned instead of an answer; nil if the step answers.
	fail  *agent.APIError
	usage agent.Usage
	delay time.Duration
}

// call is a tool call of a step.
type call struct {
	tool  string
	input json.RawMessage // a JSON object, keys in the order of the file
	place yaml.Problem    // position of tool, without a message
}

// helper is a script for helpers whose first prompt matches when.
type helper struct {
	when   *regexp.Regexp // nil matches every prompt
	script *Script        // inherits usage, delay and exhausted
}

// Load reads the script at path. A script with mistakes returns Errors; a missing
// file returns an error that matches fs.ErrNotExist.
func Load(path string) (*Script, error) {
	data, err := texts.ReadStart(path, MaxSize+1)
	if err != nil {
		return nil, fmt.Errorf("script %s: %w", path, err)
	}
	return Parse(path, data)
}

// Parse reads a script from data; messages call it name. It reports all mistakes at
// once, as Errors.
func Parse(name string, data []byte) (*Script, error) {
	form := yaml.Form{
		Name: "script", MaxSize: MaxSize, MaxKeys: 60_000, MaxDepth: 100, IfEmpty: "write at least `steps: [{say: hello}]`",
		IfLarge: "split it into one script a member", InsteadOfMerge: "write the keys out",
	}
	d := &decoder{&yaml.Decoder{Document: yaml.ParseAs(form, name, data)}}
	var s *Script
	if d.Root != nil {
		s = d.script(d.Root)
	}
	if len(d.Problems) > 0 {
		return nil, yaml.Errors(yaml.SortProblems(d.Problems))
	}
	s.name = name
	for i := range s.helpers {
		s.helpers[i].script.name = fmt.Sprintf("%s (helper %d)", name, i+1)
	}
	return s, nil
}

// CheckTools reports the calls of unknown tools, in steps and helpers, as Errors. A
// script that is served to an agent program may call tools that only the program
// has, so call it only with the full list of tools.
func (s *Script) CheckTools(known []string) error {
	var list yaml.Errors
	for _, script := range append([]*Script{s}, s.helperScripts()...) {
		for _, step := range script.steps {
			for _, c := range step.calls {
				if slices.Contains(known, c.tool) || strings.HasPrefix(c.tool, "mcp__") {
					continue
				}
				p := c.place
				p.Message = fmt.Sprintf("there is no tool %q; the tools are %s", c.tool, strings.Join(known, ", "))
				if near := yaml.Nearest(c.tool, known); near != "" {
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

// helperScripts returns the scripts of the helpers.
func (s *Script) helperScripts() []*Script {
	all := make([]*Script, len(s.helpers))
	for i, h := range s.helpers {
		all[i] = h.script
	}
	return all
}

// Helper returns the script for a helper with the given first prompt: the first one
// whose `when` matches. It returns false if none matches.
func (s *Script) Helper(firstPrompt string) (*Script, bool) {
	for _, h := range s.helpers {
		if h.when == nil || h.when.MatchString(firstPrompt) {
			return h.script, true
		}
	}
	return nil, false
}

// Steps returns the number of steps, not counting those of helpers.
func (s *Script) Steps() int { return len(s.steps) }
