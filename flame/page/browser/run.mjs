// Opens the pages and pictures that the Go test wrote, in Chromium, and prints a line "ok
// NAME" or "not ok NAME: WHY" for each check. Usage: node run.mjs DIRECTORY [NAMES]
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import {createRequire} from 'node:module';
import {chromium} from 'playwright-core';

const dir = process.argv[2], want = JSON.parse(fs.readFileSync(path.join(dir, 'want.json'))),
	artifacts = process.env.FPSTACK_ARTIFACTS;
const axe = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
if (artifacts) fs.mkdirSync(artifacts, {recursive: true});

// The server sends each document under the policy that stands in its query.
const server = http.createServer((req, res) => {
	const url = new URL(req.url, 'http://x'), file = path.join(dir, path.basename(url.pathname));
	if (url.pathname === '/img') {
		res.setHeader('content-type', 'text/html');
		res.end(`<!DOCTYPE html><img src="${url.searchParams.get('src')}">`);
		return;
	}
	if (!fs.existsSync(file)) { res.statusCode = 404; res.end(); return; }
	res.setHeader('content-type', file.endsWith('.svg') ? 'image/svg+xml' : 'text/html; charset=utf-8');
	if (url.searchParams.has('csp')) res.setHeader('content-security-policy', url.searchParams.get('csp'));
	res.end(fs.readFileSync(file));
}).listen(0, '127.0.0.1');
await new Promise(r => server.once('listening', r));
const origin = 'http://127.0.0.1:' + server.address().port + '/', local = 'file://' + dir + '/';

const browser = await chromium.launch({executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
	args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update',
	'--no-first-run']});
const equal = (got, expected, what) => {
	if (got !== expected) throw new Error(`${what} is ${JSON.stringify(got)}, want ${JSON.stringify(expected)}`);
};
const holds = (yes, what) => { if (!yes) throw new Error(what); };
let failed = 0;

// check opens a document in a window of its own, and looks at what it complains of.
async function check(name, url, options, test) {
	if (process.argv[3] && !new RegExp(process.argv[3]).test(name)) return;
	const {noise, ready = true, ...rest} = options;
	const context = await browser.newContext({viewport: {width: 1280, height: 800}, ...rest}), complaints = [];
	try {
		const page = await context.newPage();
		page.setDefaultTimeout(20000);
		page.on('console', m => complaints.push('console: ' + m.text()));
		page.on('pageerror', e => complaints.push('error: ' + e.message));
		page.on('request', r => {
			if (!r.isNavigationRequest() && !r.url().startsWith('data:')) complaints.push('request: ' + r.url());
		});
		page.on('dialog', d => { complaints.push('dialog: ' + d.message()); d.dismiss(); });
		await page.goto(url.includes('://') ? url : local + url);
		if (ready) await page.waitForSelector('[data-ready]', {state: 'attached'});
		await test(page, context);
		if (artifacts) await page.screenshot({path: path.join(artifacts, name.replace(/\W+/g, '-') + '.png')});
		if (!noise) equal(complaints.join('; '), '', 'what the browser complains of');
		console.log('ok ' + name);
	} catch (e) {
		failed++;
		if (artifacts) for (const p of context.pages()) await p.screenshot(
			{path: path.join(artifacts, 'failed-' + name.replace(/\W+/g, '-') + '.png')}).catch(() => {});
		console.log(`not ok ${name}: ${String(e.message).replace(/\s+/g, ' ').slice(0, 600)} ` +
			`${complaints.join('; ').slice(0, 600)}`);
	}
	await context.close();
}

const text = (page, at) => page.locator(at).innerText();
const search = async (page, what) => {
	await blur(page);
	await page.keyboard.press('/');
	await page.keyboard.type(what);
	await page.keyboard.press('Enter');
};
const blur = page => page.evaluate(() => document.activeElement?.blur());
// value reads "total 123" from the details.
const value = async (page, label) => {
	const m = new RegExp(label + '\\s+(-?[\\d,]+)').exec(await text(page, '#details'));
	return m ? Number(m[1].replaceAll(',', '')) : null;
};
const share = (part, whole) => (100 * part / whole).toFixed(2) + ' %';
const hash = page => page.evaluate(() => new URLSearchParams(location.hash.slice(1)).toString());
const choose = async (page, what) => { await search(page, what); await blur(page); };
const menu = async (page, what, item) => {
	await choose(page, what);
	await page.keyboard.press('m');
	await page.getByRole('menuitem', {name: item}).click();
};

for (const doc of ['shop', 'hostile', 'many', 'deep', 'diff', 'threads', 'empty', 'lines-10000']) for (
	const form of ['html', 'svg'])
	await check(`${doc}.${form} opens from a file without a complaint`, `${doc}.${form}`, {}, async page => {
		if (form === 'html') equal(await page.locator('#static').count(), 0, 'number of static parts');
		holds(!/owned/.test(await page.title()) || doc === 'hostile', 'the title was changed');
	});

for (const form of ['html', 'svg']) for (const address of ['z=-5', 'z=4294967295', 'z=1e99&q=(',
	'z=x&type=9&chart=4294967295&t=x&from=x&to=-1&sand=none&theme=x&table=x'])
	await check(`an address that means nothing shows everything in ${form} (${address})`, `shop.${form}#${address}`, {},
		async page => {
		const shown = await page.locator('#details').textContent();
		holds(/^all/.test(shown), `details are ${shown}`);
	});

for (const form of ['html', 'svg']) await check(`names that look like script do nothing in ${form}`, `hostile.${form}`,
	{}, async page => {
	const before = await page.title();
	await page.keyboard.press('/');
	await page.keyboard.type('script|img|svg');
	await page.waitForTimeout(100);
	await page.keyboard.press('Escape');
	if (form === 'html') {
		await page.keyboard.press('l');
		await page.keyboard.press('t');
		await page.mouse.move(300, 400);
		await page.mouse.click(300, 400, {button: 'right'});
	}
	equal(await page.title(), before, 'title');
	equal(await page.locator('img, iframe, svg[onload]').count(), 0, 'number of injected elements');
});

