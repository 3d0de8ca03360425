const el = (tag, props, ...kids) => {
	const e = document.createElement(tag);
	for (const [k, v] of Object.entries(props || {})) k in e ? e[k] = v : e.setAttribute(k, v);
	e.append(...kids);
	return e;
};

function start(data) {
	block('static').remove();
	const {head, frames, runs} = data, names = frames.names, N = v => v.toLocaleString('en');
	const defaults = {z: 0, q: '', type: head.type, threads: null, wait: true, flip: null, rev: false, sand: -1, hide: [], focus: [], ignore: [], rec: false, size: false, theme: '', chart: -1, range: null, table: ''};
	let S = {...defaults}, V, panes = [], found = null, picked = null, hovered = null, theme = PALETTE.light, shareText = null, viewKey = '', searchKey = '', laid = '', scrolled = '';

	// The document.
	const button = (text, label, onclick, props) => el('button', {type: 'button', textContent: text, title: label, ariaLabel: label, onclick, ...props});
	const input = el('input', {type: 'search', id: 'q', placeholder: 'search (regex, file:, module:)', ariaLabel: 'Search functions', spellcheck: false, autocomplete: 'off'});
	const share = el('output', {id: 'share', htmlFor: 'q'}), finds = el('span', {id: 'finds', hidden: true}, share, button('‹', 'Previous match (N)', () => step(-1)), button('›', 'Next match (n)', () => step(1)));
	const types = el('div', {className: 'group', role: 'group', ariaLabel: 'Value'}, ...head.types.map((t, i) => button(t.title, 'Show ' + t.title, () => go({type: i, z: 0}), {id: 'type' + i})));
	const wait = button('', 'Show or hide stacks that wait in the kernel (w)', () => go({wait: !S.wait, z: 0}), {id: 'wait'});
	const popup = (id, label, title) => { const b = button(label, title, () => toggle(b)); b.id = id; b.setAttribute('aria-haspopup', 'true'); b.ariaExpanded = 'false'; b.pop = el('div', {className: 'pop', id: id + '-menu', hidden: true, role: 'group', ariaLabel: label}); return b; };
	const threads = popup('threads', 'Threads', 'Choose threads (t)'), views = popup('view', 'View', 'Ways to look at it');
	const bar = el('div', {id: 'bar'}, el('h1', {textContent: head.title, title: head.command || head.title}), head.types.length > 1 ? types : '', wait,
		el('div', {id: 'search'}, input, finds), threads, views, button('☰', 'Tables (l)', () => go({table: S.table ? '' : 'top'}), {id: 'tables'}), button('◐', 'Theme (d)', () => switchTheme(), {id: 'theme'}), button('?', 'Keys and help (?)', () => help.showModal(), {id: 'help'}));
	const details = el('div', {id: 'details'}), chips = el('div', {id: 'chips'}), told = el('div', {id: 'told', className: 'hidden', role: 'status'});
	const canvas = el('canvas', {id: 'canvas', role: 'img'}), spacer = el('div'), graph = el('div', {id: 'graph', tabIndex: 0, role: 'group', ariaLabel: 'Flame graph'}, canvas, spacer);
	const time = el('canvas', {id: 'time', role: 'img', ariaLabel: 'Activity over time: drag to choose a range', hidden: !runs.task.length});
	const drawer = el('section', {id: 'drawer', hidden: true, ariaLabel: 'Tables'}), tip = el('div', {id: 'tip', hidden: true, ariaHidden: 'true'}), menu = el('div', {id: 'menu', className: 'pop', role: 'menu', hidden: true});
	const KEYS = [['/ or Ctrl-F', 'search (twice: the browser’s own)'], ['Enter, n / Shift-Enter, N', 'next, previous match'], ['arrows', 'move'], ['Enter', 'zoom in'], ['Esc, Backspace', 'back'], ['0', 'everything'], ['i', 'flip (root at the top or the bottom)'], ['r', 'reverse (callers above the innermost)'], ['s', 'sandwich: callers and callees of the chosen function'], ['t', 'threads'], ['w', 'show or hide waiting'], ['l', 'tables'], ['m', 'menu of the chosen frame'], ['d', 'theme'], ['c, C', 'copy name, stack'], ['?', 'this help']];
	const facts = [head.command && 'Command: ' + head.command, head.start && 'Recorded: ' + head.start + (head.duration ? ', ' + head.duration.toFixed(1) + ' s' : ''), head.period && 'Every ' + (head.period * 1000).toFixed(1) + ' ms', N(head.nodes - 1) + ' frames of ' + N(head.frames - 3) + ' functions',
		head.smaller && N(head.smaller) + ' frames too small to be kept are drawn as grey “(n smaller)” frames', ...(head.comments || [])].filter(Boolean);
	const legend = el('p', {id: 'legend'}), help = el('dialog', {id: 'about', ariaLabel: 'Help'}, el('h2', {textContent: head.title}), ...facts.map(t => el('p', {textContent: t})), legend,
		el('table', {}, ...KEYS.map(([k, t]) => el('tr', {}, el('th', {textContent: k, scope: 'row'}), el('td', {textContent: t})))),
		el('p', {textContent: 'Click zooms; a click on a caller, Back or Esc goes out again. Right click or a long press opens a menu. The address keeps the view: it can be mailed with the file.'}), button('Close', 'Close', () => help.close()));
	document.body.append(el('header', {}, bar, threads.pop, views.pop, details, chips), el('main', {}, time, graph, menu), drawer, told, tip, help);
	const notes = facts.slice(facts.length - (head.comments || []).length - (head.smaller ? 1 : 0));

	// State: what the address keeps.
	const list = s => s ? s.split('\n') : [];
	function read() {
		const p = new URLSearchParams(location.hash.slice(1)), n = (k, d) => { const v = parseFloat(p.get(k)); return v >= 0 ? v : d; }, yes = (k, d) => p.has(k) ? p.get(k) === '1' : d;
		S = {...defaults, z: n('z', 0) | 0, q: p.get('q') || '', type: Math.min(n('type', head.type), head.types.length - 1) | 0, threads: p.has('t') ? new Set(p.get('t').split('.').filter(Boolean).map(Number)) : null,
			wait: yes('wait', true), flip: yes('flip', null), rev: yes('rev', false), sand: names.indexOf(p.get('sand') ?? '\n'), hide: list(p.get('hide')), focus: list(p.get('focus')), ignore: list(p.get('ignore')), rec: yes('rec', false), size: yes('size', false),
			theme: p.get('theme') || '', chart: n('chart', -1) | 0, range: p.has('from') ? [n('from', 0), n('to', 0)] : null, table: p.get('table') || ''};
		if (!runs.task.length) { S.chart = -1; S.range = null; }
	}
	function write(push) {
		const p = new URLSearchParams(), set = (k, v, d) => { if (v !== d) p.set(k, v === true ? 1 : v === false ? 0 : v); };
		for (const k of ['z', 'q', 'type', 'wait', 'flip', 'rev', 'rec', 'size', 'theme', 'chart', 'table']) set(k, S[k], defaults[k]);
		if (S.threads) p.set('t', [...S.threads].join('.'));
		if (S.sand >= 0) p.set('sand', names[S.sand]);
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

	// The view: a call tree after all filters.
	const pick = t => !S.threads || S.threads.has(t);
	const named = list => {
		const of = new Uint8Array(frames.n), set = new Set(list);
		for (let f = 3; f < frames.n; f++) if (set.has(names[f]) || frames.module[f] && set.has('module:' + base(frames.modules[frames.module[f]]))) of[f] = 1;
		return of;
	};
	function compute() {
		const pool = S.range ? inRange() : selfs(data, S.type, pick, S.wait);
		let tree = data.tree, {self, old} = pool;
		const {n, parent, frame} = tree;
		for (const [name, want] of [...S.focus.map(f => [f, 1]), ...S.ignore.map(f => [f, 0])]) {
			const is = named([name]), has = new Uint8Array(n);
			for (let i = 1; i < n; i++) {
				has[i] = has[parent[i]] | is[frame[i]];
				if (has[i] !== want) { self[i] = 0; if (old) old[i] = 0; }
			}
			if (want) { self[0] = 0; if (old) old[0] = 0; }
		}
		if (S.hide.length || S.rec) {
			const gone = named(S.hide);
			({tree, self, old} = project(tree, self, old, 0, 0, i => gone[frame[i]] || S.rec && i && frame[parent[i]] === frame[i] ? -1 : frame[i]));
		}
		let view = finish(tree, self, old), flat = view, up = null;
		if (S.sand >= 0) {
			const at = outermost(view, f => f === S.sand), w = at.map(i => view.total[i]), o = old && at.map(i => view.oldTotal[i]);
			const callers = invert(tree, at, w, o, S.sand, true, 2e-4, 2e5);
			up = finish(callers.tree, callers.self, callers.old);
			const inside = new Uint8Array(tree.n);
			for (const i of at) inside.fill(1, i, tree.end[i]);
			const below = project(tree, self, old, 0, S.sand, i => { for (const k of [i]) return !inside[k] ? -1 : inside[tree.parent[k]] ? tree.frame[k] : -3; });
			// What lies outside went to the root.
			let own = 0, owned = 0;
			for (const i of at) { own += self[i]; if (old) owned += old[i]; }
			below.self[0] = own; if (old) below.old[0] = owned;
			view = finish(below.tree, below.self, below.old);
		} else if (S.rev) {
			const at = [], w = [], o = old && [];
			for (let i = 0; i < tree.n; i++) if (self[i] || old && old[i]) { at.push(i); w.push(self[i]); if (old) o.push(old[i]); }
			const r = invert(tree, at, w, o, 0, false, 2e-4, 2e5);
			view = finish(r.tree, r.self, r.old);
		}
		if (S.size) {
			const sorted = preorder(view.n, view.frame, view.parent, view.total), grey = view.grey;
			if (grey.size) sorted.from.forEach((i, k) => { if (grey.has(i)) sorted.grey.set(k, grey.get(i)); });
			view = finish(sorted, carry(sorted, view.self), carry(sorted, view.old));
			if (S.sand < 0 && !S.rev) flat = view;
		}
		return {view, up, flat};
	}
	function inRange() {
		const self = new Float64Array(data.tree.n), [from, to] = S.range.map(ms => ms * 1e6), cpu = head.types[S.type].title === 'cpu';
		for (let k = 0; k < runs.node.length; k++) {
			const w = Math.min(to, runs.to[k]) - Math.max(from, runs.from[k]);
			if (w > 0 && pick(runs.task[k]) && (S.wait && !cpu || !isWaiting(frames, data.tree.frame[runs.node[k]]))) self[runs.node[k]] += w;
		}
		return {self, old: null};
	}
	// chartOf lays the stacks of one thread out in the order of time.
	function chartOf(task) {
		const frame = new Grown(Uint32Array, 1024), parent = new Grown(Uint32Array, 1024), at = new Grown(Float64Array, 1024), width = [], self = [], depth = [0], end = [];
		const {tree} = data;
		frame.push(0); parent.push(0); at.push(0);
		let open = [0], last = 0;
		const close = d => { while (open.length > d) { const i = open.pop(); width[i] = last - at.a[i]; end[i] = frame.n; } };
		for (let k = 0; k < runs.node.length && frame.n < 4e6; k++) {
			if (runs.task[k] !== task || !S.wait && isWaiting(frames, tree.frame[runs.node[k]])) continue;
			const path = [];
			for (let i = runs.node[k]; i; i = tree.parent[i]) path.push(tree.frame[i]);
			path.reverse();
			let same = 0;
			if (runs.from[k] <= last) while (same < path.length && same + 1 < open.length && frame.a[open[same + 1]] === path[same]) same++;
			close(same + 1);
			for (; same < path.length; same++) { const i = frame.n; frame.push(path[same]); parent.push(open[same]); at.push(runs.from[k]); self[i] = 0; depth[i] = same + 1; open.push(i); }
			last = runs.to[k];
			self[open[open.length - 1]] += last - runs.from[k];
		}
		last = Math.max(last, runs.to.reduce((a, b) => Math.max(a, b), 0));
		close(1);
		width[0] = last; end[0] = frame.n; self[0] = 0;
		const view = {n: frame.n, frame: frame.get(), parent: parent.get(), end: Uint32Array.from(end), depth: Uint32Array.from(depth), grey: new Map(), self: Float64Array.from(self), old: null, total: Float64Array.from(width), oldTotal: null, start: at.get()};
		return {view, up: null, flat: view};
	}

	const unit = () => S.range || S.chart >= 0 ? 'nanoseconds' : head.types[S.type].unit;
	const whole = () => S.range || S.chart >= 0 ? V.view.total[0] : head.types[S.type].total;
	const amount = v => quantity(v, unit());

	function render() {
		const key = JSON.stringify([S.type, S.threads && [...S.threads], S.wait, S.rev, S.sand, S.hide, S.focus, S.ignore, S.rec, S.size, S.chart, S.range]);
		if (key !== viewKey) {
			viewKey = key;
			V = S.chart >= 0 ? chartOf(S.chart) : compute();
			panes = V.up ? [{view: V.up, up: true, skip: 1}, {view: V.view, up: false, skip: 0}] : [{view: V.view, up: null, skip: 0}];
			searchKey = laid = ''; picked = hovered = null;
		}
		if (S.z >= V.view.n || S.sand >= 0) S.z = 0;
		const dark = S.theme ? S.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
		theme = PALETTE[root.dataset.theme = dark ? 'dark' : 'light'];
		KINDS.forEach((k, i) => root.style.setProperty('--k' + i, theme.kinds[k][3]));
		find();
		controls();
		place();
		draw();
		drawTime();
		fillDrawer();
		describe(picked || hovered || [panes[panes.length - 1], S.z]);
	}

	function find() {
		const key = viewKey + '\n' + S.q + '\n' + S.z;
		if (key === searchKey) return;
		searchKey = key;
		const hit = matcher(S.q, frames);
		finds.hidden = !hit;
		found = null;
		if (!hit) return;
		found = panes.map(p => search(p.view, hit, S.z));
		// In a sandwich and a reversed view a function's share is that of the stacks.
		const all = search(V.flat, hit, 0), here = found[found.length - 1], inside = V.view.total[S.z];
		shareText = () => percent(all.total, whole()) + (S.z ? ' · view ' + percent(here.total, inside) : '');
		share.textContent = shareText();
		share.title = `${N(all.count)} matching frames: ${amount(all.total)} in all, ${amount(all.self)} of their own (${percent(all.self, whole())})`;
	}

	function controls() {
		head.types.forEach((t, i) => { const b = types.children[i]; b.ariaPressed = String(i === S.type); });
		if (controls.key !== S.type) { controls.key = S.type; controls.waiting = waitingShare(); }
		wait.hidden = !controls.waiting;
		wait.textContent = `waiting ${percent(controls.waiting, head.types[S.type].total)}${S.wait ? '' : ' hidden'}`;
		wait.ariaPressed = String(S.wait);
		threads.textContent = 'Threads' + (S.threads ? ` ${S.threads.size}/${head.tasks.length}` : '');
		threads.hidden = head.tasks.length < 2;
		chips.replaceChildren();
		const chip = (text, change) => chips.append(button(text + ' ✕', 'Take away: ' + text, () => go({...change, z: 0})));
		for (const k of ['focus', 'ignore', 'hide']) for (const v of S[k]) chip(`${k} ${shorten(v, 40)}`, {[k]: S[k].filter(x => x !== v)});
		if (S.sand >= 0) chip('sandwich ' + shorten(names[S.sand], 40), {sand: -1});
		if (S.rev) chip('reversed', {rev: false});
		if (S.rec) chip('recursion collapsed', {rec: false});
		if (S.chart >= 0) chip('in order of time: ' + taskName(S.chart), {chart: -1});
		if (S.range) chip(`${(S.range[0] / 1000).toFixed(2)}–${(S.range[1] / 1000).toFixed(2)} s`, {range: null});
		if (head.diff) gone();
		if (notes.length) chips.append(button('⚠ ' + notes[0] + (notes.length > 1 ? ` (and ${notes.length - 1} more)` : ''), 'Notes: ' + notes.join('. '), () => help.showModal(), {className: 'note'}));
	}
	function waitingShare() {
		let sum = 0;
		for (const l of data.lists) if (!l.old) for (let i = 0; i < l.nodes.length; i++) if (isWaiting(frames, data.tree.frame[l.nodes[i]])) sum += l.values[S.type][i];
		return sum;
	}
	// gone shows what only the older side has: it has no width in the graph.
	function gone() {
		const v = V.flat, lost = [];
		for (let i = 1; i < v.n;) if (!v.total[i] && v.oldTotal[i]) { lost.push(i); i = v.end[i]; } else i++;
		lost.sort((a, b) => v.oldTotal[b] - v.oldTotal[a]);
		if (!lost.length) return;
		chips.append(el('span', {textContent: `gone (${N(lost.length)}):`}));
		for (const i of lost.slice(0, 8)) chips.append(button(`${shorten(nameOf(data, v, i), 30)} −${percent(v.oldTotal[i], v.total[0])}`, 'Show it in the details', () => describe([{view: v}, i]), {className: 'gone'}));
	}

	// The drawing.
	function place() {
		const width = graph.clientWidth, key = [viewKey, S.z, width, graph.clientHeight, S.flip].join();
		if (key === laid) return;
		laid = key;
		hovered = null;
		let height = 0;
		for (const p of panes) { p.rows = layout(p.view, p.skip ? 0 : S.z, width).slice(p.skip); p.height = p.rows.length * ROW; height += p.height; }
		const tall = height > graph.clientHeight, top = tall ? 0 : panes.length > 1 ? Math.max(0, Math.min(graph.clientHeight / 2 - panes[0].height, graph.clientHeight - height)) : 0;
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
		const ratio = devicePixelRatio || 1, W = graph.clientWidth, H = graph.clientHeight, c = canvas.getContext('2d'), scroll = graph.scrollTop;
		if (canvas.width !== Math.round(W * ratio) || canvas.height !== Math.round(H * ratio)) { canvas.width = Math.round(W * ratio); canvas.height = Math.round(H * ratio); canvas.style.width = W + 'px'; canvas.style.height = H + 'px'; }
		c.setTransform(ratio, 0, 0, ratio, 0, 0);
		c.fillStyle = theme.paper;
		c.fillRect(0, 0, W, H);
		c.font = '12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace';
		c.textBaseline = 'middle';
		letter = letter || c.measureText('m'.repeat(50)).width / 50;
		panes.forEach((p, k) => {
			const from = p.grows ? p.top + p.height - scroll : scroll - p.top, first = Math.max(0, p.grows ? Math.floor((from - H) / ROW) : Math.floor(from / ROW)), last = Math.min(p.rows.length, p.grows ? Math.ceil(from / ROW) + 1 : Math.ceil((from + H) / ROW) + 1);
			for (let d = first; d < last; d++) row(c, p, d, yOf(p, d) - scroll, found && found[k]);
		});
		canvas.ariaLabel = `Flame graph of ${head.title}: ${N(V.view.n - 1)} frames, ${amount(V.view.total[0])}. The widest: ${widest().join(', ')}. The tables hold the same data.`;
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
	const widest = () => hottest().slice(0, 3).map(r => `${shorten(names[r.f], 60)} ${percent(r.self, V.view.total[0])}`);
	function drawTime() {
		if (time.hidden) return;
		const W = time.clientWidth, H = time.clientHeight, ratio = devicePixelRatio || 1, c = time.getContext('2d');
		if (drawTime.key !== W + viewKey) {
			drawTime.key = W + viewKey;
			const until = drawTime.until = runs.to.reduce((a, b) => Math.max(a, b), 1), busy = drawTime.busy = new Float64Array(W + 1), by = until / W;
			for (let k = 0; k < runs.node.length; k++) {
				if (!pick(runs.task[k]) || isWaiting(frames, data.tree.frame[runs.node[k]])) continue;
				for (let x = runs.from[k] / by | 0; x <= W && x * by < runs.to[k]; x++) busy[x] += Math.min(runs.to[k], (x + 1) * by) - Math.max(runs.from[k], x * by);
			}
		}
		time.width = W * ratio; time.height = H * ratio;
		c.scale(ratio, ratio);
		c.fillStyle = theme.kinds.thread[0]; c.fillRect(0, 0, W, H);
		const most = drawTime.busy.reduce((a, b) => Math.max(a, b), 1);
		c.fillStyle = theme.kinds.application[0];
		drawTime.busy.forEach((v, x) => c.fillRect(x, H - v / most * H, 1, H));
		if (S.range) { c.fillStyle = theme.text; c.globalAlpha = 0.25; const [a, b] = S.range.map(ms => ms * 1e6 / drawTime.until * W); c.fillRect(0, 0, a, H); c.fillRect(b, 0, W - b, H); }
	}
	let dragged = -1;
	const msAt = e => Math.round(Math.max(0, Math.min(1, e.offsetX / time.clientWidth)) * drawTime.until / 1e6);
	time.onpointerdown = e => { dragged = msAt(e); time.setPointerCapture(e.pointerId); };
	time.onpointermove = e => { if (dragged >= 0) { S.range = [Math.min(dragged, msAt(e)), Math.max(dragged, msAt(e))]; drawTime(); } };
	time.onpointerup = e => { const at = msAt(e), from = dragged; dragged = -1; S.range = null; go({z: 0, range: at === from ? null : [Math.min(at, from), Math.max(at, from)]}); };

	// Details of one frame.
	function lines(p, i) {
		const v = p.view, f = v.frame[i], all = whole(), inside = V.view.total[S.z] || 1, out = [];
		const put = (label, x) => out.push([label, `${amount(x)} · ${percent(x, all)} of all` + (inside !== all ? ` · ${percent(x, inside)} of view` : '')]);
		put('total', v.total[i]);
		if (!(S.rev || p.skip) || !i) put('self', v.self[i]);
		if (v.oldTotal) {
			const delta = v.total[i] - v.oldTotal[i], own = v.self[i] - v.old[i], sign = x => (x < 0 ? '−' : '+');
			out.push(['change', `${sign(delta)}${amount(Math.abs(delta))} (${sign(delta)}${(100 * Math.abs(delta) / (v.total[0] || 1)).toFixed(2)} points), self ${sign(own)}${amount(Math.abs(own))}`]);
		}
		return {name: nameOf(data, v, i), where: [sourceOf(frames, f), base(frames.modules[frames.module[f]]), frames.kind[f] < THREAD && LABELS[frames.kind[f]]].filter(Boolean).join(' · '), out};
	}
	function describe(at) {
		const d = lines(...at);
		details.replaceChildren(el('b', {textContent: d.name, title: d.name}), ' ', el('span', {className: 'where', textContent: d.where}), ...d.out.flatMap(([k, v]) => [' ', el('span', {className: 'value'}, el('i', {textContent: k + ' '}), v)]));
		return d;
	}
	const say = text => { told.textContent = text; };
	function select(at, quiet) {
		picked = at;
		const d = describe(at);
		if (!quiet) say(`${d.name}, ${d.out.map(o => o.join(' ')).join(', ')}`);
		reveal(at);
		draw();
	}
	function reveal([p, i]) {
		const y = yOf(p, p.view.depth[i] - p.skip);
		if (y < graph.scrollTop) graph.scrollTop = y;
		else if (y + ROW > graph.scrollTop + graph.clientHeight) graph.scrollTop = y + ROW - graph.clientHeight;
	}
	function hit(e) {
		const box = graph.getBoundingClientRect(), x = e.clientX - box.left, y = e.clientY - box.top + graph.scrollTop;
		if (x > graph.clientWidth) return null;
		for (const p of panes) {
			const d = Math.floor(p.grows ? (p.top + p.height - y) / ROW : (y - p.top) / ROW), r = p.rows[d];
			if (!r) continue;
			let lo = 0, hi = r.length / 4;
			while (lo < hi) { const m = lo + hi >> 1; if (r[4 * m + 1] <= x) lo = m + 1; else hi = m; }
			if (lo && r[4 * lo - 4] >= 0 && x < r[4 * lo - 3] + r[4 * lo - 2]) return [p, r[4 * lo - 4]];
		}
		return null;
	}
	function act([p, i]) {
		if (S.sand >= 0) { if (i && frames.kind[p.view.frame[i]] < THREAD && p.view.frame[i] !== S.sand) go({sand: p.view.frame[i]}); return; }
		if (i !== S.z) { const at = [panes[0], i]; go({z: i}); select(at, true); }
	}

	// The mouse and fingers.
	let held = 0, long = false;
	graph.onpointermove = e => {
		clearTimeout(held);
		const at = e.pointerType === 'touch' ? null : hit(e);
		if (String(at && at[1]) !== String(hovered && hovered[1]) || (at && at[0]) !== (hovered && hovered[0])) { hovered = at; draw(); describe(at || picked || [panes[panes.length - 1], S.z]); }
		canvas.style.cursor = at ? 'pointer' : '';
		tip.hidden = !at;
		if (!at) return;
		const d = lines(...at);
		tip.replaceChildren(el('b', {textContent: d.name}), el('div', {textContent: d.where}), ...d.out.map(([k, v]) => el('div', {}, el('i', {textContent: k + ' '}), v)));
		tip.style.left = Math.max(4, Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8)) + 'px';
		tip.style.top = (e.clientY + 22 + tip.offsetHeight > innerHeight ? e.clientY - tip.offsetHeight - 10 : e.clientY + 22) + 'px';
	};
	graph.onpointerleave = () => { tip.hidden = true; hovered = null; draw(); };
	graph.onpointerdown = e => { long = false; if (e.pointerType === 'touch') held = setTimeout(() => { const at = hit(e); if (at) { long = true; open(at, e.clientX, e.clientY); } }, 500); };
	graph.onpointerup = graph.onpointercancel = () => clearTimeout(held);
	graph.onclick = e => { if (long) { long = false; return; } const at = hit(e); tip.hidden = true; if (at) { picked = at; act(at); } };
	graph.oncontextmenu = e => { const at = hit(e); if (at) { e.preventDefault(); open(at, e.clientX, e.clientY); } };
	graph.onscroll = () => { tip.hidden = true; draw(); };
	new ResizeObserver(() => { place(); draw(); drawTime(); }).observe(graph);

	function open(at, x, y) {
		closeAll();
		picked = at; draw(); describe(at); tip.hidden = true;
		const [p, i] = at, f = p.view.frame[i], name = names[f], real = frames.kind[f] < THREAD, module = base(frames.modules[frames.module[f]]);
		const item = (text, run) => button(text, text, () => { closeAll(); run(); }, {role: 'menuitem', title: ''});
		const add = (k, v) => go({[k]: [...new Set([...S[k], v])], z: 0});
		menu.replaceChildren(el('b', {textContent: shorten(nameOf(data, p.view, i), 50)}), ...[
			S.sand < 0 && item('Zoom', () => act(at)), real && item('Sandwich: callers and callees', () => go({sand: f, z: 0})),
			(real || frames.kind[f] === THREAD && i) && item('Focus: stacks with it', () => add('focus', name)), (real || frames.kind[f] === THREAD && i) && item('Ignore stacks with it', () => add('ignore', name)),
			real && item('Hide frames of this name', () => add('hide', name)), real && module && item('Hide frames of ' + module, () => add('hide', 'module:' + module)),
			item(S.rec ? 'Show recursion' : 'Collapse recursion', () => go({rec: !S.rec, z: 0})), item('Copy name', () => copyName(at)), item('Copy stack', () => copyStack(at))].filter(Boolean));
		menu.hidden = false;
		menu.style.left = Math.max(4, Math.min(x, innerWidth - menu.offsetWidth - 4)) + 'px';
		menu.style.top = Math.max(4, Math.min(y, innerHeight - menu.offsetHeight - 4)) + 'px';
		menu.querySelector('button').focus();
	}
	async function copy(text) {
		try { await navigator.clipboard.writeText(text); } catch {
			const t = el('textarea', {value: text});
			document.body.append(t); t.select(); document.execCommand('copy'); t.remove();
		}
		say('copied');
		details.prepend(el('span', {className: 'copied', textContent: 'copied '}));
	}
	const copyName = ([p, i]) => copy(nameOf(data, p.view, i));
	function copyStack([p, i]) {
		const out = [];
		for (let k = i; k; k = p.view.parent[k]) out.push(nameOf(data, p.view, k));
		if (p.skip || S.sand >= 0) out.push(names[S.sand]);
		// Innermost first, as dumps are.
		if (S.rev || p.skip) out.reverse();
		copy(out.join('\n'));
	}

	// Menus of the bar.
	const closeAll = () => { for (const b of [threads, views]) { b.pop.hidden = true; b.ariaExpanded = 'false'; } const was = !menu.hidden; menu.hidden = true; return was; };
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
	const taskName = k => { const t = head.tasks[k]; return t ? join(t.thread, t.tid) || join(t.process, t.pid) || 'thread' : 'no thread'; };
	function fillThreads() {
		const sums = new Map(), groups = new Map(), all = head.types[S.type].total, box = el('div', {className: 'list'});
		for (const l of data.lists) if (!l.old) sums.set(l.task, (sums.get(l.task) || 0) + l.values[S.type].reduce((a, b) => a + b, 0));
		head.tasks.forEach((t, k) => { const g = join(t.process, t.pid); groups.has(g) || groups.set(g, []); groups.get(g).push(k); });
		if (sums.has(-1)) groups.set('', [...(groups.get('') || []), -1]);
		const every = [...groups.values()].flat(), rows = [];
		const set = (list, on) => { const s = new Set(S.threads || every); for (const k of list) on ? s.add(k) : s.delete(k); go({threads: s.size === every.length ? null : s, z: 0}); sync(); };
		const check = (text, list, cls) => {
			const c = el('input', {type: 'checkbox'}), sum = list.reduce((a, k) => a + (sums.get(k) || 0), 0);
			c.onchange = () => set(list, c.checked);
			const r = el('div', {className: cls}, el('label', {}, c, el('span', {textContent: text}), el('em', {textContent: percent(sum, all)})), button('only', 'Only ' + text, () => { go({threads: new Set(list), z: 0}); sync(); }));
			r.list = list; r.c = c; r.text = text.toLowerCase();
			rows.push(r); box.append(r);
		};
		const sync = () => { for (const r of rows) { const on = r.list.filter(pick).length; r.c.checked = on === r.list.length; r.c.indeterminate = on > 0 && on < r.list.length; } };
		for (const [g, ks] of groups) {
			if (g && groups.size > 1 || g && ks.length > 1) check(g, ks, 'process');
			ks.sort((a, b) => (sums.get(b) || 0) - (sums.get(a) || 0));
			for (const k of ks) check(taskName(k), [k], 'thread');
		}
		const filter = el('input', {type: 'search', placeholder: 'filter', ariaLabel: 'Filter threads', oninput: () => { for (const r of rows) r.hidden = !r.text.includes(filter.value.toLowerCase()); }});
		threads.pop.replaceChildren(el('div', {}, filter, button('all', 'All threads', () => { go({threads: null, z: 0}); sync(); }), button('none', 'No thread', () => { go({threads: new Set(), z: 0}); sync(); })), box);
		sync();
	}
	function fillViews() {
		const item = (text, on, change) => { const b = button((on ? '✓ ' : '') + text, text, () => { closeAll(); go(change); }); b.ariaPressed = String(!!on); return b; };
		const chart = runs.task.length ? [...new Set(runs.task)].filter(pick).slice(0, 40).map(k => item('Time order: ' + taskName(k), S.chart === k, {chart: S.chart === k ? -1 : k, z: 0, sand: -1, rev: false})) : [];
		views.pop.replaceChildren(item('Root at the top (i)', !panes[panes.length - 1].grows, {flip: panes[panes.length - 1].grows}), item('Reversed: innermost first (r)', S.rev, {rev: !S.rev, sand: -1, chart: -1, z: 0}), item('Largest first', S.size, {size: !S.size, z: 0}), item('Collapse recursion', S.rec, {rec: !S.rec, z: 0}), item('Everything as at first', false, {...defaults, theme: S.theme}), ...chart);
	}
	function switchTheme() { go({theme: root.dataset.theme === 'dark' ? 'light' : 'dark'}, true); }
	legendOf();
	function legendOf() { legend.replaceChildren(...LABELS.slice(0, 6).map((t, k) => el('span', {textContent: t, className: 'k' + k})), 'Lighter and darker shades only tell names apart.'); }

	// Search.
	let typing = 0;
	input.oninput = () => { clearTimeout(typing); typing = setTimeout(() => go({q: input.value}, true), head.nodes > 2e5 ? 60 : 0); };
	// step goes to the next match, the largest first. A match inside another one is part of it.
	function step(by) {
		if (!found) return;
		const k = found.length - 1, p = panes[k], v = p.view, f = found[k];
		f.list = f.list || outermost(v, g => f.hit[g]).filter(i => v.total[i] > 0).sort((a, b) => v.total[b] - v.total[a] || a - b);
		const n = f.list.length, at = picked && picked[0] === p ? f.list.indexOf(picked[1]) : -1;
		if (!n) return;
		const i = f.list[at < 0 && by < 0 ? n - 1 : (at + by + n) % n];
		// Zoomed out or in so far that it can be read.
		let z = S.z;
		while (z && !(i >= z && i < v.end[z])) z = v.parent[z];
		if (v.total[i] / v.total[z] * graph.clientWidth < 40) for (z = i; v.parent[z] && v.total[i] / v.total[v.parent[z]] > 0.1;) z = v.parent[z];
		const list = f.list;
		if (z !== S.z) { go({z}, true); found[k].list = list; }
		select([p, i]);
		share.textContent = `${N(list.indexOf(i) + 1)}/${N(n)} · ` + shareText();
	}

	// Tables.
	function hottest() {
		const key = viewKey + S.z;
		if (hottest.key === key) return hottest.rows;
		const v = V.flat, from = v === V.view ? S.z : 0, self = new Float64Array(frames.n), total = new Float64Array(frames.n), inside = new Uint32Array(frames.n), sOld = v.old && self.slice(), tOld = v.old && self.slice();
		for (let i = Math.max(from, 1); i < v.end[from]; i++) {
			const f = v.frame[i];
			self[f] += v.self[i];
			if (sOld) sOld[f] += v.old[i];
			// Nodes inside one of the same function are counted there.
			if (i >= inside[f]) { total[f] += v.total[i]; if (tOld) tOld[f] += v.oldTotal[i]; inside[f] = v.end[i]; }
		}
		const rows = [];
		for (let f = 3; f < frames.n; f++) if (frames.kind[f] < THREAD && (total[f] || tOld && tOld[f])) rows.push({f, self: self[f], total: total[f], change: tOld ? total[f] - tOld[f] : 0});
		rows.sort((a, b) => b.self - a.self || b.total - a.total);
		hottest.key = key;
		return hottest.rows = rows;
	}
	let order = 'self', shownRows = 100, about = -1;
	function table(caption, rows, columns, all) {
		const t = el('table', {}, el('caption', {textContent: caption}), el('thead', {}, el('tr', {}, ...columns.map(([k, label]) => el('th', {scope: 'col', ariaSort: k === order ? 'descending' : 'none'}, k ? button(label, 'Order by ' + label, () => { order = k; fillDrawer(true); }) : label)))));
		t.append(el('tbody', {}, ...rows.map(r => el('tr', {}, ...columns.map(([k]) => k ? el('td', {className: 'n', textContent: (k === 'change' && r[k] > 0 ? '+' : '') + amount(r[k]), title: percent(r[k], all)}, k === 'change' ? '' : el('i', {textContent: percent(r[k], all)})) :
			el('td', {}, button(shorten(names[r.f], 90), names[r.f], () => go({sand: r.f, z: 0}), {className: 'name k' + frames.kind[r.f]}), el('i', {textContent: [sourceOf(frames, r.f), base(frames.modules[frames.module[r.f]])].filter(Boolean).join(' · ')})))))));
		return t;
	}
	function neighbours(f) {
		const v = V.flat, up = new Map(), down = new Map(), inside = new Map(), add = (m, k, i) => { const r = m.get(k) || {f: k, total: 0}; r.total += v.total[i]; m.set(k, r); };
		let within = 0;
		for (let i = 1; i < v.n; i++) {
			if (v.frame[i] === f && i >= within) { within = v.end[i]; if (v.parent[i]) add(up, v.frame[v.parent[i]], i); }
			const p = v.parent[i], k = v.frame[i];
			if (p && v.frame[p] === f && k !== f && i >= (inside.get(k) || 0)) { inside.set(k, v.end[i]); add(down, k, i); }
		}
		return [up, down].map(m => [...m.values()].filter(r => r.total).sort((a, b) => b.total - a.total).slice(0, 50));
	}
	function fillDrawer(again) {
		const key = [viewKey, S.z, S.q, S.table, shownRows, order, S.theme].join('\n');
		drawer.hidden = !S.table;
		if (!S.table || key === fillDrawer.key && !again) return;
		fillDrawer.key = key;
		const tab = (k, text) => { const b = button(text, text, () => go({table: k}, true)); b.ariaPressed = String(S.table === k); return b; };
		const content = el('div', {id: 'sheet', tabIndex: 0, role: 'group', ariaLabel: 'Table'}), all = V.flat.total[0];
		drawer.replaceChildren(el('div', {className: 'group'}, tab('top', 'Functions'), tab('near', 'Callers, callees'), tab('tree', 'Tree'), button('✕', 'Close the tables', () => go({table: ''}, true))), content);
		if (S.table === 'near') {
			if (S.sand >= 0) about = S.sand; else if (picked && frames.kind[picked[0].view.frame[picked[1]]] < THREAD) about = picked[0].view.frame[picked[1]];
			if (about < 0) { content.append(el('p', {textContent: 'Choose a function first.'})); return; }
			const [up, down] = neighbours(about);
			content.append(el('h2', {textContent: names[about]}), el('div', {className: 'two'}, table('Callers', up, [['total', 'Total'], ['', 'Function']], all), table('Callees', down, [['total', 'Total'], ['', 'Function']], all)));
		} else if (S.table === 'tree') content.append(treeView());
		else {
			let rows = hottest();
			if (found) rows = rows.filter(r => found[0].hit[r.f]);
			rows = [...rows].sort((a, b) => Math.abs(b[order]) - Math.abs(a[order]));
			const columns = [['self', 'Self'], ['total', 'Total'], ...(head.diff ? [['change', 'Change']] : []), ['', 'Function']];
			content.append(table(`${N(rows.length)} functions${S.z ? ' in this view' : ''}`, rows.slice(0, shownRows), columns, all));
			if (rows.length > shownRows) content.append(button(`${N(rows.length - shownRows)} more`, 'Show more functions', () => { shownRows += 400; fillDrawer(); }));
		}
	}
	function treeView() {
		const {view} = V, box = el('div', {role: 'tree', ariaLabel: 'Call tree'}), all = view.total[0];
		const kids = i => { const out = []; for (let c = i + 1; c < view.end[i]; c = view.end[c]) if (view.total[c] > 0) out.push(c); return out.sort((a, b) => view.total[b] - view.total[a]); };
		const make = (i, level) => {
			const leaf = !kids(i).length, r = el('div', {role: 'treeitem', tabIndex: -1, ariaLevel: String(level), className: 'item'}, el('em', {textContent: percent(view.total[i], all)}), el('span', {textContent: nameOf(data, view, i)}));
			r.style.paddingInlineStart = Math.min(level, 40) * 14 + 'px';
			if (!leaf) r.ariaExpanded = 'false';
			r.node = i; r.level = level;
			return r;
		};
		const unfold = (r, on) => {
			if (!r.ariaExpanded || on === (r.ariaExpanded === 'true')) return;
			r.ariaExpanded = String(on);
			if (on) r.after(...kids(r.node).slice(0, 100).map(c => make(c, r.level + 1)));
			else while (r.nextSibling && r.nextSibling.level > r.level) r.nextSibling.remove();
		};
		const first = make(S.z, 1);
		first.tabIndex = 0;
		box.append(first);
		unfold(first, true);
		box.onclick = e => { const r = e.target.closest('.item'); if (r) { r.focus(); unfold(r, r.ariaExpanded !== 'true'); } };
		box.onfocus = box.onfocusin = null;
		box.addEventListener('focusin', e => { for (const r of box.querySelectorAll('[tabindex="0"]')) r.tabIndex = -1; e.target.tabIndex = 0; picked = [panes[panes.length - 1], e.target.node]; describe(picked); draw(); });
		box.onkeydown = e => {
			const r = e.target, to = {ArrowDown: r.nextSibling, ArrowUp: r.previousSibling}[e.key];
			if (to) to.focus();
			else if (e.key === 'ArrowRight') r.ariaExpanded === 'true' ? r.nextSibling.focus() : unfold(r, true);
			else if (e.key === 'ArrowLeft') { if (r.ariaExpanded === 'true') unfold(r, false); else { let u = r.previousSibling; while (u && u.level >= r.level) u = u.previousSibling; u && u.focus(); } } else if (e.key === 'Enter') act([panes[panes.length - 1], r.node]);
			else return;
			e.preventDefault(); e.stopPropagation();
		};
		return box;
	}

	// Keys.
	function move(key) {
		const p = picked && panes.includes(picked[0]) ? picked[0] : panes[panes.length - 1], v = p.view;
		let i = picked ? picked[1] : S.z;
		const wide = c => v.total[c] > 0, outward = p.grows ? 'ArrowUp' : 'ArrowDown';
		if (key === outward) {
			let best = -1;
			for (let c = i + 1; c < v.end[i]; c = v.end[c]) if (wide(c) && (best < 0 || v.total[c] > v.total[best])) best = c;
			if (best > 0) i = best;
		} else if (key === 'ArrowUp' || key === 'ArrowDown') {
			if (i) i = v.parent[i]; else if (panes.length > 1) { const q = panes[p === panes[0] ? 1 : 0]; return select([q, q === panes[0] && q.view.n > 1 ? 1 : 0]); }
		} else if (i) {
			let before = -1, after = -1;
			for (let c = v.parent[i] + 1; c < v.end[v.parent[i]]; c = v.end[c]) if (wide(c)) { if (c < i) before = c; else if (c > i && after < 0) after = c; }
			i = (key === 'ArrowLeft' ? before : after) < 0 ? i : key === 'ArrowLeft' ? before : after;
		}
		select([p, i]);
	}
	function back() {
		if (closeAll()) return;
		if (S.q && document.activeElement === input) { input.value = ''; go({q: ''}, true); input.blur(); return; }
		if (S.z) go({z: V.view.parent[S.z]});
		else if (S.sand >= 0) go({sand: -1});
		else if (S.chart >= 0) go({chart: -1});
		else if (S.rev) go({rev: false});
		else if (S.q) { input.value = ''; go({q: ''}, true); }
	}
	const chosen = () => picked && picked[1] ? picked : hovered;
	const keys = {
		'/': () => input.select(), n: () => step(1), N: () => step(-1), '0': () => go({...defaults, theme: S.theme, q: S.q, table: S.table, type: S.type}), i: () => go({flip: panes[panes.length - 1].grows}), r: () => go({rev: !S.rev, sand: -1, chart: -1, z: 0}),
		s: () => { const c = chosen(), f = c ? c[0].view.frame[c[1]] : V.view.frame[S.z]; if (frames.kind[f] < THREAD) go({sand: f, z: 0}); }, t: () => threads.hidden || toggle(threads), w: () => wait.hidden || wait.click(), l: () => go({table: S.table ? '' : 'top'}),
		m: () => { const c = chosen(); if (c) open(c, innerWidth / 3, innerHeight / 3); }, d: switchTheme, c: () => copyName(chosen() || [panes[panes.length - 1], S.z]), C: () => copyStack(chosen() || [panes[panes.length - 1], S.z]), '?': () => help.showModal(), Backspace: back, Enter: () => { const c = chosen(); if (c) act(c); },
	};
	addEventListener('keydown', e => {
		if (help.open || e.defaultPrevented) return;
		if ((e.ctrlKey || e.metaKey) && e.key === 'f' && document.activeElement !== input) { e.preventDefault(); input.select(); return; }
		if (e.key === 'Escape') { e.preventDefault(); back(); return; }
		if (e.target === input && e.key === 'Enter') { clearTimeout(typing); if (S.q !== input.value) go({q: input.value}, true); step(e.shiftKey ? -1 : 1); return; }
		if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
		const focused = e.target.tagName === 'BUTTON';
		if (!menu.hidden && focused && /^Arrow(Up|Down)$/.test(e.key)) { e.preventDefault(); const b = [...menu.querySelectorAll('button')]; b[(b.indexOf(e.target) + (e.key === 'ArrowDown' ? 1 : b.length - 1)) % b.length].focus(); return; }
		if (focused && (e.key === 'Enter' || e.key === ' ') || e.target.closest('#sheet') && /^(Arrow|Enter)/.test(e.key)) return;
		if (e.key.startsWith('Arrow')) { e.preventDefault(); move(e.key); return; }
		const run = keys[e.key];
		if (run) { e.preventDefault(); run(); }
	});
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', render);
	// On paper the graph is as tall as it is.
	addEventListener('beforeprint', () => { graph.style.flex = 'none'; graph.style.height = Math.min(8000, Math.max(200, panes.reduce((h, p) => h + p.height, 0))) + 'px'; laid = ''; place(); draw(); });
	addEventListener('afterprint', () => { graph.style.flex = graph.style.height = ''; laid = ''; place(); draw(); });
	restore();
	root.dataset.ready = Math.round(performance.now());
}
