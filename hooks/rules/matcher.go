package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dlclark/regexp2"
)

// matchTimeout bounds one search: JavaScript's expressions can take exponential time, and
// the text they are applied to comes from an agent.
const matchTimeout = 100 * time.Millisecond

// Matcher decides which subjects a group of hooks applies to (HOOKS.md section 4): all, a
// list of names, or those that match a JavaScript expression.
type Matcher struct {
	list  []string
	regex *regexp2.Regexp // nil for a list
	all   bool
	other OtherNames
}

// OtherNames returns the names that another agent program has for a tool. only says that
// the tool's own name is not one of that program's names.
type OtherNames func(tool string) (names []string, only bool)

// AllSubjects returns the matcher of a group that applies to everything.
func AllSubjects() *Matcher { return &Matcher{all: true} }

// NewMatcher parses a matcher, in which any of separators separates names. other may be
// nil. The error says why an expression is invalid.
func NewMatcher(text, separators string, other OtherNames) (*Matcher, error) {
	if other == nil {
		other = func(string) ([]string, bool) { return nil, false }
	}
	if trimmed := strings.TrimSpace(text); trimmed == "" || trimmed == "*" {
		return AllSubjects(), nil
	}
	m := &Matcher{other: other}
	if isList(text, separators) {
		for word := range strings.FieldsFuncSeq(text,
			func(r rune) bool { return strings.ContainsRune(separators, r) }) {
			if word = strings.TrimSpace(word); word != "" {
				m.list = append(m.list, word)
			}
		}
		return m, nil
	}
	regex, err := regexp2.Compile(text, regexp2.ECMAScript)
	if flag := inlineFlag().FindString(text); err == nil && flag != "" { // the engine accepts it all the same
		err = fmt.Errorf("%s is no group, and flags cannot be set", flag)
	}
	if err != nil {
		return nil, fmt.Errorf("matcher %q is not a JavaScript expression: %s", text, regexFault(err))
	}
	regex.MatchTimeout = matchTimeout
	m.regex = regex
	return m, nil
}

// inlineFlag matches a group that only sets flags, which JavaScript does not have.
var inlineFlag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\(\?[a-zA-Z]*-?[a-zA-Z]+\)`) })

// regexFault returns the engine's message without the expression.
func regexFault(err error) string {
	_, fault, found := strings.Cut(err.Error(), "error parsing regexp: ")
	if !found {
		return err.Error()
	}
	if i := strings.LastIndex(fault, " in `"); i > 0 {
		return fault[:i]
	}
	return fault
}

// isList reports whether text is a list of names: letters, digits and separators. Events
// that only split on "|" allow fewer characters.
func isList(text, separators string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			return false
		case strings.ContainsRune(separators, r):
			return false
		}
		return separators == "|" || r != ' ' && r != '-'
	})
}

// Matches reports whether the matcher applies to a subject. doubt says why that cannot be
// decided; the answer is yes then, so that a policy is not skipped.
func (m *Matcher) Matches(subject string) (yes bool, doubt string) {
	if m.all {
		return true, ""
	}
	names, only := m.other(subject)
	if !only || m.regex == nil {
		names = append([]string{subject}, names...)
	}
	for _, former := range formerNames(subject) {
		// An expression for all but some tools is not about a patch.
		if former != PatchTool || m.regex == nil || strings.Contains(m.regex.String(), "patch") {
			names = append(names, former)
		}
	}
	if m.regex == nil {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(m.list, name) }), ""
	}
	for _, name := range names {
		found, err := search(m.regex, name)
		if err != nil {
			return true, fmt.Sprintf("matcher %.80q could not be decided: the hook ran", m.regex.String())
		}
		if found {
			return true, ""
		}
	}
	return false, ""
}

// All reports whether the matcher applies to every subject.
func (m *Matcher) All() bool { return m.all }

// List returns the names of a matcher that is a list.
func (m *Matcher) List() []string { return m.list }

// Expression returns the expression, and whether the matcher is one.
func (m *Matcher) Expression() (text string, ok bool) {
	if m.regex == nil {
		return "", false
	}
	return m.regex.String(), true
}

// Names returns the parts of the matcher that are plain names. A dot counts as part of a
// name, because few people write `\.envrc`.
func (m *Matcher) Names() []string {
	if m.regex == nil {
		return m.list
	}
	return slices.DeleteFunc(strings.Split(m.regex.String(), "|"), func(part string) bool {
		return part == "" || strings.ContainsAny(part, `\^$*+?()[]{}`)
	})
}

// String returns the matcher as people write it; empty if it applies to everything.
func (m *Matcher) String() string {
	if m.regex != nil {
		return m.regex.String()
	}
	return strings.Join(m.list, "|")
}

// search searches under the engine's time limit. A panic in the engine is an error.
func search(regex *regexp2.Regexp, subject string) (found bool, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the expression engine panicked: %v", cause)
		}
	}()
	return regex.MatchString(subject)
}
