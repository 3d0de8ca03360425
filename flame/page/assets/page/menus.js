// Menus of the bar.
// closeAll closes what is open of them, and returns what has the focus next, null if none was open.
const closeAll = () => {
	const from = menu.hidden ? [threads, views].find(b => !b.pop.hidden) || null : graph;
	for (const b of [threads, views]) { b.pop.hidden = true; b.ariaExpanded = 'false'; }
	menu.hidden = true;
	return from;
};
function toggle(b) {
	const show = b.pop.hidden;
	closeAll();
	if (!show) return;
	b === threads ? fillThreads() : fillViews();
	b.pop.hidden = false; b.ariaExpanded = 'true';
	const r = b.getBoundingClientRect();
	b.pop.style.top = r.bottom + 4 + 'px';
	b.pop.style.left = Math.max(4, Math.min(r.left, innerWidth - b.pop.offsetWidth - 4)) + 'px';
	(b.pop.querySelector('input') || b.pop.querySelector('button')).focus();
}
addEventListener('pointerdown', e => { if (!e.target.closest('.pop,#threads,#view')) closeAll(); });
const join = (name, id) => [name, id].filter(Boolean).join(' ');
const taskName = k => {
	const t = head.tasks[k];
	return t ? join(t.thread, t.tid) || join(t.process, t.pid) || 'thread' : 'no thread';
};
// threadSums says what each thread has of what is shown, were all threads chosen.
function threadSums() {
	const sums = new Map(), out = left(), {frame} = data.tree, add = (task, i, v) => {
		if (v && !(out && out[i])) sums.set(task, (sums.get(task) || 0) + v);
		else if (!sums.has(task)) sums.set(task, 0);
	};
	if (S.range) eachInRange((k, w) => add(runs.task[k], runs.node[k], w));
	else for (const l of data.lists) if (!l.old) l.nodes.forEach((i, k) =>
		add(l.task, i, S.wait || !frames.waits[frame[i]] ? l.values[S.type][k] : 0));
	return sums;
}
// shownOf says what shares of threads are of.
const shownOf = all => `Shares are of ${amount(all)}: all threads` + (S.wait ? '' : ', waiting folded away') +
	(S.focus.length || S.ignore.length ? ', focus and ignore heeded' : '') + (S.range ? ', in the range chosen' : '');
function fillThreads() {
	const sums = threadSums(), groups = new Map(), all = [...sums.values()].reduce((a, b) => a + b, 0),
		box = el('div', {className: 'list'});
	head.tasks.forEach((t, k) => {
		const g = join(t.process, t.pid);
		groups.has(g) || groups.set(g, []);
		groups.get(g).push(k);
	});
	if (sums.has(-1)) groups.set('', [...(groups.get('') || []), -1]);
	const every = [...groups.values()].flat(), rows = [];
	const set = (list, on) => {
		const s = new Set(S.threads || every);
		for (const k of list) on ? s.add(k) : s.delete(k);
		go({threads: s.size === every.length ? null : s, z: 0});
		sync();
	};
	const check = (text, list, cls) => {
		const c = el('input', {type: 'checkbox'}), sum = list.reduce((a, k) => a + (sums.get(k) || 0), 0);
		c.onchange = () => set(list, c.checked);
		const r = el('div', {className: cls}, el('label', {}, c, el('span', {textContent: text}),
			el('em', {textContent: percent(sum, all)})), button('only', 'Only ' + text, () => {
			go({threads: new Set(list), z: 0});
			sync();
		}));
		r.list = list; r.c = c; r.text = text.toLowerCase();
		rows.push(r); box.append(r);
	};
	const sync = () => {
		for (const r of rows) {
			const on = r.list.filter(pick).length;
			r.c.checked = on === r.list.length;
			r.c.indeterminate = on > 0 && on < r.list.length;
		}
	};
	for (const [g, ks] of groups) {
		if (g && groups.size > 1 || g && ks.length > 1) check(g, ks, 'process');
		ks.sort((a, b) => (sums.get(b) || 0) - (sums.get(a) || 0));
		for (const k of ks) check(taskName(k), [k], 'thread');
	}
	const filter = el('input', {type: 'search', placeholder: 'filter', ariaLabel: 'Filter threads', oninput: () => {
		for (const r of rows) r.hidden = !r.text.includes(filter.value.toLowerCase());
	}});
	threads.pop.replaceChildren(el('div', {}, filter, button('all', 'All threads', () => {
		go({threads: null, z: 0});
		sync();
	}), button('none', 'No thread', () => {
		go({threads: new Set(), z: 0});
		sync();
	})), el('div', {className: 'of', textContent: shownOf(all)}), box);
	sync();
}
function fillViews() {
	const item = (text, on, change) => {
		const b = button((on ? '✓ ' : '') + text, text, () => { closeAll(); go(change); });
		b.ariaPressed = String(!!on);
		return b;
	};
	const chart = runs.task.length ? [...new Set(runs.task)].filter(pick).slice(0, 40).map(
		k => item('Time order: ' + taskName(k), S.chart === k, {chart: S.chart === k ? -1 : k, z: 0, sand: -1,
		rev: false})) : [];
	views.pop.replaceChildren(item('Root at the top (i)', !panes[panes.length - 1].grows,
		{flip: panes[panes.length - 1].grows}), item('Reversed: innermost first (r)', S.rev,
		{rev: !S.rev, sand: -1, chart: -1, z: 0}), item('Largest first', S.size, {size: !S.size, z: 0}),
		item('Collapse recursion', S.rec, {rec: !S.rec, z: 0}),
		...(allLanes.length > 1 ? [item('Lanes of threads', S.lanes, {lanes: !S.lanes})] : []),
		item('Everything as at first', false, {...defaults, theme: S.theme}), ...chart);
}
function switchTheme() { go({theme: root.dataset.theme === 'dark' ? 'light' : 'dark'}, true); }
// legendOf fills the line that explains the colours, in sight and in the help.
function legendOf() {
	const mark = colours => el('span', {className: 'marks'}, ...colours.map(c => el('i', {className: c})));
	const parts = () =>
		(head.diff ? [mark(['m0', 'm1', 'm2', 'm3', 'm4']), 'more ', mark(['l0', 'l1', 'l2', 'l3', 'l4']), 'less ',
		mark(['e']), head.types[S.type].equal] : head.kinds.flatMap(k => [mark(['f' + k]), LABELS[k] + ' ']));
	colours.replaceChildren(...parts());
	legend.replaceChildren(...parts(), head.diff ? ', ' + STRENGTHS + '.' :
		'. Lighter and darker shades only tell names apart.');
}
