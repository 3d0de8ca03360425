// State: what the address keeps.
const list = s => s ? s.split('\n') : [];
// A function by what a table calls it, else by its bare name.
const functionOf = label => label === null ? -1 : Math.max(labels.indexOf(label), labels.includes(label) ? -1 :
	names.indexOf(label));
function read() {
	const p = new URLSearchParams(location.hash.slice(1)), n = (k, d) => {
		const v = parseFloat(p.get(k));
		return v >= 0 ? v : d;
	}, yes = (k, d) => p.has(k) ? p.get(k) === '1' : d;
	S = {...defaults, z: n('z', 0) >>> 0, q: p.get('q') || '',
		type: Math.min(n('type', head.type), head.types.length - 1) | 0, threads: p.has('t') ?
		new Set(p.get('t').split('.').filter(Boolean).map(Number)) : null,
		wait: yes('wait', defaults.wait), fold: native ? yes('fold', defaults.fold) : false,
		flip: yes('flip', null), rev: yes('rev', false),
			sand: functionOf(p.get('sand')), hide: list(p.get('hide')), focus: list(p.get('focus')),
			ignore: list(p.get('ignore')), rec: yes('rec', false), size: yes('size', false),
		theme: p.get('theme') || '', chart: n('chart', -1) | 0, range: p.has('from') ? [n('from', 0), n('to', 0)] :
			null, lanes: yes('lanes', true), table: p.get('table') || ''};
	if (!runs.task.length) { S.chart = -1; S.range = null; }
}
function write(push) {
	const p = new URLSearchParams(), set = (k, v, d) => {
		if (v !== d) p.set(k, v === true ? 1 : v === false ? 0 : v);
	};
	for (const k of ['z', 'q', 'type', 'wait', 'fold', 'flip', 'rev', 'rec', 'size', 'theme', 'chart', 'lanes',
		'table']) set(k,
		S[k], defaults[k]);
	if (S.threads) p.set('t', [...S.threads].join('.'));
	if (S.sand >= 0) p.set('sand', labels[S.sand]);
	for (const k of ['hide', 'focus', 'ignore']) if (S[k].length) p.set(k, S[k].join('\n'));
	if (S.range) { p.set('from', S.range[0]); p.set('to', S.range[1]); }
	// Where the address cannot be set (a sandboxed frame), the page works without.
	try { history[push ? 'pushState' : 'replaceState'](null, '', '#' + p); } catch {}
}
function go(change, replace) {
	S = {...S, ...change};
	write(!replace);
	render();
}
const restore = () => { read(); input.value = S.q; picked = hovered = null; render(); };
addEventListener('popstate', restore);
