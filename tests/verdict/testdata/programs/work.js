function parse(text) { return JSON.parse(text).length; }
function match(text) { return (text.match(/"tag":\[(.*?)\]/g) || []).length; }
function join(n) { return Array.from({ length: n }, (_, i) => ({ id: i, tag: [String(i)] })); }
console.log('ready');
for (;;) {
  const text = JSON.stringify(join(5000));
  parse(text);
  match(text);
}
