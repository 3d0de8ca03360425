// The view: a call tree after all filters.
const pick = t => !S.threads || S.threads.has(t);
const named = list => {
	const of = new Uint8Array(frames.n), set = new Set(list);
	for (let f = FIRST; f < frames.n; f++) if (set.has(labels[f]) || frames.module[f] &&
		bases(frames.modules[frames.module[f]]).split(', ').some(m => set.has('module:' + m))) of[f] = 1;
	return of;
};
// left marks the nodes whose own value focus and ignore leave out, null if there are none.
function left() {
	if (!S.focus.length && !S.ignore.length) return null;
	const {n, parent, frame} = data.tree, out = new Uint8Array(n);
	for (const [name, want] of [...S.focus.map(f => [f, 1]), ...S.ignore.map(f => [f, 0])]) {
		const is = named([name]), has = new Uint8Array(n);
		for (let i = 1; i < n; i++) {
			has[i] = has[parent[i]] | is[frame[i]];
			out[i] |= has[i] ^ want;
		}
		out[0] |= want;
	}
	return out;
}
function compute() {
	const pool = S.range ? inRange() : selfs(data, S.type, pick, S.wait);
	let tree = data.tree, {self, old} = pool;
	const {n, frame, parent} = tree, out = left();
	if (out) for (let i = 0; i < n; i++) if (out[i]) { self[i] = 0; if (old) old[i] = 0; }
	if (S.hide.length || S.rec || S.fold) {
		const gone = named(S.hide);
		({tree, self, old} = project(tree, self, old, 0, 0, i => gone[frame[i]] || S.fold && native[i] || S.rec && i &&
			frame[parent[i]] === frame[i] ? -1 : frame[i]));
	}
	let view = finish(tree, self, old), flat = view, up = null;
	if (S.sand >= 0) {
		const at = outermost(view, f => f === S.sand), w = at.map(i => view.total[i]), o = old &&
			at.map(i => view.oldTotal[i]);
		const callers = invert(tree, at, w, o, S.sand, true, 2e-4, 2e5);
		up = finish(callers.tree, callers.self, callers.old);
		const inside = new Uint8Array(tree.n);
		for (const i of at) inside.fill(1, i, tree.end[i]);
		const below = project(tree, self, old, 0, S.sand, i => {
			for (const k of [i]) return !inside[k] ? -1 : inside[tree.parent[k]] ? tree.frame[k] : -3;
		});
		// What lies outside went to the root.
		let own = 0, owned = 0;
		for (const i of at) { own += self[i]; if (old) owned += old[i]; }
		below.self[0] = own; if (old) below.old[0] = owned;
		view = finish(below.tree, below.self, below.old);
	} else if (S.rev) {
		const at = [], w = [], o = old && [];
		for (let i = 0; i < tree.n; i++) if (self[i] || old && old[i]) {
			at.push(i);
			w.push(self[i]);
			if (old) o.push(old[i]);
		}
		const r = invert(tree, at, w, o, 0, false, 2e-4, 2e5);
		view = finish(r.tree, r.self, r.old);
	}
	if (S.size) {
		const sorted = preorder(view.n, view.frame, view.parent, view.total), grey = view.grey;
		if (grey.size) sorted.from.forEach((i, k) => { if (grey.has(i)) sorted.grey.set(k, grey.get(i)); });
		view = finish(sorted, carry(sorted, view.self), carry(sorted, view.old));
		if (S.sand < 0 && !S.rev) flat = view;
	}
	for (const v of [view, up, flat]) if (v) v.grain = head.types[S.type].grain;
	return {view, up, flat};
}
function inRange() {
	const self = new Float64Array(data.tree.n);
	eachInRange((k, w) => { if (pick(runs.task[k])) self[runs.node[k]] += w; });
	return {self, old: null};
}
// eachInRange calls f for each run of which a part is shown, with how much that is.
function eachInRange(f) {
	const [from, to] = S.range.map(ms => ms * 1e6), cpu = head.types[S.type].title === 'cpu';
	for (let k = 0; k < runs.node.length; k++) {
		const w = Math.min(to, runs.to[k]) - Math.max(from, runs.from[k]);
		if (w > 0 && (S.wait && !cpu || !frames.waits[data.tree.frame[runs.node[k]]])) f(k, w);
	}
}
// chartOf lays the stacks of one thread out in the order of time.
function chartOf(task) {
	const frame = new Grown(Uint32Array, 1024), parent = new Grown(Uint32Array, 1024),
		at = new Grown(Float64Array, 1024), width = [], self = [], depth = [0], end = [];
	const {tree} = data;
	frame.push(0); parent.push(0); at.push(0);
	let open = [0], last = 0;
	const close = d => {
		while (open.length > d) { const i = open.pop(); width[i] = last - at.a[i]; end[i] = frame.n; }
	};
	for (let k = 0; k < runs.node.length && frame.n < 4e6; k++) {
		if (runs.task[k] !== task || !S.wait && frames.waits[tree.frame[runs.node[k]]]) continue;
		const path = [];
		for (let i = runs.node[k]; i; i = tree.parent[i]) if (!S.fold || !native[i]) path.push(tree.frame[i]);
		path.reverse();
		let same = 0;
		if (runs.from[k] <= last) while (same < path.length && same + 1 < open.length &&
			frame.a[open[same + 1]] === path[same]) same++;
		close(same + 1);
		for (; same < path.length; same++) {
			const i = frame.n;
			frame.push(path[same]);
			parent.push(open[same]);
			at.push(runs.from[k]);
			self[i] = 0;
			depth[i] = same + 1;
			open.push(i);
		}
		last = runs.to[k];
		self[open[open.length - 1]] += last - runs.from[k];
	}
	last = Math.max(last, runs.to.reduce((a, b) => Math.max(a, b), 0));
	close(1);
	width[0] = last; end[0] = frame.n; self[0] = 0;
	const view = {n: frame.n, frame: frame.get(), parent: parent.get(), end: Uint32Array.from(end),
		depth: Uint32Array.from(depth), grey: new Map(), self: Float64Array.from(self), old: null,
		total: Float64Array.from(width), oldTotal: null, start: at.get()};
	return {view, up: null, flat: view};
}

const unit = () => S.range || S.chart >= 0 ? 'nanoseconds' : head.types[S.type].unit;
const whole = () => {
	const t = head.types[S.type];
	return S.range || S.chart >= 0 ? V.view.total[0] : t.total - (S.wait ? 0 : t.waiting || 0);
};
// ofAll says what shares of everything are of.
const ofAll = () => (S.wait || !head.types[S.type].waiting ? ' of all' : ' of time without waits');
const amount = v => quantity(v, unit());
