//go:build linux

package live

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// completers give what a shell completes a line to: it runs the script that fpstack prints for it.
var completers = map[string]func(t *testing.T, line string) []string{"bash": completeBash, "fish": completeFish,
	"zsh": completeZsh}

// completeBash presses Tab behind line, as readline does for a completion function (bash(1), Programmable Completion).
func completeBash(t *testing.T, line string) []string {
	const library = "/usr/share/bash-completion/bash_completion"
	if _, err := os.Stat(library); err != nil {
		t.Skipf("the package bash-completion is not installed: %v", err)
	}
	words := strings.Split(line, " ")
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = "'" + w + "'"
	}
	script := fmt.Sprintf(`PATH=%q:$PATH; . %s; . <(fpstack completion bash)
COMP_LINE='%s' COMP_POINT=%d COMP_TYPE=9 COMP_KEY=9 COMP_WORDS=(%s) COMP_CWORD=%d
__start_fpstack fpstack 2>/dev/null; printf '%%s\n' "${COMPREPLY[@]}"`,
		filepath.Dir(fpstack), library, line, len(line), strings.Join(quoted, " "), len(words)-1)
	return candidates(execute(t, bound, installed(t, "bash"), "--norc", "-c", script).stdout)
}

func completeFish(t *testing.T, line string) []string {
	home := room(t)
	script := fmt.Sprintf("set PATH %q $PATH; fpstack completion fish | source; complete -C %q",
		filepath.Dir(fpstack), line)
	return candidates(execute(t, bound, installed(t, "env"), "HOME="+home, installed(t, "fish"), "-c", script).stdout)
}

// zshSettings make an interactive zsh write what its completion adds to the file hits, and tell by the files ready and
// done how far it is.
// Source: zshcompwid(1), compadd and comppostfuncs; zshzle(1), zle-line-init.
const zshSettings = `PATH=%[1]q:$PATH; autoload -Uz compinit; compinit -C -d %[1]q/zcompdump
source <(fpstack completion zsh)
compadd() {
	[[ " $* " == *" -"[OAD]" "* ]] && { builtin compadd "$@"; return }
	local -a hits; builtin compadd -A hits "$@"; print -rl -- $hits >>%[2]q/hits; builtin compadd "$@"
}
zle-line-init() { : >%[2]q/ready }; zle -N zle-line-init
finished() { : >%[2]q/done }; comppostfuncs=(finished)
bindkey '^I' complete-word
`

// completeZsh types line and Tab in a zsh that has a terminal.
func completeZsh(t *testing.T, line string) []string {
	home := room(t)
	settings := fmt.Sprintf(zshSettings, filepath.Dir(fpstack), home)
	if err := os.WriteFile(filepath.Join(home, ".zshrc"), []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf(`zmodload zsh/zpty zsh/zselect; zpty z %s -i
wait_for() { local n; for n in {1..6000}; do [[ -e $1 ]] && return; zselect -t 1; done; print -u2 "no $1"; exit 1 }
wait_for %[2]q/ready; zpty -n -w z %[3]s$'\t'; wait_for %[2]q/done; zpty -d z; [[ ! -e %[2]q/hits ]] || cat %[2]q/hits`,
		installed(t, "zsh"), home, "'"+line+"'")
	r := execute(t, bound, installed(t, "env"), "HOME="+home, "ZDOTDIR="+home, "TERM=dumb", installed(t, "zsh"), "-f",
		"-c", script)
	if r.status != 0 {
		t.Fatalf("zsh: status %d, %s", r.status, r.stderr)
	}
	return candidates(r.stdout)
}

// candidates takes the explanations off: bash shows them in brackets, fish behind a tab.
func candidates(out string) []string {
	var all []string
	for line := range strings.Lines(out) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		word, _, _ = strings.Cut(word, " ")
		if word != "" {
			all = append(all, strings.ReplaceAll(word, `\,`, ",")) // bash quotes what it inserts
		}
	}
	return all
}

// TestCompletion holds what shells complete: processes, names, words and files, each where it is wanted.
func TestCompletion(t *testing.T) {
	p := runTarget(t, "threads", "2", "3")
	pid := strconv.Itoa(p.pid)
	odd := filepath.Join(room(t), "$(touch odd);threads")
	copyFile(t, program(t, "threads"), odd)
	launch(t, exec.Command(odd, "1", "1")).ready(t)
	var tids []string
	for _, tid := range threadsOf(p.pid) {
		tids = append(tids, strconv.Itoa(tid))
	}
	for shell, complete := range completers {
		t.Run(shell, func(t *testing.T) {
			installed(t, shell)
			t.Chdir(room(t))
			if err := os.WriteFile("a-file.folded", nil, 0o644); err != nil {
				t.Fatal(err)
			}
			for _, tt := range []struct {
				line     string
				want     []string // all are among the candidates
				unwanted string
				only     bool // and nothing else is
			}{
				{"fpstack -p " + pid[:1], []string{pid}, "a-file.folded", false},
				{"fpstack record --pid " + pid, []string{pid}, "", false},
				{"fpstack " + pid, []string{pid}, "", false},
				{"fpstack top -p 1," + pid, []string{"1," + pid}, "", false},
				{"fpstack -p " + pid + " -t ", tids, "a-file.folded", true},
				{"fpstack " + pid + " -t ", tids, "", true},
				{"fpstack -n thr", []string{"threads"}, "$(touch", false},
				{"fpstack record -n $", nil, "$(touch", false},
				{"fpstack -f ", []string{"text", "json", "gdb", "folded", "pprof"}, "", true},
				{"fpstack record -f s", []string{"svg", "speedscope"}, "", true},
				{"fpstack record --mode ", []string{"wall", "cpu"}, "", true},
				{"fpstack check --require fp,s", []string{"fp,symbols"}, "", true},
				{"fpstack rec", []string{"record"}, "", true},
				{"fpstack man fl", []string{"flame"}, "", true},
				{"fpstack thr", []string{"threads"}, "$(touch", false},
				{"fpstack hang thr", []string{"threads"}, "$(touch", false},
				{"fpstack record " + pid, []string{pid}, "a-file.folded", false},
				{"fpstack dump a-f", []string{"a-file.folded"}, "", true},
				{"fpstack flame a-f", []string{"a-file.folded"}, "", true},
				{"fpstack record -o a-f", []string{"a-file.folded"}, "", true},
				{"fpstack record a-f", nil, "a-file.folded", false},
				{"fpstack record -- sh a-f", []string{"a-file.folded"}, "", true},
				{"fpstack doctor a-f", nil, "a-file.folded", false},
				{"fpstack --max-frames a-f", nil, "a-file.folded", false},
			} {
				got := complete(t, tt.line)
				if shell == "bash" && len(got) == 0 && slices.Equal(tt.want, []string{"a-file.folded"}) {
					continue // readline completes files by itself where the function gives nothing
				}
				missing := slices.ContainsFunc(tt.want, func(w string) bool { return !slices.Contains(got, w) })
				if missing || tt.only && len(got) != len(tt.want) || tt.unwanted != "" && slices.Contains(got,
					tt.unwanted) {
					t.Errorf("%q: got %q, want %q (nothing else: %v), not %q", tt.line, got, tt.want, tt.only,
						tt.unwanted)
				}
			}
			if _, err := os.Stat("odd"); err == nil {
				t.Error("the name of a process was run as a command")
			}
		})
	}
}
