'use strict';
// What the page and the picture share: unpacking, call trees, search, layout.
// Constants come from colours.go.

// parse reads what pack.go describes.
function parse(bytes) {
	let at = 0;
	const num = () => {
		let b = bytes[at++];
		if (b < 128) return b;
		let v = b & 127, m = 128;
		do { b = bytes[at++]; v += (b & 127) * m; m *= 128; } while (b > 127);
		return v;
	};
	const text = new TextDecoder();
	const strings = n => {
		const out = [];
		let buf = new Uint8Array(256);
		while (n-- > 0) {
			const shared = num(), rest = num();
			if (shared + rest > buf.length) {
				const old = buf;
				buf = new Uint8Array(2 * (shared + rest));
				buf.set(old);
			}
			buf.set(bytes.subarray(at, at + rest), shared);
			at += rest;
			out.push(text.decode(buf.subarray(0, shared + rest)));
		}
		return out;
	};
	const size = num();
	const head = JSON.parse(text.decode(bytes.subarray(at, at + size)));
	at += size;
	const modules = ['', ...strings(num())], files = ['', ...strings(num())];
	const F = head.frames, names = strings(F), looks = bytes.slice(at, at += F);
	const column = n => { const c = new Uint32Array(n); for (let i = 0; i < n; i++) c[i] = num(); return c; };
	const frames = {n: F, names, kind: looks.map(b => (b & ~WAITS) / SHADES | 0),
		shade: looks.map(b => (b & ~WAITS) % SHADES), waits: looks.map(b => b & WAITS),
		module: column(F), file: column(F), low: column(F), more: column(F), modules, files};
	const n = head.nodes, frame = new Uint32Array(n), parent = new Uint32Array(n), end = new Uint32Array(n),
		depth = new Uint32Array(n);
	frame[0] = num();
	const up = [0], left = [num()];
	let sp = 0;
	for (let i = 1; i < n; i++) {
		while (left[sp] === 0) end[up[sp--]] = i;
		left[sp]--;
		parent[i] = up[sp];
		frame[i] = num();
		up[++sp] = i;
		depth[i] = sp;
		left[sp] = num();
	}
	while (sp >= 0) end[up[sp--]] = n;
	const grey = new Map();
	for (let k = num(), node = 0; k > 0; k--) grey.set(node += num(), num());
	const lists = [];
	for (let k = 0; k < head.lists; k++) {
		const task = num() - 1, old = num() === 1, size = num(), nodes = column(size), values = [];
		for (let i = 1; i < size; i++) nodes[i] += nodes[i - 1];
		for (const _ of head.types) {
			const v = new Float64Array(size);
			for (let i = 0; i < size; i++) v[i] = num();
			values.push(v);
		}
		lists.push({task, old, nodes, values});
	}
	const runs = {task: [], node: [], from: [], to: []};
	for (let k = head.runs || 0, task = -1, now = 0; k > 0; k--) {
		const step = num();
		if (step) { task += step; now = 0; }
		runs.task.push(task); runs.node.push(num());
		runs.from.push(now += num()); runs.to.push(now += num());
	}
	const size2 = head.sources ? num() : 0, sources = size2 ? JSON.parse(text.decode(bytes.subarray(at, at + size2))) :
		null;
	return {head, frames, tree: {n, frame, parent, end, depth, grey}, lists, runs, sources};
}

// selfs sums the lists that pick chooses: what each node has by itself. types is the value.
function selfs(data, type, pick, waiting) {
	const self = new Float64Array(data.tree.n), old = data.head.diff ? new Float64Array(data.tree.n) : null;
	const {frame} = data.tree;
	for (const l of data.lists) {
		if (!pick(l.task)) continue;
		const to = l.old ? old : self, values = l.values[type];
		for (let i = 0; i < l.nodes.length; i++) {
			const node = l.nodes[i];
			if (waiting || !data.frames.waits[frame[node]]) to[node] += values[i];
		}
	}
	return {self, old};
}

