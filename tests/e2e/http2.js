// http2.js --port-file FILE CERT KEY: a server for HTTP/2 and HTTP/1.1 over TLS on 127.0.0.1. Answers with what it was spoken to in.
const fs = require('fs');
const [, , , portFile, cert, key] = process.argv;

const options = {cert: fs.readFileSync(cert), key: fs.readFileSync(key), allowHTTP1: true};
const server = require('http2').createSecureServer(options, (request, response) => {
	request.resume();
	request.on('end', () => {
		response.writeHead(200, {'content-type': 'text/plain'});
		response.end(`hello ${request.url} over HTTP/${request.httpVersion}\n`);
	});
});
server.listen(0, '127.0.0.1', () => {
	fs.writeFileSync(portFile + '.new', String(server.address().port));
	fs.renameSync(portFile + '.new', portFile);
});
