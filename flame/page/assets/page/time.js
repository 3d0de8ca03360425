// Time: a strip of all threads with an axis, and below it a lane for each thread. Both share one axis and choose a
// range.
const LANE = 15, STRIP = 30;
const until = runs.to.reduce((a, b) => Math.max(a, b), 1);
// Each lane is a thread and its runs [first, last), those that ran most first.
const allLanes = [];
for (let k = 0; k < runs.task.length; k++) {
	let lane = allLanes[allLanes.length - 1];
	if (!lane || lane.task !== runs.task[k]) allLanes.push(lane = {task: runs.task[k], first: k, ran: 0});
	lane.last = k + 1;
	if (!ranNot(k)) lane.ran += runs.to[k] - runs.from[k];
}
allLanes.sort((a, b) => b.ran - a.ran || a.task - b.task);
function ranNot(k) { return frames.waits[data.tree.frame[runs.node[k]]]; }
// gutter is where the axis begins: left of it are the names of threads.
const gutter = () => Math.min(170, time.clientWidth * 0.25 | 0);
const axis = () => (lanes.hidden ? time : lanes).clientWidth - gutter();
const xOf = ns => gutter() + ns / until * axis();
const nsAt = e => Math.max(0, Math.min(1, (e.clientX - time.getBoundingClientRect().left - gutter()) / axis())) * until;

