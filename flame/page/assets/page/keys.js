// Keys.
function move(key) {
	const p = picked && panes.includes(picked[0]) ? picked[0] : panes[panes.length - 1], v = p.view;
	let i = picked ? picked[1] : S.z;
	const wide = c => v.total[c] > 0, outward = p.grows ? 'ArrowUp' : 'ArrowDown';
	if (key === outward) {
		let best = -1;
		for (let c = i + 1; c < v.end[i]; c = v.end[c]) {
			if (wide(c) && (best < 0 || v.total[c] > v.total[best])) best = c;
		}
		if (best > 0) i = best;
	} else if (key === 'ArrowUp' || key === 'ArrowDown') {
		if (i) i = v.parent[i]; else if (panes.length > 1) {
			const q = panes[p === panes[0] ? 1 : 0];
			return select([q, q === panes[0] && q.view.n > 1 ? 1 : 0]);
		}
	} else if (i) {
		let before = -1, after = -1;
		for (let c = v.parent[i] + 1; c < v.end[v.parent[i]]; c = v.end[c]) if (wide(c)) {
			if (c < i) before = c;
			else if (c > i && after < 0) after = c;
		}
		i = (key === 'ArrowLeft' ? before : after) < 0 ? i : key === 'ArrowLeft' ? before : after;
	}
	select([p, i]);
}
function back() {
	const open = closeAll();
	if (open) { open.focus(); return; }
	if (drawer.contains(document.activeElement)) { go({table: ''}, true); tables.focus(); return; }
	if (S.q && document.activeElement === input) { input.value = ''; go({q: ''}, true); graph.focus(); return; }
	if (S.z) go({z: V.view.parent[S.z]});
	else if (S.sand >= 0) go({sand: -1});
	else if (S.chart >= 0) go({chart: -1});
	else if (S.rev) go({rev: false});
	else if (S.range) go({range: null});
	else if (S.q) { input.value = ''; go({q: ''}, true); }
	else if (S.table) go({table: ''}, true);
}
const chosen = () => picked && picked[1] ? picked : hovered;
const keys = {
	'/': () => input.select(), n: () => step(1), N: () => step(-1),
		'0': () => go({...defaults, theme: S.theme, q: S.q, table: S.table, type: S.type}),
		i: () => go({flip: panes[panes.length - 1].grows}), r: () => go({rev: !S.rev, sand: -1, chart: -1, z: 0}),
	s: () => {
		const c = chosen(), f = c ? c[0].view.frame[c[1]] : V.view.frame[S.z];
		if (frames.kind[f] < THREAD) go({sand: f, z: 0});
	}, t: () => threads.hidden || toggle(threads), w: () => wait.hidden || wait.click(),
		v: () => fold.hidden || fold.click(),
		l: () => go({table: S.table ? '' : 'top'}),
	m: () => {
		const c = chosen();
		if (c) open(c, innerWidth / 3, innerHeight / 3);
	}, d: switchTheme, c: () => copyName(chosen() || [panes[panes.length - 1], S.z]), C: () => copyStack(chosen() ||
		[panes[panes.length - 1], S.z]), '?': () => help.showModal(), Backspace: back, Enter: () => {
		const c = chosen();
		if (c) act(c);
	},
};
addEventListener('keydown', e => {
	if (help.open || e.defaultPrevented) return;
	if ((e.ctrlKey || e.metaKey) && e.key === 'f' && document.activeElement !== input) {
		e.preventDefault();
		input.select();
		return;
	}
	if (e.key === 'Escape') { e.preventDefault(); back(); return; }
	if (e.target === input && e.key === 'Enter') {
		clearTimeout(typing);
		if (S.q !== input.value) go({q: input.value}, true);
		step(e.shiftKey ? -1 : 1);
		return;
	}
	if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
	const focused = e.target.tagName === 'BUTTON';
	if (!menu.hidden && focused && /^Arrow(Up|Down)$/.test(e.key)) {
		e.preventDefault();
		const b = [...menu.querySelectorAll('button')];
		b[(b.indexOf(e.target) + (e.key === 'ArrowDown' ? 1 : b.length - 1)) % b.length].focus();
		return;
	}
	if (focused && (e.key === 'Enter' || e.key === ' ') || e.target.closest('#sheet') &&
		/^(Arrow|Enter)/.test(e.key)) return;
	if (e.key.startsWith('Arrow')) { e.preventDefault(); move(e.key); return; }
	const run = keys[e.key];
	if (run) { e.preventDefault(); run(); }
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', render);
// On paper the graph is as tall as it is.
addEventListener('beforeprint', () => {
	graph.style.flex = 'none';
	graph.style.height = Math.min(8000, Math.max(200, panes.reduce((h, p) => h + p.height, 0))) + 'px';
	laid = '';
	place();
	draw();
});
addEventListener('afterprint', () => { graph.style.flex = graph.style.height = ''; laid = ''; place(); draw(); });
restore();
root.dataset.ready = Math.round(performance.now());
