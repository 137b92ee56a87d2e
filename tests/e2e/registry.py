"""A minimal npm registry: two packages, one of which needs the other, over plain HTTP on 127.0.0.1 and a free port."""
import argparse
import base64
import gzip
import hashlib
import http.server
import io
import json
import os
import tarfile

parser = argparse.ArgumentParser()
parser.add_argument("--port-file", required=True)
parser.add_argument("--name", required=True, help="the host name that tarball links carry")
options = parser.parse_args()


def tarball(manifest, source):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, text in (("package.json", json.dumps(manifest)), ("index.js", source)):
            entry = tarfile.TarInfo("package/" + name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return gzip.compress(data.getvalue(), mtime=0)


manifests = {
    "greet": {"name": "greet", "version": "1.0.0", "main": "index.js", "dependencies": {"shout": "^2.0.0"}},
    "shout": {"name": "shout", "version": "2.1.0", "main": "index.js"},
}
sources = {
    "greet": "module.exports = (name) => require('shout')('hello ' + name);\n",
    "shout": "module.exports = (text) => text.toUpperCase();\n",
}
tarballs = {name: tarball(manifests[name], sources[name]) for name in manifests}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        name, _, file = self.path.strip("/").partition("/-/")
        if name not in manifests:
            self.answer(404, "application/json", b'{"error": "not found"}')
        elif file:
            self.answer(200, "application/octet-stream", tarballs[name])
        else:
            version = manifests[name]["version"]
            digest = base64.b64encode(hashlib.sha512(tarballs[name]).digest()).decode()
            dist = {
                "tarball": f"http://{options.name}:{server.server_address[1]}/{name}/-/{name}-{version}.tgz",
                "integrity": "sha512-" + digest,
            }
            document = {
                "name": name,
                "dist-tags": {"latest": version},
                "versions": {version: {**manifests[name], "dist": dist}},
            }
            self.answer(200, "application/json", json.dumps(document).encode())

    def do_POST(self):  # npm audit
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer(200, "application/json", b"{}")


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(options.port_file + ".new", "w") as file:
    print(server.server_address[1], file=file)
os.rename(options.port_file + ".new", options.port_file)
server.serve_forever()
