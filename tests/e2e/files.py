"""files.py --port-file FILE --root FOLDER: a folder by HTTP on 127.0.0.1."""
import argparse
import functools
import http.server
import os

parser = argparse.ArgumentParser()
parser.add_argument("--port-file", required=True)
parser.add_argument("--root", required=True)
options = parser.parse_args()
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=options.root)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
with open(options.port_file + ".new", "w") as file:
    print(server.server_address[1], file=file)
os.rename(options.port_file + ".new", options.port_file)
server.serve_forever()
