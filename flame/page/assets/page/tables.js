// Tables.
// sureness says how sure the change of a function is: sums of it are behind those of the whole.
const sureness = sums => ({points: pointsOf(sums, 1), error: errorOf(sums, 1)});
function hottest() {
	const key = viewKey + S.z;
	if (hottest.key === key) return hottest.rows;
	const v = V.flat, from = v === V.view ? S.z : 0, self = new Float64Array(frames.n),
		total = new Float64Array(frames.n), inside = new Uint32Array(frames.n), sOld = v.old && self.slice(),
		tOld = v.old && self.slice();
	for (let i = Math.max(from, 1); i < v.end[from]; i++) {
		const f = v.frame[i];
		self[f] += v.self[i];
		if (sOld) sOld[f] += v.old[i];
		// Nodes inside one of the same function are counted there.
		if (i >= inside[f]) { total[f] += v.total[i]; if (tOld) tOld[f] += v.oldTotal[i]; inside[f] = v.end[i]; }
	}
	const rows = [];
	for (let f = FIRST; f < frames.n; f++) if (frames.kind[f] < THREAD && (total[f] || tOld && tOld[f])) rows.push(
		{f, self: self[f], total: total[f], change: tOld ? total[f] - tOld[f] : 0, ...tOld &&
		sureness({grain: v.grain, total: [v.total[0], total[f]], oldTotal: [v.oldTotal[0], tOld[f]]})});
	rows.sort((a, b) => b.self - a.self || b.total - a.total);
	hottest.key = key;
	return hottest.rows = rows;
}
let order = 'self', shownRows = 100, about = -1;
function table(caption, rows, columns, all) {
	const t = el('table', {}, el('caption', {textContent: caption}),
		el('thead', {},
		el('tr', {}, ...columns.map(([k, label]) =>
		el('th', {scope: 'col', ariaSort: k === order ? 'descending' : 'none'},
		k ? button(label, 'Order by ' + label, () => {
		order = k;
		fillDrawer(true);
	}) : label)))));
	t.append(el('tbody', {},
		...rows.map(r =>
		el('tr', {}, ...columns.map(([k]) => k ?
		el('td', {className: 'n', textContent: (k === 'change' && r[k] > 0 ? '+' : '') + amount(r[k]),
		title: k === 'change' ? r.points : percent(r[k], all)}, k === 'change' ? el('i',
		{textContent: r.error >= 0 ? '± ' + amount(r.error) : ''}) : el('i', {textContent: percent(r[k], all)})) :
		el('td', {}, button(shorten(labels[r.f], 90), labels[r.f], () => go({sand: r.f, z: 0}),
			{className: 'name k' + frames.kind[r.f]}), el('i',
			{textContent: [sourceOf(frames, r.f), bases(frames.modules[frames.module[r.f]])].filter(Boolean).join(
			' · ')})))))));
	return t;
}
function neighbours(f) {
	const v = V.flat, up = new Map(), down = new Map(), inside = new Map(), add = (m, k, i) => {
		const r = m.get(k) || {f: k, total: 0};
		r.total += v.total[i];
		m.set(k, r);
	};
	let within = 0;
	for (let i = 1; i < v.n; i++) {
		if (v.frame[i] === f && i >= within) { within = v.end[i]; if (v.parent[i]) add(up, v.frame[v.parent[i]], i); }
		const p = v.parent[i], k = v.frame[i];
		if (p && v.frame[p] === f && k !== f && i >= (inside.get(k) || 0)) { inside.set(k, v.end[i]); add(down, k, i); }
	}
	return [up, down].map(m => [...m.values()].filter(r => r.total).sort((a, b) => b.total - a.total).slice(0, 50));
}
// subject is the function that tables are about: the one chosen last, -1 for none.
function subject() {
	const f = S.sand >= 0 ? S.sand : picked ? picked[0].view.frame[picked[1]] : S.z ? V.view.frame[S.z] : -1;
	if (f >= FIRST && frames.kind[f] < THREAD) about = f;
	return about;
}
// sourceOfFunction shows the lines of a function that were seen, with what the stacks through each got.
function sourceOfFunction(f) {
	if (f < 0) return [el('p', {textContent: 'Choose a function first.'})];
	const {files, functions} = data.sources, out = [el('h2', {textContent: labels[f]})], type = head.types[S.type];
	for (const fn of functions.filter(x => x.frame === f)) {
		const file = files[fn.file], seen = new Map(fn.lines.map(l => [l.n, (S.wait ? l.all : l.ran)[S.type]])),
			near = new Set(fn.lines.flatMap(l => [-2, -1, 0, 1, 2].map(d => l.n + d)));
		const numbers = [...near].filter(n => n in file.lines).sort((a, b) => a - b),
			of = type.total - (S.wait ? 0 : type.waiting || 0);
		const row = (n, k) => el('tr', {className: k && numbers[k - 1] !== n - 1 ? 'gap' : ''},
			el('td', {className: 'n', textContent: seen.get(n) ? percent(seen.get(n), of) : ''}),
			el('td', {className: 'n', textContent: n}), el('td', {}, el('code', {textContent: file.lines[n]})));
		out.push(el('table', {className: 'source'},
			el('caption',
			{textContent: file.name + (file.newer ? ': changed after the program was built, lines may be off' : '') +
			`. Shares are of ${quantity(of, type.unit)}, whatever is chosen above.`}), el('tbody', {},
			...numbers.map(row))));
	}
	if (out.length === 1) out.push(el('p', {textContent: 'The page has no source lines of it.'}));
	return out;
}
function fillDrawer(again) {
	const key = [viewKey, S.z, S.q, S.table, shownRows, order, S.theme, S.table === 'source' && subject()].join('\n');
	drawer.hidden = !S.table;
	if (!S.table || key === fillDrawer.key && !again) return;
	fillDrawer.key = key;
	const tab = (k, text) => {
		const b = button(text, text, () => go({table: k}, true));
		b.ariaPressed = String(S.table === k);
		return b;
	};
	const content = el('div', {id: 'sheet', tabIndex: 0, role: 'group', ariaLabel: 'Table'}), all = V.flat.total[0];
	drawer.replaceChildren(el('div', {className: 'group'}, tab('top', 'Functions'), tab('near', 'Callers, callees'),
		tab('tree', 'Tree'), ...(data.sources ? [tab('source', 'Source')] : []),
		button('✕', 'Close the tables', () => go({table: ''}, true))), content);
	if (S.table === 'near') {
		if (subject() < 0) { content.append(el('p', {textContent: 'Choose a function first.'})); return; }
		const [up, down] = neighbours(about);
		content.append(el('h2', {textContent: labels[about]}),
			el('div', {className: 'two'}, table('Callers', up, [['total', 'Total'], ['', 'Function']], all),
			table('Callees', down, [['total', 'Total'], ['', 'Function']], all)));
	} else if (S.table === 'tree') content.append(treeView());
	else if (S.table === 'source') content.append(...sourceOfFunction(subject()));
	else {
		let rows = hottest();
		if (found) rows = rows.filter(r => found[0].hit[r.f]);
		rows = [...rows].sort((a, b) => Math.abs(b[order]) - Math.abs(a[order]));
		const columns = [['self', 'Self'], ['total', 'Total'], ...(head.diff ? [['change', 'Change']] : []),
			['', 'Function']];
		content.append(
			table(`${N(rows.length)} function${rows.length === 1 ? '' : 's'}${S.z ? ' in this view' : ''}, ` +
			`of ${amount(all)}${whose(head.types[S.type])}`, rows.slice(0, shownRows), columns, all));
		if (rows.length > shownRows) content.append(button(`${N(rows.length - shownRows)} more`, 'Show more functions',
			() => {
			shownRows += 400;
			fillDrawer();
		}));
	}
}
