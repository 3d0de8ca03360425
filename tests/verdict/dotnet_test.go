//go:build linux

package verdict

import (
	"path/filepath"
	"strings"
)

// Programs of .NET, which mcs compiles for the runtime that scripts/build-dotnet gets.
var dotnetRows = []row{
	// That hang.
	{name: ".NET two monitors in two orders", needs: dotnet, files: one("NetLocks.cs"), argv: clr("NetLocks"),
		ready: "ready", is: truth{state: hangs, kinds: deadlock, culprit: "NetLocks.dll", function: ".*Transfer"}},
	{name: ".NET async method that nobody lets go on", needs: dotnet, files: one("NetNever.cs"),
		argv: clr("NetNever"), ready: "ready",
		is: truth{state: hangs, culprit: "NetNever.dll", function: `.*FetchRow.*`}},

	// That are healthy.
	{name: "healthy .NET idle server", needs: dotnet, files: one("NetIdle.cs"), argv: clr("NetIdle"), ready: "ready",
		is: truth{state: healthy}},
}

var (
	clrFolder, _ = filepath.Abs("../../testdata/bin/dotnet/9.0.5")
	clrHost, _   = filepath.Abs("../../testdata/bin/dotnet/own/host")
	dotnet       = []string{"mcs", clrHost, clrFolder + "/libcoreclr.so"}
)

// clr compiles NAME.cs and runs it.
func clr(name string) []string {
	script := "mcs -nologo -nostdlib -noconfig"
	for _, assembly := range []string{"System.Private.CoreLib", "System.Runtime", "System.Console", "System.Threading",
		"System.Threading.Thread", "System.Net.Sockets", "System.Net.Primitives"} {
		script += " -r:" + filepath.Join(clrFolder, assembly+".dll")
	}
	script += strings.ReplaceAll(" -out:NAME.dll NAME.cs && exec env DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1 HOST CLR "+
		"NAME.dll", "NAME", name)
	return []string{"sh", "-c", strings.NewReplacer("HOST", clrHost, "CLR", clrFolder).Replace(script)}
}
