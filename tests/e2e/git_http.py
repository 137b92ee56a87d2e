"""git_http.py --port-file FILE --root FOLDER --cert FILE --key FILE: `git http-backend` (git-http-backend(1)) behind HTTPS."""
import argparse
import http.server
import os
import ssl
import subprocess

parser = argparse.ArgumentParser()
parser.add_argument("--port-file", required=True)
parser.add_argument("--root", required=True)
parser.add_argument("--cert", required=True)
parser.add_argument("--key", required=True)
options = parser.parse_args()


class Handler(http.server.BaseHTTPRequestHandler):
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
        environment = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": options.root, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
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


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(options.cert, options.key)
server.socket = context.wrap_socket(server.socket, server_side=True)
with open(options.port_file + ".new", "w") as file:
    print(server.server_address[1], file=file)
os.rename(options.port_file + ".new", options.port_file)
server.serve_forever()
