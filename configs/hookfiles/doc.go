// Package hookfiles reads the files that bring hooks to a team besides its spec: settings
// files, managed settings, plugins, and the heads of agent files.
//
// Such files are written for other programs, too, so reading one never fails: what
// cannot be used is left out with a warning, and the rest counts. Managed settings are
// the exception.
//
// It is part of package configs. It is covey's own and makes no promise to other programs.
package hookfiles
