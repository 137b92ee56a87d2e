// lenient.js --port-file FILE: node's http on 127.0.0.1. Answers "served HOST": what the request asks for.
const fs = require('fs');
const portFile = process.argv[3];

const server = require('http').createServer((request, response) => {
	response.setHeader('connection', 'close');
	response.end(`served ${request.headers.host || request.url}\n`);
});
server.on('connect', (request, socket) => socket.end(`served ${request.headers.host || request.url}\n`));
server.listen(0, '127.0.0.1', () => {
	fs.writeFileSync(portFile + '.new', String(server.address().port));
	fs.renameSync(portFile + '.new', portFile);
});
