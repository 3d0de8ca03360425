"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
const shapes_1 = require("./shapes");
function measure(shape) {
    return shape.area(1000);
}
const run = (shapes) => shapes.reduce((sum, s) => sum + measure(s), 0);
globalThis.hook = () => {
    console.log('{"stack": []}');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
};
run([new shapes_1.Square('a', 3)]);
//# sourceMappingURL=main.js.map