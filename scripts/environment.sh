# Sourced by the other scripts: where the repository is, and the tools that
# scripts/setup put into .bin, which come before those of the machine.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
PATH=$root/.bin:$PATH
# A compiler that rustup brought lies outside the usual path of a shell without login.
[ -d "$HOME/.cargo/bin" ] && PATH=$PATH:$HOME/.cargo/bin
export PATH
cd "$root" || exit 1

have() { command -v "$1" >/dev/null 2>&1; }

# within SECONDS COMMAND...: what downloads, for at most so long; what took longer is tried twice more. npm, go and mvn
# wait for ever for a server that says nothing more (apt-get, pip and cargo do not).
within() {
	local seconds=$1 try status
	shift
	for try in 1 2 3; do
		status=0
		timeout --foreground --kill-after=5 "$seconds" "$@" || status=$?
		case $status in 124 | 137) echo "within $seconds s, this did not end (try $try of 3): $*" >&2 ;; *) break ;; esac
	done
	return "$status"
}

# Options of gcc for 32 bits of x86. gcc-multilib, which gcc for other machines cannot stand beside, would bring <asm/…>.
m32="-m32 -idirafter /usr/include/x86_64-linux-gnu"
