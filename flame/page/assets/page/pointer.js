// The mouse and fingers.
let held = 0, long = false;
graph.onpointermove = e => {
	clearTimeout(held);
	const at = e.pointerType === 'touch' ? null : hit(e);
	if (String(at && at[1]) !== String(hovered && hovered[1]) || (at && at[0]) !== (hovered && hovered[0])) {
		hovered = at;
		draw();
		describe(at || picked || [panes[panes.length - 1], S.z]);
	}
	canvas.style.cursor = at ? 'pointer' : '';
	const narrow = !at && e.pointerType !== 'touch' && under(e);
	tip.hidden = !at && !narrow;
	if (tip.hidden) return;
	const d = at ? lines(...at) : strip(narrow);
	tip.replaceChildren(el('b', {textContent: d.name}), el('div', {textContent: d.where}),
		...d.out.map(([k, v]) => el('div', {}, el('i', {textContent: k + ' '}), v)));
	tip.style.left = Math.max(4, Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8)) + 'px';
	tip.style.top = (e.clientY + 22 + tip.offsetHeight > innerHeight ? e.clientY - tip.offsetHeight - 10 : e.clientY +
		22) + 'px';
};
graph.onpointerleave = () => { tip.hidden = true; hovered = null; draw(); };
graph.onpointerdown = e => {
	long = false;
	if (e.pointerType === 'touch') held = setTimeout(() => {
		const at = hit(e);
		if (at) { long = true; open(at, e.clientX, e.clientY); }
	}, 500);
};
graph.onpointerup = graph.onpointercancel = () => clearTimeout(held);
graph.onclick = e => {
	if (long) { long = false; return; } const at = hit(e);
	tip.hidden = true;
	if (at) { picked = at; act(at); }
};
graph.oncontextmenu = e => { const at = hit(e); if (at) { e.preventDefault(); open(at, e.clientX, e.clientY); } };
graph.onscroll = () => { tip.hidden = true; draw(); };
new ResizeObserver(() => { place(); draw(); drawTime(); }).observe(graph);

function open(at, x, y) {
	closeAll();
	picked = at; draw(); describe(at); tip.hidden = true;
	const [p, i] = at, f = p.view.frame[i], name = labels[f], real = frames.kind[f] < THREAD,
		module = bases(frames.modules[frames.module[f]]).split(', ')[0];
	const item = (text, run) => button(text, text, () => { closeAll(); run(); }, {role: 'menuitem', title: ''});
	const add = (k, v) => go({[k]: [...new Set([...S[k], v])], z: 0});
	menu.replaceChildren(el('b', {textContent: shorten(nameOf(data, p.view, i), 50)}), ...[
		S.sand < 0 && item('Zoom', () => act(at)), real && item('Sandwich: callers and callees',
			() => go({sand: f, z: 0})),
		(real || frames.kind[f] === THREAD && i) && item('Focus: stacks with it', () => add('focus', name)),
			(real || frames.kind[f] === THREAD && i) && item('Ignore stacks with it', () => add('ignore', name)),
		real && item('Hide frames of this name', () => add('hide', name)), real && module &&
			item('Hide frames of ' + module, () => add('hide', 'module:' + module)),
		item(S.rec ? 'Show recursion' : 'Collapse recursion', () => go({rec: !S.rec, z: 0})),
			item('Copy name', () => copyName(at)), item('Copy stack', () => copyStack(at))].filter(Boolean));
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
