// The call tree as a list that unfolds.
function treeView() {
	const {view} = V, box = el('div', {role: 'tree', ariaLabel: 'Call tree'}), all = view.total[0];
	const kids = i => {
		const out = [];
		for (let c = i + 1; c < view.end[i]; c = view.end[c]) if (view.total[c] > 0) out.push(c);
		return out.sort((a, b) => view.total[b] - view.total[a]);
	};
	const make = (i, level) => {
		const leaf = !kids(i).length,
			r = el('div', {role: 'treeitem', tabIndex: -1, ariaLevel: String(level), className: 'item'},
			el('em', {textContent: percent(view.total[i], all)}), el('span', {textContent: nameOf(data, view, i)}));
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
	box.onclick = e => {
		const r = e.target.closest('.item');
		if (r) { r.focus(); unfold(r, r.ariaExpanded !== 'true'); }
	};
	box.onfocus = box.onfocusin = null;
	box.addEventListener('focusin', e => {
		for (const r of box.querySelectorAll('[tabindex="0"]')) r.tabIndex = -1;
		e.target.tabIndex = 0;
		picked = [panes[panes.length - 1], e.target.node];
		describe(picked);
		draw();
	});
	box.onkeydown = e => {
		const r = e.target, to = {ArrowDown: r.nextSibling, ArrowUp: r.previousSibling}[e.key];
		if (to) to.focus();
		else if (e.key === 'ArrowRight') r.ariaExpanded === 'true' ? r.nextSibling.focus() : unfold(r, true);
		else if (e.key === 'ArrowLeft') {
			if (r.ariaExpanded === 'true') unfold(r, false);
			else { let u = r.previousSibling; while (u && u.level >= r.level) u = u.previousSibling; u && u.focus(); }
		} else if (e.key === 'Enter') act([panes[panes.length - 1], r.node]);
		else return;
		e.preventDefault(); e.stopPropagation();
	};
	return box;
}
