"""A small HTTP server for the tests, on 127.0.0.1 (or --address, ::1, say) and a free port, with TLS when --cert and --key are given.

Answers every GET with the path and the Host header (/endless begins and doesn't end); writes one line "METHOD PATH HOST" a request to --log.
"""
import argparse
import http.server
import os
import socket
import ssl
import time

parser = argparse.ArgumentParser()
parser.add_argument("--port-file", required=True)
parser.add_argument("--port", type=int, default=0)
parser.add_argument("--address", default="127.0.0.1")
parser.add_argument("--cert")
parser.add_argument("--key")
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


class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6 if ":" in options.address else socket.AF_INET
    request_queue_size = 256


server = Server((options.address, options.port), Handler)
if options.cert:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options.cert, options.key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
with open(options.port_file + ".new", "w") as file:
    print(server.server_address[1], file=file)
os.rename(options.port_file + ".new", options.port_file)
server.serve_forever()
