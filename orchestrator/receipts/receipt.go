// Package receipts describes what covey has merged in signed statements, and checks them. It knows neither
// git nor teams: callers say what a repository has.
//
// A receipt is an in-toto statement (https://in-toto.io/Statement/v1) in a DSSE envelope with an ed25519
// signature, so that other programs can check it, too.
package receipts

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Ref returns the reference at which a repository has the receipt of a merge.
func Ref(commit string) string { return Refs + commit }

// Refs begins the references of all receipts.
const Refs = "refs/covey/receipts/"

// The types of what a receipt is made of.
const (
	statementType = "https://in-toto.io/Statement/v1"
	predicateType = "https://github.com/coveyteam/covey/merge/v1"
	payloadType   = "application/vnd.in-toto+json"
)

// Statement is an in-toto statement about one merge.
type Statement struct {
	Type          string    `json:"_type"`
	Subject       []Subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     Merge     `json:"predicate"`
}

// Subject names what a statement is about.
type Subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// Merge is how a commit came into a branch, or what was proposed for one.
type Merge struct {
	Covey     string     `json:"covey"` // its version
	Team      string     `json:"team"`
	Target    string     `json:"target"` // the branch
	Commit    string     `json:"commit"`
	Tree      string     `json:"tree"`
	Base      string     `json:"base"`               // the commit of the branch before
	Work      string     `json:"work"`               // the commit that was merged
	Proposed  bool       `json:"proposed,omitempty"` // as a pull request: its host merges it, and Commit is only what the gates judged
	Author    string     `json:"author"`             // the member
	Tasks     []Task     `json:"tasks"`
	Asked     string     `json:"asked_by,omitempty"` // who asked for the merge; empty: covey merges by itself
	Forced    bool       `json:"forced"`             // the gates were not asked
	Gates     []Gate     `json:"gates"`
	Hints     []Hint     `json:"hints"` // what a reviewer should look at
	Approvers []Approver `json:"approvers"`
	Policies  []Policy   `json:"policies"` // which the spec extends
	Box       Box        `json:"box"`
	Time      time.Time  `json:"time"` // when the gates had agreed
}

// Task is a task that the merged work completes.
type Task struct {
	ID      string `json:"id"`
	Subject string `json:"subject,omitempty"`
}

// Gate is a gate that judged the merged state.
type Gate struct {
	Gate    string    `json:"gate"`           // its command or policy
	Verdict string    `json:"verdict"`        // Agreed, or what else it was
	Tree    string    `json:"tree,omitempty"` // that it judged; empty: it judged more than files
	Digest  string    `json:"digest,omitempty"`
	Time    time.Time `json:"time,omitzero"`
}

// Agreed is the verdict of a gate that lets work pass.
const Agreed = "agreed"

// Hint is a kind of what was found in the work. A mark is a reason to look first.
type Hint struct {
	Kind string `json:"kind"`
	Mark bool   `json:"mark"`
}

// Approver is who approved the merge.
type Approver struct {
	Name    string    `json:"name"`
	Request string    `json:"request"`
	Time    time.Time `json:"time,omitzero"`
}

// Policy is a policy that the spec extended.
type Policy struct {
	Where   string `json:"where"`
	SHA256  string `json:"sha256"`
	Version int    `json:"version,omitempty"`
}

// Box tells which boxes held the programs of the team. Without one, a program can read the key with which
// the receipt is signed.
type Box struct {
	Author int      `json:"author_level"` // 0: no box held the author
	Lost   []string `json:"lost,omitempty"`
	Open   []string `json:"open"` // members, and "gates", that no box held
}

// Held reports whether boxes held all programs of the team, so that none of them could read the key.
func (b Box) Held() bool { return len(b.Open) == 0 }

// Payload returns the statement about a merge as it is signed.
func (m Merge) Payload() ([]byte, error) {
	s := Statement{
		Type: statementType, PredicateType: predicateType, Predicate: m,
		Subject: []Subject{{Name: m.Target, Digest: map[string]string{"gitCommit": m.Commit, "gitTree": m.Tree}}},
	}
	if m.Proposed {
		s.Subject = append(s.Subject, Subject{Name: "pull request", Digest: map[string]string{"gitCommit": m.Work}})
	}
	return json.Marshal(s)
}

// parse reads a statement about a merge.
func parse(payload []byte) (Merge, error) {
	var s Statement
	if err := json.Unmarshal(payload, &s); err != nil {
		return Merge{}, fmt.Errorf("%w: its statement cannot be read: %w", ErrDamaged, err)
	}
	m := s.Predicate
	if s.Type != statementType || s.PredicateType != predicateType {
		return m, fmt.Errorf("%w: it is a %q about a %q, which this version of covey does not know", ErrDamaged, s.Type, s.PredicateType)
	}
	if !slices.ContainsFunc(s.Subject, func(s Subject) bool { return s.Digest["gitCommit"] == m.Commit && s.Digest["gitTree"] == m.Tree }) {
		return m, fmt.Errorf("%w: its subject is not the merge that it describes", ErrDamaged)
	}
	return m, nil
}

// Of names the merged work: "task 3 of ana".
func (m Merge) Of() string {
	ids := make([]string, len(m.Tasks))
	for i, t := range m.Tasks {
		ids[i] = t.ID
	}
	switch len(ids) {
	case 0:
		return "work of " + m.Author
	case 1:
		return "task " + ids[0] + " of " + m.Author
	}
	return "tasks " + strings.Join(ids, ", ") + " of " + m.Author
}
