'use strict';
// Brings the script and the data, which are packed, to life. The page's policy names both
// this script and the packed one by hash.
const root = document.documentElement, block = id => document.getElementById(id);

async function unzip(id) {
	const text = block(id).textContent.trim();
	let bytes;
	if (Uint8Array.fromBase64) bytes = Uint8Array.fromBase64(text);
	else {
		const s = atob(text);
		bytes = new Uint8Array(s.length);
		for (let i = 0; i < s.length; i++) bytes[i] = s.charCodeAt(i);
	}
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

root.setAttribute('class', 'script');
addEventListener('DOMContentLoaded', async () => {
	try {
		const script = document.createElementNS(root.namespaceURI, 'script');
		script.textContent = new TextDecoder().decode(await unzip('code'));
		root.append(script);
		start(parse(await unzip('data')));
	} catch (e) {
		// What is in the file without script is shown.
		root.removeAttribute('class');
		console.error(e);
	}
});
