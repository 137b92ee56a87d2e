"""lenient.py --port-file FILE: Python's wsgiref on 127.0.0.1, as lenient as it comes. Answers "served HOST": what the request asks for."""
import os
import sys
from wsgiref.simple_server import WSGIRequestHandler, make_server

assert sys.argv[1] == "--port-file"


class Handler(WSGIRequestHandler):
    def address_string(self):
        return "client"  # no name is looked up


def answer(environ, start):
    start("200 OK", [("Content-Type", "text/plain")])
    return [f"served {environ.get('HTTP_HOST') or environ['PATH_INFO']}\n".encode()]


server = make_server("127.0.0.1", 0, answer, handler_class=Handler)
with open(sys.argv[2] + ".new", "w") as file:
    print(server.server_port, file=file)
os.rename(sys.argv[2] + ".new", sys.argv[2])
server.serve_forever()
