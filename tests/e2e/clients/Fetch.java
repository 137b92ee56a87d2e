/* Fetch HOST PORT: by HttpURLConnection; then by NIO, a channel that is registered before it connects; then many of those. */
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.InetSocketAddress;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;

public class Fetch {
	static String byUrl(String host, int port) throws IOException {
		HttpURLConnection connection = (HttpURLConnection) new URL("http", host, port, "/url").openConnection();
		return new String(connection.getInputStream().readAllBytes(), StandardCharsets.UTF_8).trim();
	}

	static void register(Selector selector, String host, int port) throws IOException {
		SocketChannel channel = SocketChannel.open();
		channel.configureBlocking(false);
		SelectionKey key = channel.register(selector, SelectionKey.OP_CONNECT, new ByteArrayOutputStream());
		selector.selectNow(); /* epoll knows it by now */
		if (channel.connect(new InetSocketAddress(host, port))) key.interestOps(SelectionKey.OP_WRITE);
	}

	static int byChannels(String host, int port, int count) throws IOException {
		int answered = 0;
		byte[] request = "GET /nio HTTP/1.0\r\n\r\n".getBytes(StandardCharsets.UTF_8);
		try (Selector selector = Selector.open()) {
			for (int i = 0; i < count; i++) register(selector, host, port);
			while (!selector.keys().isEmpty()) {
				selector.select();
				for (SelectionKey key : selector.selectedKeys()) {
					SocketChannel channel = (SocketChannel) key.channel();
					ByteBuffer bytes = ByteBuffer.allocate(4096);
					if (key.isConnectable()) {
						channel.finishConnect();
						key.interestOps(SelectionKey.OP_WRITE);
					} else if (key.isWritable()) {
						channel.write(ByteBuffer.wrap(request));
						key.interestOps(SelectionKey.OP_READ);
					} else if (channel.read(bytes) < 0) {
						if (key.attachment().toString().contains("hello /nio")) answered++;
						channel.close();
					} else {
						((ByteArrayOutputStream) key.attachment()).write(bytes.array(), 0, bytes.position());
					}
				}
				selector.selectedKeys().clear();
				selector.selectNow();
			}
		}
		return answered;
	}

	public static void main(String[] arguments) throws IOException {
		String host = arguments[0];
		int port = Integer.parseInt(arguments[1]);
		System.out.println(byUrl(host, port));
		System.out.println(byChannels(host, port, 1) + " of 1");
		System.out.println(byChannels(host, port, 50) + " of 50");
	}
}
