package bus

import (
	"fmt"
	"strconv"
	"strings"
)

// Subject is what a message is published on. Only the functions in this file
// make subjects, so that no name from outside can smuggle in a wildcard.
type Subject string

// Verb names what a request from outside asks for: lower-case letters, digits
// and dashes.
type Verb string

// ConnID tells connections from outside apart. It is made by the receiver.
type ConnID string

// Identity is who is at the other end of a connection from outside, as the
// process that accepted it found out.
type Identity struct {
	Kind string // what the caller is, in the words of whoever identified it
	Name string // on whose behalf it acts
	PID  int    // its process
}

const (
	controlRoot  = "covey.ctl"
	wakeRoot     = "covey.wake"
	journalGrown = Subject("covey.journal")
	topicRoot    = "covey.topic"
	inboxRoot    = "_I"
)

// maxToken bounds a name in a subject; DESIGN allows names of 32 characters.
const maxToken = 32

// validToken says whether s may be one token of a subject.
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

// Topic is a subject for use inside the process. Connections from outside can
// neither publish on it nor listen to it. It fails with ErrSubject if a name
// is empty, longer than 32 bytes, or holds anything but letters, digits, "-"
// and "_".
func Topic(names ...string) (Subject, error) {
	for _, n := range names {
		if !validToken(n) {
			return "", fmt.Errorf("%q: %w", n, ErrSubject)
		}
	}
	return Subject(strings.Join(append([]string{topicRoot}, names...), ".")), nil
}

// wakeSubject is where the news goes that a member has something to do.
func wakeSubject(member string) (Subject, error) {
	if !validToken(member) {
		return "", fmt.Errorf("member %q: %w", member, ErrSubject)
	}
	return Subject(wakeRoot + "." + member), nil
}

// wakeAll is the one wildcard that hears all members' wakes.
func wakeAll() Subject { return wakeRoot + ".*" }

// wokenMember is the member that a wake subject names.
func wokenMember(s string) string { return strings.TrimPrefix(s, wakeRoot+".") }

// controlScope is all that a connection may publish on, without the verb.
func controlScope(id Identity, conn ConnID) (Subject, error) {
	if !validToken(id.Kind) || !validToken(id.Name) || !validToken(string(conn)) || id.PID < 0 {
		return "", fmt.Errorf("identity %s/%s: %w", id.Kind, id.Name, ErrSubject)
	}
	return Subject(fmt.Sprintf("%s.%s.%s.%d.%s", controlRoot, id.Kind, id.Name, id.PID, conn)), nil
}

// controlAll hears one verb from all connections.
func controlAll(v Verb) (Subject, error) {
	if !validToken(string(v)) {
		return "", fmt.Errorf("verb %q: %w", v, ErrSubject)
	}
	return Subject(controlRoot + ".*.*.*.*." + string(v)), nil
}

// controlAny hears all verbs from all connections.
func controlAny() Subject { return controlRoot + ".*.*.*.*.*" }

// callerOf reads a control subject. The server has checked that the sender may
// publish on it, so what it says about the sender is true.
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

// inboxOf is the prefix of the only subjects a connection gets answers on.
func inboxOf(conn ConnID) string { return inboxRoot + "." + string(conn) }
