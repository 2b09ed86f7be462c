// Package workspace is what a member has around it in the file system: the folder
// it is in, the files that are watched for it, and the instructions and commands
// that the workspace holds. It is covey's own and makes no promise to other programs.
package workspace
