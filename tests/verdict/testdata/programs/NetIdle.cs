// A server with a timer of its own, as a host has one.
using System;
using System.Net;
using System.Net.Sockets;
using System.Threading;
using System.Threading.Tasks;

static class Idle
{
	static async Task Serve(TcpListener listener)
	{
		while (true)
			(await listener.AcceptTcpClientAsync()).Dispose();
	}

	static void Main()
	{
		var listener = new TcpListener(IPAddress.Loopback, 0);
		listener.Start();
		Task serving = Serve(listener);
		using (new Timer(_ => GC.KeepAlive(serving), null, 30000, 30000)) {
			Console.WriteLine("ready");
			serving.Wait();
		}
	}
}
