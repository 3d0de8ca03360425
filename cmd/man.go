package cmd

import (
	"embed"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// pages are the manual pages of all commands, made from their help texts by the test of this
// file. Making them here would link a Markdown compiler, whose start every dump would pay for.
//
//go:embed pages
var pages embed.FS

// versionHere stands in the pages where the version belongs.
const versionHere = "fpstack VERSION"

// manCommand prints the manual page of fpstack or of one of its commands.
func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man [COMMAND]",
		Short:   "Print the manual page, of all or of one command",
		Example: "  fpstack man | man -l -\n  fpstack man record | man -l -",
		RunE: func(c *cobra.Command, args []string) error {
			command, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usageError{fmt.Errorf("no command %q", strings.Join(args, " "))}
			}
			page, err := pages.ReadFile("pages/" + pageName(command))
			if err != nil { // of a command that cobra makes, as help
				return usageError{fmt.Errorf("no manual page of %q", strings.Join(args, " "))}
			}
			_, err = io.WriteString(c.OutOrStdout(), strings.Replace(string(page), versionHere, "fpstack "+version(), 1))
			return err
		},
	}
}

// pageName is the name of the file with a command's page.
func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1" }
