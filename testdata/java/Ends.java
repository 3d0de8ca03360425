/** A program whose main method has ended, while another thread goes on. */
public class Ends {
	public static void main(String[] args) {
		new Thread(() -> {
			System.out.println("ready");
			System.out.flush();
			try {
				Thread.sleep(1000000);
			} catch (InterruptedException e) {
				return;
			}
		}, "stays").start();
	}
}
