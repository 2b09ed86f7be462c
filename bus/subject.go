package bus

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Subject is what a message is published on. Only the functions in this file make
// subjects, so that names from outside cannot contain wildcards.
type Subject string

// Verb names the kind of a request from outside: lower-case letters, digits and dashes.
type Verb string

// ConnID identifies a connection from outside. The receiver makes it.
type ConnID string

// Identity is the caller of a connection from outside, as determined by the process that
// accepted it.
type Identity struct {
	Kind string // kind of caller, as identify named it
	Name string // the member that it acts for
	PID  int    // process id
	// NeedsKey means that the caller counts only once it has proved that it knows the socket's key
	// (see Listen). It is false in what handlers get.
	NeedsKey bool
}

// The parts of a team's subjects after its name. A team's subjects hold its name, so that
// teams that share a server cannot hear each other.
const (
	controlRoot  = "ctl"
	mailRoot     = "mail"
	taskChanges  = "tasks"
	journalGrown = "journal"
)

// inboxRoot begins the subjects of answers.
const inboxRoot = "_I"

// maxToken bounds a name in a subject; package configs allows names of 32 characters.
const maxToken = 32

// validToken reports whether s may be one token of a subject.
func validToken(s string) bool {
	if s == "" || len(s) > maxToken {
		return false
	}
	return !slices.ContainsFunc([]byte(s), func(c byte) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_'
	})
}

// subject returns a subject of the team.
func (b *Bus) subject(tokens ...string) Subject {
	return Subject("covey." + b.opts.Team + "." + strings.Join(tokens, "."))
}

// mailSubject returns the subject of a member's mail.
func (b *Bus) mailSubject(member string) (Subject, error) {
	if !validToken(member) {
		return "", fmt.Errorf("member %q: %w", member, ErrSubject)
	}
	return b.subject(mailRoot, member), nil
}

// controlScope returns what a connection may publish on, without the verb.
func (b *Bus) controlScope(id Identity, conn ConnID) (Subject, error) {
	for _, token := range []string{b.opts.Team, id.Kind, id.Name, string(conn)} {
		if !validToken(token) || id.PID < 0 {
			return "", fmt.Errorf("identity %s/%s of team %s: %w", id.Kind, id.Name, b.opts.Team, ErrSubject)
		}
	}
	return b.subject(controlRoot, id.Kind, id.Name, strconv.Itoa(id.PID), string(conn)), nil
}

// controlAll returns the wildcard for one verb of all connections.
func (b *Bus) controlAll(v Verb) (Subject, error) {
	if !validToken(string(v)) {
		return "", fmt.Errorf("verb %q: %w", v, ErrSubject)
	}
	return b.subject(controlRoot, "*.*.*.*", string(v)), nil
}

// controlAny returns the wildcard for all verbs of all connections.
func (b *Bus) controlAny() Subject { return b.subject(controlRoot, "*.*.*.*.*") }

// callerOf parses a control subject. The server has checked that the sender may publish
// on it, so the identity is true.
func callerOf(subject string) (Identity, ConnID, bool) {
	tokens := strings.Split(subject, ".")
	if len(tokens) != 8 || tokens[2] != controlRoot {
		return Identity{}, "", false
	}
	tokens = tokens[3:]
	pid, err := strconv.Atoi(tokens[2])
	if err != nil || !validToken(tokens[0]) || !validToken(tokens[1]) || !validToken(tokens[3]) {
		return Identity{}, "", false
	}
	return Identity{Kind: tokens[0], Name: tokens[1], PID: pid}, ConnID(tokens[3]), true
}

// inboxOf returns the prefix of the only subjects on which a connection gets answers.
func inboxOf(conn ConnID) string { return inboxRoot + "." + string(conn) }
