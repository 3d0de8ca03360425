// Details of one frame.
function lines(p, i) {
	const v = p.view, f = v.frame[i], all = whole(), inside = V.view.total[S.z] || 1, out = [];
	const put = (label, x) =>
		out.push([label, `${amount(x)} · ${percent(x, all)}${ofAll()}` +
		(inside !== all ? ` · ${percent(x, inside)} of view` : '')]);
	put('total' + (i || S.sand >= 0 ? '' : whose(head.types[S.type])), v.total[i]);
	if (!(S.rev || p.skip) || !i) put('self', v.self[i]);
	if (v.oldTotal) {
		const delta = v.total[i] - v.oldTotal[i], own = v.self[i] - v.old[i], sign = x => (x < 0 ? '−' : '+');
		out.push(['change',
			`${sign(delta)}${amount(Math.abs(delta))} (${pointsOf(v, i).replace('-', '−')}), ` +
			`self ${sign(own)}${amount(Math.abs(own))}`]);
	}
	return {name: nameOf(data, v, i), where: [sourceOf(frames, f), bases(frames.modules[frames.module[f]]),
		frames.kind[f] < THREAD && LABELS[frames.kind[f]]].filter(Boolean).join(' · '), out};
}
function describe(at) {
	const d = lines(...at);
	details.replaceChildren(el('b', {textContent: d.name, title: d.name}), ' ',
		el('span', {className: 'where', textContent: d.where}),
		...d.out.flatMap(([k, v]) => [' ', el('span', {className: 'value'}, el('i', {textContent: k + ' '}), v)]));
	return d;
}
const say = text => { spoken.textContent = text; };
function select(at, quiet) {
	picked = at;
	const d = describe(at);
	if (!quiet) say(`${d.name}, ${d.out.map(o => o.join(' ')).join(', ')}`);
	reveal(at);
	draw();
	if (S.table === 'source') fillDrawer();
}
function reveal([p, i]) {
	const y = yOf(p, p.view.depth[i] - p.skip);
	if (y < graph.scrollTop) graph.scrollTop = y;
	else if (y + ROW > graph.scrollTop + graph.clientHeight) graph.scrollTop = y + ROW - graph.clientHeight;
}
// under finds what lies below the mouse: pane, node, and behind the last node of a strip of frames too narrow to draw,
// whose first node is -1-node.
function under(e) {
	const box = graph.getBoundingClientRect(), x = e.clientX - box.left, y = e.clientY - box.top + graph.scrollTop;
	if (x > graph.clientWidth) return null;
	for (const p of panes) {
		const d = Math.floor(p.grows ? (p.top + p.height - y) / ROW : (y - p.top) / ROW), r = p.rows[d];
		if (!r) continue;
		let lo = 0, hi = r.length / 4;
		while (lo < hi) { const m = lo + hi >> 1; if (r[4 * m + 1] <= x) lo = m + 1; else hi = m; }
		if (lo && x < r[4 * lo - 3] + r[4 * lo - 2]) return [p, r[4 * lo - 4], r[4 * lo - 1]];
	}
	return null;
}
const hit = e => { const at = under(e); return at && at[1] >= 0 ? at : null; };
// strip says what a strip of frames stands for.
function strip([{view}, first, last]) {
	let n = 0, sum = 0;
	for (let i = -1 - first; i < last; i = view.end[i]) if (view.total[i] > 0) { n++; sum += view.total[i]; }
	return {name: n === 1 ? '1 frame too narrow to draw' : `${N(n)} frames too narrow to draw`,
		where: 'zoom in to see more', out: [['total', `${amount(sum)} · ${percent(sum, whole())}${ofAll()}`]]};
}
function act([p, i]) {
	if (S.sand >= 0) {
		if (i && frames.kind[p.view.frame[i]] < THREAD && p.view.frame[i] !== S.sand) go({sand: p.view.frame[i]});
		return;
	}
	if (i !== S.z) { const at = [panes[0], i]; go({z: i}); select(at, true); }
}
