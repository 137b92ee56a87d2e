// c-ares in node: each look-up by itself, in order; prints what came, or the error's code.
const { promises: dns } = require('dns');

(async () => {
	for (const [call, name] of [['resolve4', 'api.test'], ['resolve6', 'api.test'], ['resolveCname', 'api.test'],
		['resolveMx', 'api.test'], ['resolve4', 'x.denied.test'], ['resolve4', 'aPi.TesT'], ['reverse', '198.18.0.2'],
		['reverse', '198.18.77.77'], ['resolveSrv', '_x._tcp.asked.test'], ['resolveTxt', 'x.denied.test']]) {
		const said = await dns[call](name).then((found) => found.join(), (error) => error.code);
		console.log(call, name, said);
	}
})();