// finish sums up and places the nodes of a tree in preorder: total and start of each.
function finish(tree, self, old) {
	const {n, parent} = tree, total = self.slice(), oldTotal = old && old.slice();
	for (let i = n - 1; i > 0; i--) total[parent[i]] += total[i];
	if (old) for (let i = n - 1; i > 0; i--) oldTotal[parent[i]] += oldTotal[i];
	const start = new Float64Array(n), next = new Float64Array(n);
	for (let i = 1; i < n; i++) {
		const p = parent[i];
		next[i] = start[i] = next[p];
		next[p] += total[i];
	}
	return {...tree, self, old, total, oldTotal, start};
}

// preorder arranges nodes that are in any order with parents first: callees by frame or,
// with total, by size. from tells what each one was.
function preorder(n, frame, parent, total) {
	const first = new Uint32Array(n + 2), kids = new Uint32Array(n);
	for (let i = 1; i < n; i++) first[parent[i] + 2]++;
	for (let i = 1; i < n + 2; i++) first[i] += first[i - 1];
	for (let i = 1; i < n; i++) kids[first[parent[i] + 1]++] = i;
	const t = {n, frame: new Uint32Array(n), parent: new Uint32Array(n), end: new Uint32Array(n),
		depth: new Uint32Array(n), from: new Uint32Array(n), grey: new Map()};
	const to = new Uint32Array(n), stack = [0];
	for (let k = 0; stack.length; k++) {
		const i = stack.pop(), p = to[parent[i]];
		to[i] = k;
		t.frame[k] = frame[i]; t.parent[k] = p; t.from[k] = i;
		if (k) t.depth[k] = t.depth[p] + 1;
		const a = first[i], b = first[i + 1];
		if (b - a > 1) kids.subarray(a, b).sort(total ? (x, y) => total[y] - total[x] || frame[x] - frame[y] : (x, y) =>
			frame[x] - frame[y]);
		for (let c = b; c-- > a;) stack.push(kids[c]);
	}
	for (let i = n - 1; i >= 0; i--) {
		t.end[i] = Math.max(t.end[i], i + 1);
		if (i) t.end[t.parent[i]] = Math.max(t.end[t.parent[i]], t.end[i]);
	}
	return t;
}

const carry = (t, values) => values && values.constructor.from(t.from, i => values[i]);

// grown is a list of numbers that grows.
class Grown {
	constructor(type, size) { this.a = new type(size); this.n = 0; }
	push(v) {
		if (this.n === this.a.length) { const b = new this.a.constructor(2 * this.n); b.set(this.a); this.a = b; }
		this.a[this.n++] = v;
	}
	get() { return this.a.subarray(0, this.n); }
}

// project joins the nodes of tree from root on into a new one: target(i) is the frame to
// show i as, -1 to leave the frame out (its value goes to its caller), -2 to leave out it and
// all that it calls, and -3 to begin at the root again.
function project(tree, self, old, root, rootFrame, target) {
	let mask = 1023, slots = new Uint32Array(1024);
	const frame = new Grown(Uint32Array, 1024), parent = new Grown(Uint32Array, 1024),
		own = new Grown(Float64Array, 1024), owned = new Grown(Float64Array, 1024);
	const grey = new Map(), to = new Int32Array(tree.n);
	frame.push(rootFrame); parent.push(0); own.push(self[root]); owned.push(old ? old[root] : 0);
	const hash = (p, f) => {
		let h = Math.imul(p, 0x9e3779b1) ^ Math.imul(f, 0x85ebca6b);
		h ^= h >>> 15;
		return Math.imul(h, 0x2c1b3c6d) ^ h >>> 13;
	};
	const child = (p, f) => {
		let at = hash(p, f) & mask;
		for (let s; (s = slots[at]); at = (at + 1) & mask) if (parent.a[s] === p && frame.a[s] === f) return s;
		const c = frame.n;
		frame.push(f); parent.push(p); own.push(0); owned.push(0);
		slots[at] = c;
		if (2 * c > mask) {
			mask = 2 * mask + 1;
			slots = new Uint32Array(mask + 1);
			for (let i = 1; i <= c; i++) {
				let k = hash(parent.a[i], frame.a[i]) & mask;
				while (slots[k]) k = (k + 1) & mask;
				slots[k] = i;
			}
		}
		return c;
	};
	for (let i = root + 1; i < tree.end[root]; i++) {
		const t = target(i), p = tree.parent[i] === root ? 0 : to[tree.parent[i]];
		if (t === -2) { i = tree.end[i] - 1; continue; }
		const k = to[i] = t === -3 ? 0 : t < 0 ? p : child(p, t);
		own.a[k] += self[i];
		if (old) owned.a[k] += old[i];
		if (t >= 0 && tree.grey.has(i)) grey.set(k, (grey.get(k) || 0) + tree.grey.get(i));
	}
	const t = preorder(frame.n, frame.get(), parent.get());
	if (grey.size) t.from.forEach((i, k) => { if (grey.has(i)) t.grey.set(k, grey.get(i)); });
	return {tree: t, self: carry(t, own.a), old: old && carry(t, owned.a)};
}

