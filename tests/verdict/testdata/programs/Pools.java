import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.Driver;
import java.util.concurrent.CountDownLatch;
import javax.sql.DataSource;
import org.apache.commons.dbcp2.BasicDataSource;

/**
 * Three requests share two connections of a pool of HikariCP or DBCP: each takes a second one beside its first
 * (nested), keeps it for ever (leak), gives it back (turns), or after half a minute (slow).
 */
public class Pools {
    /** A database of nothing: its connections, and what gives them. */
    @SuppressWarnings("unchecked")
    static <T> T of(Class<T> type) {
        Class<?>[] types = {type};
        return (T) Proxy.newProxyInstance(Pools.class.getClassLoader(), types, (proxy, method, args) -> {
            Class<?> is = method.getReturnType();
            if (is == Connection.class) return of(Connection.class);
            if (is == boolean.class) return !method.getName().equals("isClosed");
            return is == int.class ? (Object) 0 : null;
        });
    }

    static DataSource hikari() {
        HikariConfig c = new HikariConfig();
        c.setDataSource(of(DataSource.class));
        c.setMaximumPoolSize(2);
        c.setConnectionTimeout(0);
        return new HikariDataSource(c);
    }

    static DataSource dbcp() {
        BasicDataSource s = new BasicDataSource();
        s.setDriver(of(Driver.class));
        s.setUrl("jdbc:nothing:");
        s.setMaxTotal(2);
        return s;
    }

    static DataSource pool;
    static final CountDownLatch taken = new CountDownLatch(2);

    static Connection checkout() throws Exception {
        return pool.getConnection(); // HERE
    }

    static void request(String does) throws Exception {
        do {
            Connection c = checkout();
            taken.countDown();
            if (does.equals("nested")) {
                taken.await();
                checkout();
            }
            if (does.equals("turns") || does.equals("slow")) {
                Thread.sleep(does.equals("slow") ? 30_000 : 300);
                c.close();
            }
        } while (!does.equals("leak"));
    }

    public static void main(String[] args) throws Exception {
        pool = args[0].equals("hikari") ? hikari() : dbcp();
        for (int i = 0; i < 3; i++) {
            new Thread(() -> {
                try {
                    request(args[1]);
                } catch (Exception e) {
                    e.printStackTrace();
                }
            }, "request " + i).start();
        }
        taken.await();
        System.out.println("ready");
        while (true) Thread.sleep(60_000);
    }
}
