package cmd

import "github.com/spf13/cobra"

// shells are those that cobra makes completion scripts for, and how each takes the script.
var shells = map[string]string{
	"bash": `Print the completion script for bash. It needs the package bash-completion.

  source <(fpstack completion bash)                               in this shell
  fpstack completion bash >/etc/bash_completion.d/fpstack         in all shells`,
	"zsh": `Print the completion script for zsh.

  source <(fpstack completion zsh)                                in this shell
  fpstack completion zsh >"${fpath[1]}/_fpstack"                  in all shells`,
	"fish": `Print the completion script for fish.

  fpstack completion fish | source                                in this shell
  fpstack completion fish >~/.config/fish/completions/fpstack.fish     in all`,
	"powershell": `Print the completion script for PowerShell.

  fpstack completion powershell | Out-String | Invoke-Expression`,
}

// wordCobras gives the commands that cobra makes help texts like those of the others.
func wordCobras(root *cobra.Command) {
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Short, c.Use, c.Long = "Show the help text of a command", "help [COMMAND]", "Show the help text of a command."
		case "completion":
			c.Short, c.Use, c.Long = "Print the completion script for a shell", "completion SHELL",
				"Print the script with which a shell completes options, process ids and names,\nformats and files of fpstack."
			for _, shell := range c.Commands() {
				shell.Short, shell.Long = "Print the completion script for "+shell.Name(), shells[shell.Name()]
			}
		}
	}
}