// invert makes the tree of callers: below its root stand the frames of the entries (nodes of
// tree with weights), below each the callers. Level by level, entries that reach the same
// node are joined; what holds less than least of the whole is not followed further up, and
// beyond limit nodes nothing is.
function invert(tree, entries, weights, olds, rootFrame, skipFirst, least, limit) {
	const frame = new Grown(Uint32Array, 1024), parent = new Grown(Uint32Array, 1024),
		own = new Grown(Float64Array, 1024), owned = new Grown(Float64Array, 1024);
	frame.push(rootFrame); parent.push(0); own.push(0); owned.push(0);
	const mark = new Int32Array(tree.n).fill(-1), group = new Map();
	// Each group is a node being made and the entries [nodes, weights, olds] that lead to it.
	let level = [[0, entries, weights, olds]], whole = 0, cut = 0;
	for (const w of weights) whole += w;
	if (olds) { let o = 0; for (const w of olds) o += w; whole = Math.max(whole, o); }
	for (let depth = 0; level.length; depth++) {
		const next = [];
		for (const [node, nodes, ws, os] of level) {
			group.clear();
			for (let k = 0; k < nodes.length; k++) {
				const at = depth || skipFirst ? tree.parent[nodes[k]] : nodes[k];
				if (at === 0) { own.a[node] += ws[k]; if (os) owned.a[node] += os[k]; continue; }
				const f = tree.frame[at];
				let g = group.get(f);
				if (!g) group.set(f, g = [0, [], [], os && [], 0]);
				const seen = mark[at];
				if (seen >= 0) {
					g[2][seen] += ws[k];
					if (os) g[3][seen] += os[k];
				} else { mark[at] = g[1].length; g[1].push(at); g[2].push(ws[k]); if (os) g[3].push(os[k]); }
				g[4] += Math.max(ws[k], os ? os[k] : 0);
			}
			for (const [f, g] of group) {
				for (const at of g[1]) mark[at] = -1;
				if (!g[4]) continue;
				g[0] = frame.n;
				frame.push(f); parent.push(node); own.push(0); owned.push(0);
				if (g[4] >= least * whole && frame.n < limit) { next.push(g); continue; }
				cut++;
				for (const w of g[2]) own.a[g[0]] += w;
				if (os) for (const w of g[3]) owned.a[g[0]] += w;
			}
		}
		level = next;
	}
	const t = preorder(frame.n, frame.get(), parent.get());
	return {tree: t, self: carry(t, own.a), old: olds && carry(t, owned.a), cut};
}

// outermost returns the nodes of frame f that no other of f calls, and those of any frame
// that test says yes to.
function outermost(tree, test) {
	const found = [];
	for (let i = 0; i < tree.n;) {
		if (test(tree.frame[i], i)) { found.push(i); i = tree.end[i]; } else i++;
	}
	return found;
}

// matcher makes a test for names of what was typed: a regular expression if it is one, with
// case ignored unless it has an upper case letter; file: and module: look there instead.
function matcher(query, frames) {
	const [, where, what] = /^(?:(file|module):)?(.*)$/s.exec(query);
	if (!what) return null;
	let test;
	const fold = what === what.toLowerCase();
	try {
		const r = new RegExp(what, fold ? 'i' : '');
		test = s => r.test(s);
	} catch {
		test = s => (fold ? s.toLowerCase() : s).includes(what);
	}
	const once = list => list.map(s => s !== '' && s.split('\n').some(test));
	const hit = new Uint8Array(frames.n);
	if (where) {
		const yes = once(where === 'file' ? frames.files : frames.modules), of = frames[where];
		for (let f = FIRST; f < frames.n; f++) hit[f] = yes[of[f]] ? 1 : 0;
	} else for (let f = FIRST; f < frames.n; f++) hit[f] = test(frames.names[f]) ? 1 : 0;
	return hit;
}

