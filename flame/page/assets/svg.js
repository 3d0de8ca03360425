function start(data) {
	const svg = root, SVG = 'http://www.w3.org/2000/svg', XHTML = 'http://www.w3.org/1999/xhtml', BOXES = 7000,
		theme = PALETTE.light;
	const {head, frames} = data, type = head.types[head.type], BAR = 62;
	// own is what each node has by itself, forward and reversed are the trees made of it; lost is what only the older
	// side of a difference has: a row of its own.
	let own, forward, reversed, lost, folded = null, TOP = 0;
	let limit = '', S = {z: 0, q: '', rev: false, flip: head.inverted, wait: !!head.waits}, view, found = null;
	const make = (tag, props, text, ns = SVG) => {
		const e = document.createElementNS(ns, tag);
		for (const k in props) e.setAttribute(k, props[k]);
		if (text) e.textContent = text;
		return e;
	};
	const html = (tag, props, text) => make(tag, props, text, XHTML);
	const button = (text, label, run) => {
		const b = html('button', {type: 'button', title: label, 'aria-label': label}, text);
		b.style.cssText = 'font:13px system-ui,sans-serif;padding:2px 8px';
		b.onclick = run;
		return b;
	};

	// The bar: HTML inside the picture, for a real search box.
	const holder = make('foreignObject', {x: 0, y: 0, height: BAR}), bar = html('div'),
		title = html('b', {}, head.title),
		input = html('input', {type: 'search', placeholder: 'search', 'aria-label': 'Search functions'}),
		share = html('span', {id: 'share'}), line = html('div'), said = html('span', {id: 'details'}),
		top = html('div');
	bar.style.cssText = 'font:13px system-ui,sans-serif;color:#16181d';
	top.style.cssText = 'display:flex;gap:6px;align-items:center;padding:3px 10px;height:28px;box-sizing:border-box';
	title.style.cssText = 'flex:1;overflow:hidden;text-overflow:ellipsis;white-space:nowrap';
	input.style.cssText = 'font:inherit;width:190px;min-width:60px;flex:0 1 auto';
	share.style.cssText = 'white-space:nowrap;font-weight:600';
	line.style.cssText = 'display:flex;gap:10px;align-items:center;padding:0 10px;height:28px';
	said.style.cssText = 'white-space:nowrap;overflow:hidden;text-overflow:ellipsis';
	const wait = button('', 'Show what waits, or fold it away (w)', () => go({wait: !S.wait, z: 0})),
		reverse = button('reverse', 'Reverse: innermost first (r)', () => go({rev: !S.rev, z: 0})),
		flip = button('flip', 'Root at the top or the bottom (i)', () => go({flip: !S.flip})),
		reset = button('reset', 'Everything as at first (0)', () => {
		input.value = '';
		go({z: 0, q: '', rev: false, wait: !!head.waits});
	});
	line.append(...(type.waiting ? [wait] : []), said);
	wait.style.cssText += ';white-space:nowrap;flex:none';
	top.append(title, input, share, reverse, flip, reset);
	bar.append(top, line);
	holder.append(bar);
	const rows = make('g', {id: 'rows'}), notes = make('g', {id: 'notes'});
	svg.append(holder, notes, rows);
	block('static').remove();

	const width = () => Math.max(320, innerWidth || 1200);
	function read() {
		const p = new URLSearchParams(location.hash.slice(1));
		S = {z: p.get('z') >>> 0, q: p.get('q') || '', rev: p.get('r') === '1', flip: p.has('i') ? p.get('i') === '1' :
			!!head.inverted, wait: p.has('wait') ? p.get('wait') === '1' : !!head.waits};
		input.value = S.q;
	}
	function go(change, replace) {
		S = {...S, ...change};
		const p = new URLSearchParams();
		if (S.z) p.set('z', S.z);
		if (S.q) p.set('q', S.q);
		if (S.rev) p.set('r', 1);
		if (S.flip !== !!head.inverted) p.set('i', +S.flip);
		if (S.wait !== !!head.waits) p.set('wait', +S.wait);
		try { history[replace ? 'replaceState' : 'pushState'](null, '', '#' + p); } catch {}
		render();
	}
	const tipOf = i => {
		const f = view.frame[i], v = view.total[i], at = sourceOf(frames, f);
		let s = nameOf(data, view, i) + (at ? ` (${at})` : '') +
			`: ${quantity(v, type.unit)}${i ? '' : whose(type)}, ${percent(v, forward.total[0])}`;
		if (S.z) s += `${ofAll()}, ${percent(v, view.total[S.z])} of view`;
		if (view.oldTotal) s += ', ' + pointsOf(view, i);
		return s;
	};
	const ofAll = () => (S.wait || !type.waiting ? ' of all' : ' of time without waits');
	// sum adds the values up when what waits is folded away or shown.
	function sum() {
		if (folded === !S.wait) return;
		folded = !S.wait;
		own = selfs(data, head.type, () => true, S.wait);
		forward = finish(data.tree, own.self, own.old);
		forward.grain = type.grain;
		reversed = null;
		lost = head.diff ? lostOf(forward) : [];
		wait.textContent = `${S.wait ? 'Hide' : 'Show'} waits (${roughly(type.waiting, type.total)})`;
	}
	function render() {
		sum();
		if (S.rev && !reversed) {
			const at = [], w = [], o = own.old && [];
			for (let i = 0; i < data.tree.n; i++) if (own.self[i] || o && own.old[i]) {
				at.push(i);
				w.push(own.self[i]);
				if (o) o.push(own.old[i]);
			}
			const r = invert(data.tree, at, w, o, 0, false, 2e-4, 2e5);
			reversed = finish(r.tree, r.self, r.old);
			reversed.grain = type.grain;
		}
		view = S.rev ? reversed : forward;
		if (!(S.z < view.n)) S.z = 0;
		const hit = matcher(S.q, frames), W = width();
		found = hit && search(view, hit, S.z);
		const all = hit && search(forward, hit, 0);
		share.textContent = found ? percent(all.total, forward.total[0]) + ofAll() +
			(S.z ? ` · view ${percent(found.total, view.total[S.z])}` : '') : '';
		reverse.style.fontWeight = S.rev ? 'bold' : '';
		explain(W);
		const {placed, hidden} = fitted(W - 2 * MARGIN), H = TOP + placed.length * ROW + MARGIN;
		svg.setAttribute('viewBox', `0 0 ${W} ${H}`);
		svg.setAttribute('width', W);
		svg.setAttribute('height', H);
		holder.setAttribute('width', W);
		const out = document.createDocumentFragment();
		placed.forEach((r, d) => {
			const y = S.flip ? TOP + d * ROW : H - MARGIN - (d + 1) * ROW;
			for (let k = 0; k < r.length; k += 4) out.append(shape(r[k], MARGIN + r[k + 1], r[k + 2], r[k + 3], y));
		});
		rows.replaceChildren(out);
		limit = hidden;
		describe(S.z);
	}
	// fitted lays out what can be drawn at once: beyond BOXES the innermost rows are left out, then the narrowest boxes
	// are drawn as strips.
	function fitted(width) {
		const count = () => placed.reduce((n, r) => n + r.length / 4, 0),
			boxes = () => placed.flatMap(r => r.filter((_, k) => k % 4 === 2 && r[k - 2] >= 0)), hidden = [];
		let placed = layout(view, S.z, width), rows = placed.length;
		if (count() > BOXES && rows > BOXES / 2) {
			rows = BOXES / 2;
			hidden.push(`The ${(placed.length - rows).toLocaleString('en')} innermost rows are not drawn: zoom in`);
			placed.length = rows;
		}
		if (count() > BOXES) {
			const widths = boxes().sort((a, b) => b - a);
			// Strips take room too, up to twice that of the boxes.
			for (let keep = Math.min(widths.length, BOXES); count() > BOXES; keep = 0.8 * keep | 0) {
				const least = widths[keep - 1];
				let ties = keep - widths.findIndex(w => w <= least);
				placed = layout(view, S.z, width, w => w > least || w === least && ties-- > 0);
				placed.length = Math.min(rows, placed.length);
			}
			hidden.push(
				`The ${(widths.length - boxes().length).toLocaleString('en')} narrowest ` +
				`boxes are drawn as grey strips: zoom in`);
		}
		return {placed, hidden: hidden.join('. ')};
	}
	function describe(i) { said.textContent = tipOf(i) + (limit && '. ' + limit); }
	function explain(W) {
		notes.replaceChildren();
		let x = MARGIN, y = BAR;
		const word = (s, colours) => {
			const wide = 12 * colours.length + 5 + (s.length + 2) * LETTER;
			if (x > MARGIN && x + wide > W) { x = MARGIN; y += ROW; }
			colours.forEach((c, k) =>
				notes.append(make('rect', {x: (x + 12 * k).toFixed(1), y: y + 3, width: 12, height: 12, fill: c})));
			notes.append(make('text', {x: (x + 12 * colours.length + (colours.length ? 5 : 0)).toFixed(1), y: y + 13},
				s));
			x += wide;
		};
		const parts = head.diff ? [['more', theme.more], ['less', theme.less], [type.equal, [theme.equal]],
			[STRENGTHS, []]] : head.kinds.map(k => [LABELS[k], [theme.kinds[KINDS[k]][3]]]);
		for (const part of parts) word(...part);
		y += ROW;
		TOP = y + 4 + (lost.length ? ROW : 0);
		if (!lost.length) return;
		notes.append(make('text', {x: MARGIN, y: y + 13}, 'gone:'));
		x = MARGIN + 6 * LETTER;
		let sum = lost.reduce((a, i) => a + forward.oldTotal[i], 0), k = 0;
		const by = Math.min((W - 2 * MARGIN) / (forward.total[0] || forward.oldTotal[0]), (W - MARGIN - 3 - x) / sum);
		const put = (name, tip, w, fill) => {
			const g = make('g'), text = shorten(name, (w - 6) / LETTER | 0);
			g.append(make('title', {}, tip),
				make('rect', {x: x.toFixed(1), y, width: Math.max(0.5, w - 0.4).toFixed(1), height: ROW - 1, fill}));
			if (text) g.append(make('text', {x: (x + 3).toFixed(1), y: y + 13}, text));
			notes.append(g);
			x += w;
		};
		for (; k < lost.length && (!k || forward.oldTotal[lost[k]] * by >= 1); k++) {
			const i = lost[k], v = forward.oldTotal[i], at = sourceOf(frames, forward.frame[i]),
				name = nameOf(data, forward, i);
			put(name, `${name}${at ? ` (${at})` : ''}: gone, was ${quantity(v, type.unit)}, ${pointsOf(forward, i)}`,
				v * by, theme.less[4]);
			sum -= v;
		}
		const more = lost.length - k, name = `(${more.toLocaleString('en')} smaller)`;
		if (more) put(name, `${name}: gone, was ${quantity(sum, type.unit)}`, Math.max(3, sum * by), theme.less[0]);
	}
	function shape(i, x, w, last, y) {
		const at = {x: x.toFixed(1), y, width: Math.max(0.5, w - 0.4).toFixed(1), height: ROW - 1};
		if (i < 0) return make('rect', {...at, fill: found && found.before[last] > found.before[-1 - i] ? theme.hit :
			theme.kinds.smaller[0]});
		const hit = found && found.hit[view.frame[i]], g = make('g', {'data-i': i, cursor: 'pointer'}), above = S.z &&
			i < S.z && view.end[i] > S.z;
		if (found && !hit || above) g.setAttribute('opacity', 0.5);
		g.append(make('title', {}, tipOf(i)),
			make('rect', {...at, fill: hit ? theme.hit : fillOf(data, theme, view, i)}));
		const text = shorten(nameOf(data, view, i), (w - 6) / LETTER | 0);
		if (text) g.append(make('text', {x: (x + 3).toFixed(1), y: y + 13, fill: hit ? theme.hitText : theme.text},
			text));
		return g;
	}
	const nodeAt = e => {
		const g = e.target.closest && e.target.closest('[data-i]');
		return g ? +g.getAttribute('data-i') : -1;
	};
	rows.addEventListener('click', e => { const i = nodeAt(e); if (i >= 0 && i !== S.z) go({z: i}); });
	rows.addEventListener('pointerover', e => { const i = nodeAt(e); describe(i < 0 ? S.z : i); });
	input.oninput = () => go({q: input.value}, true);
	addEventListener('popstate', () => { read(); render(); });
	addEventListener('resize', () => render());
	addEventListener('keydown', e => {
		if (e.key === '/' && e.target !== input || (e.ctrlKey || e.metaKey) && e.key === 'f' &&
			document.activeElement !== input) {
			e.preventDefault();
			input.select();
			return;
		}
		if (e.key === 'Escape') { if (S.z) go({z: view.parent[S.z]}); else { input.value = ''; go({q: ''}); } return; }
		if (e.target === input || e.ctrlKey || e.metaKey || e.altKey) return;
		({r: () => reverse.click(), w: () => type.waiting && wait.click(), i: () => flip.click(),
			0: () => reset.click(), Backspace: () => S.z && go({z: view.parent[S.z]})}[e.key] || (() => {}))();
	});
	read();
	render();
	svg.setAttribute('data-ready', Math.round(performance.now()));
}
