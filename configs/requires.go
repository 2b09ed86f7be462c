package configs

import (
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/notation"
)

// requirement matches one part of `requires`, such as >=0.1: how to compare, and with which
// version. Missing numbers are 0.
var requirement = notation.Pattern(`^(>=|<=|>|<|=)v?(\d+(?:\.\d+){0,2}(?:-[0-9A-Za-z.-]+)?)$`)

// required checks `requires`: all of its parts, separated by blanks or commas, must hold. It
// compares releases only. A build from a commit between two releases may have what the spec
// needs or not, and whoever builds covey knows that better than its number.
//
// It reports whether the running covey meets them. If not, that is the only problem of the
// spec: what an older covey says about the rest, such as unknown keys, would only mislead.
func (r *resolver) required(v yaml.Value[string]) (met bool) {
	ours := canonical(r.opts.Version)
	for _, part := range strings.FieldsFunc(v.V, func(c rune) bool { return c == ',' || c == ' ' }) {
		m := requirement().FindStringSubmatch(part)
		if m == nil || !semver.IsValid("v"+m[2]) {
			r.Fail(v.At.At, "requires must be versions of covey such as \">=0.1\" or \">=0.1 <2\"; %s is none",
				yaml.Quote(part))
			return true
		}
		if released(r.opts.Version) && !compares(semver.Compare(ours, "v"+m[2]), m[1]) {
			r.Problems = nil
			r.Fail(v.At.At, "this spec requires covey %s, and this is covey %s; use a covey that fits, "+
				"or change requires", v.V, r.opts.Version)
			return false
		}
	}
	return true
}

// canonical returns a version as package semver writes it.
func canonical(version string) string { return "v" + strings.TrimPrefix(version, "v") }

// released reports whether a version is that of a release.
func released(version string) bool {
	v := canonical(version)
	return semver.IsValid(v) && !module.IsPseudoVersion(v)
}

// compares reports whether the result of a comparison fits an operator.
func compares(result int, operator string) bool {
	switch operator {
	case ">=":
		return result >= 0
	case "<=":
		return result <= 0
	case ">":
		return result > 0
	case "<":
		return result < 0
	}
	return result == 0
}
