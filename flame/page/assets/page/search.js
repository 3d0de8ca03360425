// Search: its share and its matches.
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
	const shown = V.flat.total[0];
	shareText = () => percent(all.total, shown) + (shown === whole() ? ofAll() : ' of what is shown') +
		(S.z ? ' · view ' + percent(here.total, inside) : '');
	share.textContent = shareText();
	share.title = `${N(all.count)} matching frames: ${amount(all.total)} in all, ` +
		`${amount(all.self)} of their own (${percent(all.self, shown)}); shares are of ${amount(shown)}`;
}

let typing = 0;
input.oninput = () => {
	clearTimeout(typing);
	typing = setTimeout(() => go({q: input.value}, true), head.nodes > 2e5 ? 60 : 0);
};
// step goes to the next match, the largest first. A match inside another one is part of it.
function step(by) {
	if (!found) return;
	const k = found.length - 1, p = panes[k], v = p.view, f = found[k];
	f.list = f.list || outermost(v, g => f.hit[g]).filter(i => v.total[i] > 0).sort((a, b) => v.total[b] - v.total[a] ||
		a - b);
	const n = f.list.length, at = picked && picked[0] === p ? f.list.indexOf(picked[1]) : -1;
	if (!n) return;
	const i = f.list[at < 0 && by < 0 ? n - 1 : (at + by + n) % n];
	// Zoomed out or in so far that it can be read.
	let z = S.z;
	while (z && !(i >= z && i < v.end[z])) z = v.parent[z];
	if (v.total[i] / v.total[z] * graph.clientWidth < 40) for (z = i; v.parent[z] &&
		v.total[i] / v.total[v.parent[z]] > 0.1;) z = v.parent[z];
	const list = f.list;
	if (z !== S.z) { go({z}, true); found[k].list = list; }
	select([p, i]);
	share.textContent = `${N(list.indexOf(i) + 1)}/${N(n)} · ` + shareText();
}