// search counts hits in a view: by node how many are before it, and the sums from root on.
function search(view, hit, root) {
	const {n, frame, end} = view, before = new Uint32Array(n + 1);
	for (let i = 0, c = 0; i < n; i++) before[i + 1] = c += hit[frame[i]];
	return {hit, before, ...matched(view, hit, before, root)};
}

function matched(view, hit, before, root) {
	let total = 0, self = 0, count = 0;
	const {frame, end} = view;
	for (let i = root, inside = 0; i < end[root]; i++) {
		if (i >= inside && before[end[i]] === before[i]) { i = end[i] - 1; continue; }
		if (!hit[frame[i]]) continue;
		self += view.self[i];
		if (i >= inside) { total += view.total[i]; inside = end[i]; count++; }
	}
	return {total, self, count};
}

// layout places what is drawn below zoom, that which is wide says yes to by its width: rows of (node, x, width,
// last). A strip of others has -1-node for the first of them, and last is behind the
// end of the last.
function layout(view, zoom, width, wide = w => w >= 0.5) {
	const rows = [], {end, start, total, parent} = view, base = view.depth[zoom], whole = total[zoom];
	for (let i = zoom, d = base; d >= 0; d--, i = parent[i]) rows[d] = [i, 0, width, end[i]];
	if (!whole) return rows;
	const scale = width / whole, origin = start[zoom], {depth} = view;
	for (let i = zoom + 1, last = end[zoom]; i < last;) {
		const w = total[i] * scale;
		if (w <= 0) { i = end[i]; continue; }
		const x = (start[i] - origin) * scale, row = rows[depth[i]] || (rows[depth[i]] = []);
		if (wide(w)) { row.push(i, x, w, end[i]); i++; continue; }
		const k = row.length;
		if (k && row[k - 4] < 0 && x - row[k - 3] - row[k - 2] < 0.01 && row[k - 1] === i) {
			row[k - 2] = x + w - row[k - 3];
			row[k - 1] = end[i];
		} else row.push(-1 - i, x, w, end[i]);
		i = end[i];
	}
	return rows;
}

// shorten cuts a name to n letters, in the middle where it is made of parts.
function shorten(name, n) {
	if (name.length <= n && !/[^\0-\u10ff]/.test(name)) return name;
	const letters = [...name.slice(0, 4 * n + 400)], wide = c => (c >= '\u2e80' || c >= '\u1100' && c < '\u1160' ? 2 :
		1);
	const columns = s => { let k = 0; for (const c of s) k += wide(c); return k; };
	if (columns(letters) <= n && name.length <= 4 * n + 400) return name;
	if (n < 3) return '';
	const fit = (s, k) => {
		let i = 0;
		while (i < s.length && (k -= wide(s[i])) >= 0) i++;
		return s.slice(0, i).join('');
	};
	const at = lastPart(letters), tail = letters.slice(at), taken = columns(tail);
	if (!at) return fit(letters, n - 1) + '…';
	if (taken + 3 > n) return taken + 1 <= n ? '…' + tail.join('') : shorten(tail.join('').replace(/^[:./]+/, ''), n);
	return fit(letters, n - 1 - taken) + '…' + tail.join('');
}

function lastPart(name) {
	let depth = 0, at = 0;
	for (let i = 0; i < name.length; i++) {
		const c = name[i];
		if (c === '(' && i && !depth) return at;
		if ('<[{'.includes(c)) depth++;
		else if ('>]}'.includes(c)) {
			if (depth) depth--;
		} else if (!depth && i && (c === '.' || c === '/' || c === ':' && name[i - 1] === ':')) at = c === ':' ? i - 1 :
			i;
	}
	return at;
}

