/** As many threads as its argument says, each waiting for a process of its own. */
public class Child {
	public static void main(String[] args) throws Exception {
		for (int i = 0; i < Integer.parseInt(args[0]); i++) {
			Process p = new ProcessBuilder("cat").start(); // it ends with this process
			Thread t = new Thread(() -> {
				try {
					p.waitFor();
				} catch (InterruptedException e) {
					throw new AssertionError(e);
				}
			}, "waits-" + i);
			t.setDaemon(true);
			t.start();
		}
		System.out.println("ready");
		Thread.sleep(Long.MAX_VALUE);
	}
}
