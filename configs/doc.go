// Package configs turns a spec file (team.yaml, DESIGN 4) into a Team whose
// every reference is resolved and every default filled in.
//
// It is strict: a spec with a mistake gives no Team but Errors, which lists
// all mistakes at once, each with its place and the way out. It reads the
// spec and the files that the spec names (scripts are only looked for, prompts
// are read), writes nothing and starts nothing. What settings files hold is
// read by Sources and SettingsPermissions, which warn where Load would fail,
// because such files belong to somebody else (DESIGN 10.7). Of covey's own
// environment it reads the variables that values of `env` name, and it shows
// them to nobody.
//
// Which agent programs are installed, and what they honour, it does not know: a
// preset is a name here, and a program without a slash is looked for when it
// starts. Agents of the program that uses covey as a library come by Options.
//
// What members inherit from `defaults`: a key that a member gives itself
// replaces the inherited one, with two exceptions. The keys of `limits` are
// inherited one by one, and the lists of `permissions` add up, so that a member
// that denies one thing more does not allow what the team denies. agent and
// model are one choice, instructions and prompt_file are another: naming one of
// a pair drops both inherited ones. The lead inherits as teammates do.
//
// Anybody may have written a spec, so reading one is bounded: MaxSize bytes, no
// anchors, aliases, tags or second document, at most 10,000 keys, 2,000
// teammates and 1,000 entries in a list of texts, and nothing of it reaches a
// terminal undisarmed.
//
// Package yaml makes a tree of nodes with positions of the bytes, and package schema
// decodes the nodes by tables. Each topic of the spec has one file, such as member.go or
// budget.go. The file has the type that a Team holds, the type of what is written, with the
// place of each value, the table of its keys, and the methods that resolve one into the other.
// The tables are the one source of keys, kinds of values and descriptions: the decoder,
// its messages and the JSON Schema follow them. To add a key, add a field to both types and
// a row to the table, resolve it in the same file, and run go generate and the tests with -update.
//
// Package shell finds out what command lines run, and package starter holds what `covey
// init` writes.
package configs

//go:generate go test -run TestSchemaIsCurrent -update .
