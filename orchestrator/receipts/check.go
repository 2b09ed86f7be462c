package receipts

import (
	"errors"
	"fmt"
	"slices"
)

// What can be wrong with a receipt.
var (
	// ErrNone reports that a merge of covey's has no receipt here.
	ErrNone = errors.New("there is no receipt")
	// ErrByHand reports that covey did not make the commit.
	ErrByHand = errors.New("covey did not merge it")
	// ErrDamaged reports what is no receipt.
	ErrDamaged = errors.New("its receipt is damaged")
	// ErrUnknownKey reports a signature by a key that is not among the known ones.
	ErrUnknownKey = errors.New("the key that signed its receipt is not known")
	// ErrAltered reports a receipt that was changed after it was signed.
	ErrAltered = errors.New("its receipt was changed after it was signed")
	// ErrOther reports the receipt of another merge.
	ErrOther = errors.New("its receipt is that of another commit")
	// ErrTree reports files that are not those of the receipt.
	ErrTree = errors.New("its files are not those that were merged")
	// ErrForced reports a merge whose gates were not asked.
	ErrForced = errors.New("it was merged with --force: no gate was asked")
	// ErrGate reports a gate that did not agree to what was merged.
	ErrGate = errors.New("a gate did not agree to it")
	// ErrPolicy reports a policy that is not the demanded one, or older than one before.
	ErrPolicy = errors.New("its policy is not the one that holds")
	// ErrOpen reports that no box held all programs of the team.
	ErrOpen = errors.New("no box held the team, so its programs could read the key and forge the receipt")
)

// Facts are what a repository has of a commit. Of a pull request, callers find out that the commit is the proposed
// one, or what its host made of it.
type Facts struct {
	Commit, Tree string
	Parents      []string
	Policy       string // the digest of a policy that must have been in use; empty: any, and none
	Boxed        bool   // boxes must have held the team
	// Earlier are the merges in the commit's history whose receipts were found to be true.
	Earlier []Merge
}

// Check returns the first reason why a merge that a receipt describes is not that of the facts, or not as
// it has to be; nil: there is none. Its errors are those of this package.
func (m Merge) Check(f Facts) error {
	switch {
	case m.Proposed && f.Commit == m.Work: // which the id is of
	case m.Proposed && m.Tree != f.Tree:
		return fmt.Errorf("%w: the gates judged %.12s on top of %.12s; covey verify %[2]s checks what was proposed", ErrTree, m.Work, m.Base)
	case m.Proposed: // however its host has merged it
	case m.Commit != f.Commit:
		return fmt.Errorf("%w: %.12s", ErrOther, m.Commit)
	case m.Tree != f.Tree || !slices.Equal(f.Parents, []string{m.Base, m.Work}):
		return ErrTree
	}
	if m.Forced {
		return ErrForced
	}
	for _, g := range m.Gates {
		switch {
		case g.Verdict != Agreed:
			return fmt.Errorf("%w: the verdict of %q is %q", ErrGate, g.Gate, g.Verdict)
		case g.Tree != "" && g.Tree != m.Tree:
			return fmt.Errorf("%w: %q judged other files", ErrGate, g.Gate)
		}
	}
	if f.Policy != "" && !slices.ContainsFunc(m.Policies, func(p Policy) bool { return p.SHA256 == f.Policy }) {
		return fmt.Errorf("%w: no policy with the digest %.12s was in use", ErrPolicy, f.Policy)
	}
	for _, p := range m.Policies {
		for _, e := range f.Earlier {
			for _, was := range e.Policies {
				if was.Where == p.Where && was.Version > p.Version {
					return fmt.Errorf("%w: version %d of %s was in use, and the earlier merge %.12s had version %d", ErrPolicy,
						p.Version, p.Where, e.Commit, was.Version)
				}
			}
		}
	}
	if f.Boxed && !m.Box.Held() {
		return ErrOpen
	}
	return nil
}
