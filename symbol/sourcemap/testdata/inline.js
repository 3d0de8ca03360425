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
  console.log(new Error().stack?.split("\n").slice(1).join("|"));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
};
run([new Square("a", 3)]);
//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbInNyYy9zaGFwZXMudHMiLCJzcmMvbWFpbi50cyJdLCJtYXBwaW5ncyI6IjtBQVFBLElBQWUsT0FBZixNQUF1RDtBQUFBLEVBQ3JELFlBQTRCLE1BQXdCLE1BQVM7QUFBakM7QUFBd0I7QUFBQSxFQUFVO0FBQUEsRUFBbEM7QUFBQSxFQUF3QjtBQUd0RDtBQUVPLElBQU0sU0FBTixjQUFxQixLQUFhO0FBQUEsRUFDdkMsS0FBSyxHQUFtQjtBQUN0QixRQUFJLE1BQU07QUFDVixhQUFTLElBQVksR0FBRyxJQUFJLEdBQUcsS0FBSztBQUNsQyxhQUFRLEtBQUssT0FBTyxJQUFLO0FBQUEsSUFDM0I7QUFDQSxTQUFLO0FBQ0wsV0FBTyxNQUFNO0FBQUEsRUFDZjtBQUNGO0FBSUEsU0FBUyxPQUFhO0FBQ3BCLFFBQU0sSUFBaUIsV0FBbUIsU0FBUyxNQUFNO0FBQ3pELElBQUU7QUFDSjs7O0FDMUJBLFNBQVMsUUFBUSxPQUE2QjtBQUM1QyxTQUFPLE1BQU0sS0FBSyxHQUFJO0FBQ3hCO0FBRUEsSUFBTSxNQUFNLENBQWtCLFdBQzVCLE9BQU8sT0FBTyxDQUFDLEtBQUssTUFBTSxNQUFNLFFBQVEsQ0FBQyxHQUFHLENBQUM7QUFFN0MsV0FBbUIsT0FBTyxNQUFNO0FBQ2hDLFVBQVEsSUFBSSxJQUFJLE1BQU0sRUFBRSxPQUFPLE1BQU0sSUFBSSxFQUFFLE1BQU0sQ0FBQyxFQUFFLEtBQUssR0FBRyxDQUFDO0FBQzdELFVBQVEsS0FBSyxJQUFJLFdBQVcsSUFBSSxrQkFBa0IsQ0FBQyxDQUFDLEdBQUcsR0FBRyxDQUFDO0FBQzdEO0FBQ0EsSUFBSSxDQUFDLElBQUksT0FBTyxLQUFLLENBQUMsQ0FBQyxDQUFDOyIsIm5hbWVzIjpbXX0=
