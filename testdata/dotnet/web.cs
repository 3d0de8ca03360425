// A server of ASP.NET Core whose requests for /checkout are never answered: each waits for a row that nobody brings.
// Those for /upload wait for their bodies, by methods whose state machines are kept for the next call.
//
//   web --urls http://127.0.0.1:0 --Logging:LogLevel:Default=None
//
// It writes "ready", then its address. The line that a method waits at has its name behind it.
using System;
using System.IO.Pipelines;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Hosting;

namespace Shop
{
	class Orders
	{
		readonly TaskCompletionSource<int> row = new TaskCompletionSource<int>();

		public async Task<int> Load(string id)
		{
			return await Query(id); // Load
		}

		async Task<int> Query(string id)
		{
			return await row.Task; // Query
		}
	}

	static class Program
	{
		static readonly Orders orders = new Orders();

		static async Task Checkout(HttpContext context)
		{
			int n = await orders.Load("42"); // Checkout
			await context.Response.WriteAsync(n.ToString());
		}

		static async Task Upload(HttpContext context)
		{
			await PipeReader.Create(context.Request.Body, null).ReadAsync(CancellationToken.None); // Upload
		}

		static void Main(string[] args)
		{
			WebApplication app = WebApplication.Create(args);
			EndpointRouteBuilderExtensions.MapGet(app, "/checkout", new RequestDelegate(Checkout));
			EndpointRouteBuilderExtensions.MapPost(app, "/upload", new RequestDelegate(Upload));
			app.StartAsync().Wait();
			Console.WriteLine("ready");
			foreach (string url in app.Urls)
				Console.WriteLine(url);
			Console.Out.Flush();
			HostingAbstractionsHostExtensions.WaitForShutdown(app);
		}
	}
}
