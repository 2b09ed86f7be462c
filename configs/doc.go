// Package configs turns a spec file (team.yaml, see docs/spec.md) into a Team in which every
// reference is resolved and every default is filled in.
//
// It is strict: a spec with mistakes yields no Team but Errors, which lists all mistakes
// at once, each with its position and a remedy. The package reads the spec and the files
// that the spec names (it reads prompts, and checks that scripts exist), writes nothing
// and starts nothing. Sources and Permissions read settings files; they warn where
// Load would fail, because such files are not covey's. Of covey's own
// environment the package reads the variables that values of `env` name, and it never
// prints their values.
//
// The package does not know which agent programs are installed or what they support: a
// preset is only a name here, and a program without a slash is looked up when it starts.
// A program that uses covey as a library adds agents through Options.
//
// Members inherit from `defaults`: a key that a member sets replaces the inherited one,
// with two exceptions. The keys of `limits` are inherited one by one, and the lists of
// `permissions` add up, so that a member that denies one thing more does not allow what
// the team denies. agent and model are one choice, instructions and prompt_file are
// another: setting one of a pair drops both inherited ones. The lead inherits as
// teammates do.
//
// A spec may come from anybody, so reading one is bounded: MaxSize bytes, no anchors,
// aliases, tags or second document, at most 10,000 keys, 10,000 teammates and 1,000 entries
// in a list of texts. Text from a spec is escaped before it reaches a terminal.
//
// Package yaml parses the bytes into nodes with positions, and decodes nodes by tables
// of keys. Each topic of the spec has one file, such as member.go or limits.go. The file
// has the type that a Team holds, the type of what is written, with the position of each
// value, the table of its keys, and the methods that resolve one into the other. The
// tables are the only source of keys, kinds of values and descriptions: the decoder, its
// messages and the JSON Schema come from them. To add a key, add a field to both types and
// a row to the table, resolve it in the same file, and run go generate and the tests with
// -update.
//
// Package shell finds out what command lines run, and package starter holds what `covey
// init` writes.
package configs

//go:generate go test -run TestSchemaIsCurrent -update .
