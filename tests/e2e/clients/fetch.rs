// fetch HOST PORT: by std::net, once as it comes, once with a time-out; then from many threads.
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

fn ask(mut stream: TcpStream, path: &str) -> std::io::Result<String> {
    write!(stream, "GET {} HTTP/1.0\r\n\r\n", path)?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text.lines().last().unwrap_or("").to_string())
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let target = format!("{}:{}", arguments[1], arguments[2]);
    println!("{}", ask(TcpStream::connect(&target)?, "/rust")?);
    let address = target.to_socket_addrs()?.next().expect("an address");
    println!("{}", ask(TcpStream::connect_timeout(&address, Duration::from_secs(30))?, "/timeout")?);
    let threads: Vec<_> = (0..50)
        .map(|_| {
            let target = target.clone();
            std::thread::spawn(move || ask(TcpStream::connect(&target)?, "/many"))
        })
        .collect();
    let answered = threads.into_iter().filter_map(|thread| thread.join().unwrap().ok()).count();
    println!("{} of 50", answered);
    Ok(())
}
