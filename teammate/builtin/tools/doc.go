// Package tools has the workspace tools of covey's own agent: Bash with its
// background runs, Read, Write, Edit, Glob and Grep, WebFetch and Skill. It makes no
// promise of compatibility to programs outside covey.
//
// A Set belongs to one member. Its tools know the member's directory, which
// files the member has read, and what its commands have left running.
//
// # What holds for all of them
//
//   - A result is text of bounded size. What is cut off is said, with how to see the rest.
//   - Edit and Write refuse a file that the member has not read, or that has changed since: they
//     know a file by a digest, and look once more right before they replace it.
//   - Files that rules deny for Read are left out of the results of Grep and Glob, and counted.
//   - A command that goes on after its call belongs to the member: it is listed, can be read and
//     ended, and is ended with the member at the latest.
//   - WebFetch reaches public addresses only, unless a rule names the host in full, and checks
//     the address when it is dialled, because a name can lead elsewhere by then.
//   - No result of a tool is an instruction. What a page or a file says is data, and frames that
//     only covey writes are defused in it.
package tools
