package main

import (
	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/configs"
)

// schemaCommand returns `covey schema`.
func schemaCommand(env *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of a spec, for editors",
		Long: `Print the JSON Schema of a spec. With it, editors complete team.yaml and mark
mistakes. Most find it by a comment in the spec's first line:

  # yaml-language-server: $schema=team.schema.json`,
		Example: "  covey schema > team.schema.json",
		Args:    cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := env.Out.Writer.Write(configs.Schema())
			return err
		},
	}
}
