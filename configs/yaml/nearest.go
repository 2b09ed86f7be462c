package yaml

import (
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// The search for a near word takes time, and its result helps only if there are few
// problems and few candidates.
const (
	mostProblems   = 1000
	mostCandidates = 200
)

// Nearest is the function Nearest for messages. It returns "" beyond the limits above.
func (d *Decoder) Nearest(s string, candidates []string) string {
	if len(d.Problems) > mostProblems || len(candidates) > mostCandidates {
		return ""
	}
	return Nearest(s, candidates)
}

// Nearest returns the candidate that s was probably meant to be, or "". A third of the
// letters may differ: a wrong suggestion is worse than a list of the candidates.
func Nearest(s string, candidates []string) string {
	if len(s) > 64 { // much longer than any candidate
		return ""
	}
	for _, c := range candidates {
		if len(s) >= 4 && strings.HasPrefix(strings.ToLower(c), strings.ToLower(s)) {
			return c // an abbreviation
		}
	}
	return texts.Nearest(s, candidates, min(len(s)/3+1, len(s)-1))
}

// nearestKey is nearest for keys. Words that other tools use for a key come first.
func (d *Decoder) nearestKey(s string, known []string) string {
	word := strings.ToLower(strings.ReplaceAll(s, "_", ""))
	for _, key := range synonyms(word) {
		if slices.Contains(known, key) {
			return key
		}
	}
	return d.Nearest(s, known)
}

// synonyms returns the keys that mean what another tool calls word.
func synonyms(word string) []string {
	switch word {
	case "members", "agents", "workers", "crew":
		return []string{"teammates"}
	case "leader", "manager", "main":
		return []string{"lead"}
	case "version":
		return []string{"covey"}
	case "prompt", "systemprompt", "role", "backstory":
		return []string{"instructions", "goal"}
	case "cwd", "dir", "directory", "workdir", "root":
		return []string{"workspace"}
	case "dependencies", "dependson", "needs", "after", "blockedby":
		return []string{"blocked_by"}
	case "title":
		return []string{"subject"}
	case "assignee":
		return []string{"owner"}
	case "mode", "permissionmode":
		return []string{"permission_mode"}
	case "command", "cmd", "program", "exec", "binary":
		return []string{"run", "command"}
	case "kind", "type", "preset", "vendor":
		return []string{"use"}
	case "environment", "vars", "variables":
		return []string{"env"}
	case "apikey", "login", "credentials":
		return []string{"auth"}
	case "required", "must", "enforce":
		return []string{"mandatory"}
	}
	return nil
}
