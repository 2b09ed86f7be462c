package texts

import (
	"slices"
	"strings"
)

// secretNames are names of secrets, or the ends of such names. What stands under one of the first may
// be any word. What stands under one of the others must look like a token, because texts are full of
// tokens and keys that are no secrets.
var (
	secretNames = []string{"password", "passwd", "passphrase", "secret"}
	tokenNames  = []string{"token", "api_key", "api-key", "apikey", "access_key", "access-key", "accesskey",
		"secret_key", "secret-key", "secretkey"}
)

// What a value looks like.
var (
	// named is a value behind its name, as YAML, JSON (also within a text of JSON), shells and programs
	// write it. It is in quotes and does not begin with a blank, or it has none.
	named = Pattern(`^(?::=|=>|[:=])[ \t]*(?:\\+"([^\s"…][^"\n…]*)|"((?:[^\s"\\…]|\\.)(?:[^"\\\n…]|\\.)*)|` +
		`'([^\s'…][^'\n…]*)|([^\s"'\\` + "`" + `]+))`)
	// reference is what stands for a value: a variable, or a word of a language.
	reference = Pattern(`^(?:\$\{?[A-Z_][A-Z0-9_]*\}?|true|false|null|nil|none|undefined|string)$`)
	// code is a value without quotes that begins a call, a list or a placeholder.
	code = Pattern(`^(?:[\w.]+\(|[(\[{<&|])`)
	// tokenLook is what a token is made of; letters alone make one if there are many.
	tokenLook = Pattern(`^(?:[\w.~+/=-]*(?:\d[\w.~+/=-]*[A-Za-z]|[A-Za-z][\w.~+/=-]*\d)[\w.~+/=-]*|[A-Za-z+/=]{16,})$`)
)

// The groups of named, by their places in the result.
const (
	escapedGroup = 2 // in quotes within a text of JSON
	bareGroup    = 8 // without quotes
)

// maxName bounds the bytes between the beginning of a name and its value.
const maxName = 32

// namedSecrets finds the values that have the name of a secret. A value may begin with another name, so
// the search goes on there if it is none.
func namedSecrets(text string) (found []span) {
	for at := 0; ; {
		next := strings.IndexAny(text[at:], ":=")
		if next < 0 {
			return found
		}
		at += next
		name := strings.TrimRight(text[max(0, at-maxName):at], " \t")
		word := strings.TrimRight(name, `\"'`)
		token := hasName(word, tokenNames)
		if token || hasName(word, secretNames) {
			s, bare := valueAt(text, at)
			// A value of JSON that has no quotes is a number or a word of the language.
			if (!bare || word == name) && isSecret(text[s.from:s.to], bare, token) {
				found = append(found, s)
			}
		}
		at++
	}
}

// hasName reports whether a text ends with one of the names, in any case.
func hasName(text string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return len(text) >= len(name) && strings.EqualFold(text[len(text)-len(name):], name)
	})
}

// valueAt returns the value behind a sign, and whether it has no quotes.
func valueAt(text string, sign int) (s span, bare bool) {
	at := named().FindStringSubmatchIndex(text[sign:])
	if at == nil {
		return span{sign, sign}, false
	}
	group := escapedGroup
	for at[group] < 0 {
		group += 2
	}
	end := ""
	switch group {
	case escapedGroup:
		end = `\` // of the quote
	case bareGroup:
		end = ",;"
	}
	value := strings.TrimRight(text[sign+at[group]:sign+at[group+1]], end)
	return span{sign + at[group], sign + at[group] + len(value)}, group == bareGroup
}

// isSecret reports whether a value is a secret. Nothing shorter than Masked is replaced.
func isSecret(value string, bare, token bool) bool {
	switch {
	case len(value) < len(Masked) || reference().MatchString(value):
		return false
	case token:
		return len(value) >= MinSecret && tokenLook().MatchString(value)
	}
	return !bare || !code().MatchString(value)
}
