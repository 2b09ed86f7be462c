// Package yaml reads YAML and JSON files that are not trusted: it parses them into nodes
// with places, decodes the nodes into Go values by tables of keys, and reports problems
// with the line that they are in.
//
// It is part of package configs and makes no promise of compatibility to programs outside
// covey. It does not know which keys a file has, save for those of a [VariableValue].
//
// A [Field] is one key of a mapping. Its [Part] knows where the value goes, what the value
// must be, and its JSON Schema, so that decoding, messages and schema come from one table.
// Values that need more than that are read here too: durations, variables, command lines,
// cron lines ([NextTime]), and paths, which [Files] checks on the disk.
//
// A [Decoder] walks the nodes by such tables and collects all mistakes, each with its
// place and its correction.
//
// The steps are: newSource checks the bytes, guard the tokens, and the converter makes
// nodes of the library's tree. Reading is bounded: MaxSize bytes, no anchors, aliases,
// tags or second document, at most 10,000 keys, 32 levels. Text that messages show is free
// of control characters.
package yaml
