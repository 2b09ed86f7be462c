package main

import (
	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/configs"
)

// schemaCommand is `covey schema`.
func (c *cli) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of a spec, for editors",
		Long: `Print the JSON Schema of a spec. Editors that know it complete team.yaml and mark
mistakes; most find it by a comment in the spec's first line:

  # yaml-language-server: $schema=team.schema.json`,
		Example: "  covey schema > team.schema.json",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := c.out.w.Write(configs.Schema())
			return err
		},
	}
}
