// Package schema reads the tree of a YAML document into Go values by tables of fields.
// It is covey's own and makes no promise to other programs.
//
// A [Field] is one key of a mapping, and its [Part] knows where the value goes, what it
// must be like and what the JSON Schema says of it: decoding, messages and schema come
// of the same table and cannot disagree. A [Decoder] walks the tree by such tables and
// gathers all mistakes at once, each with its place and the way out.
//
// The package does not know which keys a spec has.
package schema
