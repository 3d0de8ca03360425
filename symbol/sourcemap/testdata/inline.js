// src/shapes.ts
var Base = class {
  constructor(name, size) {
    this.name = name;
    this.size = size;
  }
  name;
  size;
};
var Square = class extends Base {
  area(n) {
    let sum = 0;
    for (let i = 0; i < n; i++) {
      sum += this.size * i % 7;
    }
    hold();
    return sum * 0.3048 /* Foot */;
  }
};
function hold() {
  const h = globalThis.hook ?? (() => void 0);
  h();
}

// src/main.ts
function measure(shape) {
  return shape.area(1e3);
}
var run = (shapes) => shapes.reduce((sum, s) => sum + measure(s), 0);
globalThis.hook = () => {
  console.log('{"stack": []}');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
};
run([new Square("a", 3)]);
//# sourceMappingURL=data:application/json;base64,ewogICJ2ZXJzaW9uIjogMywKICAic291cmNlcyI6IFsic3JjL3NoYXBlcy50cyIsICJzcmMvbWFpbi50cyJdLAogICJtYXBwaW5ncyI6ICI7QUFRQSxJQUFlLE9BQWYsTUFBdUQ7QUFBQSxFQUNyRCxZQUE0QixNQUF3QixNQUFTO0FBQWpDO0FBQXdCO0FBQUEsRUFBVTtBQUFBLEVBQWxDO0FBQUEsRUFBd0I7QUFHdEQ7QUFFTyxJQUFNLFNBQU4sY0FBcUIsS0FBYTtBQUFBLEVBQ3ZDLEtBQUssR0FBbUI7QUFDdEIsUUFBSSxNQUFNO0FBQ1YsYUFBUyxJQUFZLEdBQUcsSUFBSSxHQUFHLEtBQUs7QUFDbEMsYUFBUSxLQUFLLE9BQU8sSUFBSztBQUFBLElBQzNCO0FBQ0EsU0FBSztBQUNMLFdBQU8sTUFBTTtBQUFBLEVBQ2Y7QUFDRjtBQUlBLFNBQVMsT0FBYTtBQUNwQixRQUFNLElBQWlCLFdBQW1CLFNBQVMsTUFBTTtBQUN6RCxJQUFFO0FBQ0o7OztBQzFCQSxTQUFTLFFBQVEsT0FBNkI7QUFDNUMsU0FBTyxNQUFNLEtBQUssR0FBSTtBQUN4QjtBQUVBLElBQU0sTUFBTSxDQUFrQixXQUM1QixPQUFPLE9BQU8sQ0FBQyxLQUFLLE1BQU0sTUFBTSxRQUFRLENBQUMsR0FBRyxDQUFDO0FBRTdDLFdBQW1CLE9BQU8sTUFBTTtBQUNoQyxVQUFRLElBQUksZUFBZTtBQUMzQixVQUFRLEtBQUssSUFBSSxXQUFXLElBQUksa0JBQWtCLENBQUMsQ0FBQyxHQUFHLEdBQUcsQ0FBQztBQUM3RDtBQUNBLElBQUksQ0FBQyxJQUFJLE9BQU8sS0FBSyxDQUFDLENBQUMsQ0FBQzsiLAogICJuYW1lcyI6IFtdCn0K
