// el makes an element: properties, attributes where there is no such property, and what it holds.
const el = (tag, props, ...kids) => {
	const e = document.createElement(tag);
	for (const [k, v] of Object.entries(props || {})) k in e ? e[k] = v : e.setAttribute(k, v);
	e.append(...kids);
	return e;
};