// columns sums, for each pixel of a row of width, how long the runs ran and how long they are known, and which node ran
// longest.
function columns(width, list) {
	const ran = new Float64Array(width), known = new Float64Array(width), node = new Int32Array(width).fill(-1),
		longest = new Float64Array(width), by = until / width;
	for (const {first, last} of list) for (let k = first; k < last; k++) {
		const yes = !ranNot(k);
		if (!yes && list.length > 1) continue; // the strip of all shows what ran alone
		for (let x = runs.from[k] / by | 0; x < width && x * by < runs.to[k]; x++) {
			const w = Math.min(runs.to[k], (x + 1) * by) - Math.max(runs.from[k], x * by);
			known[x] += w;
			if (!yes) continue;
			ran[x] += w;
			if (w > longest[x]) { longest[x] = w; node[x] = runs.node[k]; }
		}
	}
	return {ran, known, node, by};
}
function context(canvas, W, H) {
	const ratio = devicePixelRatio || 1, c = canvas.getContext('2d');
	canvas.width = W * ratio; canvas.height = H * ratio;
	canvas.style.width = W + 'px'; canvas.style.height = H + 'px';
	c.scale(ratio, ratio);
	c.fillStyle = theme.paper; c.fillRect(0, 0, W, H);
	c.font = '11px system-ui, sans-serif'; c.textBaseline = 'middle'; c.fillStyle = theme.text;
	return c;
}
// fitText shortens text to the gutter.
const fitText = text => shorten(text, (gutter() - 8) / 6.2 | 0);
// shade darkens what is outside the range chosen.
function shade(c, H) {
	if (!S.range) return;
	const [a, b] = S.range.map(ms => xOf(ms * 1e6)), G = gutter();
	c.fillStyle = theme.text; c.globalAlpha = 0.25; c.fillRect(G, 0, a - G, H); c.fillRect(b, 0, G + axis() - b, H);
	c.globalAlpha = 1;
}
function drawTime() {
	if (time.hidden) return;
	lanes.hidden = !S.lanes || allLanes.length < 2;
	lanes.style.height = Math.min(allLanes.length, innerWidth < 700 || innerHeight < 600 ? 4 : 8) * LANE + 'px';
	room.style.height = allLanes.length * LANE + 'px';
	const W = gutter() + axis(), G = gutter(), wide = Math.max(1, W - G), c = context(time, W, STRIP + 16),
		key = wide + ' ' + (S.threads && [...S.threads]);
	if (drawTime.key !== key) { drawTime.key = key; drawTime.all = columns(wide, allLanes.filter(l => pick(l.task))); }
	const {ran, by} = drawTime.all, most = ran.reduce((a, b) => Math.max(a, b), by / 100);
	const peak = `peak ${+(most / by).toFixed(1)} running or ready`; // ready: for a CPU, so it may exceed their number
	time.ariaLabel = `Activity over time, ${peak}: drag, or left and right and with Shift, choose a range`;
	c.fillText(fitText(peak), 4, STRIP / 2);
	c.fillStyle = theme.kinds.thread[0]; c.fillRect(G, 0, wide, STRIP);
	c.fillStyle = theme.kinds.application[3];
	ran.forEach((v, x) => { if (v) c.fillRect(G + x, STRIP * (1 - v / most), 1, STRIP * v / most); });
	ticks(c, wide);
	shade(c, STRIP);
	drawLanes();
}
// ticks marks round times, some 90 pixels apart.
function ticks(c, wide) {
	let step = 10 ** Math.ceil(Math.log10(until * 90 / wide));
	if (step / 5 * wide / until >= 90) step /= 5; else if (step / 2 * wide / until >= 90) step /= 2;
	const [unit, size] = until >= 1e9 ? ['s', 1e9] : until >= 1e6 ? ['ms', 1e6] : ['µs', 1e3];
	c.fillStyle = theme.text;
	for (let k = 0; k * step <= until; k++) {
		const x = Math.round(xOf(k * step)), text = +(k * step / size).toPrecision(9) + ' ' + unit,
			half = c.measureText(text).width / 2;
		c.fillRect(x, STRIP, 1, 4);
		c.fillText(text, Math.max(gutter(), Math.min(x - half, gutter() + wide - 2 * half)), STRIP + 10);
	}
}
// drawLanes draws the lanes in sight: a thin line where the thread waited, a bar in the colour of what it ran.
function drawLanes() {
	if (lanes.hidden) return;
	const W = lanes.clientWidth, H = lanes.clientHeight, G = gutter(), wide = Math.max(1, W - G),
		c = context(rails, W, H), from = lanes.scrollTop;
	for (let r = from / LANE | 0; r < allLanes.length && r * LANE < from + H; r++) {
		const lane = allLanes[r], y = r * LANE - from;
		if (!lane.columns || lane.columns.ran.length !== wide) lane.columns = columns(wide, [lane]);
		const {ran, known, node, by} = lane.columns;
		c.globalAlpha = pick(lane.task) ? 1 : 0.3;
		c.fillStyle = theme.text;
		c.fillText(fitText(taskName(lane.task)), 4, y + LANE / 2);
		c.fillStyle = theme.kinds.kernel[3];
		for (let x = 0; x < wide; x++) if (known[x]) c.fillRect(G + x, y + LANE - 3, 1, 2);
		for (let x = 0; x < wide; x++) if (ran[x]) {
			const h = Math.max(2, (LANE - 2) * Math.min(1, ran[x] / by));
			c.fillStyle = theme.kinds[KINDS[frames.kind[data.tree.frame[node[x]]]]][3];
			c.fillRect(G + x, y + LANE - 1 - h, 1, h);
		}
		if (r === current && document.activeElement === lanes) {
			c.strokeStyle = theme.text;
			c.strokeRect(1, y + 0.5, W - 2, LANE - 1);
		}
	}
	c.globalAlpha = 1;
	shade(c, H);
	rails.ariaLabel =
		`${N(allLanes.length)} threads over time, those that ran most first. The menu of threads holds the same names.`;
}
lanes.onscroll = drawLanes;
lanes.onfocus = lanes.onblur = drawLanes;

