"""A small HTTP server for the tests, on 127.0.0.1 (or --address, ::1, say) and a free port, with TLS when --cert and --key are given.

Answers every GET with the path and the Host header (/endless begins and doesn't end); writes one line "METHOD PATH HOST" a request to --log.
With --files FOLDER it has the files there instead, with --git FOLDER the repositories, by `git http-backend` (git-http-backend(1)).
"""
import argparse
import functools
import http.server
import os
import socket
import ssl
import subprocess
import time

parser = argparse.ArgumentParser()
parser.add_argument("--port-file", required=True)
parser.add_argument("--port", type=int, default=0)
parser.add_argument("--address", default="127.0.0.1")
parser.add_argument("--cert")
parser.add_argument("--key")
parser.add_argument("--files")
parser.add_argument("--git")
parser.add_argument("--log", default=os.devnull)
options = parser.parse_args()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        with open(options.log, "a") as log:
            print(self.command, self.path, self.headers.get("Host"), file=log)
        if self.path == "/endless":  # a first line, and then nothing for a minute
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            self.wfile.write(b"begun\n")
            self.wfile.flush()
            time.sleep(60)
        body = f"hello {self.path} host={self.headers.get('Host')}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class GitHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def do_GET(self):
        path, _, query = self.path.partition("?")
        body = self.body()
        environment = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": options.git, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
                       "QUERY_STRING": query, "REQUEST_METHOD": self.command, "CONTENT_LENGTH": str(len(body)),
                       "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                       "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                       "GIT_PROTOCOL": self.headers.get("Git-Protocol", "")}
        said = subprocess.run(["git", "http-backend"], input=body, env=environment, stdout=subprocess.PIPE, check=True).stdout
        head, _, content = said.partition(b"\r\n\r\n")
        lines = [line.split(": ", 1) for line in head.decode().split("\r\n")]
        self.send_response(int(dict(lines).get("Status", "200").split()[0]))
        for name, value in lines:
            if name != "Status":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_GET


class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6 if ":" in options.address else socket.AF_INET
    request_queue_size = 256


handler = Handler
if options.files:
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=options.files)
if options.git:
    handler = GitHandler
server = Server((options.address, options.port), handler)
if options.cert:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options.cert, options.key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
with open(options.port_file + ".new", "w") as file:
    print(server.server_address[1], file=file)
os.rename(options.port_file + ".new", options.port_file)
server.serve_forever()
