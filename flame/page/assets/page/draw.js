// The drawing.
function place() {
	const width = graph.clientWidth, key = [viewKey, S.z, width, graph.clientHeight, S.flip].join();
	if (key === laid) return;
	laid = key;
	hovered = null;
	let height = 0;
	for (const p of panes) {
		p.rows = layout(p.view, p.skip ? 0 : S.z, width).slice(p.skip);
		p.height = p.rows.length * ROW;
		height += p.height;
	}
	const tall = height > graph.clientHeight, top = tall ? 0 : panes.length > 1 ?
		Math.max(0, Math.min(graph.clientHeight / 2 - panes[0].height, graph.clientHeight - height)) : 0;
	spacer.style.height = Math.max(height, graph.clientHeight) + 'px';
	let y = top;
	for (const p of panes) {
		p.grows = p.up ?? !(S.flip ?? (head.inverted || tall || S.rev || S.chart >= 0));
		p.top = p.up === null && p.grows ? Math.max(height, graph.clientHeight) - height : y;
		y += p.height;
	}
	if (scrolled !== viewKey + S.flip) {
		scrolled = viewKey + S.flip;
		graph.scrollTop = panes.length > 1 ? panes[0].height - graph.clientHeight / 2 : panes[0].grows ? 1e9 : 0;
	}
}
const yOf = (p, d) => p.grows ? p.top + p.height - (d + 1) * ROW : p.top + d * ROW;
let letter = 0;
function draw() {
	const ratio = devicePixelRatio || 1, W = graph.clientWidth, H = graph.clientHeight, c = canvas.getContext('2d'),
		scroll = graph.scrollTop;
	if (canvas.width !== Math.round(W * ratio) || canvas.height !== Math.round(H * ratio)) {
		canvas.width = Math.round(W * ratio);
		canvas.height = Math.round(H * ratio);
		canvas.style.width = W + 'px';
		canvas.style.height = H + 'px';
	}
	c.setTransform(ratio, 0, 0, ratio, 0, 0);
	c.fillStyle = theme.paper;
	c.fillRect(0, 0, W, H);
	c.font = '12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace';
	c.textBaseline = 'middle';
	letter = letter || c.measureText('m'.repeat(50)).width / 50;
	panes.forEach((p, k) => {
		const from = p.grows ? p.top + p.height - scroll : scroll - p.top,
			first = Math.max(0, p.grows ? Math.floor((from - H) / ROW) : Math.floor(from / ROW)),
			last = Math.min(p.rows.length, p.grows ? Math.ceil(from / ROW) + 1 : Math.ceil((from + H) / ROW) + 1);
		for (let d = first; d < last; d++) row(c, p, d, yOf(p, d) - scroll, found && found[k]);
	});
	canvas.ariaLabel =
		`Flame graph of ${head.title}: ${N(V.view.n - 1)} frames, ${amount(V.view.total[0])}. ` +
		`The widest: ${widest().join(', ')}. The tables hold the same data.`;
}
function row(c, p, d, y, hits) {
	const r = p.rows[d], {view} = p, above = S.z ? view.depth[S.z] : 0;
	for (let k = 0; k < r.length; k += 4) {
		const i = r[k], x = r[k + 1], w = Math.max(0.5, r[k + 2] - (r[k + 2] > 2 ? 0.6 : 0));
		if (i < 0) {
			c.fillStyle = hits && hits.before[r[k + 3]] > hits.before[-1 - i] ? theme.hit : theme.kinds.smaller[0];
			c.fillRect(x, y, w, ROW - 1);
			continue;
		}
		const hit = hits && hits.hit[view.frame[i]], chosen = picked && picked[0] === p && picked[1] === i;
		c.fillStyle = hit ? theme.hit : fillOf(data, theme, view, i);
		if (hits && !hit || !p.skip && d < above) c.globalAlpha = hits && !hit ? 0.4 : 0.55;
		c.fillRect(x, y, w, ROW - 1);
		c.globalAlpha = 1;
		if (hit && w > 3 || chosen || hovered && hovered[0] === p && hovered[1] === i) {
			c.strokeStyle = theme.text;
			c.lineWidth = chosen ? 2 : 1;
			c.strokeRect(x + 1, y + 1, Math.max(1, w - 2), ROW - 3);
		}
		if (w < 3 * letter) continue;
		const text = shorten(nameOf(data, view, i), (w - 6) / letter | 0);
		if (text) { c.fillStyle = hit ? theme.hitText : theme.text; c.fillText(text, x + 3, y + ROW / 2); }
	}
}
const widest = () => hottest().slice(0, 3).map(r => `${shorten(labels[r.f], 60)} ${percent(r.self, V.view.total[0])}`);
