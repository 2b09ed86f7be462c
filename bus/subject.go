package bus

import (
	"fmt"
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
}

const (
	controlRoot  = "covey.ctl"
	wakeRoot     = "covey.wake"
	journalGrown = Subject("covey.journal")
	topicRoot    = "covey.topic"
	inboxRoot    = "_I"
)

// maxToken bounds a name in a subject; package configs allows names of 32 characters.
const maxToken = 32

// validToken reports whether s may be one token of a subject.
func validToken(s string) bool {
	if s == "" || len(s) > maxToken {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// Topic returns a subject for use inside the process. Connections from outside can
// neither publish nor listen on it. It fails with ErrSubject if a name is empty, longer
// than 32 bytes, or contains anything but letters, digits, "-" and "_".
func Topic(names ...string) (Subject, error) {
	for _, n := range names {
		if !validToken(n) {
			return "", fmt.Errorf("%q: %w", n, ErrSubject)
		}
	}
	return Subject(strings.Join(append([]string{topicRoot}, names...), ".")), nil
}

// wakeSubject returns the subject that wakes a member.
func wakeSubject(member string) (Subject, error) {
	if !validToken(member) {
		return "", fmt.Errorf("member %q: %w", member, ErrSubject)
	}
	return Subject(wakeRoot + "." + member), nil
}

// wakeAll returns the wildcard for all wakes.
func wakeAll() Subject { return wakeRoot + ".*" }

// wokenMember returns the member in a wake subject.
func wokenMember(s string) string { return strings.TrimPrefix(s, wakeRoot+".") }

// controlScope returns what a connection may publish on, without the verb.
func controlScope(id Identity, conn ConnID) (Subject, error) {
	if !validToken(id.Kind) || !validToken(id.Name) || !validToken(string(conn)) || id.PID < 0 {
		return "", fmt.Errorf("identity %s/%s: %w", id.Kind, id.Name, ErrSubject)
	}
	return Subject(fmt.Sprintf("%s.%s.%s.%d.%s", controlRoot, id.Kind, id.Name, id.PID, conn)), nil
}

// controlAll returns the wildcard for one verb of all connections.
func controlAll(v Verb) (Subject, error) {
	if !validToken(string(v)) {
		return "", fmt.Errorf("verb %q: %w", v, ErrSubject)
	}
	return Subject(controlRoot + ".*.*.*.*." + string(v)), nil
}

// controlAny returns the wildcard for all verbs of all connections.
func controlAny() Subject { return controlRoot + ".*.*.*.*.*" }

// callerOf parses a control subject. The server has checked that the sender may publish
// on it, so the identity is true.
func callerOf(subject string) (Identity, ConnID, bool) {
	tokens := strings.Split(strings.TrimPrefix(subject, controlRoot+"."), ".")
	if len(tokens) != 5 {
		return Identity{}, "", false
	}
	pid, err := strconv.Atoi(tokens[2])
	if err != nil || !validToken(tokens[0]) || !validToken(tokens[1]) || !validToken(tokens[3]) {
		return Identity{}, "", false
	}
	return Identity{Kind: tokens[0], Name: tokens[1], PID: pid}, ConnID(tokens[3]), true
}

// inboxOf returns the prefix of the only subjects on which a connection gets answers.
func inboxOf(conn ConnID) string { return inboxRoot + "." + string(conn) }