// Without script, and where a host forbids it, the static part is read.
for (const [name, csp] of [['default-src none', "default-src 'none'"], ['sandbox', 'sandbox'],
	['script-src none', "script-src 'none'"]]) for (const form of ['html', 'svg'])
	await check(`${form} is readable under ${name}`, `${origin}shop.${form}?csp=${encodeURIComponent(csp)}`,
		{noise: true, ready: false}, async page => {
		holds(await page.locator('#static rect').count() >= 9, 'no rectangles');
		holds(await page.locator('#static text', {hasText: 'work'}).first().isVisible(), 'no text "work"');
		if (form === 'html') {
			holds(/hash\s+hash\.c:7\s+server/.test(await text(page, 'table')), 'the table lacks hash');
			holds(await page.locator('table').isVisible(), 'the table is hidden');
		}
	});
for (const doc of ['shop.html', 'shop.svg', 'shop-static.html', 'shop-static.svg'])
	await check(`${doc} is readable with scripts off`, doc, {javaScriptEnabled: false, ready: false}, async page => {
		const titles = await page.locator('#static g > title').allTextContents();
		holds(titles.some(t => t === `hash (hash.c:7): 70, ${share(70, want.total)}`),
			`titles are ${titles.join(' | ')}`);
		holds(await page.locator('#static text', {hasText: 'work'}).first().isVisible(), 'no text "work"');
	});
for (const doc of ['shop.svg', 'shop-static.svg']) await check(`${doc} is a picture inside an img`,
	`${origin}img?src=${doc}`, {ready: false, noise: true}, async page => {
	const colours = await page.evaluate(async () => {
		const img = document.images[0];
		await img.decode();
		const c = Object.assign(document.createElement('canvas'), {width: 600, height: 200}), g = c.getContext('2d');
		g.drawImage(img, 0, 0, 600, 200);
		const px = g.getImageData(0, 0, 600, 200).data, seen = new Set();
		for (let i = 0; i < px.length; i += 4) seen.add(px[i] + ',' + px[i + 1] + ',' + px[i + 2]);
		return seen.size;
	});
	holds(colours > 20, `${colours} colours`);
});

