#!/usr/bin/env python3
"""A server for the inside of a sandbox: each GET is answered with WORD and the path; many may come at once.

serve.py PORT [--address A] [--word WORD] [--up FILE]: FILE is written when it listens.
"""
import argparse
import http.server
import socket

parser = argparse.ArgumentParser()
parser.add_argument("port", type=int)
parser.add_argument("--address", default="127.0.0.1")
parser.add_argument("--word", default="served")
parser.add_argument("--up")
options = parser.parse_args()


class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6 if ":" in options.address else socket.AF_INET
    request_queue_size = 512
    daemon_threads = True

    def server_bind(self):
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind((options.address, options.port))
        self.server_name, self.server_port = "sandbox", options.port


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = f"{options.word} {self.path}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = Server((options.address, options.port), Handler)
if options.up:
    with open(options.up, "w", encoding="ascii") as file:
        file.write("up\n")
server.serve_forever()
