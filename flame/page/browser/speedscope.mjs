// Opens files in speedscope's own page, as its npm package carries it, in Chromium, and compares the table of
// its sandwich view with want.json. It prints a line "ok NAME" or "not ok NAME: WHY" for each
// check. Usage: node speedscope.mjs DIRECTORY
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import {createRequire} from 'node:module';
import {chromium} from 'playwright-core';

const dir = process.argv[2], docs = JSON.parse(fs.readFileSync(path.join(dir, 'want.json'))),
	artifacts = process.env.FPSTACK_ARTIFACTS;
const release = path.join(path.dirname(createRequire(import.meta.url).resolve('speedscope/package.json')),
	'dist/release');
if (artifacts) fs.mkdirSync(artifacts, {recursive: true});

const types = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.png': 'image/png',
	'.woff2': 'font/woff2', '.json': 'application/json', '.ico': 'image/x-icon'};
const server = http.createServer((req, res) => {
	const name = path.basename(new URL(req.url, 'http://x').pathname) || 'index.html';
	const file = [dir, release].map(d => path.join(d, name)).find(f => fs.existsSync(f));
	if (!file) { res.statusCode = 404; res.end(); return; }
	res.setHeader('content-type', types[path.extname(name)] || 'application/octet-stream');
	res.end(fs.readFileSync(file));
}).listen(0, '127.0.0.1');
await new Promise(r => server.once('listening', r));
const origin = 'http://127.0.0.1:' + server.address().port + '/';

// Its page draws by WebGL, which needs no graphics card here.
const browser = await chromium.launch({executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
	args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--disable-background-networking',
	'--disable-component-update', '--no-first-run']});
const equal = (got, expected, what) => {
	if (got !== expected) throw new Error(`${what} is ${JSON.stringify(got)}, want ${JSON.stringify(expected)}`);
};
const units = {ns: 1, 'µs': 1e3, ms: 1e6, s: 1e9};

// amount reads "1,234 (56%)" or "12.34ms (56%)": the value, and by how much it may be rounded.
function amount(text) {
	const m = /^([\d,]+)(\.\d+)?(ns|µs|ms|s)? \(/.exec(text);
	if (!m) throw new Error(`no amount: ${JSON.stringify(text)}`);
	const by = units[m[3]] ?? 1, decimals = (m[2] || '.').length - 1;
	return {value: Number(m[1].replaceAll(',', '') + (m[2] || '')) * by, off: m[3] && m[3] !== 'ns' ||
		m[2] ? 0.51 * by / 10 ** decimals : 0};
}

async function check(doc, test) {
	const context = await browser.newContext({viewport: {width: 1280, height: 800}}), complaints = [];
	try {
		const page = await context.newPage();
		page.setDefaultTimeout(60000);
		page.on('console', m => { if (m.type() === 'error') complaints.push('console: ' + m.text()); });
		page.on('pageerror', e => complaints.push('error: ' + e.message));
		page.on('request', r => {
			if (!r.url().startsWith(origin) && !/^(data|blob):/.test(r.url())) complaints.push('request: ' + r.url());
		});
		page.on('dialog', d => { complaints.push('dialog: ' + d.message()); d.dismiss(); });
		await test(page);
		if (artifacts) await page.screenshot({path: path.join(artifacts, 'speedscope-' + doc.name.replace(/\W+/g, '-') +
			'.png')});
		equal(complaints.join('; '), '', 'what the browser complains of');
		console.log('ok ' + doc.name);
	} catch (e) {
		failed++;
		console.log(`not ok ${doc.name}: ${String(e.message).replace(/\s+/g, ' ').slice(0, 900)} ` +
			`${complaints.join('; ').slice(0, 600)}`);
	}
	await context.close();
}
let failed = 0;

const shows = (page, text) => page.waitForFunction(t => document.body.innerText.replace(/\s+/g, ' ').includes(t), text);

// rows reads the table of the sandwich view: [total, self, name] of each function.
const rows = page =>
	page.evaluate(() => [...document.querySelectorAll('table tr')].map(r =>
	[...r.querySelectorAll('td')].map(c => c.innerText.trim())).filter(r => r.length === 3 && r[0].endsWith('%)')));

function compare(got, functions, what) {
	const want = new Map(functions.map(f => [f.Name + (f.Waits ? ' (waits)' : ''), f]));
	equal(got.length, want.size, `${what}: number of functions`);
	for (const [total, self, name] of got) {
		const f = want.get(name);
		if (!f) throw new Error(`${what}: ${name} is shown, and not in the profile`);
		for (const [text, expected, column] of [[total, f.Total, 'total'], [self, f.Self, 'self']]) {
			const a = amount(text);
			if (Math.abs(a.value - expected) > a.off) throw new Error(
				`${what}: ${column} of ${name} is shown as ${text}, want ${expected}`);
		}
	}
}

for (const doc of docs) await check(doc, async page => {
	const view = doc.seconds ? 'time-ordered' : 'sandwich';
	const slow = doc.seconds ? Math.max(1, await yardstick(page) / 21) : 1, begin = Date.now();
	await page.goto(`${origin}index.html#view=${view}&profileURL=${encodeURIComponent(origin + doc.file)}`);
	await page.waitForSelector('canvas');
	if (doc.seconds) {
		await shows(page, doc.shown);
		await page.evaluate(() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r))));
		const took = (Date.now() - begin) / 1000;
		console.log(`# ${doc.name}: ${took.toFixed(1)} s ` +
			`(machine ${slow.toFixed(1)} times as slow as the yardstick's)`);
		if (took > doc.seconds * slow) throw new Error(
			`it took ${took.toFixed(1)} s, limit ${(doc.seconds * slow).toFixed(1)} s`);
		return;
	}
	for (let i = 0; i < doc.profiles.length; i++) {
		if (i > 0) await page.keyboard.press('n');
		await shows(page, doc.profiles[i].name); // may be empty, and the table comes after it
		const want = doc.profiles[i].functions.length, deadline = Date.now() + 20000;
		while ((await rows(page)).length !== want && Date.now() < deadline) await page.waitForTimeout(50);
		compare(await rows(page), doc.profiles[i].functions, doc.profiles[i].name);
	}
});

async function yardstick(page) {
	return page.evaluate(() => {
		const times = [];
		for (let k = 0; k < 5; k++) {
			const a = new Float64Array(4e6), t = performance.now();
			for (let i = 1; i < a.length; i++) a[i] = a[i - 1] * 0.5 + i;
			times.push(performance.now() - t);
		}
		return times.sort((a, b) => a - b)[2];
	});
}

await browser.close();
server.close();
process.exit(failed ? 1 : 0);
