package cmd

import (
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manCommand prints the manual page.
func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man",
		Short:   "Print the manual page",
		Example: "  fpstack man | man -l -",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return doc.GenMan(c.Root(), &doc.GenManHeader{Title: "FPSTACK", Section: "1", Source: "fpstack " + version()}, a.stdout)
		},
	}
}