const base = path => path.slice(path.lastIndexOf('/') + 1);

// bases are the last elements of the paths that text joins by line ends, each once.
const bases = text => [...new Set(text.split('\n').map(base))].join(', ');

// labelOf names a function as tables do: libc's poll and the system call poll are two.
const labelOf = (frames, f) => frames.names[f] + (f >= FIRST && frames.waits[f] ? ' (waits)' : '');

const nameOf = (data, view, i) => {
	const grey = view.grey.get(i), f = view.frame[i];
	return grey ? '(' + grey.toLocaleString('en') + ' smaller' + (data.frames.waits[f] ? ', waiting)' : ')') :
		data.frames.names[f];
};

const sourceOf = (frames, f) => {
	const [s, ...more] = bases(frames.files[frames.file[f]]).split(', ');
	return [s && frames.low[f] ? s + ':' + frames.low[f] + (frames.more[f] ? '–' + (frames.low[f] + frames.more[f]) :
		'') : s, ...more].join(', ');
};

function quantity(v, unit) {
	const steps = {nanoseconds: ['ns', 'µs', 'ms', 's'], microseconds: ['µs', 'ms', 's'], milliseconds: ['ms', 's'],
		bytes: ['B', 'KiB', 'MiB', 'GiB', 'TiB']}[unit];
	if (!steps) return Math.round(v).toLocaleString('en');
	let i = 0;
	for (const by = unit === 'bytes' ? 1024 : 1000; i < steps.length - 1 && Math.abs(v) >= by; i++) v /= by;
	return v.toFixed(Math.abs(v) >= 100 || !i ? 0 : Math.abs(v) >= 10 ? 1 : 2) + ' ' + steps[i];
}

const percent = (part, whole) => (whole ? 100 * part / whole : 0).toFixed(2) + ' %';

// roughly is part of whole in whole per cent, which is 0 or 100 only for nothing and everything.
function roughly(part, whole) {
	const share = 100 * part / (whole || 1);
	return (part > 0 && share < 1 ? '<1' : part < whole && share > 99 ? '>99' : share.toFixed(0)) + ' %';
}

// whose says of a time that it is one of all threads added up.
const whose = type => (type.thread ? ' of thread time' : '');

// errorOf is the standard error of the change of node i, NaN if it is not known: graph.go says what a grain is.
function errorOf(view, i) {
	const g = view.grain, after = view.total[i], before = view.oldTotal[i];
	return !g || !g[0] && (after || !g[1]) || !g[1] && before ? NaN : Math.sqrt(g[0] * after + g[1] * before);
}
const isNoise = (view, i) => view.total[i] === view.oldTotal[i] ||
	Math.abs(view.total[i] - view.oldTotal[i]) < NOISE * errorOf(view, i);
const pointsOf = (view, i) => {
	const whole = view.total[0] || view.oldTotal[0] || 1, change = 100 * (view.total[i] - view.oldTotal[i]) / whole,
		error = 100 * errorOf(view, i) / whole;
	return `${change < 0 ? '' : '+'}${change.toFixed(2)}` +
		(error >= 0 ? ` ± ${error.toFixed(2)} points` : ' points') +
		(error >= 0 && isNoise(view, i) ? ', within the noise of the samples' : '');
};
// lostOf lists the outermost nodes that only the older side has, the largest first: they have no width.
function lostOf(view) {
	const lost = [];
	for (let i = 1; i < view.n;) if (!view.total[i] && view.oldTotal[i]) { lost.push(i); i = view.end[i]; } else i++;
	return lost.sort((a, b) => view.oldTotal[b] - view.oldTotal[a]);
}

function fillOf(data, theme, view, i) {
	const f = view.frame[i];
	if (!view.oldTotal) return theme.kinds[KINDS[data.frames.kind[f]]][data.frames.shade[f]];
	const change = (view.total[i] - view.oldTotal[i]) / (view.total[0] || 1);
	let k = -1;
	if (!isNoise(view, i)) for (const c of CHANGES) if (Math.abs(change) >= c) k++;
	return k < 0 ? theme.equal : (change < 0 ? theme.less : theme.more)[k];
}
