// What all parts of the page know: the data, the state, the elements.
block('static').remove();
const {head, frames, runs} = data, names = frames.names, labels = names.map((_, f) => labelOf(frames, f)),
	N = v => v.toLocaleString('en');
// inLanguage marks the nodes of functions of a language and all below them; native those of them that are native code,
// null if there are none. What waits is not among these: it has a switch of its own.
const inLanguage = new Uint8Array(data.tree.n), native = (() => {
	const {n, parent, frame} = data.tree, out = new Uint8Array(n);
	for (let i = 1; i < n; i++) {
		const f = frame[i], own = LANGUAGES.includes(frames.kind[f]);
		inLanguage[i] = own || inLanguage[parent[i]];
		out[i] = inLanguage[i] && !own && !frames.waits[f] && frames.kind[f] < THREAD;
	}
	return out.includes(1) ? out : null;
})();
// mostlyLanguage says whether most of what ran is in functions of a language, or was done for them.
const mostlyLanguage = () => {
	const {self} = selfs(data, head.type, () => true, false),
		sum = yes => self.reduce((a, v, i) => yes(i) ? a + v : a, 0);
	return !!native && sum(i => inLanguage[i]) > sum(() => true) / 2;
};
const defaults = {z: 0, q: '', type: head.type, threads: null, wait: !!head.waits, flip: null, rev: false,
	sand: -1, fold: !head.native && mostlyLanguage(), hide: [], focus: [], ignore: [], rec: false, size: false,
	theme: '', chart: -1, range: null, lanes: true,
	table: ''};
let S = {...defaults}, V, panes = [], found = null, picked = null, hovered = null, theme = PALETTE.light,
	shareText = null, viewKey = '', searchKey = '', laid = '', scrolled = '';

// The document.
const button = (text, label, onclick, props) =>
	el('button', {type: 'button', textContent: text, title: label, ariaLabel: label, onclick, ...props});
const input = el('input', {type: 'search', id: 'q', placeholder: 'search (regex, file:, module:)',
	ariaLabel: 'Search functions', spellcheck: false, autocomplete: 'off'});
const share = el('output', {id: 'share', htmlFor: 'q'}), finds = el('span', {id: 'finds', hidden: true}, share,
	button('‹', 'Previous match (N)', () => step(-1)), button('›', 'Next match (n)', () => step(1)));
const types = el('div', {className: 'group', role: 'group', ariaLabel: 'Value'},
	...head.types.map((t, i) => button(t.title, 'Show ' + t.title, () => go({type: i, z: 0}), {id: 'type' + i})));
const wait = el('button', {type: 'button', id: 'wait', onclick: () => go({wait: !S.wait, z: 0})});
const fold = el('button', {type: 'button', id: 'fold', hidden: !native,
	title: 'Native code below a function of a language counts as that function (v)',
	onclick: () => go({fold: !S.fold, z: 0})});
const popup = (id, label, title) => {
	const b = button(label, title, () => toggle(b));
	b.id = id;
	b.setAttribute('aria-haspopup', 'true');
	b.ariaExpanded = 'false';
	b.pop = el('div', {className: 'pop', id: id + '-menu', hidden: true, role: 'group', ariaLabel: label});
	return b;
};
const threads = popup('threads', 'Threads', 'Choose threads (t)'), views = popup('view', 'View', 'Ways to look at it');
const tables = button('☰', 'Tables (l)', () => go({table: S.table ? '' : 'top'}), {id: 'tables'});
const bar = el('div', {id: 'bar'}, el('h1', {textContent: head.title, title: head.command || head.title}),
	head.types.length > 1 ? types : '', wait, fold,
	el('div', {id: 'search'}, input, finds), threads, views,
		tables,
		button('◐', 'Theme (d)', () => switchTheme(), {id: 'theme'}),
		button('?', 'Keys and help (?)', () => help.showModal(), {id: 'help'}));
const details = el('div', {id: 'details'}), chips = el('div', {id: 'chips'}), colours = el('div', {id: 'colours'}),
	spoken = el('div', {id: 'spoken', className: 'hidden', role: 'status'});
const canvas = el('canvas', {id: 'canvas', role: 'img'}), spacer = el('div'),
	graph = el('div', {id: 'graph', tabIndex: 0, role: 'group', ariaLabel: 'Flame graph'}, canvas, spacer);
const time = el('canvas', {id: 'time', tabIndex: 0, role: 'application', hidden: !runs.task.length});
const rails = el('canvas', {role: 'img'}), room = el('div'),
	lanes = el('div', {id: 'lanes', tabIndex: 0, role: 'group', ariaLabel: 'Threads over time', hidden: true}, rails,
	room);
const drawer = el('section', {id: 'drawer', hidden: true, ariaLabel: 'Tables'}),
	tip = el('div', {id: 'tip', hidden: true, ariaHidden: 'true'}),
	menu = el('div', {id: 'menu', className: 'pop', role: 'menu', hidden: true});
const KEYS = [['/ or Ctrl-F', 'search (twice: the browser’s own)'],
	['Enter, n / Shift-Enter, N', 'next, previous match'], ['arrows', 'move'], ['Enter', 'zoom in'],
	['Esc, Backspace', 'back'], ['0', 'everything'], ['i', 'flip (root at the top or the bottom)'],
	['r', 'reverse (callers above the innermost)'], ['s', 'sandwich: callers and callees of the chosen function'],
	['t', 'threads'], ['w', 'show or hide what waits'],
	['v', 'show or hide native frames below those of a language'], ['l', 'tables'], ['m', 'menu of the chosen frame'],
	['← →, with Shift', 'in the strip of time: move the range, change its length'],
	['↑ ↓ Enter', 'in the lanes: choose a thread, this thread alone'], ['d', 'theme'],
	['c, C', 'copy name, stack'], ['?', 'this help']];
const facts = [head.command && 'Command: ' + head.command, head.start && 'Recorded: ' + head.start +
	(head.duration ? ', ' + head.duration.toFixed(1) + ' s' : ''), head.period && 'Every ' +
	(head.period * 1000).toFixed(1) + ' ms', N(head.nodes - 1) + ' frames of ' + N(head.frames - 3) + ' functions',
	head.smaller && N(head.smaller) + ' frames too small to be kept are drawn as grey “(n smaller)” frames',
		...(head.comments || [])].filter(Boolean);
const legend = el('p', {id: 'legend'}), help = el('dialog', {id: 'about', ariaLabel: 'Help'},
	el('h2', {textContent: head.title}), ...facts.map(t => el('p', {textContent: t})), legend,
	el('table', {}, ...KEYS.map(([k, t]) => el('tr', {}, el('th', {textContent: k, scope: 'row'}),
		el('td', {textContent: t})))),
	el('p', {textContent: 'Click zooms; a click on a caller, Back or Esc goes out again. Right click or a long press ' +
		'opens a menu. The address keeps the view: it can be mailed with the file.'}), button('Close', 'Close',
		() => help.close()));
document.body.append(el('header', {}, bar, threads.pop, views.pop, details, chips, colours),
	el('main', {}, time, lanes, graph, menu), drawer, spoken, tip, help);
const notes = facts.slice(facts.length - (head.comments || []).length - (head.smaller ? 1 : 0));
