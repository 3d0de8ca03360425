// What follows from a change of state.
function render() {
	const key = JSON.stringify([S.type, S.threads && [...S.threads], S.wait, S.fold, S.rev, S.sand, S.hide, S.focus,
		S.ignore, S.rec, S.size, S.chart, S.range]);
	if (key !== viewKey) {
		viewKey = key;
		V = S.chart >= 0 ? chartOf(S.chart) : compute();
		panes = V.up ? [{view: V.up, up: true, skip: 1}, {view: V.view, up: false, skip: 0}] :
			[{view: V.view, up: null, skip: 0}];
		searchKey = laid = ''; picked = hovered = null;
	}
	if (S.z >= V.view.n || S.sand >= 0) S.z = 0;
	const dark = S.theme ? S.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
	theme = PALETTE[root.dataset.theme = dark ? 'dark' : 'light'];
	KINDS.forEach((k, i) => root.style.setProperty('--k' + i, theme.kinds[k][3]));
	theme.more.forEach((c, i) => {
		root.style.setProperty('--m' + i, c);
		root.style.setProperty('--l' + i, theme.less[i]);
	});
	root.style.setProperty('--e', theme.equal);
	find();
	controls();
	place();
	draw();
	drawTime();
	fillDrawer();
	describe(picked || hovered || [panes[panes.length - 1], S.z]);
}

function controls() {
	head.types.forEach((t, i) => { const b = types.children[i]; b.ariaPressed = String(i === S.type); });
	const of = S.type + ' ' + (S.threads && [...S.threads]);
	if (controls.key !== of) { controls.key = of; [controls.waiting, controls.all] = waitingShare(); }
	wait.hidden = !controls.waiting;
	wait.textContent = `${S.wait ? 'Hide' : 'Show'} waits (${roughly(controls.waiting, controls.all)})`;
	fold.textContent = (S.fold ? 'Show' : 'Hide') + ' native frames';
	wait.title = `${amount(controls.waiting)} of ${amount(controls.all)} (w)`;
	threads.textContent = 'Threads' + (S.threads ? ` ${S.threads.size}/${head.tasks.length}` : '');
	threads.hidden = head.tasks.length < 2;
	chips.replaceChildren();
	const chip = (text, change) => chips.append(
		button(text + ' ✕', 'Take away: ' + text, () => go({...change, z: 0})));
	for (const k of ['focus', 'ignore', 'hide']) for (const v of S[k]) chip(`${k} ${shorten(v, 40)}`,
		{[k]: S[k].filter(x => x !== v)});
	if (S.sand >= 0) chip('sandwich ' + shorten(labels[S.sand], 40), {sand: -1});
	if (S.rev) chip('reversed', {rev: false});
	if (S.rec) chip('recursion collapsed', {rec: false});
	if (S.chart >= 0) chip('in order of time: ' + taskName(S.chart), {chart: -1});
	if (S.range) chip(`${(S.range[0] / 1000).toFixed(2)}–${(S.range[1] / 1000).toFixed(2)} s`, {range: null});
	legendOf();
	if (head.diff) gone();
	if (notes.length) chips.append(button('⚠ ' + notes[0] +
		(notes.length > 1 ? ` (and ${notes.length - 1} more)` : ''),
		'Notes: ' + notes.join('. '), () => help.showModal(), {className: 'note'}));
}
// waitingShare sums what waits of the threads that are chosen, and all that they have.
function waitingShare() {
	let sum = 0, all = 0;
	for (const l of data.lists) if (!l.old && pick(l.task)) for (let i = 0; i < l.nodes.length; i++) {
		const v = l.values[S.type][i];
		all += v;
		if (frames.waits[data.tree.frame[l.nodes[i]]]) sum += v;
	}
	return [sum, all];
}
// gone shows what only the older side has: it has no width in the graph.
function gone() {
	const v = V.flat, lost = v.oldTotal ? lostOf(v) : [];
	if (!lost.length) return;
	chips.append(el('span', {textContent: `gone (${N(lost.length)}):`}));
	for (const i of lost.slice(0, 8)) chips.append(
		button(`${shorten(nameOf(data, v, i), 30)} −${percent(v.oldTotal[i], v.total[0] || v.oldTotal[0])}`,
		'Show it in the details', () => describe([{view: v}, i]), {className: 'gone'}));
}
