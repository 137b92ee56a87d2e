// ticking.js URL: prints a line each 20 ms while it waits for what it fetches, then the answer.
const ticking = setInterval(() => console.log('tick'), 20);

fetch(process.argv[2])
	.then((response) => response.text())
	.then((text) => console.log(text))
	.catch((error) => {
		console.log('failed:', error.cause || error);
		process.exitCode = 1;
	})
	.finally(() => clearInterval(ticking));
