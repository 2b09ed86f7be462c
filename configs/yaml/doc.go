// Package yaml parses YAML and JSON files that are not trusted into nodes with
// places, and reports problems with the line that they are in.
//
// It is part of package configs. It is covey's own and makes no promise to other programs.
//
// The steps are: newSource checks the bytes, guard the tokens, and the converter makes
// nodes of the library's tree. Reading is bounded: MaxSize bytes, no anchors, aliases,
// tags or second document, at most 10,000 keys, 32 levels. Text that messages show is free
// of control characters.
package yaml