// By keys a range is chosen in steps of a hundredth, and a thread in the lanes.
time.onkeydown = e => {
	const by = e.key === 'ArrowLeft' ? -1 : e.key === 'ArrowRight' ? 1 : 0, all = until / 1e6;
	if (!by || e.ctrlKey || e.altKey || e.metaKey) return;
	e.preventDefault();
	const step = Math.max(1, Math.round(all / 100)), [from, to] = S.range || (by > 0 ? [-step, all / 10 - step] :
		[all * 0.9 + step, all + step]);
	const begin = Math.max(0, Math.min(all - step, from + (e.shiftKey ? 0 : by * step))),
		end = Math.max(begin + step, Math.min(all, to + by * step));
	go({range: [Math.round(begin), Math.round(end)], z: 0}, true);
	say(`${(S.range[0] / 1000).toFixed(3)} to ${(S.range[1] / 1000).toFixed(3)} seconds`);
};
let current = 0; // the lane that keys choose from
lanes.onkeydown = e => {
	const by = e.key === 'ArrowUp' ? -1 : e.key === 'ArrowDown' ? 1 : 0;
	if (e.key === 'Enter') { e.preventDefault(); alone(allLanes[current].task); return; }
	if (!by) return;
	e.preventDefault();
	current = Math.max(0, Math.min(allLanes.length - 1, current + by));
	lanes.scrollTop = Math.max(Math.min(lanes.scrollTop, current * LANE), (current + 1) * LANE - lanes.clientHeight);
	drawLanes();
	say(`${taskName(allLanes[current].task)} ran ${quantity(allLanes[current].ran, 'nanoseconds')}`);
};
// alone chooses one thread, or all again.
const alone = task => go({threads: S.threads && S.threads.size === 1 && S.threads.has(task) ? null : new Set([task]),
	z: 0});

// runAt finds what a thread did at a time.
function runAt(lane, ns) {
	let lo = lane.first, hi = lane.last;
	while (lo < hi) { const m = lo + hi >> 1; if (runs.to[m] <= ns) lo = m + 1; else hi = m; }
	return lo < lane.last && runs.from[lo] <= ns ? lo : -1;
}
const laneAt = e => allLanes[(e.clientY - lanes.getBoundingClientRect().top + lanes.scrollTop) / LANE | 0];
let dragged = -1;
const msAt = e => Math.round(nsAt(e) / 1e6);
for (const place of [time, lanes]) {
	place.onpointerdown = e => {
		if (e.offsetX > place.clientWidth && place === lanes) return;
		dragged = msAt(e);
		place.setPointerCapture(e.pointerId);
	};
	place.onpointermove = e => {
		if (dragged >= 0 && dragged !== msAt(e)) {
			S.range = [Math.min(dragged, msAt(e)), Math.max(dragged, msAt(e))];
			drawTime();
		}
		if (place === lanes && dragged < 0) tellLane(e);
	};
	place.onpointerup = e => {
		const at = msAt(e), from = dragged, lane = place === lanes && laneAt(e);
		dragged = -1; S.range = null;
		if (from < 0) return;
		if (lane && at === from) alone(lane.task);
		else go({z: 0, range: at === from ? null : [Math.min(at, from), Math.max(at, from)]});
	};
}
// tellLane shows what the thread under the mouse did.
function tellLane(e) {
	const lane = laneAt(e), k = lane ? runAt(lane, nsAt(e)) : -1;
	tip.hidden = !lane;
	if (!lane) return;
	const what = k < 0 ? 'not sampled' : labels[data.tree.frame[runs.node[k]]];
	tip.replaceChildren(el('b', {textContent: taskName(lane.task)}),
		el('div', {textContent: `${(nsAt(e) / 1e9).toFixed(3)} s: ${what}`}),
		el('div', {textContent: `ran ${quantity(lane.ran, 'nanoseconds')} of ` +
			`${quantity(until, 'nanoseconds')}; click: this thread alone`}));
	tip.style.left = Math.max(4, Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8)) + 'px';
	tip.style.top = e.clientY + 22 + 'px';
}
lanes.onpointerleave = () => { tip.hidden = true; };