await check('click zooms, Back unzooms, an ancestor unzooms', 'shop.html', {}, async page => {
	const box = await page.locator('#graph').boundingBox(), y = row => box.y + box.height - 18 * row - 9;
	await page.mouse.click(box.x + box.width * 0.9, y(1));
	holds(/z=/.test(await hash(page)), 'a click does not zoom');
	equal(await text(page, '#details b'), 'main', 'function zoomed to');
	equal(await value(page, 'total'), want.total - want.helper, 'total of main');
	holds((await text(page, '#details')).includes(share(want.total - want.helper, want.total) +
		' of all · 100.00 % of view'), 'no share of view');
	await page.mouse.click(box.x + 20, y(2));
	const two = await hash(page);
	await page.goBack();
	equal(await text(page, '#details b'), 'main', 'function after Back');
	await page.goForward();
	equal(await hash(page), two, 'address after Forward');
	await page.mouse.click(box.x + 20, y(0));
	equal(await hash(page), '', 'address after a click on the root');
	await page.goBack(); await page.goBack(); await page.goBack();
	equal(await hash(page), '', 'address at the start');
});
await check('the address keeps the view', 'shop.html', {}, async (page, context) => {
	await choose(page, 'work');
	await page.keyboard.press('Enter');
	await page.keyboard.press('w');
	await choose(page, '^hash$');
	const details = await text(page, '#share');
	await page.reload();
	await page.waitForSelector('[data-ready]', {state: 'attached'});
	holds(/q=/.test(await hash(page)), 'the search is not in the address');
	equal(await page.locator('#q').inputValue(), '^hash$', 'search box');
	equal(await text(page, '#share'), details.replace(/^\d+\/\d+ · /, ''), 'share after a reload');
	const other = await context.newPage();
	await other.goto(page.url());
	await other.waitForSelector('[data-ready]', {state: 'attached'});
	equal(await text(other, '#share'), await text(page, '#share'), 'share in another window');
	await other.close();
});
await check('search share is the sum of the stacks that match', 'many.html', {}, async page => {
	await search(page, 'handle_1');
	holds((await text(page, '#share')).includes(' · ' + share(want.manyHandle1, want.manyTotal)),
		`share is ${await text(page, '#share')}, want ${share(want.manyHandle1, want.manyTotal)}`);
});
await check('search: regex, case, module, not a regex', 'shop.html', {}, async page => {
	for (const [q, sum] of [['^hash$', want.hash], ['HASH', 0], ['Interp', 25], ['interp', 25],
		['module:libz', want.libz], ['file:HASH', 0], ['file:hash\\.c', want.hash], ['decode<char>(', 20],
		['work|parse', 135]]) {
		await page.locator('#q').fill(q);
		await page.waitForTimeout(30);
		equal(await text(page, '#share'), share(sum, want.total) + ' of all', 'share of ' + q);
	}
	equal(await page.locator('#share').getAttribute('title'),
		`2 matching frames: 135 in all, 0 of their own (0.00 %); shares are of ${want.total}`, 'title');
});
await check('next and previous match', 'shop.html', {}, async page => {
	await search(page, 'parse|copy|epoll');
	equal(await text(page, '#details b'), 'parse', 'the largest match');
	await page.keyboard.press('Enter');
	equal(await text(page, '#details b'), 'epoll_wait', 'second match');
	await page.keyboard.press('Enter');
	equal(await text(page, '#details b'), 'copy', 'third match');
	await page.keyboard.press('Shift+Enter');
	equal(await text(page, '#details b'), 'epoll_wait', 'match before');
});
await check('value switch', 'shop.html', {}, async page => {
	await page.getByRole('button', {name: 'Show cpu'}).click();
	holds((await text(page, '#details')).includes((want.cpu / 1e9).toFixed(2) + ' s'),
		`details are ${await text(page, '#details')}`);
});
await check("what ended in the kernel's own code did not wait", 'perf.html', {}, async page => {
	await page.keyboard.press('w');
	await choose(page, '^vfs_read$');
	equal(await value(page, 'total'), 70, 'total of vfs_read without what waits');
	await choose(page, '^main$');
	equal(await value(page, 'total'), 90, 'total of main without what waits');
	equal(await text(page, '#wait'), 'Show waits (10 %)', 'button');
});
for (const form of ['html', 'svg']) await check(`what waits is folded away at first, in ${form}`, `idle.${form}`, {},
	async page => {
	const root = async () => {
		if (form === 'html') return value(page, 'total');
		const all = (await page.locator('#rows g > title').allTextContents()).find(t => t.startsWith('all: '));
		return Number(/[\d,]+/.exec(all)[0].replaceAll(',', ''));
	};
	const button = page.getByRole('button', {name: /waits \(|what waits/});
	const drawn = () => (form === 'html' ? page.locator('#canvas').getAttribute('aria-label') :
		page.locator('#rows').textContent());
	const percentage = Math.round(100 * want.waiting / want.total);
	equal(await button.innerText(), `Show waits (${percentage} %)`, 'switch');
	equal(await root(), want.total - want.waiting, 'total, folded away');
	if (form === 'svg') holds(!/epoll_wait/.test(await drawn()), 'a wait is drawn');
	await search(page, '^hash$');
	equal((await text(page, '#share')).replace(/.* · /, ''), share(want.hash, want.total - want.waiting) +
		' of time without waits', 'share of hash');
	await blur(page);
	await button.click();
	equal(await button.innerText(), `Hide waits (${percentage} %)`, 'switch, shown');
	equal(await root(), want.total, 'total, shown');
	equal((await text(page, '#share')).replace(/.* · /, ''), share(want.hash, want.total) + ' of all',
		'share of hash, shown');
	if (form === 'svg') holds(/epoll_wait/.test(await drawn()), 'a wait is not drawn');
	holds(/wait=1/.test(await hash(page)), 'the address does not keep it');
	await page.reload();
	await page.waitForSelector('[data-ready]', {state: 'attached'});
	equal(await root(), want.total, 'total after a reload');
	await blur(page);
	await page.keyboard.press('w');
	equal(await root(), want.total - want.waiting, 'total after w');
	await page.keyboard.press('0');
	equal(await root(), want.total - want.waiting, 'total as at first');
});
for (const doc of ['idle.html', 'idle.svg', 'idle-static.html', 'idle-static.svg'])
	await check(`${doc} says with scripts off what is folded away`, doc, {javaScriptEnabled: false, ready: false},
		async page => {
		const titles = await page.locator('#static g > title').allTextContents();
		holds(titles.includes(`hash (hash.c:7): ${want.hash}, ${share(want.hash, want.total - want.waiting)}`),
			`titles are ${titles.join(' | ')}`);
		holds(!titles.some(t => /epoll_wait/.test(t)), 'a wait is drawn');
		const said = page.locator('#static',
			{hasText: `${Math.round(100 * want.waiting / want.total)} % of samples were waiting, folded away here`});
		holds(await said.isVisible(), 'the share of what waits is missing');
	});
for (const form of ['html', 'svg']) await check(`where all waits nothing is folded away, in ${form}`, `asleep.${form}`,
	{}, async page => {
	if (form === 'svg') holds(/poll/.test(await page.locator('#rows').textContent()), 'nothing is drawn');
	else equal(await page.locator('#details .value').first().innerText(),
		'total of thread time 10 ns · 100.00 % of all', 'details');
	equal(await page.getByRole('button', {name: /waits \(|what waits/}).innerText(),
		'Hide waits (100 %)', 'switch');
});
for (const doc of ['lines-10000', 'diff', 'empty', 'deep']) for (const form of ['html', 'svg']) await check(
	`no switch where nothing waits: ${doc}.${form}`, `${doc}.${form}`, {}, async page => {
	equal(await page.getByRole('button', {name: /waits \(|what waits/}).count(), 0, 'number of switches');
});
await check('search and threads give shares of what is shown', 'shop.html', {}, async page => {
	const shown = want.total - want.waiting, worker = page.locator('#threads-menu .thread',
		{hasText: 'worker'}).locator('em');
	await page.keyboard.press('w');
	await search(page, '^hash$');
	holds((await text(page, '#share')).endsWith(share(want.hash, shown) + ' of time without waits'),
		`share is ${await text(page, '#share')}`);
	holds((await page.locator('#share').getAttribute('title')).endsWith('shares are of ' + shown),
		'the title does not tell the whole');
	await blur(page);
	await page.keyboard.press('t');
	equal(await worker.innerText(), share(want.worker, shown), 'share of a thread, waiting folded away');
	equal(await text(page, '#threads-menu .of'), `Shares are of ${shown}: all threads, waiting folded away`,
		'whole of the menu');
	await page.keyboard.press('Escape');
	await blur(page);
	await page.keyboard.press('w');
	await menu(page, '^work$', 'Ignore stacks with it');
	await blur(page);
	await page.keyboard.press('t');
	equal(await worker.innerText(), share(25, want.total - want.work), 'share of a thread without work');
	await page.getByRole('button', {name: 'Only worker 101'}).click();
	equal(await worker.innerText(), share(25, want.total - want.work), 'share of a thread that is chosen alone');
	await page.locator('#q').fill('Interp');
	await page.waitForTimeout(30);
	equal(await text(page, '#share'), share(25, 25) + ' of what is shown', 'share in one thread');
});
await check('a wait is not the function of its name', 'wrapper.html', {}, async page => {
	await page.keyboard.press('l');
	const rows = (await page.locator('#sheet tbody tr .name').allTextContents()).join(', ');
	equal(rows, 'poll (waits), poll, main', 'functions');
	await page.getByRole('button', {name: 'poll (waits)'}).click();
	equal(await value(page, 'total'), 90, 'total of the wait');
	await page.reload();
	await page.waitForSelector('[data-ready]', {state: 'attached'});
	equal(await value(page, 'total'), 90, 'total of the wait after a reload');
	holds(/total of thread time/.test(await (async () => {
		await page.keyboard.press('0');
		return text(page, '#details');
	})()), 'the whole is not said to be thread time');
});
await check('thread filter', 'shop.html', {}, async page => {
	await page.keyboard.press('t');
	await page.getByRole('button', {name: 'Only worker 101'}).click();
	equal(await value(page, 'total'), want.worker, 'total of one thread');
	await page.getByRole('checkbox', {name: /helper 200/}).first().check();
	equal(await value(page, 'total'), want.worker + want.helper, 'total of two threads');
	await page.getByRole('button', {name: 'All threads'}).click();
	equal(await value(page, 'total'), want.total, 'total of all');
});
await check('reversed sums', 'shop.html', {}, async page => {
	await page.keyboard.press('r');
	equal(await value(page, 'total'), want.total, 'total');
	await choose(page, '^hash$');
	equal(await value(page, 'total'), want.hashSelf, 'reversed total of hash');
	await page.goBack();
});
await check('sandwich sums, callers and callees', 'shop.html', {}, async page => {
	await choose(page, '^work$');
	await page.keyboard.press('s');
	equal(await value(page, 'total'), want.work, 'total of work');
	await page.keyboard.press('l');
	await page.getByRole('button', {name: 'Callers, callees'}).click();
	const rows = await page.locator('#sheet tbody tr').evaluateAll(list =>
		list.map(r => r.querySelector('.name').textContent + ' ' + r.cells[0].firstChild.data));
	equal(rows.join(', '), `main ${want.work}, hash ${want.hash}, copy 10, libz.so.1+0x0 5`, 'callers and callees');
	await page.getByRole('button', {name: 'hash', exact: true}).click();
	equal(await value(page, 'total'), want.hash, 'total of hash, recursion once');
	await page.keyboard.press('Escape');
});
await check('hide, focus, ignore, recursion', 'shop.html', {}, async page => {
	await menu(page, '^work$', 'Hide frames of this name');
	equal(await text(page, '#share'), share(0, 1) + ' of all', 'share of what is hidden');
	equal(await value(page, 'total'), want.total, 'total with a name hidden');
	await page.locator('#chips button').first().click();
	await page.locator('#q').fill('');
	await menu(page, 'parse', 'Ignore stacks with it');
	equal(await value(page, 'total'), want.noParse, 'total without parse');
	await page.goBack();
	await page.locator('#q').fill('');
	await menu(page, '^hash$', 'Focus: stacks with it');
	equal(await value(page, 'total'), want.hash, 'total of stacks with hash');
	await page.locator('#q').fill('');
	await menu(page, '^hash$', 'Collapse recursion');
	await page.locator('#q').fill('');
	await choose(page, '^hash$');
	equal(await value(page, 'self'), want.hash, 'self of hash with recursion collapsed');
	await page.keyboard.press('Escape');
});
await check('hide a module', 'shop.html', {}, async page => {
	await menu(page, 'copy', /Hide frames of libz/);
	await page.locator('#q').fill('module:libz');
	await page.waitForTimeout(30);
	equal(await text(page, '#share'), share(0, 1) + ' of all', 'share of a hidden module');
	equal(await value(page, 'total'), want.total, 'total');
});
await check('copy name and stack', origin + 'shop.html', {permissions: ['clipboard-read', 'clipboard-write']},
	async page => {
	await choose(page, 'copy');
	await page.keyboard.press('c');
	await page.waitForSelector('.copied');
	equal(await page.evaluate(() => navigator.clipboard.readText()), 'copy', 'name');
	await page.keyboard.press('Shift+C');
	await page.waitForFunction(async () => (await navigator.clipboard.readText()).includes('\n'));
	equal(await page.evaluate(() => navigator.clipboard.readText()), 'copy\nwork\nmain', 'stack');
});
await check('functions of every language are in the tables, and have native frames or are them', 'languages.html', {},
	async page => {
	const rows = async () => (await page.locator('#sheet tbody tr').evaluateAll(list =>
		list.map(r => r.querySelector('.name').textContent + ' ' + r.cells[0].firstChild.data))).join(', ');
	await page.keyboard.press('l');
	// Most of the time is below functions of languages: what was done for them is theirs at first.
	equal(await text(page, '#fold'), 'Show native frames', 'switch');
	const others = own => want.others.map(name => `${name} ${own}, `).join('');
	equal(want.others.join(), 'in_dotnet,in_java,in_julia,in_lua,in_php', 'functions of the other languages');
	equal(await rows(), `handler 50, blur 20, memcpy 20, iterencode 10, ${others(6)}main 0`,
		'functions, native frames folded');
	await page.locator('#fold').click();
	equal(await rows(), `memcpy 40, handler 30, blur 20, PyDict_Next 10, native 10, ${others(4)}` +
		'main 0, v8::Compile 0, iterencode 0, call 0', 'functions, native frames shown');
	holds(/fold=0/.test(await hash(page)), 'the address does not keep it');
	for (const [name, total] of [['handler', 50], ['iterencode', 15], ['blur', 20],
		...want.others.map(name => [name, 6])]) {
		await page.getByRole('button', {name, exact: true}).first().click();
		equal(await value(page, 'total'), total, `sandwich of ${name}`);
		await blur(page);
		await page.keyboard.press('Escape');
		await choose(page, `^${name}$`);
		await page.keyboard.press('s');
		holds((await hash(page)).includes('sand='), `no sandwich of ${name} by key`);
		await page.keyboard.press('Escape');
		await page.locator('#q').fill('');
		await menu(page, `^${name}$`, 'Hide frames of this name');
		equal(await text(page, '#share'), share(0, 1) + ' of all', `share of ${name}, hidden`);
		await page.locator('#chips button').first().click();
		await page.locator('#q').fill('');
	}
	await blur(page);
	await page.keyboard.press('v');
	await choose(page, '^handler$');
	equal(await value(page, 'self'), 50, 'self of handler, folded by key');
});
for (const [doc, shown] of [['shop.html', false], ['languages.html', true]]) await check(
	`a switch for native frames in ${doc} only where a language has some`, doc, {}, async page => {
	equal(await page.locator('#fold').isVisible(), shown, 'the switch is there');
});
await check('native frames are shown at first where that was asked for', 'apart.html', {}, async page => {
	equal(await text(page, '#fold'), 'Hide native frames', 'switch');
	await page.keyboard.press('v');
	holds(/fold=1/.test(await hash(page)), 'the address does not keep it');
});
await check('Esc closes one thing at a time, and the focus returns', 'shop.html', {}, async page => {
	const focus = () => page.evaluate(() => document.activeElement.id);
	await choose(page, '^work$');
	await page.keyboard.press('s');
	await page.keyboard.press('l');
	await page.locator('#sheet').focus();
	await page.keyboard.press('t');
	holds(await page.locator('#threads-menu').isVisible(), 'no menu of threads');
	await page.keyboard.press('Escape');
	equal(await focus(), 'threads', 'focus after the menu');
	holds(await page.locator('#drawer').isVisible(), 'the tables closed with the menu');
	await page.locator('#sheet').focus();
	await page.keyboard.press('Escape');
	equal(await focus(), 'tables', 'focus after the tables');
	holds(!await page.locator('#drawer').isVisible(), 'the tables are open');
	holds(/sand=work/.test(await hash(page)), 'the sandwich closed with the tables');
	await page.keyboard.press('Escape');
	holds(!/sand=/.test(await hash(page)), 'the sandwich is there');
	holds(/q=/.test(await hash(page)), 'the search closed with the sandwich');
	await page.keyboard.press('Escape');
	equal(await hash(page), '', 'address in the end');
});
await check('time and threads by keys', 'shop.html', {}, async page => {
	holds(/^Activity over time, peak \d+(\.\d)? running or ready: /.test(
		await page.locator('#time').getAttribute('aria-label')), 'the strip does not say what it counts');
	await page.locator('#time').focus();
	for (let i = 0; i < 3; i++) await page.keyboard.press('ArrowRight');
	equal(await hash(page), 'from=20&to=120', 'range after three steps');
	await page.keyboard.press('Shift+ArrowRight');
	equal(await hash(page), 'from=20&to=130', 'longer range');
	holds(/0\.020 to 0\.130/.test(await page.locator('#spoken').textContent()), 'the range is not said');
	await page.keyboard.press('Escape');
	equal(await hash(page), '', 'address after Esc');
	await page.locator('#lanes').focus();
	await page.keyboard.press('ArrowDown');
	holds(/^main 100 ran/.test(await page.locator('#spoken').textContent()), 'the thread is not said');
	await page.keyboard.press('Enter');
	equal(await hash(page), 't=0', 'one thread');
	await page.keyboard.press('Enter');
	equal(await hash(page), '', 'all threads again');
});
await check('a strip of narrow frames says what it is', 'many.html', {}, async page => {
	const box = await page.locator('#graph').boundingBox();
	let told = '';
	for (let y = 4; y < box.height && !told; y += 8) for (let x = 2; x < box.width && !told; x += 7) {
		await page.mouse.move(box.x + x, box.y + y);
		const tip = await text(page, '#tip');
		if (/too narrow to draw/.test(tip)) told = tip;
	}
	holds(/^\d[\d,]* frames? too narrow to draw\s+zoom in to see more\s+total .* % of all/.test(told),
		`the tip of a strip is ${told}`);
});
await check('keys alone', 'shop.html', {}, async page => {
	await page.keyboard.press('ArrowUp');
	equal(await text(page, '#details b'), 'main', 'ArrowUp from the root');
	await page.keyboard.press('ArrowLeft');
	equal(await text(page, '#details b'), 'loop', 'ArrowLeft');
	await page.keyboard.press('ArrowRight');
	await page.keyboard.press('Enter');
	holds(/z=/.test(await hash(page)), 'Enter does not zoom');
	await page.keyboard.press('Escape');
	equal(await hash(page), '', 'address after Esc');
	await page.keyboard.press('i');
	holds(/flip=1/.test(await hash(page)), 'i does not flip');
	await page.keyboard.press('ArrowDown');
	equal(await text(page, '#details b'), 'work', 'ArrowDown, flipped');
	await page.keyboard.press('?');
	holds(await page.locator('dialog').isVisible(), 'no help');
	await page.keyboard.press('Escape');
	holds(!await page.locator('dialog').isVisible(), 'help does not close');
	await page.keyboard.press('l');
	holds(await page.locator('#drawer table').isVisible(), 'no table');
	const reached = new Set();
	for (let i = 0; i < 60; i++) {
		await page.keyboard.press('Tab');
		reached.add(await page.evaluate(() => document.activeElement.id || document.activeElement.textContent));
	}
	for (const id of ['q', 'threads', 'view', 'theme', 'help', 'graph', 'wait']) holds(reached.has(id),
		`Tab does not reach ${id}: ${[...reached]}`);
});
await check('tree view by keys', 'shop.html', {}, async page => {
	await page.keyboard.press('l');
	await page.getByRole('button', {name: 'Tree'}).click();
	await page.locator('[role=treeitem]').first().focus();
	for (const key of ['ArrowDown', 'ArrowRight', 'ArrowRight']) await page.keyboard.press(key);
	equal(await text(page, '#details b'), 'work', 'frame in the tree');
	equal(await page.locator('[role=treeitem]:focus').getAttribute('aria-level'), '3', 'level');
	await page.keyboard.press('ArrowLeft');
	equal(await page.locator('[role=treeitem]:focus').getAttribute('aria-expanded'), 'true', 'the caller is open');
});
// pixel reads the colour at a place of a canvas, in its own pixels as laid out.
const pixel = (page, at, x, y) => page.locator(at).evaluate((c, [x, y]) => {
	const r = devicePixelRatio;
	return [...c.getContext('2d').getImageData(Math.floor(x * r), Math.floor(y * r), 1, 1).data.slice(0, 3)].map(v =>
		v.toString(16).padStart(2, '0')).join('');
}, [x, y]);
// axisOf gives the place of a time on the axis, as a share of the 1,000 ms of the recording.
const axisOf = async page => {
	const wide = await page.locator('#lanes').evaluate(e => e.clientWidth),
		gutter = Math.min(170, Math.floor(wide * 0.25));
	return share => gutter + share * (wide - gutter);
};
await check('time: lanes and axis', 'shop.html', {deviceScaleFactor: 1, noise: true}, async page => {
	const at = await axisOf(page), colours = {ran: 'f8ad73', library: '9acef3', jit: 'bf91db', waited: '89b8b4',
		paper: 'ffffff', text: '16181d'};
	equal(await page.locator('#lanes canvas').getAttribute('aria-label').then(s => s.split(' ')[0]), '3',
		'number of lanes');
	// The lanes in turn: worker (hash for 700 ms, …), main (a wait of 300 ms first), helper, which only waits.
	equal(await pixel(page, '#lanes canvas', at(0.3), 5), colours.ran, 'worker at 300 ms');
	equal(await pixel(page, '#lanes canvas', at(0.9), 5), colours.jit, 'worker at 900 ms');
	equal(await pixel(page, '#lanes canvas', at(0.15), 20), colours.paper, 'main at 150 ms');
	equal(await pixel(page, '#lanes canvas', at(0.15), 28), colours.waited, 'line of main at 150 ms');
	equal(await pixel(page, '#lanes canvas', at(0.55), 20), colours.library, 'main at 550 ms');
	equal(await pixel(page, '#lanes canvas', at(0.2), 35), colours.paper, 'helper at 200 ms');
	equal(await pixel(page, '#lanes canvas', at(0.2), 43), colours.waited, 'line of helper at 200 ms');
	equal(await pixel(page, '#lanes canvas', at(0.8), 43), colours.paper, 'helper when it has ended');
	equal(await pixel(page, '#time', Math.round(at(0.5)), 32), colours.text, 'tick at 0.5 s');
	equal(await pixel(page, '#time', at(0.55), 32), colours.paper, 'no tick at 0.55 s');
	const box = await page.locator('#lanes').boundingBox();
	await page.mouse.move(box.x + at(0.3), box.y + 6);
	holds(/worker 101.*0\.300 s: hash.*ran 1\.00 s of 1\.00 s/s.test(await text(page, '#tip')),
		`tip is ${await text(page, '#tip')}`);
	await page.mouse.click(box.x + 10, box.y + 6);
	equal(await value(page, 'total'), want.worker, 'total of the lane that was clicked');
	await page.mouse.click(box.x + 10, box.y + 6);
	equal(await value(page, 'total'), want.total, 'total after a second click');
	await page.locator('#view').click();
	await page.getByRole('button', {name: 'Lanes of threads'}).click();
	holds(!await page.locator('#lanes').isVisible(), 'the lanes are not hidden');
	holds(/lanes=0/.test(await hash(page)), 'the address does not keep it');
});
await check('the legend is in sight, and names what is there', 'shop.html', {}, async page => {
	const shown = (await text(page, '#colours')).split(/\s{2,}|\n/).map(s => s.trim()).filter(Boolean).join(' ');
	equal(shown, 'application library runtime, JIT kernel, waiting inlined not named', 'legend');
	equal(await page.locator('#colours .f0').evaluate(e => getComputedStyle(e).backgroundColor), 'rgb(248, 173, 115)',
		'colour of application');
});
for (const doc of ['shop.svg', 'shop-static.svg']) await check(`the legend of ${doc}`, doc, {ready: doc === 'shop.svg'},
	async page => {
	const words = await page.locator('svg > g > text').allTextContents();
	for (const word of ['application', 'library', 'runtime, JIT', 'kernel, waiting', 'inlined', 'not named']) holds(
		words.includes(word), `the legend lacks ${word}: ${words}`);
});
await check('source lines of the chosen function', 'source.html', {}, async page => {
	await page.keyboard.press('l');
	await page.getByRole('button', {name: 'Source'}).click();
	equal(await text(page, '#sheet'), 'Choose a function first.', 'table before a choice');
	await choose(page, '^hash$');
	const rows = await page.locator('.source tr').evaluateAll(list =>
		list.map(r => [...r.cells].map(c => c.textContent).join('|')));
	equal(rows.join('\n'),
		`|5|int hash(char *s)\n|6|{\n${share(want.hash, want.total)}` +
		`|7|    return *s ? 31 * hash(s + 1) : 0; // </script><img src=x onerror=1>\n|8|}`, 'lines');
	holds(/hash\.c: changed after the program was built/.test(await text(page, '.source caption')),
		'a newer file is not said');
	await choose(page, '^copy$');
	holds(/no source lines/.test(await text(page, '#sheet')), 'a function without lines is not said');
	equal(await page.locator('#sheet img').count(), 0, 'number of injected elements');
});
await check('time: range and order', 'shop.html', {}, async page => {
	const box = await page.locator('#time').boundingBox(), at = await axisOf(page);
	await page.mouse.move(box.x + at(0), box.y + 10);
	await page.mouse.down();
	await page.mouse.move(box.x + at(0.5), box.y + 10);
	await page.mouse.up();
	// Each of the three threads has 500 of its 1,000, 600 and 400 ms in the first half second.
	holds(/total\s+1\.40 s/.test(await text(page, '#details')), `details are ${await text(page, '#details')}`);
	await page.locator('#chips button').first().click();
	await page.locator('#view').click();
	await page.getByRole('button', {name: 'Time order: worker 101'}).click();
	await choose(page, 'Interpreter');
	holds(/total\s+250 ms/.test(await text(page, '#details')), `details are ${await text(page, '#details')}`);
});
await check('difference: colours, sums, what is gone', 'diff.html', {}, async page => {
	await choose(page, 'copy');
	holds(/change\s+\+700/.test(await text(page, '#details')), `details are ${await text(page, '#details')}`);
	holds(/gone \(1\):/.test(await text(page, '#chips')) && /forgotten −50\.00 %/.test(await text(page, '#chips')),
		`chips are ${await text(page, '#chips')}`);
});
await check('difference: the legend explains the colours, noise is grey and said', 'noise.html', {}, async page => {
	equal((await text(page, '#colours')).replace(/\s+/g, ' ').trim(),
		'more less equal, or within the noise of the samples', 'legend');
	equal(await page.locator('#colours i').count(), 11, 'colours of the legend');
	await choose(page, '^same$');
	holds(/\+1\.00 ± 2\.02 points, within the noise of the samples/.test(await text(page, '#details')),
		`details are ${await text(page, '#details')}`);
	await choose(page, '^grown$');
	holds(/\+24\.00 ± 2\.45 points\)/.test(await text(page, '#details')),
		`details are ${await text(page, '#details')}`);
	await blur(page);
	await page.keyboard.press('l');
	holds(/\+240 ?± 24 /.test((await text(page, '#sheet')).replace(/\s+/g, ' ')),
		`table is ${await text(page, '#sheet')}`);
});
await check('difference as a picture: legend, gone, noise', 'noise.svg', {}, async page => {
	const notes = (await page.locator('#notes text').allTextContents()).join(' | '),
		titles = (await page.locator('#notes title').allTextContents()).join(' | ');
	equal(notes, 'more | less | equal, or within the noise of the samples | stronger from 0.05, 0.2, 1, 3, 10 points ' +
		'of the whole | gone: | forgotten', 'notes');
	equal(titles, 'forgotten (forgotten.c): gone, was 250, -25.00 ± 1.58 points', 'tip of what is gone');
	const fill = async name => page.locator('#rows g', {hasText: new RegExp('^' + name)}).locator(
		'rect').first().getAttribute('fill');
	equal(await fill('same'), '#dedede', 'colour of noise');
	equal(await fill('grown'), '#e47700', 'colour of a change');
	holds((await page.locator('#notes g rect').boundingBox()).width > 200, 'what is gone is not as wide as it was');
});
await check('svg draws no more than it can, and says so', 'boxes.svg', {}, async page => {
	const boxes = await page.locator('#rows rect').count();
	holds(boxes <= 7000 && boxes > 1000, `${boxes} boxes`);
	holds(/The [2-6],\d\d\d narrowest boxes are drawn as grey strips: zoom in$/.test(await text(page, '#details')),
		`details are ${await text(page, '#details')}`);
	const ends = await page.evaluate(() => {
		const m = {};
		for (const r of document.querySelectorAll('#rows rect')) {
			const y = r.getAttribute('y');
			m[y] = Math.max(m[y] || 0, +r.getAttribute('x') + +r.getAttribute('width'));
		} return Object.values(m);
	});
	holds(ends.length === 9 && ends.every(x => x > 1260), `rows end at ${ends}`);
	await page.locator('#rows g', {hasText: /^wide/}).first().click();
	holds(!/strips/.test(await text(page, '#details')), 'it is still said when all is drawn');
});
await check('svg of more rows than it can draw says so', 'shaft.svg', {}, async page => {
	holds(/The 4,501 innermost rows are not drawn: zoom in$/.test(await text(page, '#details')),
		`details are ${(await text(page, '#details')).slice(-200)}`);
	equal(await page.locator('#rows rect').count(), 3500, 'boxes');
});
for (const colorScheme of ['light', 'dark']) await check(`${colorScheme} by the system and by key`, 'many.html',
	{colorScheme, noise: true}, async page => {
	const paper = () =>
		page.evaluate(() => [...document.getElementById('canvas').getContext('2d').getImageData(2,
		document.getElementById('canvas').height - 3, 1, 1).data.slice(0, 3)].join());
	equal(await page.evaluate(() => document.documentElement.dataset.theme), colorScheme, 'theme');
	const is = await paper();
	await page.keyboard.press('d');
	holds(await paper() !== is, 'the key d changes nothing');
	await page.keyboard.press('d');
	equal(await paper(), is, 'paper');
});
for (const [name, size] of [['360 pixels', {viewport: {width: 360, height: 640}, hasTouch: true}],
	['200 %', {viewport: {width: 640, height: 400}, deviceScaleFactor: 2}]])
	await check(`fits ${name}`, 'many.html', size, async page => {
		const [wide, width] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
		holds(wide <= width, `the page is ${wide} wide in a window of ${width}`);
		for (const id of ['q', 'threads', 'view', 'help', 'graph']) {
			const b = await page.locator('#' + id).boundingBox();
			holds(b.x >= 0 && b.x + b.width <= width + 0.5, `${id} reaches from ${b.x} to ${b.x + b.width}`);
		}
		holds((await page.locator('#graph').boundingBox()).height >= 120, 'the graph is not 120 high');
	});
await check('the description of a frame is whole in 704 pixels', 'shop.html', {viewport: {width: 704, height: 820}},
	async page => {
	await choose(page, '^hash$');
	const parts = await page.locator('#details > *').evaluateAll(all =>
		all.map(e => [e.textContent, e.scrollWidth - e.clientWidth, e.getBoundingClientRect().right]));
	holds(parts.length >= 4, `it has ${parts.length} parts`);
	for (const [text, hidden, right] of parts) holds(hidden <= 0 && right <= 704, `cut, ${right}: ${text}`);
	const height = async () => (await page.locator('#details').boundingBox()).height, chosen = await height();
	await page.keyboard.press('0');
	equal(await height(), chosen, 'height of the description of all');
});
await check('a long press opens the menu', 'shop.html', {viewport: {width: 360, height: 640}, hasTouch: true},
	async page => {
	const box = await page.locator('#graph').boundingBox(),
		at = {clientX: box.x + 200, clientY: box.y + box.height - 27, pointerType: 'touch', bubbles: true};
	await page.locator('#canvas').dispatchEvent('pointerdown', at);
	await page.waitForSelector('#menu:not([hidden])');
	holds((await text(page, '#menu')).includes('main'), 'the menu names another frame');
});
await check('prints', 'shop.html', {}, async page => {
	const pdf = await page.pdf();
	holds(pdf.length > 8000, `the PDF has ${pdf.length} bytes`);
	if (artifacts) fs.writeFileSync(path.join(artifacts, 'print.pdf'), pdf);
});
await check('2,000 rows are all reached', 'deep.html', {}, async page => {
	holds(await page.evaluate(() => document.getElementById('graph').scrollHeight) >= 2001 * 18,
		'the graph is too low');
	await page.evaluate(() => { document.getElementById('graph').scrollTop = 1e9; });
	const box = await page.locator('#graph').boundingBox();
	await page.mouse.move(box.x + 100, box.y + box.height - 6);
	equal(await text(page, '#details b'), 'level1999', 'the last row');
});

// Accessibility rules, in the states that a person meets.
for (const [name, doc, colorScheme, prepare] of [
	['graph', 'shop.html', 'light'], ['graph, dark', 'shop.html', 'dark'],
	['functions', 'many.html', 'light', async page => {
		await page.keyboard.press('l');
	}], ['functions, dark', 'many.html', 'dark', async page => { await page.keyboard.press('l'); }],
	['tree', 'shop.html', 'light', async page => {
		await page.keyboard.press('l');
		await page.getByRole('button', {name: 'Tree'}).click();
	}],
	['threads', 'shop.html', 'light', async page => {
		await page.keyboard.press('t');
	}], ['view menu', 'shop.html', 'light', async page => { await page.locator('#view').click(); }],
	['frame menu', 'shop.html', 'light', async page => { await choose(page, 'work'); await page.keyboard.press('m'); }],
	['search and sandwich', 'shop.html', 'light', async page => {
		await choose(page, 'work');
		await page.keyboard.press('s');
	}],
	['difference', 'diff.html', 'light'], ['help', 'shop.html', 'dark', async page => {
		await page.keyboard.press('?');
	}],
]) await check('axe: ' + name.replace(/:/g, ''), doc, {colorScheme}, async page => {
	if (prepare) await prepare(page);
	await page.mouse.move(5, 5);
	await page.evaluate(axe);
	const found = await page.evaluate(async () =>
		(await axe.run()).violations.map(v =>
		`${v.id} (${v.nodes.map(n => n.html.slice(0, 120)).slice(0, 3).join(' | ')})`));
	equal(found.join('; '), '', 'violations');
});
await check('axe: static page', 'shop-static.html', {ready: false}, async page => {
	await page.evaluate(axe);
	equal((await page.evaluate(async () => (await axe.run()).violations.map(v => v.id + ' ' + v.nodes[0].html.slice(0,
		150)))).join('; '), '', 'violations');
});

// The picture.
await check('svg: zoom, Back, search, reverse, reset', 'shop.svg', {}, async page => {
	const frame = name => page.locator('#rows g', {has: page.locator(`text="${name}"`)}).first();
	await page.locator('#rows g', {hasText: /^main/}).first().click();
	holds((await text(page, '#details')).includes('100.00 % of view'), `details are ${await text(page, '#details')}`);
	await page.goBack();
	equal(await hash(page), '', 'address after Back');
	await page.keyboard.press('/');
	await page.keyboard.type('hash');
	equal(await text(page, '#share'), share(want.hash, want.total) + ' of all', 'share');
	await page.keyboard.press('Escape');
	await page.evaluate(() => document.activeElement?.blur());
	await page.keyboard.press('r');
	holds((await page.locator('#rows g > title').allTextContents()).some(t =>
		t.startsWith(`hash (hash.c:7): ${want.hashSelf},`)), 'hash is not at the root when reversed');
	await page.getByRole('button', {name: 'Everything as at first'}).click();
	holds((await page.locator('#rows g > title').allTextContents()).some(t => t.startsWith('all: ' + want.total)),
		'reset shows no root');
});

// Times: limits are three times the goals, more where this machine is slower or busier than
// the one they were set on. The yardstick took 21 ms there.
const goals = {10000: [200, 30, 20], 100000: [400, 50, 30], 1000000: [600, 50, 50]};
const yardstick = page => page.evaluate(() => {
	const times = [];
	for (let k = 0; k < 5; k++) {
		const a = new Float64Array(4e6), t = performance.now();
		for (let i = 1; i < a.length; i++) a[i] = a[i - 1] * 0.5 + i;
		times.push(performance.now() - t);
	}
	return times.sort((a, b) => a - b)[2];
});
for (const n of want.sizes) for (const form of ['html', 'svg']) await check(`times of ${n} lines, ${form}`,
	`lines-${n}.${form}`, {}, async page => {
	const slow = Math.max(1, await yardstick(page) / 21),
		opened = Number(await page.evaluate(() => document.documentElement.getAttribute('data-ready')));
	const median = list => [...list].sort((a, b) => a - b)[list.length >> 1], clicks = [], searches = [];
	for (let k = 0; k < 5; k++) {
		if (form === 'html') {
			await page.keyboard.press('0');
			for (let i = 0; i <= k; i++) await page.keyboard.press('ArrowDown');
		} else await page.keyboard.press('0');
		clicks.push(await page.evaluate(([form, k]) => {
			const before = location.hash, t = performance.now();
			if (form === 'html') document.body.dispatchEvent(new KeyboardEvent('keydown',
				{key: 'Enter', bubbles: true}));
			else document.querySelectorAll('#rows [data-i]')[3 + k].dispatchEvent(new MouseEvent('click',
				{bubbles: true}));
			if (location.hash === before) throw new Error('a click does not zoom');
			return performance.now() - t;
		}, [form, k]));
		searches.push(await page.evaluate(([form, k]) => {
			const q = document.querySelector(form === 'html' ? '#q' : 'input'), t = performance.now();
			q.value = 'handle_' + k;
			if (form === 'html') q.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}));
			else q.oninput();
			return performance.now() - t;
		}, [form, k]));
	}
	const [open, click, find] = goals[n].map(g => 3 * g * slow), times = [opened, median(clicks), median(searches)];
	console.log(`# ${n} lines, ${form}: open ${times[0].toFixed(0)} ms, click ${times[1].toFixed(1)} ms, ` +
		`search ${times[2].toFixed(1)} ms ` +
		`(machine ${slow.toFixed(1)} times as slow as the yardstick's)`);
	holds(times[0] < open && times[1] < click && times[2] < find,
		`open, click, search took ${times.map(t => t.toFixed(0))} ms, ` +
		`limits ${[open, click, find].map(t => t.toFixed(0))}`);
});

await browser.close();
server.close();
process.exit(failed ? 1 : 0);
