// Package hookfiles reads the files that add hooks to a team in addition to its
// spec: settings files, managed settings, plugins, and the heads of agent files.
//
// Other programs use these files as well, so reading one never fails: what cannot
// be used is left out with a warning, and the rest counts. Managed settings are the
// exception.
//
// It is part of package configs, and makes no promise of compatibility to programs
// outside covey.
package hookfiles
